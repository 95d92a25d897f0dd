import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { keepLeases, type LeasesDeps } from '../../src/bookings/leases.ts'
import { createLog } from '../../src/observe/log.ts'
import { newInstance } from '../../src/store/instance.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Claim, StoreDown } from '../../src/store/store.ts'
import { newClaim } from '../store/samples.ts'

const HEARTBEAT_EVERY_MS = 2_500
const ME = newInstance()
const GONE = `${ME.split('/').slice(0, 2).join('/')}/1/abcdefgh`

let lines: Readonly<Record<string, unknown>>[]
beforeEach(() => {
  lines = []
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** Keeps the lease of a gateway on a store whose calls are noted. */
async function open(given: Partial<LeasesDeps> = {}, engine: 'memory' | 'sqlite' = 'memory') {
  const store = createMemoryStore()
  const calls: string[] = []
  const down = { renew: false, list: false, end: false }
  const fail = (isDown: boolean) => {
    if (isDown) throw new StoreDown('The disk is full.')
  }
  const noting: LeasesDeps['store'] = {
    engine,
    listClaims: async (options) => {
      fail(down.list)
      return store.listClaims(options)
    },
    renewLease: async (instance, maxAgeMs) => {
      calls.push('renew')
      fail(down.renew)
      return store.renewLease(instance, maxAgeMs)
    },
    endLease: async (instance) => {
      calls.push(`end ${instance === ME ? 'mine' : instance}`)
      fail(down.end)
      return store.endLease(instance)
    },
    orphanClaims: async (silentForMs, by) => {
      calls.push(`orphans of ${silentForMs} ms`)
      return store.orphanClaims(silentForMs, by)
    },
  }
  const unknown: Claim[] = []
  const start = () =>
    keepLeases(ME, {
      store: noting,
      log: createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }),
      onRenewed: async () => void calls.push('renewed'),
      catchUp: async () => void calls.push('caught up'),
      onUnknown: (claim) => unknown.push(claim),
      ...given,
    })
  return { store, calls, down, unknown, start }
}

const BEAT = ['renew', 'renewed', 'orphans of 10000 ms', 'caught up']

describe('the lease of a gateway', () => {
  test('is renewed at the start and with every heartbeat, and ends with the gateway', async () => {
    const { calls, start } = await open()
    const leases = await start()
    expect(leases.instance).toBe(ME)
    expect(calls.splice(0)).toEqual(BEAT)
    await vi.advanceTimersByTimeAsync(HEARTBEAT_EVERY_MS - 1)
    expect(calls).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(calls.splice(0)).toEqual(BEAT)
    expect((await leases.hold())()).toBe(true)
    await leases.end()
    expect(calls).toEqual(['end mine'])
    await vi.advanceTimersByTimeAsync(HEARTBEAT_EVERY_MS)
    expect(calls).toHaveLength(1)
    expect(lines).toEqual([])
  })

  test('is renewed once at a time, and its end waits for a renewal under way', async () => {
    const held = Promise.withResolvers<void>()
    let beats = 0
    const { calls, start } = await open({
      catchUp: () => {
        beats += 1
        return beats === 1 ? Promise.resolve() : held.promise
      },
    })
    const leases = await start()
    await vi.advanceTimersByTimeAsync(3 * HEARTBEAT_EVERY_MS)
    expect(beats).toBe(2)
    const ended = leases.end()
    await vi.advanceTimersByTimeAsync(0)
    expect(calls).not.toContain('end mine')
    held.resolve()
    await ended
    expect(calls.at(-1)).toBe('end mine')
  })

  test('that cannot be renewed or ended is logged, and the heart goes on', async () => {
    const { calls, down, start } = await open()
    down.renew = true
    const leases = await start()
    const err = expect.objectContaining({ type: 'StoreDown', message: 'The disk is full.' })
    expect(lines.splice(0)).toMatchObject([{ level: 'warn', msg: 'the lease could not be renewed', err }])
    expect(calls.splice(0)).toEqual(['renew'])
    down.renew = false
    await vi.advanceTimersByTimeAsync(HEARTBEAT_EVERY_MS)
    expect(calls).toEqual(BEAT)
    down.end = true
    await leases.end()
    expect(lines).toMatchObject([{ level: 'warn', msg: 'the lease could not be ended', err }])
  })
})

describe('claims of a gateway that is gone', () => {
  test('become unknown, and each is told', async () => {
    const { store, unknown, start } = await open({ silentForMs: 5 })
    await store.claim(newClaim({ instance: GONE }))
    const leases = await start()
    expect(unknown).toMatchObject([{ handle: 'bk_acme_REF-1', state: 'unknown', instance: ME }])
    expect(lines).toMatchObject([
      {
        level: 'error',
        msg: 'the outcome of a booking is not known',
        booking: 'bk_acme_REF-1',
        tenant: 'acme',
        why: 'its gateway is gone',
      },
    ])
    await leases.end()
  })

  test('are known at once on the embedded store, whose gateways are all on this machine', async () => {
    for (const engine of ['sqlite', 'memory'] as const) {
      const { store, calls, unknown, start } = await open({}, engine)
      await store.claim(newClaim({ instance: GONE }))
      await store.claim(newClaim({ key: 'REF-2', instance: ME }))
      await store.claim(newClaim({ key: 'REF-3', instance: GONE }))
      for (const instance of [GONE, ME]) await store.renewLease(instance, 1)
      const leases = await start()
      expect(calls.filter((call) => call.startsWith('end'))).toEqual(engine === 'sqlite' ? [`end ${GONE}`] : [])
      expect(unknown.map(({ key }) => key)).toEqual(engine === 'sqlite' ? ['REF-1', 'REF-3'] : [])
      await leases.end()
    }
  })

  test('are found later if the store is down at the start', async () => {
    const { calls, down, start } = await open({}, 'sqlite')
    down.list = true
    const leases = await start()
    expect(lines).toMatchObject([{ level: 'warn', msg: 'the leases of earlier runs could not be ended' }])
    expect(calls).toEqual(BEAT)
    await leases.end()
  })
})

import { describe, expect, test, vi } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { keepLeases } from '../../src/bookings/leases.ts'
import { createLog } from '../../src/observe/log.ts'
import { openPruning } from '../../src/pruning/pruning.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { createReadiness, type StoreState } from '../../src/store/state.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import { OWN, post, startGateway } from '../gateway.ts'
import { newClaim } from '../store/samples.ts'

const HOUR_MS = 3_600_000

/** A store of which some methods fail. */
const broken = (faults: Partial<Store>): Store => ({ ...createMemoryStore(), ...faults })
const failing = (error: Error) => () => Promise.reject(error)

function collect() {
  const lines: Readonly<Record<string, unknown>>[] = []
  return { lines, log: createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }) }
}

describe('the log has the cause', () => {
  test('of a call that failed because of the gateway itself, with its place', async () => {
    const gateway = await startGateway({
      env: OWN,
      store: broken({ put: failing(new TypeError('a bug of the store')) }),
    })
    const { status, json } = await post(gateway, '/getShippingQuote.php', quoteExample)
    expect(status).toBe(500)
    expect(JSON.stringify(json)).not.toContain('a bug of the store')
    expect(await gateway.logged(/^call/)).toMatchObject({
      level: 'error',
      msg: 'call failed',
      error: 'gateway-failed',
      status: 500,
      err: { type: 'TypeError', message: 'a bug of the store', stack: expect.stringContaining('causes.test.ts') },
    })
  })

  test('of a lease that cannot be kept, at each step', async () => {
    const { lines, log } = collect()
    const catchUp = async () => undefined
    const store = broken({
      engine: 'sqlite',
      listClaims: failing(new Error('no list')),
      renewLease: failing(new Error('no renewal')),
      endLease: failing(new Error('no end')),
    })
    const leases = await keepLeases('gateway-1', { store, log, onRenewed: catchUp, catchUp })
    await expect(leases.hold()).rejects.toThrow('no renewal')
    await leases.end()
    expect(lines.map(({ level, msg, err }) => [level, msg, (err as Error).message])).toEqual([
      ['warn', 'the leases of earlier runs could not be ended', 'no list'],
      ['warn', 'the lease could not be renewed', 'no renewal'],
      ['warn', 'the lease could not be ended', 'no end'],
    ])
  })

  test('of old rows that cannot be deleted, every hour anew', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const { lines, log } = collect()
      const store = broken({ prune: failing(new Error('no room')) })
      const config = { BOOKING_DAYS: 400, QUOTE_MEMORY: 90 * HOUR_MS }
      const { close } = openPruning({ config, store, log, lookEveryMs: undefined })
      await vi.advanceTimersByTimeAsync(HOUR_MS - 1)
      expect(lines).toEqual([])
      await vi.advanceTimersByTimeAsync(1)
      await vi.waitUntil(() => lines.length === 1)
      await vi.advanceTimersByTimeAsync(HOUR_MS)
      await vi.waitUntil(() => lines.length === 2)
      await close()
      await vi.advanceTimersByTimeAsync(HOUR_MS)
      const line = { level: 'warn', msg: 'old rows could not be deleted from the store', err: { message: 'no room' } }
      expect(lines).toMatchObject([line, line])
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a lease', () => {
  const SILENT_FOR_MS = 20
  const catchUp = async () => undefined

  test('says which claims became unknown because their gateway is gone', async () => {
    const { lines, log } = collect()
    const store = createMemoryStore({ monotonicNow: () => performance.now() })
    await store.renewLease('gateway-1', 1)
    const { claim } = await store.claim(newClaim({ instance: 'gateway-1' }))
    const silentSince = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => silentSince + SILENT_FOR_MS + 1)
    const unknown: string[] = []
    const leases = await keepLeases('gateway-2', {
      store,
      log,
      onRenewed: catchUp,
      catchUp,
      onUnknown: ({ handle }) => unknown.push(handle),
      silentForMs: SILENT_FOR_MS,
    }).finally(() => clock.mockRestore())
    await leases.end()
    expect(unknown).toEqual([claim.handle])
    expect(lines).toMatchObject([{ level: 'error', booking: claim.handle, tenant: 'acme', why: 'its gateway is gone' }])
    expect(await store.claimByHandle(claim.handle)).toMatchObject({ state: 'unknown', instance: 'gateway-2' })
  })

  test('is held until the store says that it may have lapsed', async () => {
    const renewals = [true, true, false, true]
    const { log } = collect()
    const store = broken({ renewLease: async () => renewals.shift() ?? true })
    let now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    try {
      const leases = await keepLeases('gateway-1', { store, log, onRenewed: catchUp, catchUp })
      const first = await leases.hold()
      expect(first()).toBe(true)
      // Fresh enough: no renewal.
      expect(renewals).toHaveLength(3)
      now += 3_001
      const second = await leases.hold()
      expect([first(), second(), renewals.length]).toEqual([true, true, 2])
      now += 3_001
      const third = await leases.hold()
      expect([first(), second(), third()]).toEqual([false, false, true])
      now += 5_001
      expect(third()).toBe(false)
      await leases.end()
    } finally {
      clock.mockRestore()
    }
  })
})

test('the readiness of a store is reported when it changes, or its reason does, and not after its end', () => {
  const states: StoreState[] = []
  const readiness = createReadiness((state) => states.push(state))
  expect(readiness.ready()).toBe(false)
  const down = (reason: string): StoreState => ({ ready: false, error: new StoreDown(reason) })
  readiness.set(down('full'))
  readiness.set(down('full'))
  readiness.set(down('gone'))
  readiness.set({ ready: true })
  readiness.set({ ready: true })
  expect(readiness.ready()).toBe(true)
  readiness.end()
  expect(readiness.ready()).toBe(false)
  readiness.set(down('late'))
  expect(states.map(({ ready, error }) => (ready ? 'ready' : error?.message))).toEqual(['full', 'gone', 'ready'])
})

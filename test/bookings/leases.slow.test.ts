import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { keepLeases, type Leases } from '../../src/bookings/leases.ts'
import { createLog } from '../../src/observe/log.ts'
import { newInstance } from '../../src/store/instance.ts'
import { openStore } from '../../src/store/open.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { startGateway } from '../gateway.ts'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { newClaim } from '../store/samples.ts'
import { book, claimOf, creations, expectBooked, expectUnknown, isCreation, statesOf } from './desk.ts'
import { startGatewayProcess } from './gateway-process.ts'

const ON_CREATION = { method: 'POST' }
const SILENT_MS = 300
const LONG_MS = 60_000

/** Kills a gateway while the service has its booking and does not answer. */
async function killWhileBooking(storeUrl: string, sandbox: Sandbox): Promise<void> {
  const { url, child } = await startGatewayProcess({ storeUrl, serviceUrl: sandbox.url })
  sandbox.fail({ kind: 'timeout', on: ON_CREATION })
  const begun = sandbox.next(isCreation)
  const lost = book({ url }).catch(() => undefined)
  await begun
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await lost).toBeUndefined()
}

describe('on the embedded store', () => {
  test('the next start knows at once that a gateway has died in the middle', { timeout: LONG_MS }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'transload-leases-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'store.db')
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    await killWhileBooking(path, sandbox)

    const store = await openStore(path)
    expect((await claimOf({ store })).state).toBe('sending')
    const gateway = await startGateway({ store, serviceUrl: sandbox.url })
    const claim = await claimOf(gateway)
    expect(claim.state).toBe('unknown')
    expect(expectUnknown(await book(gateway))).toBe(claim.handle)
    expect((await store.audit(claim.handle)).at(-1)?.why).toMatch(/^gateway .+ is gone$/)
    expect(creations({ sandbox })).toBe(1)
  })

  test('a start beside a live gateway leaves its bookings alone', { timeout: LONG_MS }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'transload-leases-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'store.db')
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    const live = await startGatewayProcess({ storeUrl: path, serviceUrl: sandbox.url })
    sandbox.fail({ kind: 'delay', ms: 1_500, on: ON_CREATION })
    const begun = sandbox.next(isCreation)
    const first = book(live)
    await begun
    const gateway = await startGateway({ store: await openStore(path), serviceUrl: sandbox.url })
    expect((await claimOf(gateway)).state).toBe('sending')
    const second = await book(gateway)
    expect(expectBooked(second, true)).toBe(expectBooked(await first))
    expect(await statesOf(gateway, (await claimOf(gateway)).handle)).toEqual(['none', 'sending', 'booked'])
  })
})

describe('on PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.remove())

  test('a gateway that is silent for too long is taken for gone, one that lives is not', {
    timeout: LONG_MS,
  }, async () => {
    const url = await server.createDatabase()
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    await killWhileBooking(url, sandbox)
    const store = await openStore(url)
    onTestFinished(() => store.close())
    const dead = await claimOf({ store })

    // Another live gateway with a booking under way.
    const neighbor = newInstance()
    await store.claim(newClaim({ instance: neighbor, key: 'live', reference: 'LIVE' }))
    const beating = setInterval(() => void store.renewLease(neighbor, SILENT_MS), SILENT_MS / 10)
    onTestFinished(() => clearInterval(beating))
    await store.renewLease(neighbor, SILENT_MS)

    const log = createLog('silent')
    let leases: Leases | undefined
    onTestFinished(async () => leases?.end())
    // Silent since its death, but not yet for long enough.
    leases = await keepLeases(newInstance(), { store, log, onRenewed: async () => {}, catchUp: async () => {} })
    expect((await claimOf({ store })).state).toBe('sending')
    await leases.end()
    const until = performance.now() + SILENT_MS
    while (performance.now() < until) await store.renewLease(neighbor, SILENT_MS)
    leases = await keepLeases(newInstance(), {
      store,
      log,
      onRenewed: async () => {},
      catchUp: async () => {},
      silentForMs: SILENT_MS,
    })
    expect((await store.claimByHandle(dead.handle))?.state).toBe('unknown')
    expect((await claimOf({ store }, 'LIVE')).state).toBe('sending')
  })
})

describe('a gateway that was taken for gone and comes back', () => {
  const judge = async (store: Store, instance: string) => {
    await store.endLease(instance)
    return store.orphanClaims(10_000, 'another gateway')
  }

  test.each([
    { what: 'with a booking', fault: { kind: 'delay', ms: 200 }, state: 'booked' },
    { what: 'with a refusal', fault: { kind: 'status', status: 422 }, state: 'refused' },
    { what: 'with a lost connection', fault: { kind: 'reset-after' }, state: 'unknown' },
  ] as const)('$what says what it knows', async ({ fault, state }) => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ ...fault, on: ON_CREATION })
    const store = gateway.store
    // It is judged at the moment when the service has the booking.
    const begun = gateway.sandbox.next(isCreation).then(async () => {
      const { instance } = await claimOf(gateway)
      return judge(store, instance)
    })
    const answer = await book(gateway)
    expect((await begun).length).toBeLessThanOrEqual(1)
    if (state === 'booked') {
      expect(await begun).toHaveLength(1)
      expectBooked(answer)
      const { handle } = await claimOf(gateway)
      expect(await statesOf(gateway, handle)).toEqual(['none', 'sending', 'unknown', 'booked'])
    }
    expect((await claimOf(gateway)).state).toBe(state)
    expect(creations(gateway)).toBe(1)
  })
})

test('claims from before a possible lapse of the lease no longer belong to this gateway', async () => {
  const store = createMemoryStore()
  const instance = newInstance()
  const leases = await keepLeases(instance, {
    store,
    log: createLog('silent'),
    onRenewed: async () => {},
    catchUp: async () => {},
  })
  onTestFinished(() => leases.end())
  const isHeld = await leases.hold()
  expect(isHeld()).toBe(true)
  // As after a suspension: another gateway ends the lease, and the next heartbeat takes a new one.
  await store.endLease(instance)
  await vi.waitFor(() => expect(isHeld()).toBe(false), { timeout: 4_000 })
  const isHeldAgain = await leases.hold()
  expect([isHeldAgain(), isHeld()]).toEqual([true, false])
})

test('a gateway that closes ends its lease at once', async () => {
  const gateway = await startGateway()
  expectBooked(await book(gateway))
  const { instance } = await claimOf(gateway)
  await gateway.gateway.close()
  await gateway.store.claim(newClaim({ instance, key: 'left', reference: 'LEFT' }))
  expect(await gateway.store.orphanClaims(60_000, 'another gateway')).toHaveLength(1)
})

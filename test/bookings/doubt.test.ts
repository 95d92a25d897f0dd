import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { settle } from '../../src/bookings/settlement.ts'
import { readConfig } from '../../src/config/config.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { translationSettings } from '../../src/config/translation-settings.ts'
import type { NewDoubt } from '../../src/store/doubt.ts'
import { backupStore } from '../../src/store/sqlite/backup.ts'
import { restoreStore } from '../../src/store/sqlite/restore.ts'
import { createMemoryStore, openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import { newFolder } from '../command.ts'
import { deliver, EVENT, startReceiver, untilState } from '../events/deliver.ts'
import { basic, CLIENT, startGateway, type TestGateway } from '../gateway.ts'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { book, claimOf, creations, expectBooked, expectUnknown, shipments, statesOf } from './desk.ts'

/* A store that was restored lacks bookings: what callers ask for again is not sent blindly. */

describe('after a restore', () => {
  let folder: string
  let path: string
  let file: string
  let service: Sandbox
  beforeEach(async () => {
    folder = newFolder('doubt')
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    path = join(folder, 'store.db')
    file = join(folder, 'backup.db')
    service = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret } })
    onTestFinished(() => service.close())
  })

  /** Runs a gateway on the store, in front of one service. */
  async function withGateway<T>(work: (gateway: TestGateway) => Promise<T>): Promise<T> {
    const store = await openSqliteStore({ path })
    const gateway = await startGateway({
      store,
      serviceUrl: service.url,
      env: { EMERGENCY_LOG_FILE: join(folder, 'e') },
    })
    const done = await work(gateway)
    await gateway.gateway.close()
    await store.close()
    return done
  }

  const made = (reference: string) =>
    [...service.shipments.values()].filter(({ external_id: external }) => external === reference).length

  /** Books, makes a backup, books more, and restores the backup. */
  async function loseBookings(doubt: (at: number) => NewDoubt | undefined): Promise<void> {
    await withGateway(async (gateway) => {
      expectBooked(await book(gateway, { ReferenceNumber: 'KNOWN' }))
      service.fail({ kind: 'status', status: 422, body: { message: 'no' }, on: { method: 'POST' } })
      expect((await book(gateway, { ReferenceNumber: 'REFUSED' })).status).toBe(422)
      const { at } = await backupStore(path, file)
      expectBooked(await book(gateway, { ReferenceNumber: 'LOST' }))
      expectBooked(await book(gateway, { ReferenceNumber: 'REFUSED' }))
      await gateway.gateway.close()
      await gateway.store.close()
      await restoreStore(path, file, { doubt: doubt(at) })
    })
  }

  test('without a doubt, what the store has forgotten is booked again', async () => {
    await loseBookings(() => undefined)
    await withGateway(async (gateway) => {
      expectBooked(await book(gateway, { ReferenceNumber: 'KNOWN' }), true)
      expectBooked(await book(gateway, { ReferenceNumber: 'LOST' }))
      expectBooked(await book(gateway, { ReferenceNumber: 'REFUSED' }))
    })
    expect([made('KNOWN'), made('LOST'), made('REFUSED')]).toEqual([1, 2, 2])
  })

  test('with a doubt, nothing is booked twice: what the store does not know is unknown, over restarts', async () => {
    await loseBookings((since) => ({ since, until: 0 }))
    const keys = await withGateway(async (gateway) => {
      expectBooked(await book(gateway, { ReferenceNumber: 'KNOWN' }), true)
      const line = await gateway.logged(/in doubt/)
      expect(line).toMatchObject({ level: 'warn', since: expect.any(String), declared: expect.any(String) })
      return [
        expectUnknown(await book(gateway, { ReferenceNumber: 'LOST' })),
        expectUnknown(await book(gateway, { ReferenceNumber: 'REFUSED' })),
        expectUnknown(await book(gateway, { ReferenceNumber: 'NEW' })),
      ]
    })
    await withGateway(async (gateway) => {
      for (const [index, reference] of ['LOST', 'REFUSED', 'NEW'].entries()) {
        expect(expectUnknown(await book(gateway, { ReferenceNumber: reference }))).toBe(keys[index])
      }
      const { sandbox: _, ...rest } = gateway
      expect(await statesOf(rest, keys[0] ?? '')).toEqual(['none', 'unknown'])
      expect(await statesOf(rest, keys[1] ?? '')).toEqual(['refused', 'unknown'])
    })
    expect([made('KNOWN'), made('LOST'), made('REFUSED'), made('NEW')]).toEqual([1, 1, 1, 0])
  })

  test('an operator settles each of them, or trusts the store', async () => {
    await loseBookings((since) => ({ since, until: 0 }))
    await withGateway(async (gateway) => {
      expectUnknown(await book(gateway, { ReferenceNumber: 'LOST' }))
      expectUnknown(await book(gateway, { ReferenceNumber: 'NEW' }))
      const lost = [...service.shipments.values()].find(({ external_id: reference }) => reference === 'LOST')
      await settled(gateway, 'LOST', { shipment: lost?.id ?? '', number: lost?.number })
      await settled(gateway, 'NEW', 'not-booked')
      expect(expectBooked(await book(gateway, { ReferenceNumber: 'LOST' }), true)).toBe(lost?.id)
      // The store has learnt it since: it is certain.
      expectBooked(await book(gateway, { ReferenceNumber: 'NEW' }))
      expectUnknown(await book(gateway, { ReferenceNumber: 'LATER' }))
      expect(await gateway.store.trust()).toBe(true)
    })
    await withGateway(async (gateway) => {
      expectBooked(await book(gateway, { ReferenceNumber: 'LATEST' }))
      expectUnknown(await book(gateway, { ReferenceNumber: 'LATER' }))
    })
    expect([made('LOST'), made('NEW'), made('LATER'), made('LATEST')]).toEqual([1, 1, 0, 1])
  })
})

async function settled(
  gateway: TestGateway,
  reference: string,
  settlement: Parameters<typeof settle>[1],
): Promise<void> {
  const claim = await claimOf(gateway, reference)
  const config = readConfig({ V2_BASE_URL: 'https://service.example.com' })
  const deps = { store: gateway.store, catalog: await loadMappings(), settings: translationSettings(config) }
  expect(await settle(claim, settlement, { ...deps, instance: 'desk' })).toMatchObject({ outcome: 'changed' })
}

const MINUTE_MS = 60_000

/** A store in doubt for an hour, with a clock of its own. */
async function doubtfulStore(until: number = 0) {
  let time = 1_000 * MINUTE_MS
  const store = createMemoryStore({ now: () => time })
  await store.declareDoubt({ since: time - 60 * MINUTE_MS, until: until === 0 ? 0 : time + until })
  return {
    store,
    pass: (ms: number) => {
      time += ms
    },
  }
}

describe('in a doubt', () => {
  test('an event of the shipment that was made before the restore settles the booking', async () => {
    const { store, pass } = await doubtfulStore()
    const gateway = await startReceiver({ store, env: { SWEEP_INTERVAL: '1h' } })
    const id = await makeAtService(gateway, 'LOST')
    // It comes before the caller asks again, and the shipment is not taken for that of another booking.
    await deliver(gateway, { ...EVENT, shipment_id: id, event: 'shipment.assigned' })
    pass(MINUTE_MS)
    const handle = expectUnknown(await book(gateway, { ReferenceNumber: 'LOST' }))
    await untilState(store, handle, 'booked')
    expect(expectBooked(await book(gateway, { ReferenceNumber: 'LOST' }), true)).toBe(id)
    expect(shipments(gateway, 'LOST')).toHaveLength(1)
  })

  test('the service that finds shipments by their reference is asked, once for each booking', async () => {
    const { store } = await doubtfulStore()
    const gateway = await startReceiver({ store, env: { SWEEP_INTERVAL: '1s' }, sandbox: { findsByReference: true } })
    const id = await makeAtService(gateway, 'LOST')
    const handle = expectUnknown(await book(gateway, { ReferenceNumber: 'LOST' }))
    await untilState(store, handle, 'booked')
    expect(expectBooked(await book(gateway, { ReferenceNumber: 'LOST' }), true)).toBe(id)
  })

  test('a key is booked by a header, too', async () => {
    const { store } = await doubtfulStore()
    const gateway = await startGateway({ store })
    const key = { 'idempotency-key': 'one' }
    const handle = expectUnknown(await book(gateway, {}, key))
    expect(expectUnknown(await book(gateway, {}, key))).toBe(handle)
    expect(creations(gateway)).toBe(0)
  })

  test('a booking without a reference is unknown only as long as it would count as a duplicate', async () => {
    const { store, pass } = await doubtfulStore()
    const gateway = await startGateway({ store, env: { DEDUPE_WINDOW: '10m' } })
    expectUnknown(await book(gateway, { ReferenceNumber: '', Make: 'Early' }))
    pass(10 * MINUTE_MS)
    expectBooked(await book(gateway, { ReferenceNumber: '', Make: 'Late' }))
    expectUnknown(await book(gateway, { ReferenceNumber: 'REF' }))
  })

  test('what was canceled since is booked again', async () => {
    const { store, pass } = await doubtfulStore()
    await store.trust()
    const gateway = await startGateway({ store })
    const id = expectBooked(await book(gateway))
    pass(1)
    await store.declareDoubt({ since: 0, until: 0 })
    await gateway.logged(/are in doubt/)
    pass(1)
    await fetch(`${gateway.url}/deleteShipment.php`, {
      method: 'POST',
      headers: { authorization: basic() },
      body: JSON.stringify({ shipment_id: id }),
    })
    expect(expectBooked(await book(gateway))).not.toBe(id)
  })

  test('that has ended, bookings are sent', async () => {
    const { store, pass } = await doubtfulStore(MINUTE_MS)
    const gateway = await startGateway({ store })
    expectUnknown(await book(gateway, { ReferenceNumber: 'EARLY' }))
    pass(MINUTE_MS)
    // With the next renewal of the lease.
    await gateway.logged(/not in doubt any more/)
    expectBooked(await book(gateway, { ReferenceNumber: 'LATE' }))
    expectUnknown(await book(gateway, { ReferenceNumber: 'EARLY' }))
  })

  test('a claim that the store kept although it failed is not freed, which would make it certain', async () => {
    const { store } = await doubtfulStore()
    let failures = 1
    let renewals = 0
    const failing: Store = {
      ...store,
      renewLease: (instance, maxAgeMs) => {
        renewals += 1
        return store.renewLease(instance, maxAgeMs)
      },
      claim: async (wanted) => {
        const taken = await store.claim(wanted)
        if (failures-- > 0) throw new StoreDown('The answer of the store got lost.')
        return taken
      },
    }
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const gateway = await startGateway({ store: failing })
    expect((await book(gateway)).status).toBe(503)
    const { handle } = await claimOf(gateway)
    // A heartbeat does all that there is to catch up with before the next one begins.
    const next = renewals + 2
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(HEARTBEAT_MS)
      expect(renewals).toBeGreaterThanOrEqual(next)
    })
    expect(expectUnknown(await book(gateway))).toBe(handle)
    expect(creations(gateway)).toBe(0)
  })

  test('many callers of one reference get one key', async () => {
    const { store } = await doubtfulStore()
    const gateway = await startGateway({ store })
    const answers = await Promise.all(Array.from({ length: 12 }, () => book(gateway)))
    expect(new Set(answers.map(expectUnknown)).size).toBe(1)
    expect(creations(gateway)).toBe(0)
  })
})

/** Longer than the interval of heartbeats. */
const HEARTBEAT_MS = 4_000

/** Makes a shipment at the service, as a booking before the restore has. */
async function makeAtService(gateway: TestGateway, reference: string): Promise<string> {
  const other = await startGateway({
    serviceUrl: gateway.sandbox.url,
    env: { V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret },
  })
  return expectBooked(await book(other, { ReferenceNumber: reference }))
}

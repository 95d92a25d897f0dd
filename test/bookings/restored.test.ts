/** Promise: bookings that a restored store may lack are not sent again, but stay unknown until an operator or the service decides (contract, section 7). */

import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/outside/store/store.ts'
import { deliver, EVENT, startReceiver, untilState } from '../events/deliver.ts'
import { OWN, post, startGateway } from '../gateway.ts'
import { book, claimOf, creations, expectBooked, expectUnknown, heartbeats, ON_CREATION, settleAs } from './desk.ts'

const named = (ReferenceNumber: string) => ({ ReferenceNumber })

const MINUTE_MS = 60_000

/** A store in doubt since an hour ago, with a clock of its own. */
async function doubtfulStore() {
  let time = 1_000 * MINUTE_MS
  const store = createMemoryStore({ now: () => time })
  await store.declareDoubt({ since: time - 60 * MINUTE_MS, until: 0 })
  const pass = (ms: number) => {
    time += ms
  }
  return { store, pass }
}

test('bookings that the store may lack are not sent again until an operator decides; later ones are certain', async () => {
  let now = MINUTE_MS
  const store = createMemoryStore({ now: () => now })
  const before = await startGateway({ store })
  expectBooked(await book(before, named('KNOWN')))
  before.sandbox.fail({ kind: 'status', status: 422, on: ON_CREATION })
  expect((await book(before, named('REFUSED'))).status).toBe(422)
  now += 1
  await store.declareDoubt({ since: now, until: 0 })
  const gateway = await startGateway({ store, serviceUrl: before.sandbox.url, env: OWN })
  const line = await gateway.logged(/bookings that the store does not know are in doubt/)
  expect(line).toMatchObject({ level: 'warn', since: '1970-01-01T00:01:00.001Z', declared: expect.any(String) })
  expectBooked(await book(gateway, named('KNOWN')), true)
  for (const reference of ['REFUSED', 'NEW']) {
    const key = expectUnknown(await book(gateway, named(reference)))
    expect(expectUnknown(await book(gateway, named(reference)))).toBe(key)
    await settleAs(store, await claimOf(gateway, reference), 'not-booked')
    expectBooked(await book(gateway, named(reference)))
  }
  expect(creations(before)).toBe(4)
})

test.each(['an event that came before its caller asked again', 'a service that finds shipments by their reference'])(
  'a booking in doubt is settled by %s',
  async (by) => {
    const { store, pass } = await doubtfulStore()
    const findsByReference = by.startsWith('a service')
    const gateway = await startReceiver({
      store,
      sandbox: { findsByReference },
      ...(findsByReference && { sweepEveryMs: 1_000 }),
    })
    // Booked as before the restore.
    const id = expectBooked(await book(await startGateway({ serviceUrl: gateway.sandbox.url, env: OWN })))
    if (!findsByReference) await deliver(gateway, { ...EVENT, shipment_id: id })
    pass(MINUTE_MS)
    await untilState(store, expectUnknown(await book(gateway)), 'booked')
    expect(expectBooked(await book(gateway), true)).toBe(id)
  },
)

test('many callers of one booking in doubt get one key; one without a reference is in doubt only for its window', async () => {
  const { store, pass } = await doubtfulStore()
  const gateway = await startGateway({ store, env: { DEDUPE_WINDOW: '10m' } })
  for (const headers of [{}, { 'idempotency-key': 'one' }]) {
    const answers = await Promise.all(Array.from({ length: 6 }, () => book(gateway, {}, headers)))
    expect(new Set(answers.map(expectUnknown)).size).toBe(1)
  }
  pass(10 * MINUTE_MS - 1)
  expectUnknown(await book(gateway, { ...named(''), Make: 'Early' }))
  expect(creations(gateway)).toBe(0)
  pass(1)
  expectBooked(await book(gateway, { ...named(''), Make: 'Late' }))
  expectUnknown(await book(gateway, named('REF')))
})

test('bookings canceled since the doubt began are made again; when it ends, bookings are sent', async () => {
  const beat = heartbeats()
  const { store, pass } = await doubtfulStore()
  await store.trust()
  const gateway = await startGateway({ store })
  const id = expectBooked(await book(gateway))
  pass(1)
  await store.declareDoubt({ since: 0, until: 1_001 * MINUTE_MS })
  const said = (what: RegExp) => gateway.lines().filter(({ msg }) => what.test(String(msg))).length
  await beat(() => expect(said(/are in doubt/)).toBe(1))
  pass(1)
  expect((await post(gateway, '/deleteShipment.php', { shipment_id: id })).status).toBe(200)
  expect(expectBooked(await book(gateway))).not.toBe(id)
  expectUnknown(await book(gateway, named('EARLY')))
  pass(MINUTE_MS)
  await beat(() => expect(said(/no longer in doubt/)).toBe(1))
  expectBooked(await book(gateway, named('LATE')))
  expectUnknown(await book(gateway, named('EARLY')))
})

test('a claim in doubt that the store kept although it failed is not freed: it would count as certain', async () => {
  const beat = heartbeats()
  const { store } = await doubtfulStore()
  let [failures, renewals] = [1, 0]
  const failing: Store = {
    ...store,
    renewLease: (...args) => {
      renewals += 1
      return store.renewLease(...args)
    },
    claim: async (wanted) => {
      const taken = await store.claim(wanted)
      if (failures-- > 0) throw new StoreDown('The answer of the store got lost.')
      return taken
    },
  }
  const gateway = await startGateway({ store: failing })
  expect(await book(gateway)).toMatchObject({ status: 503, json: { TransportationBooked: 'No' } })
  const { handle } = await claimOf(gateway)
  // A heartbeat catches up with everything before the next one begins.
  const next = renewals + 2
  await beat(() => expect(renewals).toBeGreaterThanOrEqual(next))
  expect(expectUnknown(await book(gateway))).toBe(handle)
})

test('a store that is a copy says so once, with the remedy', async () => {
  const origin = async () => ({ kind: 'backup', at: Date.UTC(2026, 0, 2) }) as const
  const gateway = await startGateway({ env: OWN, store: { ...createMemoryStore(), origin } })
  expectBooked(await book(gateway))
  const said = /is a backup of 2026-01-02T00:00:00\.000Z that was put in place without.*see “Restore” in docs\/data\.md/
  expect(gateway.lines().filter(({ level, msg }) => level === 'warn' && said.test(String(msg)))).toHaveLength(1)
})

/** Promise: old unused data are forgotten, and nothing else (contract, section 7). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { StoreDown } from '../../src/outside/store/store.ts'
import { CLIENT, get, metricsOf, post, startGateway, type TestGateway } from '../gateway.ts'
import { quote } from '../xref/program.ts'

const DAY_MS = 86_400_000
const SOON = { timeout: 20_000, interval: 5 }

const book = (gateway: TestGateway, ReferenceNumber: string) =>
  post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber })
const approve = (gateway: TestGateway, ShipmentNumber: string) =>
  post(gateway, '/getShippingQuote.php', { ActionName: 'Approve Rate', ShipmentNumber })

/** Returns how often a gateway has called an operation of its store. */
async function timesOf(gateway: TestGateway, operation: string): Promise<number> {
  const counted = new RegExp(`^transload_store_seconds_count\\{operation="${operation}"\\} (\\d+)$`, 'm')
  return Number(counted.exec(await metricsOf(gateway))?.[1] ?? 0)
}

/** Lets days pass on a gateway's clock and in its store's calendar. */
async function pass({ store }: TestGateway, clock: { at: number }, days: number): Promise<void> {
  for (let day = 0; day < days; day += 1) {
    clock.at += DAY_MS
    await store.turnDay(DAY_MS)
  }
}

test('a gateway forgets after BOOKING_DAYS, except numbers that callers use', async () => {
  const clock = { at: Date.UTC(2026, 0, 1) }
  const gateway = await startGateway({
    env: { BOOKING_DAYS: '400' },
    now: () => clock.at,
    pruneEveryMs: 5,
    sandbox: { approvalBooks: false },
  })
  const { store } = gateway
  expect((await book(gateway, 'REF-OLD')).status).toBe(200)
  expect((await book(gateway, 'REF-USED')).status).toBe(200)
  expect((await quote(gateway, 'W-OLD')).status).toBe(200)
  expect((await quote(gateway, 'W-USED')).status).toBe(200)
  expect((await approve(gateway, 'W-USED')).status).toBe(200)

  await pass(gateway, clock, 10)
  expect(await metricsOf(gateway)).toMatch(/^transload_store_bytes\{state="used"\} \d+$/m)
  const read = await get(gateway, '/getShipment.php?ReferenceNumber=REF-USED')
  expect(read.json.ReferenceNumber).toBe('REF-USED')
  expect((await approve(gateway, 'W-USED')).status).toBe(200)

  await pass(gateway, clock, 392)
  for (const name of ['REF-OLD', 'W-OLD']) await expect.poll(() => store.named(CLIENT.id, name), SOON).toEqual([])
  await expect.poll(() => store.listClaims({}), SOON).toEqual([])
  expect(await store.named(CLIENT.id, 'REF-USED')).toHaveLength(1)
  expect(await store.named(CLIENT.id, 'W-USED')).toMatchObject([{ quote: { approval: 'approved' } }])
  expect((await get(gateway, '/getShipment.php?ReferenceNumber=REF-USED')).json.ReferenceNumber).toBe('REF-USED')
  expect((await approve(gateway, 'W-OLD')).status).toBe(404)
  expect(await gateway.logged(/old rows were deleted/)).toHaveProperty('pruned')

  expect(await metricsOf(gateway)).toMatch(/^transload_store_pruned_rows_total\{table="claims"\} 2$/m)
})

test('the metrics leave out the size of a store that is down', async () => {
  const size = () => Promise.reject(new StoreDown('down'))
  const gateway = await startGateway({ store: { ...createMemoryStore(), size } })
  expect(await metricsOf(gateway)).toMatch(/^# TYPE transload_store_bytes gauge\n(?!transload_store_bytes)/m)
})

/** Waits until the gateway has searched for old rows a few more times. */
async function lookedOften(gateway: TestGateway): Promise<void> {
  const looks = () => timesOf(gateway, 'turn-day')
  const before = await looks()
  await expect.poll(looks, SOON).toBeGreaterThan(before + 5)
}

test.each([
  ['a clock that jumps by 500 days', 0, 500],
  ['a clock that was 500 days ahead when the store was made, and is right,', -500, 0],
])(
  '%s deletes nothing: what was booked is not booked again, and no quote is forgotten',
  async (_, before, meanwhile) => {
    const clock = { at: Date.UTC(2027, 4, 16) }
    const gateway = await startGateway({ env: { BOOKING_DAYS: '400' }, now: () => clock.at, pruneEveryMs: 1 })
    clock.at += before * DAY_MS
    expect((await book(gateway, 'REF-1')).status).toBe(200)
    const quoted = { ShipmentNumber: 'W-1', EquipmentType: 'ENCLOSED AUTO', TempShipFromPostalCode: '10314' }
    const reply = await post(gateway, '/getShippingQuote.php', { ...quoted, TempShipToPostalCode: '33166' })
    expect(reply.status).toBe(200)
    clock.at += meanwhile * DAY_MS
    await lookedOften(gateway)
    clock.at -= meanwhile * DAY_MS
    expect((await book(gateway, 'REF-1')).headers.get('idempotent-replayed')).toBe('true')
    expect((await book(gateway, 'W-1')).headers.get('transload-assumed') ?? '').not.toContain('transport_type')
  },
)

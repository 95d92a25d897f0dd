/** Promise: what is old and unused is forgotten, and nothing else (contract, section 7). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { CLIENT, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { quote } from '../xref/program.ts'

const DAY_MS = 86_400_000
const SOON = { timeout: 20_000, interval: 5 }

const book = (gateway: TestGateway, ReferenceNumber: string) =>
  post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber })
const approve = (gateway: TestGateway, ShipmentNumber: string) =>
  post(gateway, '/getShippingQuote.php', { ActionName: 'Approve Rate', ShipmentNumber })

/** Lets days pass on the clock of a gateway, and the calendar of its store turn. */
async function pass({ store }: TestGateway, clock: { at: number }, days: number): Promise<void> {
  for (let day = 0; day < days; day += 1) {
    clock.at += DAY_MS
    await store.turnDay(DAY_MS)
  }
}

test('a gateway forgets after BOOKING_DAYS, but for numbers that callers use', async () => {
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
  const read = await get(gateway, '/getShipment.php?ReferenceNumber=REF-USED')
  expect(read.json.ReferenceNumber).toBe('REF-USED')
  expect((await approve(gateway, 'W-USED')).status).toBe(200)

  await pass(gateway, clock, 392)
  const isGone = async () => (await store.links(CLIENT.id, 'REF-OLD')).length
  await expect.poll(isGone, SOON).toBe(0)
  await expect.poll(async () => (await store.links(CLIENT.id, 'W-OLD')).length, SOON).toBe(0)
  await expect.poll(() => store.listClaims({}), SOON).toEqual([])
  expect(await store.links(CLIENT.id, 'REF-USED')).toHaveLength(1)
  const [link] = await store.links(CLIENT.id, 'W-USED')
  expect((await store.thing(CLIENT.id, `approval of ${link?.id}`))?.own).toBe('approved')
  expect((await get(gateway, '/getShipment.php?ReferenceNumber=REF-USED')).json.ReferenceNumber).toBe('REF-USED')
  expect((await approve(gateway, 'W-OLD')).status).toBe(404)
  expect(await gateway.logged(/old rows were deleted/)).toHaveProperty('pruned')

  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
  expect(metrics).toMatch(/^transload_store_rows\{table="things"\} \d+$/m)
  expect(metrics).toMatch(/^transload_store_bytes\{state="used"\} \d+$/m)
  expect(metrics).toMatch(/^transload_store_pruned_rows_total\{table="claims"\} 2$/m)
})

/** Waits until old rows were looked for a few times more. */
async function lookedOften(gateway: TestGateway): Promise<void> {
  const looks = async () => {
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    return Number(/^transload_store_seconds_count\{operation="turn-day"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)
  }
  const before = await looks()
  await expect.poll(looks, SOON).toBeGreaterThan(before + 5)
}

test('a clock that jumps by 500 days deletes nothing: what was booked is not booked again', async () => {
  const clock = { at: Date.UTC(2026, 0, 1) }
  const gateway = await startGateway({ env: { BOOKING_DAYS: '400' }, now: () => clock.at, pruneEveryMs: 1 })
  expect((await book(gateway, 'REF-1')).status).toBe(200)
  clock.at += 500 * DAY_MS
  await lookedOften(gateway)
  clock.at -= 500 * DAY_MS
  expect((await book(gateway, 'REF-1')).headers.get('idempotent-replayed')).toBe('true')
})

test('a store that was made while the clock was 500 days ahead forgets no quote once the clock is right', async () => {
  const clock = { at: Date.UTC(2027, 4, 16) }
  const gateway = await startGateway({ now: () => clock.at, pruneEveryMs: 1 })
  clock.at -= 500 * DAY_MS
  const quoted = { ShipmentNumber: 'W-1', EquipmentType: 'ENCLOSED AUTO', TempShipFromPostalCode: '10314' }
  const reply = await post(gateway, '/getShippingQuote.php', { ...quoted, TempShipToPostalCode: '33166' })
  expect(reply.status).toBe(200)
  await lookedOften(gateway)
  const { headers } = await book(gateway, 'W-1')
  expect(headers.get('transload-assumed') ?? '').not.toContain('transport_type')
})

test('the use of a number is noted once a day, and not while it is young', async () => {
  const clock = { at: Date.UTC(2026, 0, 1) }
  const gateway = await startGateway({ now: () => clock.at })
  expect((await book(gateway, 'REF-1')).status).toBe(200)
  const notes = async () => {
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    return Number(/^transload_store_seconds_count\{operation="note-uses"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)
  }
  const readOften = async () => {
    for (let nth = 0; nth < 5; nth += 1) {
      expect((await get(gateway, '/getShipment.php?ReferenceNumber=REF-1')).status).toBe(200)
    }
  }
  await readOften()
  expect(await notes()).toBe(0)
  clock.at += DAY_MS
  await readOften()
  await expect.poll(notes, SOON).toBeGreaterThan(0)
  const noted = await notes()
  await readOften()
  expect(await notes()).toBe(noted)
})

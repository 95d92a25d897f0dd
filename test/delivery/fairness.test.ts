import { expect, test } from 'vitest'
import { createSlots, type TryResult } from '../../src/delivery/slots.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { endpoint, openOffice } from './office.ts'
import { startReceiver } from './receiver.ts'

const STUCK = 1_000
const EVENTS = 200

test('a thousand shipments of a receiver that never answers keep no event of another from its receiver', async () => {
  const quick = await startReceiver()
  const stuck = await startReceiver(() => undefined)
  const endpoints = [endpoint(stuck.url), endpoint(quick.url, { tenant: 'quick' })]
  const office = await openOffice({ endpoints, timeoutMs: 600_000, store: createMemoryStore() })
  for (let i = 0; i < STUCK; i += 1) await office.take({ shipment: `s-${i}` })
  office.deliveries.wake('acme')
  await stuck.count(8)
  for (let i = 1; i <= EVENTS; i += 1) {
    await office.take({ tenant: 'quick', shipment: `q-${i}` })
    office.deliveries.wake('quick')
    await quick.count(i)
  }
  expect(stuck.received.length).toBe(8)
})

test('one slot is left for every tenant, however many are stuck', () => {
  const slots = createSlots({ perTenant: 8, shared: 4 })
  for (const tenant of ['a', 'b', 'c', 'd', 'e']) {
    expect(slots.free(tenant)).toBeGreaterThanOrEqual(1)
    while (slots.free(tenant) > 0) slots.take(tenant)
  }
  expect(slots.underWay()).toBe(5 + 4)
  expect(slots.free('a')).toBe(0)
  expect(slots.free('new')).toBe(1)
})

test('failures leave an endpoint fewer slots, and successes give them back', () => {
  const slots = createSlots({ perTenant: 8 })
  const free = (result: TryResult) => {
    slots.take('a')
    slots.release('a', result)
    return slots.free('a')
  }
  expect([free('failed'), free('failed'), free('failed'), free('failed')]).toEqual([4, 2, 1, 1])
  expect([free('none'), free('delivered'), free('delivered'), free('failed')]).toEqual([1, 2, 3, 2])
  for (let i = 0; i < 10; i += 1) free('delivered')
  expect(slots.free('a')).toBe(8)
})

import { expect, test } from 'vitest'
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

test('one slot is left for every tenant, however many are stuck', async () => {
  const stuck = await startReceiver(() => undefined)
  const tenants = Array.from({ length: 60 }, (_, i) => `t${i}`)
  const endpoints = tenants.map((tenant) => endpoint(stuck.url, { tenant }))
  const office = await openOffice({ endpoints, timeoutMs: 600_000, store: createMemoryStore() })
  for (const tenant of tenants) for (let i = 0; i < 8; i += 1) await office.take({ tenant, shipment: `s-${i}` })
  for (const tenant of tenants) office.deliveries.wake(tenant)
  await stuck.count(60 + 256)
  const late = await startReceiver()
  office.deliveries.setEndpoints([...endpoints, endpoint(late.url, { tenant: 'late' })])
  await office.take({ tenant: 'late' })
  office.deliveries.wake('late')
  await late.count(1)
  expect(stuck.received.length).toBeGreaterThanOrEqual(60 + 256)
})

test('shipments that fail, and one whose try hangs, keep no event of another shipment of the tenant', async () => {
  const hanging = Promise.withResolvers<() => void>()
  const receiver = await startReceiver((outgoing, { body }) => {
    if (body.includes('REF-hangs')) hanging.resolve(() => outgoing.end())
    else outgoing.writeHead(body.includes('REF-fails') ? 500 : 200).end()
  })
  const office = await openOffice({
    endpoints: [endpoint(receiver.url)],
    timeoutMs: 600_000,
    store: createMemoryStore(),
  })
  for (let i = 0; i < 4; i += 1) await office.take({ shipment: `fails-${i}` })
  office.deliveries.wake('acme')
  await office.deliveries.idle()
  await office.take({ shipment: 'hangs' })
  office.deliveries.wake('acme')
  const answer = await hanging.promise
  const others = await Promise.all(Array.from({ length: 20 }, (_, i) => office.take({ shipment: `s-${i}` })))
  office.deliveries.wake('acme')
  await receiver.count(4 + 1 + others.length)
  expect(receiver.received.filter(({ body }) => body.includes('REF-hangs'))).toHaveLength(1)
  answer()
})

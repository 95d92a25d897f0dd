import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { endpoint, openOffice } from './office.ts'
import { startReceiver } from './receiver.ts'

const LEASE_MS = 200

test('a try starts in the first half of its lease, and not after it', async () => {
  const receiver = await startReceiver()
  const store = createMemoryStore()
  const leases: string[] = []
  const slow = {
    ...store,
    // The first lease is used up before the try can start.
    leaseEvents: async (...asked: Parameters<typeof store.leaseEvents>) => {
      const events = await store.leaseEvents(...asked)
      for (const { id } of events) leases.push(id)
      if (leases.length === 1) await pause(LEASE_MS)
      return events
    },
  }
  const office = await openOffice({ endpoints: [endpoint(receiver.url)], store: slow, leaseMs: LEASE_MS })
  const id = await office.take()
  await office.pass(0)
  await expect.poll(async () => (await office.found(id)).state).toBe('delivered')
  expect(leases).toEqual([id, id])
  expect(await office.found(id)).toMatchObject({ failures: 0 })
  expect(receiver.received).toHaveLength(1)
})

test('the end of a try of an event that an operator has skipped meanwhile changes nothing, and is told to nobody', async () => {
  const asked = Promise.withResolvers<() => void>()
  const receiver = await startReceiver((outgoing) => asked.resolve(() => outgoing.writeHead(410).end()))
  const office = await openOffice({ endpoints: [endpoint(receiver.url)] })
  const id = await office.take()
  office.deliveries.wake('acme')
  const answer = await asked.promise
  await office.store.skipEvents([id])
  answer()
  await office.deliveries.idle()
  expect(await office.found(id)).toMatchObject({ state: 'skipped' })
  expect(await office.store.endpoints()).toEqual([])
  expect(office.lines).toEqual([])
})

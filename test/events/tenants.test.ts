import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { NewEvent } from '../../src/store/events.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { openEdge, tenant, writeTenants } from '../callers/edge.ts'
import { deliver, EVENT } from './deliver.ts'

/** A tenant whose webhook secret is in a file of a folder. */
function withHook(place: string, name: string, secret: string, more: object = {}) {
  const file = join(place, `${name}.hook`)
  writeFileSync(file, `${secret}\n`)
  return tenant(place, name, { webhook_secret: { file }, ...more })
}

const path = (secret: string) => `/webhooks/${secret}`

test('an event belongs to the tenant of its secret; one with a callback has it delivered', async () => {
  const store = createMemoryStore()
  const taken: NewEvent[] = []
  const noting = {
    ...store,
    takeEvent: (event: NewEvent) => {
      taken.push(event)
      // Nothing is delivered in this test.
      return store.takeEvent({ ...event, deliver: false })
    },
  }
  const edge = await openEdge(
    (place) => [
      withHook(place, 'acme', 'hook-of-acme-0123456789', { callback_url: 'https://callback.example.com/' }),
      withHook(place, 'zenith', 'hook-of-zenith-0123456789,hook-of-zenith-to-come'),
      tenant(place, 'silent'),
    ],
    { store: noting },
  )
  for (const secret of ['hook-of-acme-0123456789', 'hook-of-zenith-0123456789', 'hook-of-zenith-to-come']) {
    expect((await deliver(edge, EVENT, {}, path(secret))).status).toBe(200)
  }
  expect(taken.map((event) => [event.tenant, event.deliver])).toEqual([
    ['acme', true],
    ['zenith', false],
    ['zenith', false],
  ])
  expect(await store.eventsOfShipment('zenith', EVENT.shipment_id)).toHaveLength(1)
})

test('a secret that changes in the file changes without a restart', async () => {
  const edge = await openEdge((place) => [withHook(place, 'acme', 'hook-of-acme-0123456789')])
  const statuses = async () => {
    const answers = ['hook-of-acme-0123456789', 'hook-of-acme-9876543210'].map((one) =>
      deliver(edge, EVENT, {}, path(one)),
    )
    return (await Promise.all(answers)).map(({ status }) => status)
  }
  expect(await statuses()).toEqual([200, 404])
  writeTenants(edge.path, withHook(edge.place, 'acme', 'hook-of-acme-9876543210'))
  edge.hangUp()
  expect(await statuses()).toEqual([404, 200])
})

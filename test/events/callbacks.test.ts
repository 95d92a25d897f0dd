import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { as, book, openEdge, tenant, writeTenants } from '../callers/edge.ts'
import { post } from '../gateway.ts'
import { replies, startReceiver } from './receiver.ts'

const HOOK = 'hook-3f0c2a9e-of-delivery'
const SIGNING = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Opens a gateway whose tenant has a callback; the stand-in delivers its events to the gateway. */
async function openWithCallback(callbackUrl: string, more: object = {}) {
  const edge = await openEdge((place) => [withCallback(place, callbackUrl, more)])
  edge.sandbox.set({ webhookUrl: `${edge.url}/webhooks/${HOOK}`, webhookRetry: { attempts: 6, delayMs: 20 } })
  return edge
}

function withCallback(place: string, callbackUrl: string, more: object = {}) {
  const files = { hook: HOOK, signing: SIGNING }
  for (const [name, secret] of Object.entries(files)) writeFileSync(join(place, name), secret)
  return tenant(place, 'acme', {
    webhook_secret: { file: join(place, 'hook') },
    callback_url: callbackUrl,
    callback_secrets: [{ file: join(place, 'signing') }],
    callback_allow_http: true,
    callback_networks: ['127.0.0.0/8'],
    ...more,
  })
}

test('the caller of a booking hears of its shipment under its own reference', async () => {
  const receiver = await startReceiver()
  const edge = await openWithCallback(`${receiver.url}?key=callback-key`)
  expect((await book(edge, 'REF-1', as('acme'))).status).toBe(200)
  await receiver.count(1)
  const [delivery] = receiver.received
  const headers = Object.fromEntries(
    Object.entries(delivery?.headers ?? {}).map(([name, text]) => [name, String(text)]),
  )
  expect(new Webhook(SIGNING).verify(delivery?.body ?? '', headers)).toMatchObject({
    Event: 'shipment.created',
    ReferenceNumber: 'REF-1',
    ShipmentNumber: expect.stringMatching(/^\S+$/),
    Status: 'new',
  })
  await expect.poll(async () => (await edge.store.listEvents({})).map(({ state }) => state)).toEqual(['delivered'])

  const canceled = await post(edge, '/deleteShipment.php', { ReferenceNumber: 'REF-1' }, as('acme'))
  expect(canceled.status).toBe(200)
  await receiver.count(2)
  expect(JSON.parse(receiver.received[1]?.body ?? '')).toMatchObject({
    Event: 'shipment.canceled',
    ReferenceNumber: 'REF-1',
    Status: 'canceled',
  })
  const said = JSON.stringify(edge.lines()) + (await (await fetch(`${edge.adminUrl}/metrics`)).text())
  for (const secret of [HOOK, SIGNING, SIGNING.slice('whsec_'.length), 'callback-key'])
    expect(said).not.toContain(secret)
  expect(said).toContain(
    'transload_delivery_tries_total{tenant=\\"acme\\",outcome=\\"delivered\\"}'.replaceAll('\\', ''),
  )
  expect(said).toMatch(/transload_delivery_seconds_count\{tenant="acme"\} 2/)
})

test('an event that tells no status has the one that the service shows, or none while it cannot be read', async () => {
  const receiver = await startReceiver()
  const edge = await openWithCallback(receiver.url)
  expect((await book(edge, 'REF-1', as('acme'))).status).toBe(200)
  await receiver.count(1)
  const update = (PickupName: string) =>
    post(edge, '/updateShipment.php', { ReferenceNumber: 'REF-1', PickupName }, as('acme'))
  expect((await update('Gate 2')).status).toBe(200)
  await receiver.count(2)
  const modified = { Event: 'shipment.modified', ReferenceNumber: 'REF-1', PickupName: 'Gate 2' }
  expect(JSON.parse(receiver.received[1]?.body ?? '')).toMatchObject({ ...modified, Status: 'new' })

  const put = edge.sandbox.next(({ method }) => method === 'PUT')
  void put.then(() => edge.sandbox.fail({ kind: 'status', status: 500, times: 'always', on: { method: 'GET' } }))
  expect((await update('Gate 3')).status).toBe(200)
  await receiver.count(3)
  const third = JSON.parse(receiver.received[2]?.body ?? '')
  expect(third).toMatchObject({ ...modified, PickupName: 'Gate 3' })
  expect(third).not.toHaveProperty('Status')
})

test('an endpoint that is added to the tenants file gets the events from then on', async () => {
  const receiver = await startReceiver()
  const edge = await openWithCallback(receiver.url, { callback_url: undefined, callback_secrets: undefined })
  await book(edge, 'REF-1', as('acme'))
  await expect.poll(async () => (await edge.store.listEvents({})).length).toBe(1)
  writeTenants(edge.path, withCallback(edge.place, receiver.url))
  edge.hangUp()
  await book(edge, 'REF-2', as('acme'))
  await receiver.count(1)
  expect(receiver.received[0]?.body).toContain('REF-2')
  const events = await edge.store.listEvents({})
  expect(events.map(({ state }) => state).toSorted()).toContain('recorded')
})

test('a callback without secrets is said at the start', async () => {
  const receiver = await startReceiver()
  const edge = await openWithCallback(receiver.url, { callback_secrets: [] })
  expect(edge.lines()).toContainEqual(expect.objectContaining({ level: 'warn', tenant: 'acme' }))
})

test('metrics tell of what is due and parked, and of endpoints that have stopped', async () => {
  const receiver = await startReceiver(replies(410))
  const edge = await openWithCallback(receiver.url)
  await book(edge, 'REF-1', as('acme'))
  await edge.logged(/stopped its deliveries/)
  const metrics = await (await fetch(`${edge.adminUrl}/metrics`)).text()
  expect(metrics).toContain('transload_delivery_stopped{tenant="acme"} 1')
  expect(metrics).toContain('transload_delivery_events{tenant="acme",state="due"} 1')
  expect(metrics).toMatch(/transload_delivery_oldest_seconds\{tenant="acme",state="due"\} \d/)
})

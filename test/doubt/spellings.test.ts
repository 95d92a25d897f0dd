import { describe, expect, test } from 'vitest'
import { book, expectBooked } from '../bookings/desk.ts'
import { deliver, RECEIVES } from '../events/deliver.ts'
import { basic, post, startGateway } from '../gateway.ts'
import { openSpelledService } from './spelled-service.ts'

/*
 * One thing in two spellings stays one thing: its key is freed by a read of the id that the booking holds, and what a version-2 path
 * means does not depend on its spelling (contract, section 7).
 */

async function open(reading: Parameters<typeof openSpelledService>[0] = {}) {
  const service = await openSpelledService(reading)
  const gateway = await startGateway({ env: RECEIVES, serviceUrl: service.url })
  return { service, gateway }
}

const send = ({ url }: { readonly url: string }, path: string, init: RequestInit) =>
  fetch(url + path, { headers: { authorization: basic(), 'content-type': 'application/json' }, ...init })

const QUOTE = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

describe('a live booking is not booked again', () => {
  test('after an event of a cancellation that spells its id in capitals', async () => {
    const { service, gateway } = await open({ isStrict: true })
    const id = expectBooked(await book(gateway))
    const event = { shipment_id: id.toUpperCase(), event: 'shipment.canceled', event_date: '2024-08-10T08:00:00+0000' }
    const before = service.requests.length
    expect((await deliver(gateway, event)).status).toBe(200)
    await expect.poll(() => service.requests.slice(before), { interval: 5 }).toEqual([`GET /v2/shipments/${id}`])
    expect(expectBooked(await book(gateway), true)).toBe(id)
    expect(service.live()).toHaveLength(1)
  })

  test('after a DELETE under /v2/ with its id in capitals, where the service accepts any', async () => {
    const { service, gateway } = await open({ isStrict: true, deletesAnything: true })
    const id = expectBooked(await book(gateway))
    const reply = await send(gateway, `/v2/shipments/${id.toUpperCase()}`, { method: 'DELETE' })
    expect(reply.status).toBe(204)
    expect(expectBooked(await book(gateway), true)).toBe(id)
    expect(service.live()).toHaveLength(1)
  })

  test('and a version-1 cancellation with its id in capitals cancels the booking’s own', async () => {
    const { service, gateway } = await open({ isStrict: true, deletesAnything: true })
    const id = expectBooked(await book(gateway))
    const canceled = await post(gateway, '/deleteShipment.php', { shipment_id: id.toUpperCase() })
    expect(canceled.json).toMatchObject({ TransportationBooked: 'No' })
    expect(service.live()).toEqual([])
    expect(expectBooked(await book(gateway))).not.toBe(id)
    expect(service.live()).toHaveLength(1)
  })
})

test.each([
  (id: string) => `/v2/shipments/${id.toUpperCase()}`,
  (id: string) => `/v2/Shipments/${id}`,
  (id: string) => `/v2/shipments;v=1/${id}`,
])('a DELETE that succeeds frees the key of its booking: %s', async (pathOf) => {
  const { service, gateway } = await open()
  const id = expectBooked(await book(gateway))
  expect((await send(gateway, pathOf(id), { method: 'DELETE' })).status).toBe(200)
  expect(expectBooked(await book(gateway))).not.toBe(id)
  expect(service.live()).toHaveLength(1)
})

test.each([
  (id: string) => `/v2/quote/${id.toUpperCase()}/approve`,
  (id: string) => `/v2/Quote/${id}/Approve`,
  (id: string) => `/v2/quote/${id}/approve;x=1`,
])('an approval makes the one shipment of its quote, however it is spelled: %s', async (pathOf) => {
  const { service, gateway } = await open()
  const quote = await post(gateway, '/getShippingQuote.php', QUOTE)
  const approved = await send(gateway, pathOf(quote.json.ShipmentNumber), { method: 'POST', body: '{}' })
  expect(approved.status).toBe(200)
  expectBooked(await book(gateway, { ReferenceNumber: quote.json.ShipmentNumber }))
  expect(service.live()).toHaveLength(1)
})

test('two updates at once, with the id in two spellings, are both made', async () => {
  const { service, gateway } = await open()
  const id = expectBooked(await book(gateway))
  const updates = await Promise.all([
    post(gateway, '/updateShipment.php', { shipment_id: id, PickupCity: 'Albany' }),
    post(gateway, '/updateShipment.php', { shipment_id: id.toUpperCase(), DeliveryCity: 'Miami' }),
  ])
  expect(updates.map(({ status }) => status)).toEqual([200, 200])
  expect(service.shipments.get(id)).toMatchObject({ pickup: { city: 'Albany' }, delivery: { city: 'Miami' } })
})

test.each(['../../oauth2/token', 'a/b', '..', 'a b', `${'a'.repeat(65)}`])(
  'an event about %j is refused, and the service is never asked for it',
  async (shipment_id) => {
    const { service, gateway } = await open()
    const event = { shipment_id, event: 'shipment.created', event_date: '2024-08-10T08:00:00+0000' }
    const before = service.requests.length
    expect((await deliver(gateway, event)).status).toBe(400)
    expect(service.requests.slice(before)).toEqual([])
  },
)

test('an approval that is repeated asks for the shipment of the first one once before it is sent, and once after it', async () => {
  const { service, gateway } = await open()
  const number = { ShipmentNumber: 'Q-7' }
  await post(gateway, '/getShippingQuote.php', { ...QUOTE, ...number })
  const approve = () => post(gateway, '/getShippingQuote.php', { ActionName: 'Approve Rate', ...number })
  expect((await approve()).json).toMatchObject({ TransportationBooked: 'Yes' })
  const [shipment] = service.live()
  await send(gateway, `/v2/shipments/${shipment?.['id']}`, { method: 'DELETE' })
  const before = service.requests.length
  expect((await approve()).status).toBe(200)
  const reads = service.requests.slice(before).filter((request) => request === `GET /v2/shipments/${shipment?.['id']}`)
  expect(reads).toHaveLength(2)
})

/** Promise: a number is never mistaken for another thing's, and one thing in two spellings is one thing (contract, sections 6 and 7). */

import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { ask, book, expectBooked, OTHER_VIN, shipments } from '../bookings/desk.ts'
import { deliver, EVENT, RECEIVES } from '../events/deliver.ts'
import { get, post, startGateway } from '../gateway.ts'

test("a service number that named an update is not mistaken for a caller's name", async () => {
  const gateway = await startGateway()
  // The number that the stand-in gives its first shipment.
  const number = 'TL-100001'
  const numbered = expectBooked(await book(gateway, { ReferenceNumber: 'REF-1' }))
  expect((await post(gateway, '/updateShipment.php', { number, VinNo: OTHER_VIN })).status).toBe(200)
  expectBooked(await book(gateway, { ReferenceNumber: number, VinNo: OTHER_VIN }))
  expect((await post(gateway, '/deleteShipment.php', { ReferenceNumber: number })).status).toBe(200)
  expect(shipments(gateway)).toMatchObject([{ id: numbered, status: 'new' }])
})

test.each([
  [200, { number: 'n-1' }],
  [200, { external_id: 'n-1' }],
  [502, { number: 'T-1' }],
])('the service is asked for a number, and answers with %i by a shipment of %o', async (status, own) => {
  const gateway = await startGateway()
  const body = { id: 's-1', status: 'new', ...own }
  gateway.sandbox.fail({ kind: 'status', status: 200, body, on: { method: 'GET' } })
  const read = () => get(gateway, '/getShipment.php?number=N-1')
  const answer = await read()
  expect(answer.status).toBe(status)
  if (status === 200) return
  const Message = expect.stringContaining('it shows another shipment')
  expect(answer.json).toEqual({ Message, TransportationBooked: 'Unknown' })
  // Nothing is recorded.
  expect((await read()).status).toBe(404)
})

test('a live booking is not booked again after an event, or a DELETE under /v2/, that spells its id in capitals', async () => {
  const gateway = await startGateway({ env: RECEIVES })
  const { sandbox } = gateway
  const id = expectBooked(await book(gateway))
  const capitals = id.toUpperCase()
  const read = sandbox.next(({ method }) => method === 'GET')
  const event = { ...EVENT, shipment_id: capitals, event: 'shipment.canceled' }
  expect((await deliver(gateway, event)).status).toBe(200)
  expect((await read).path).toBe(`/v2/shipments/${id}`)
  sandbox.fail({ kind: 'status', status: 204, on: { method: 'DELETE' } })
  expect((await ask(gateway, 'DELETE', `/v2/shipments/${capitals}`)).status).toBe(204)
  expect(expectBooked(await book(gateway), true)).toBe(id)
  // A version-1 cancellation in capitals cancels the booking's own.
  const canceled = await post(gateway, '/deleteShipment.php', { shipment_id: capitals })
  expect([canceled.json.TransportationBooked, shipments(gateway)]).toEqual(['No', []])
  expect(expectBooked(await book(gateway))).not.toBe(id)
})

test.each([
  (id: string) => `/v2/quote/${id.toUpperCase()}/approve`,
  (id: string) => `/v2/Quote/${id}/Approve`,
  (id: string) => `/v2/quote/${id};v=1/%2561pprove;x=1`,
  (id: string) => `/v2//quotes//${id.replaceAll('-', '%2D')}//approve/?x=1`,
])('an approval makes the one shipment of its quote, however it is spelled: %s', async (pathOf) => {
  const gateway = await startGateway()
  const { sandbox } = gateway
  await post(gateway, '/getShippingQuote.php', quoteExample)
  const [id = ''] = sandbox.quotes.keys()
  // A service that understands the spelling does this without saying much.
  await post(sandbox, `/v2/quote/${id}/approve`, '')
  sandbox.fail({ kind: 'status', status: 200, body: '{}', on: { method: 'POST' } })
  expect((await ask(gateway, 'POST', pathOf(id))).status).toBe(200)
  expectBooked(await book(gateway, { ReferenceNumber: quoteExample.ShipmentNumber }))
  expect(shipments(gateway).map((shipment) => shipment.id)).toEqual([id])
})

test('two updates at once, with the id in two spellings, are both made', async () => {
  const gateway = await startGateway()
  const id = expectBooked(await book(gateway))
  // Long enough for a second update to read what the first one is about to change.
  gateway.sandbox.fail({ kind: 'delay', ms: 5, times: 'always' })
  const updates = await Promise.all([
    post(gateway, '/updateShipment.php', { shipment_id: id, PickupCity: 'Albany' }),
    post(gateway, '/updateShipment.php', { shipment_id: id.toUpperCase(), DeliveryCity: 'Tampa' }),
  ])
  expect(updates.map(({ status }) => status)).toEqual([200, 200])
  expect(shipments(gateway)).toMatchObject([{ pickup: { city: 'Albany' }, delivery: { city: 'Tampa' } }])
})

test('an event without a plain id is parked, and the service is never asked for it', async () => {
  const gateway = await startGateway({ env: RECEIVES })
  for (const shipment_id of ['../../oauth2/token', 'a/b', '..', 'a b', 'a'.repeat(65)]) {
    expect((await deliver(gateway, { ...EVENT, shipment_id })).status).toBe(200)
  }
  expect(gateway.sandbox.requests).toEqual([])
})

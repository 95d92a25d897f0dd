import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { IDS_IN_APPROVAL_OF } from '../../src/store/pruning.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import { claimOf, creations, shipments } from '../bookings/desk.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'
import type { Sandbox } from '../stand-in/stand-in.ts'

/*
 * The reply to an approval names another id than the quote's. If that is the id of the shipment that the approval made, a later
 * booking or approval of the quote must not make a second one.
 */

const NUMBER = quoteExample.ShipmentNumber
const VIN = bookingExample.VinNo

const approve = (gateway: TestGateway) =>
  post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: NUMBER })
const book = (gateway: TestGateway, changes: object = {}) =>
  post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: NUMBER, ...changes })
const approvals = ({ sandbox }: TestGateway) => sandbox.requests.filter(({ path }) => path.endsWith('/approve')).length

/** Makes a shipment at the service, as an approval does that gives it an id of its own. */
async function make(sandbox: Sandbox, more: object = {}): Promise<string> {
  const { ok } = await fetch(`${sandbox.url}/v2/shipments`, {
    method: 'POST',
    headers: { authorization: basic(), 'content-type': 'application/json' },
    body: JSON.stringify({ customer: { customer_name: 'Pat' }, pickup: { city: 'Miami' }, vehicles: [{}], ...more }),
  })
  expect(ok).toBe(true)
  sandbox.requests.length = 0
  return [...sandbox.shipments.keys()].at(-1) ?? ''
}

/** Opens a gateway whose service has answered the approval of a quote by naming another shipment. */
async function approvedElsewhere(reply: (id: string) => object = (id) => ({ id, status: 'new' }), more: object = {}) {
  const gateway = await startGateway({ sandbox: { approvalBooks: false } })
  await post(gateway, '/getShippingQuote.php', quoteExample)
  const id = await make(gateway.sandbox, more)
  gateway.sandbox.fail({ kind: 'body', body: JSON.stringify(reply(id)), on: { path: '/v2/quote/*' } })
  const { status } = await approve(gateway)
  gateway.sandbox.requests.length = 0
  return { gateway, id, status }
}

test.each([
  ['as its id', (id: string) => ({ id, status: 'new' }), 502],
  ['as the shipment_id', (id: string) => ({ shipment_id: id }), 502],
  ['beside an id of its own', (id: string) => ({ id: 'approval-7', shipment_id: id }), 502],
  ['in a denial', (id: string) => ({ success: false, id }), 502],
  ['in data', (id: string) => ({ data: { id } }), 200],
  ['in a shipment', (id: string) => ({ shipment: { id } }), 200],
])('a shipment that an approval named %s takes the booking, and no second one is made', async (_, reply, answered) => {
  const { gateway, id, status } = await approvedElsewhere(reply)
  expect(status).toBe(answered)
  const { json } = await book(gateway)
  expect(json).toMatchObject({ TransportationBooked: 'Yes' })
  expect(creations(gateway)).toBe(0)
  expect(shipments(gateway)).toMatchObject([{ id, external_id: NUMBER, vehicles: [{ vin: VIN }] }])
  const { json: shown } = await get(gateway, `/getShipment.php?ReferenceNumber=${NUMBER}`)
  expect(shown).toMatchObject({ VinNo: VIN, ReferenceNumber: NUMBER })
  expect((await post(gateway, '/deleteShipment.php', { ReferenceNumber: NUMBER })).status).toBe(200)
  expect(shipments(gateway)).toEqual([])
})

test('the answer says that the approval may have been made, even if the store cannot keep the id', async () => {
  const store = createMemoryStore()
  const put: Store['put'] = async (write) => {
    if (write.thing?.id.startsWith(IDS_IN_APPROVAL_OF)) throw new StoreDown('full')
    return store.put(write)
  }
  const gateway = await startGateway({ sandbox: { approvalBooks: false }, store: { ...store, put } })
  await post(gateway, '/getShippingQuote.php', quoteExample)
  const id = await make(gateway.sandbox)
  gateway.sandbox.fail({ kind: 'body', body: JSON.stringify({ id, status: 'new' }), on: { path: '/v2/quote/*' } })
  const { status, json } = await approve(gateway)
  expect([status, json.Message]).toEqual([502, expect.stringContaining('may have been made')])
})

test('a second approval is answered from that shipment, which the number then means', async () => {
  const { gateway, id } = await approvedElsewhere()
  const again = await approve(gateway)
  expect(again.json).toMatchObject({ Message: expect.stringContaining('booked already'), TransportationBooked: 'Yes' })
  expect(again.headers.get('transload-shipment-id')).toBe(id)
  expect(approvals(gateway)).toBe(0)
  expect((await post(gateway, '/deleteShipment.php', { ShipmentNumber: NUMBER })).status).toBe(200)
  expect(gateway.sandbox.shipments.get(id)?.status).toBe('canceled')
  // Now that it is gone, the quote can be approved.
  await approve(gateway)
  expect(approvals(gateway)).toBe(1)
})

test('while the service does not say what that shipment is, nothing is sent', async () => {
  const { gateway, id } = await approvedElsewhere()
  gateway.sandbox.fail({ kind: 'status', status: 500, on: { path: `/v2/shipments/${id}` }, times: 'always' })
  expect(await book(gateway)).toMatchObject({ status: 503, json: { TransportationBooked: 'No' } })
  expect((await claimOf(gateway, NUMBER)).state).toBe('freed')
  expect((await approve(gateway)).status).toBe(502)
  expect([creations(gateway), approvals(gateway)]).toEqual([0, 0])
  gateway.sandbox.clearFaults()
  expect((await book(gateway)).json).toMatchObject({ TransportationBooked: 'Yes' })
  expect(shipments(gateway)).toMatchObject([{ id }])
})

test.each([
  ['reference', { external_id: 'SOMEBODY-ELSES' }, [503, 502]],
  ['VIN', { vehicles: [{ vin: '1HGCM82633A004352' }] }, [503, 200]],
])('a shipment of another %s is not changed, and nothing is sent', async (_, more, statuses) => {
  const { gateway, id } = await approvedElsewhere(undefined, more)
  const before = structuredClone(gateway.sandbox.shipments.get(id))
  expect([(await book(gateway)).status, (await approve(gateway)).status]).toEqual(statuses)
  expect([creations(gateway), approvals(gateway)]).toEqual([0, 0])
  expect(gateway.sandbox.shipments.get(id)).toEqual(before)
})

test('a second vehicle is a booking of its own; a canceled shipment is none', async () => {
  const { gateway, id } = await approvedElsewhere(undefined, { external_id: NUMBER })
  const { json } = await book(gateway)
  expect(json).toMatchObject({ TransportationBooked: 'Yes' })
  expect(creations(gateway)).toBe(0)
  expect((await book(gateway, { VinNo: '1HGCM82633A004352' })).json).toMatchObject({ TransportationBooked: 'Yes' })
  expect(creations(gateway)).toBe(1)
  expect(shipments(gateway).map(({ vehicles }) => vehicles.length)).toEqual([1, 1])
  expect(gateway.sandbox.shipments.get(id)).toMatchObject({ vehicles: [{ vin: VIN }] })

  const other = await approvedElsewhere()
  await fetch(`${other.gateway.sandbox.url}/v2/shipments/${other.id}`, {
    method: 'DELETE',
    headers: { authorization: basic() },
  })
  expect((await book(other.gateway)).json).toMatchObject({ TransportationBooked: 'Yes' })
  expect(creations(other.gateway)).toBe(1)
})

test('the shipment of another booking stays as it is, and the quote is booked', async () => {
  const gateway = await startGateway({ sandbox: { approvalBooks: false } })
  await post(gateway, '/getShippingQuote.php', quoteExample)
  await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: 'OTHER' })
  const [other] = shipments(gateway)
  gateway.sandbox.fail({ kind: 'body', body: JSON.stringify({ id: other?.id }), on: { path: '/v2/quote/*' } })
  expect((await approve(gateway)).status).toBe(502)
  expect((await book(gateway)).json).toMatchObject({ TransportationBooked: 'Yes' })
  expect(shipments(gateway)).toMatchObject([other, { external_id: NUMBER }])
})

test('a shipment that an approval under /v2/ named takes the booking, and its reply is passed on unchanged', async () => {
  for (const body of [
    (id: string) => JSON.stringify({ id, note: 'x' }),
    (id: string) => `{"shipment_id":"${id}" }\n`,
  ]) {
    const gateway = await startGateway({ sandbox: { approvalBooks: false } })
    await post(gateway, '/getShippingQuote.php', quoteExample)
    const [quote] = gateway.sandbox.quotes.keys()
    const id = await make(gateway.sandbox)
    gateway.sandbox.fail({ kind: 'body', body: body(id), on: { path: '/v2/quote/*' } })
    expect((await post(gateway, `/v2/quote/${quote}/approve`, '{}')).text).toBe(body(id))
    expect((await book(gateway)).json).toMatchObject({ TransportationBooked: 'Yes' })
    expect(shipments(gateway)).toMatchObject([{ id, external_id: NUMBER }])
  }
})

test.each(['OK', ''])('an approval under /v2/ that names nothing (%j) is passed on', async (body) => {
  const gateway = await startGateway({ sandbox: { approvalBooks: false } })
  await post(gateway, '/getShippingQuote.php', quoteExample)
  const [quote] = gateway.sandbox.quotes.keys()
  gateway.sandbox.fail({ kind: 'body', body, on: { path: '/v2/quote/*' } })
  const request = { method: 'POST', body: '{}', headers: { authorization: basic() } }
  const answer = await fetch(`${gateway.url}/v2/quote/${quote}/approve`, request)
  expect([answer.status, await answer.text()]).toEqual([200, body])
  expect((await book(gateway)).json).toMatchObject({ TransportationBooked: 'Yes' })
  expect(creations(gateway)).toBe(1)
})

/** Promise: a quote that is booked already is answered from its booking (contract, section 3). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { CLIENT, post, startGateway, type TestGateway } from '../gateway.ts'

const QUOTE = '/getShippingQuote.php'
const NUMBER = quoteExample.ShipmentNumber
const VINS = [bookingExample.VinNo, '1HGCM82633A004352']

/** Books under the number of the quote, and returns the service's number of the shipment. */
async function book(gateway: TestGateway, VinNo: string) {
  const { headers } = await post(gateway, '/createShipment.php', {
    ...bookingExample,
    ReferenceNumber: NUMBER,
    VinNo,
  })
  return headers.get('transload-shipment-number') ?? expect.fail('not booked')
}

const cancel = (gateway: TestGateway, VinNo: string) =>
  post(gateway, '/deleteShipment.php', { ReferenceNumber: NUMBER, VinNo })

const approve = (gateway: TestGateway) => post(gateway, QUOTE, { ActionName: 'Accept Rate', ShipmentNumber: NUMBER })

/** The paths of the last call at the service. */
function paths(gateway: TestGateway): string[] {
  return gateway.sandbox.requests.splice(0).map(({ path }) => path)
}

test('a quote of which several vehicles are booked is answered with the newest that is not canceled', async () => {
  const gateway = await startGateway()
  await post(gateway, QUOTE, quoteExample)
  const [older = '', newer = ''] = [await book(gateway, VINS[0] ?? ''), await book(gateway, VINS[1] ?? '')]
  expect((await approve(gateway)).json.Message).toContain(`as shipment ${newer};`)
  await cancel(gateway, VINS[1] ?? '')
  expect((await approve(gateway)).json.Message).toContain(`as shipment ${older};`)
  await cancel(gateway, VINS[0] ?? '')
  paths(gateway)
  expect((await approve(gateway)).json).toMatchObject({ TransportationBooked: 'Yes' })
  expect(paths(gateway).at(-1)).toMatch(/^\/v2\/quote\/.*\/approve$/)
})

test('of the shipments of one name, the newest ten are read before a quote is approved', async () => {
  const gateway = await startGateway({ env: { V2_SHIPMENT_PATH: '/v2/shipments' } })
  await post(gateway, QUOTE, quoteExample)
  const ids = Array.from({ length: 12 }, (_, i) => `gone-${i}`)
  for (const [at, id] of ids.entries()) {
    await gateway.store.put({
      names: [{ tenant: CLIENT.id, kind: 'shipment', name: NUMBER, id, at, givenBy: 'caller' }],
    })
  }
  paths(gateway)
  expect((await approve(gateway)).status).toBe(200)
  const [approval, ...reads] = paths(gateway).reverse()
  expect(reads.reverse()).toEqual(
    ids
      .slice(-10)
      .reverse()
      .map((id) => `/v2/shipments/${id}`),
  )
  expect(approval).toMatch(/^\/v2\/quote\/.*\/approve$/)
})

test.each([
  ['approved', 'booked', (id: string) => id.toUpperCase(), (id: string) => id],
  ['booked', 'approved', (id: string) => id, (id: string) => id.toUpperCase()],
])('a quote that is %s by its id in capitals, and %s as it was given, is one shipment', async (_a, _b, one, other) => {
  const gateway = await startGateway()
  const { ShipmentNumber: _, OrderRefNumber: __, ...unnamed } = quoteExample
  const id = String((await post(gateway, QUOTE, unnamed)).json['ShipmentNumber'])
  const approved = await post(gateway, QUOTE, { ActionName: 'Approve Rate', ShipmentNumber: one(id) })
  expect(approved.json).toMatchObject({ TransportationBooked: 'Yes' })
  const { headers } = await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: other(id) })
  expect(headers.get('transload-shipment-id')).toBe(id)
})

test.each([
  ['Update Rate', 'PUT'],
  ['Approve Rate', 'POST'],
])(
  "the service's number of a quote answers %s, where the caller has none and the reply leaves it out",
  async (ActionName, method) => {
    const gateway = await startGateway({ sandbox: { approvalBooks: false } })
    const { json } = await post(gateway, QUOTE, { ...quoteExample, ShipmentNumber: '' })
    const [id] = gateway.sandbox.quotes.keys()
    expect(json.ShipmentNumber).toBe(id)
    for (const body of ['', '{"price":5}', '{"shipment_id":null}']) {
      gateway.sandbox.fail({ kind: 'body', body, on: { method } })
      const answer = await post(gateway, QUOTE, { ActionName, OrderRefNumber: quoteExample.OrderRefNumber })
      expect(answer).toMatchObject({ status: 200, json: { ShipmentNumber: id } })
    }
  },
)

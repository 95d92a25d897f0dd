/** Promise: of several shipments of one reference the right one is found, or the caller is asked (contract, section 6). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { CLIENT, get, post, startGateway, type TestGateway } from '../gateway.ts'

const REFERENCE = bookingExample.ReferenceNumber
const BY_ID = '/v2/shipments/'

const open = () => startGateway({ env: { V2_SHIPMENT_PATH: '/v2/shipments' } })
const cancel = (gateway: TestGateway) => post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })
const sent = ({ sandbox }: TestGateway) => sandbox.requests.splice(0).map(({ method, path }) => `${method} ${path}`)

/** Books, and puts so many newer shipments under the same reference that the service does not know. */
async function bookAmongGone(gateway: TestGateway, others: number) {
  const { headers } = await post(gateway, '/createShipment.php', bookingExample)
  const ids = Array.from({ length: others }, (_, i) => `gone-${i}`)
  for (const [i, id] of ids.entries()) {
    const at = gateway.store.now() + i
    await gateway.store.put({
      names: [{ tenant: CLIENT.id, kind: 'shipment', name: REFERENCE, id, at, givenBy: 'caller' }],
    })
  }
  sent(gateway)
  return { id: headers.get('transload-shipment-id') ?? expect.fail('not booked') }
}

describe('several shipments of one reference', () => {
  test('are read until one of them stands', async () => {
    const gateway = await open()
    const { id } = await bookAmongGone(gateway, 12)
    expect((await cancel(gateway)).status).toBe(200)
    const requests = sent(gateway)
    expect(requests.filter((request) => request.startsWith(`GET ${BY_ID}gone-`))).toHaveLength(12)
    expect(requests).toContain(`DELETE ${BY_ID}${id}`)
  })

  test('that stand are listed; ten of them are read', async () => {
    const gateway = await open()
    const vins = Array.from({ length: 11 }, (_, i) => `VIN${i + 10}`)
    for (const VinNo of vins) await post(gateway, '/createShipment.php', { ...bookingExample, VinNo })
    sent(gateway)
    const { status, json } = await cancel(gateway)
    expect(status).toBe(409)
    expect(vins.filter((vin) => !json.Message.includes(vin))).toEqual([])
    expect(sent(gateway)).toHaveLength(10)
  })
})

test.each([401, 403])(
  'several shipments of one reference are not listed to a credential that is answered %i',
  async (status) => {
    const gateway = await open()
    await bookAmongGone(gateway, 3)
    gateway.sandbox.fail({ kind: 'status', status, times: 'always' })
    const answer = await cancel(gateway)
    expect(answer.status).toBe(status)
    expect(answer.text).not.toContain(bookingExample.VinNo)
  },
)

describe('a name that the cross-reference does not have', () => {
  const read = (gateway: TestGateway) => get(gateway, '/getShipment.php?ReferenceNumber=NONE&number=OTHER')

  test.each([400, 404, 405, 410, 422])(
    'is unknown to a service that answers %i, and the next name is tried',
    async (status) => {
      const gateway = await open()
      gateway.sandbox.fail({ kind: 'status', status, times: 2 })
      const answer = await read(gateway)
      expect(answer.status).toBe(404)
      expect(answer.json.Message).toContain('ReferenceNumber NONE or number OTHER')
      expect(sent(gateway)).toEqual([`GET ${BY_ID}NONE`, `GET ${BY_ID}OTHER`])
    },
  )

  test.each([401, 403, 409, 418])('may be known to a service that answers %i, which is the answer', async (status) => {
    const gateway = await open()
    gateway.sandbox.fail({ kind: 'status', status, times: 1 })
    expect((await read(gateway)).status).toBe(status)
    expect(sent(gateway)).toEqual([`GET ${BY_ID}NONE`])
  })
})

test('a message that repeats a value which nobody knows stays one line of 500 characters', async () => {
  const gateway = await startGateway({ sandbox: { approvalBooks: false } })
  const QUOTE = '/getShippingQuote.php'
  const OrderRefNumber = `a\nb\u2028c\u001b[31m${'x'.repeat(3000)}`
  const [ofQuote, ofShipment] = [
    { ShipmentNumber: 'S-1', OrderRefNumber },
    { ReferenceNumber: REFERENCE, OrderRefNumber, shipment_id: 'y'.repeat(600), number: 'z'.repeat(600), id: '?' },
  ]
  await post(gateway, QUOTE, { ...quoteExample, ShipmentNumber: 'S-1', OrderRefNumber: '' })
  await post(gateway, '/createShipment.php', bookingExample)
  for (const answer of [
    await post(gateway, QUOTE, { ActionName: 'Update Rate', ...ofQuote }),
    await post(gateway, QUOTE, { ActionName: 'Approve Rate', ...ofQuote }),
    await get(gateway, `/getShipment.php?${new URLSearchParams(ofShipment)}`),
    await post(gateway, '/updateShipment.php', { ...ofShipment, PickupName: 'Robin' }),
    await post(gateway, '/deleteShipment.php', ofShipment),
  ]) {
    expect(answer.status).toBe(200)
    expect(answer.json.Message).toMatch(/Not known, and ignored: OrderRefNumber a b c/)
    expect(answer.json.Message).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]{10,500}$/u)
  }
})

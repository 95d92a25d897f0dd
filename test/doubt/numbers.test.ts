/** Promise: a number is never taken for another thing's (contract, section 6). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { ask, book, expectBooked, OTHER_VIN } from '../bookings/desk.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'

/*
 * Promise: where the service gives a shipment the number by which a caller knows another one, the caller's own name comes first
 * (contract, section 6).
 */

/** The stand-in numbers shipments from here. */
const FIRST = 'TL-100001'
const SECOND = 'TL-100002'

const statusOf = ({ sandbox }: TestGateway, ...ids: string[]) => ids.map((id) => sandbox.shipments.get(id)?.status)
const cancel = (gateway: TestGateway, name: object) => post(gateway, '/deleteShipment.php', name)
const read = (gateway: TestGateway, name: Record<string, string>) =>
  get(gateway, `/getShipment.php?${new URLSearchParams(name)}`)

describe.each(['numbered first', 'named first'])('a reference that is a number of the service, %s', (order) => {
  /** Two bookings of one VIN; the reference of one is the number that the service gives the other. */
  async function openConfusing() {
    const gateway = await startGateway()
    const isFirst = order === 'numbered first'
    const name = isFirst ? FIRST : SECOND
    const made: string[] = []
    for (const ReferenceNumber of isFirst ? ['REF-1', name] : [name, 'REF-1']) {
      made.push(expectBooked(await book(gateway, { ReferenceNumber })))
    }
    const [numbered = '', named = ''] = isFirst ? made : made.toReversed()
    expect(gateway.sandbox.shipments.get(numbered)?.number).toBe(name)
    return { gateway, numbered, named, name }
  }

  test('reads, changes and cancels the booking of that reference', async () => {
    const { gateway, numbered, named, name } = await openConfusing()
    for (const field of ['ReferenceNumber', 'ShipmentNumber', 'number']) {
      expect((await read(gateway, { [field]: name })).json.ReferenceNumber).toBe(name)
    }
    await post(gateway, '/updateShipment.php', { ReferenceNumber: name, PickupName: 'Gate 9' })
    expect(gateway.sandbox.shipments.get(named)?.pickup.contact_name).toBe('Gate 9')
    expect(gateway.sandbox.shipments.get(numbered)?.pickup.contact_name).toBe('Example Motors')
    // Again, it is the same one.
    for (const VinNo of ['', bookingExample.VinNo]) {
      expect((await cancel(gateway, { ReferenceNumber: name, VinNo })).status).toBe(200)
      expect(statusOf(gateway, named, numbered)).toEqual(['canceled', 'new'])
    }
    // Beside a number of the service that means another shipment, it means neither.
    const ShipmentNumber = gateway.sandbox.shipments.get(named)?.number ?? ''
    expect((await cancel(gateway, { ShipmentNumber, ReferenceNumber: 'REF-1' })).status).toBe(409)
    expect(statusOf(gateway, numbered)).toEqual(['new'])
  })

  test('keeps its key when the other is canceled under /v2/ by its number', async () => {
    const { gateway, numbered, named, name } = await openConfusing()
    gateway.sandbox.fail({ kind: 'status', status: 204, body: '', on: { method: 'DELETE' } })
    const shipment = gateway.sandbox.shipments.get(numbered)
    if (shipment) shipment.status = 'canceled'
    await ask(gateway, 'DELETE', `/v2/shipments/${name}`)
    expect(expectBooked(await book(gateway, { ReferenceNumber: name }), true)).toBe(named)
    expect(expectBooked(await book(gateway, { ReferenceNumber: 'REF-1' }))).not.toBe(numbered)
  })
})

test('a number of the service names its shipment where the caller has called nothing so; a quote’s number never does', async () => {
  const gateway = await startGateway()
  const id = expectBooked(await book(gateway))
  for (const field of ['number', 'ReferenceNumber', 'ShipmentNumber']) {
    expect((await read(gateway, { [field]: FIRST })).json.ReferenceNumber).toBe(bookingExample.ReferenceNumber)
  }
  const ShipmentNumber = FIRST
  await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber, OrderRefNumber: '' })
  expect((await cancel(gateway, { ShipmentNumber })).status).toBe(404)
  // Approved, it is a separate shipment.
  await post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber })
  expect((await cancel(gateway, { ShipmentNumber })).status).toBe(200)
  expect(statusOf(gateway, id)).toEqual(['new'])
})

test('a number of the service that named an update is not taken for a name of the caller', async () => {
  const gateway = await startGateway()
  const numbered = expectBooked(await book(gateway, { ReferenceNumber: 'REF-1' }))
  expect((await post(gateway, '/updateShipment.php', { number: FIRST, VinNo: OTHER_VIN })).status).toBe(200)
  const named = expectBooked(await book(gateway, { ReferenceNumber: FIRST, VinNo: OTHER_VIN }))
  expect((await cancel(gateway, { ReferenceNumber: FIRST })).status).toBe(200)
  expect(statusOf(gateway, named, numbered)).toEqual(['canceled', 'new'])
})

test.each<[number, object]>([
  [200, { id: 'abc-1', status: 'new' }],
  [200, { id: 's-1', number: 'abc-1' }],
  [200, { id: 's-1', status: 'new', external_id: 'Abc-1' }],
  [502, { id: 's-1', number: 'ABC-2', external_id: 'ABC-3', status: 'new' }],
  [502, { number: 'ABC-1', status: 'new' }],
])('a name that the service is asked for is, with %i, the one of %o', async (status, body) => {
  const gateway = await startGateway()
  gateway.sandbox.fail({ kind: 'status', status: 200, body, on: { method: 'GET' } })
  const answer = await read(gateway, { number: 'ABC-1' })
  expect(answer.status).toBe(status)
  if (status === 200) return
  const message = expect.stringMatching(/does not match the request/)
  expect(answer.json).toEqual({ Message: message, TransportationBooked: 'Unknown' })
  // Nothing is recorded.
  expect((await read(gateway, { number: 'ABC-1' })).status).toBe(404)
  expect(gateway.sandbox.requests.map(({ path }) => path)).not.toContain('/v2/shipments/s-1')
})

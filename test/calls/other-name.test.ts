/** Promise: a booking is found by the other number of its quote (contract, section 6). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { creations, expectBooked, shipments } from '../bookings/desk.ts'
import { CLIENT, get, post, startGateway, type TestGateway } from '../gateway.ts'

/*
 * A quote has two numbers of the caller: `ShipmentNumber` and `OrderRefNumber`. What is booked under one is found under the other.
 */

const { ShipmentNumber: NUMBER, OrderRefNumber: ORDER } = quoteExample

const quote = (gateway: TestGateway, changes: object = {}) =>
  post(gateway, '/getShippingQuote.php', { ...quoteExample, ...changes })
const book = (gateway: TestGateway, changes: object = {}) =>
  post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: NUMBER, ...changes })
const read = (gateway: TestGateway, names: Record<string, string>) =>
  get(gateway, `/getShipment.php?${new URLSearchParams(names)}`)

describe('a booking under the number of its quote', () => {
  test('is read, updated and canceled by the other number', async () => {
    const gateway = await startGateway()
    await quote(gateway)
    const id = expectBooked(await book(gateway))
    const { json } = await read(gateway, { OrderRefNumber: ORDER })
    expect(json).toMatchObject({ ShipmentNumber: NUMBER, ReferenceNumber: NUMBER, VinNo: bookingExample.VinNo })
    const change = { OrderRefNumber: ORDER, PickupName: 'Gate 3' }
    expect((await post(gateway, '/updateShipment.php', change)).status).toBe(200)
    expect(gateway.sandbox.shipments.get(id)?.pickup.contact_name).toBe('Gate 3')
    expect((await post(gateway, '/deleteShipment.php', { OrderRefNumber: ORDER })).status).toBe(200)
    expect(shipments(gateway)).toEqual([])
    expectBooked(await book(gateway))
  })

  test('does not get the other number as a name: the next quote with it can be approved and booked', async () => {
    const gateway = await startGateway({ sandbox: { approvalBooks: false } })
    await quote(gateway)
    expectBooked(await book(gateway))
    await post(gateway, '/updateShipment.php', { OrderRefNumber: ORDER, PickupName: 'Gate 3' })
    await quote(gateway, { ShipmentNumber: 'NEXT' })
    const names = { ShipmentNumber: 'NEXT', OrderRefNumber: ORDER }
    const { json } = await post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ...names })
    expect(json.Message).not.toMatch(/booked already/)
    expect((await read(gateway, { OrderRefNumber: ORDER })).status).toBe(404)
    expectBooked(await book(gateway, { ReferenceNumber: 'NEXT' }))
    expect((await read(gateway, { OrderRefNumber: ORDER })).json.ReferenceNumber).toBe('NEXT')
    expect(creations(gateway)).toBe(2)
  })

  test('is chosen by its VIN among several, also where some are canceled', async () => {
    const gateway = await startGateway()
    await quote(gateway)
    const [one, two] = [bookingExample.VinNo, '1HGCM82633A004352']
    for (const VinNo of [one, two]) expectBooked(await book(gateway, { VinNo }))
    const cancel = (names: object) => post(gateway, '/deleteShipment.php', { OrderRefNumber: ORDER, ...names })
    const { status, json } = await cancel({})
    expect([status, json.Message]).toEqual([409, expect.stringContaining(two)])
    expect((await cancel({ VinNo: one })).status).toBe(200)
    expect((await cancel({})).status).toBe(200)
    expect(shipments(gateway)).toEqual([])
    // The canceled ones have not taken the number.
    await quote(gateway, { ShipmentNumber: 'NEXT' })
    expect((await read(gateway, { OrderRefNumber: ORDER })).status).toBe(404)
  })

  test('is found where the quote has no number but its id', async () => {
    const gateway = await startGateway()
    const { json } = await quote(gateway, { ShipmentNumber: '' })
    const id = expectBooked(await book(gateway, { ReferenceNumber: json.ShipmentNumber }))
    expect((await read(gateway, { OrderRefNumber: ORDER })).json.ReferenceNumber).toBe(json.ShipmentNumber)
    expect(gateway.sandbox.requests.at(-1)?.path).toBe(`/v2/shipments/${id}`)
  })
})

describe('a shipment that an approval made', () => {
  const approve = (gateway: TestGateway, names: object) =>
    post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ...names })

  test.each([{ ShipmentNumber: NUMBER }, { OrderRefNumber: ORDER }])(
    'by %j leaves the other number to the next quote: that is approved, too, and each number finds its own',
    async (names) => {
      const gateway = await startGateway()
      await quote(gateway)
      const first = (await approve(gateway, names)).headers.get('transload-shipment-id')
      expect((await read(gateway, { OrderRefNumber: ORDER })).json.ShipmentNumber).toBe(NUMBER)
      await quote(gateway, { ShipmentNumber: 'NEXT' })
      const { json, headers } = await approve(gateway, { ShipmentNumber: 'NEXT' })
      expect(json.Message).not.toMatch(/booked already/)
      expect(headers.get('transload-shipment-id')).not.toBe(first)
      expect(shipments(gateway)).toHaveLength(2)
      expect((await read(gateway, { OrderRefNumber: ORDER })).json.ShipmentNumber).toBe('NEXT')
      expect((await read(gateway, { ShipmentNumber: NUMBER })).json.ShipmentNumber).toBe(NUMBER)
      expect((await approve(gateway, { ShipmentNumber: NUMBER })).json.Message).toMatch(/booked already/)
    },
  )

  test('keeps the only number of its quote, which a later quote cannot approve again', async () => {
    const gateway = await startGateway()
    for (const says of [/is approved and/, /booked already/]) {
      await quote(gateway, { ShipmentNumber: '' })
      expect((await approve(gateway, { OrderRefNumber: ORDER })).json.Message).toMatch(says)
    }
    expect(shipments(gateway)).toHaveLength(1)
  })
})

test.each(['Update Rate', 'Approve Rate'])(
  'the order of several quotes, beside the number of an older one, means that one to %s',
  async (ActionName) => {
    const gateway = await startGateway()
    for (const ShipmentNumber of [NUMBER, 'NEXT', 'LAST']) await quote(gateway, { ShipmentNumber })
    await quote(gateway, { ShipmentNumber: 'OTHER', OrderRefNumber: 'OTHER-ORDER' })
    const [older] = gateway.sandbox.quotes.keys()
    const call = (names: object) => post(gateway, '/getShippingQuote.php', { ActionName, ...names })
    expect((await call({ ShipmentNumber: 'OTHER', OrderRefNumber: ORDER })).status).toBe(409)
    const { status, json } = await call({ ShipmentNumber: NUMBER, OrderRefNumber: ORDER })
    expect([status, json.ShipmentNumber]).toEqual([200, NUMBER])
    const sent = gateway.sandbox.requests.findLast(({ method, path }) => method !== 'GET' && path !== '/v2/quote')
    expect(sent?.path).toMatch(new RegExp(`^/v2/quote/${older}`))
    // Alone, it still means the newest.
    expect((await call({ OrderRefNumber: ORDER })).json.ShipmentNumber).toBe('LAST')
  },
)

test.each(['approved', 'booked', 'booked by its id'])(
  '… and means the shipment that was %s from it, to every call',
  async (how) => {
    const gateway = await startGateway()
    for (const ShipmentNumber of [NUMBER, 'NEXT']) await quote(gateway, { ShipmentNumber })
    const names = { ShipmentNumber: NUMBER, OrderRefNumber: ORDER }
    const [older = ''] = gateway.sandbox.quotes.keys()
    const made =
      how !== 'approved'
        ? await book(gateway, how === 'booked' ? {} : { ReferenceNumber: older })
        : await post(gateway, '/getShippingQuote.php', { ActionName: 'Approve Rate', ...names })
    expect(made.json.TransportationBooked).toBe('Yes')
    const { json } = await read(gateway, names)
    expect([json.ShipmentNumber, json.Message]).toEqual([NUMBER, expect.not.stringContaining('2 shipments')])
    expect((await post(gateway, '/updateShipment.php', { ...names, PickupName: 'Gate 3' })).status).toBe(200)
    expect((await post(gateway, '/deleteShipment.php', names)).status).toBe(200)
    expect(shipments(gateway)).toEqual([])
  },
)

test('an approval of an order is answered from the booking of its own quote, not from that of a newer one', async () => {
  const gateway = await startGateway()
  await quote(gateway)
  const id = expectBooked(await book(gateway, { ReferenceNumber: ORDER }))
  await quote(gateway, { OrderRefNumber: '' })
  const approve = (names: object) => post(gateway, '/getShippingQuote.php', { ActionName: 'Approve Rate', ...names })
  expect((await approve({ ShipmentNumber: NUMBER })).headers.get('transload-shipment-id')).not.toBe(id)
  expect((await approve({ OrderRefNumber: ORDER })).headers.get('transload-shipment-id')).toBe(id)
})

test('a booking by an order is not merged into the shipment of a newer quote of the other number', async () => {
  const gateway = await startGateway()
  await quote(gateway)
  await quote(gateway, { OrderRefNumber: '' })
  await post(gateway, '/getShippingQuote.php', { ActionName: 'Approve Rate', ShipmentNumber: NUMBER })
  expectBooked(await book(gateway, { ReferenceNumber: ORDER }))
  expect(shipments(gateway)).toHaveLength(2)
})

describe('a number that nobody knows, beside one of a quote', () => {
  const call = (gateway: TestGateway, ActionName: string, names: Record<string, string>) =>
    post(gateway, '/getShippingQuote.php', { ActionName, ...names })

  test.each(['Update Rate', 'Approve Rate'])(
    'is ignored by %s: it is neither answered nor a name from then on',
    async (action) => {
      const gateway = await startGateway()
      await quote(gateway)
      const byOrder = await call(gateway, action, { ShipmentNumber: 'NEW-1', OrderRefNumber: ORDER })
      expect(byOrder).toMatchObject({ status: 200, json: { ShipmentNumber: NUMBER } })
      expect(byOrder.json.Message).toContain('Not known, and ignored: ShipmentNumber NEW-1.')
      const byNumber = await call(gateway, action, { ShipmentNumber: NUMBER, OrderRefNumber: 'NEW-2' })
      expect(byNumber.json.Message).toContain('Not known, and ignored: OrderRefNumber NEW-2.')
      for (const name of [{ ShipmentNumber: 'NEW-1' }, { OrderRefNumber: 'NEW-2' }])
        expect((await call(gateway, 'Approve Rate', name)).status).toBe(404)
    },
  )
})

/** A name in the cross-reference. */
interface KnownNumber {
  readonly name: string
  readonly id: string
  readonly kind?: 'quote' | 'shipment'
  readonly givenBy?: 'caller' | 'service'
  /** The quote that the shipment was booked from. */
  readonly quote?: string
}

describe('the shipment of the other number of a quote', () => {
  const OF_QUOTE: readonly KnownNumber[] = [
    { name: 'O', id: 'Q', kind: 'quote' },
    { name: 'N', id: 'Q', kind: 'quote' },
  ]
  const SHIPMENT: KnownNumber = { name: 'N', id: 'S' }

  test.each<[string, readonly KnownNumber[], string]>([
    ['is the booking that was made since', [...OF_QUOTE, { ...SHIPMENT, quote: 'Q' }], 'S'],
    ['is not one from before the quote', [SHIPMENT, ...OF_QUOTE], 'Q'],
    ['is not one that the service numbered so', [...OF_QUOTE, { ...SHIPMENT, givenBy: 'service' }], 'Q'],
    [
      'is none where the number means a newer quote',
      [...OF_QUOTE, { name: 'N', id: 'Q2', kind: 'quote' }, { ...SHIPMENT, quote: 'Q2' }],
      'Q',
    ],
    [
      'is a booking that has the other number itself',
      [...OF_QUOTE, { ...SHIPMENT, quote: 'Q' }, { name: 'O', id: 'T' }],
      'T',
    ],
    ['may have been booked under the id of the quote', [...OF_QUOTE, { name: 'Q', id: 'S', quote: 'Q' }], 'S'],
  ])('%s', async (_, known, id) => {
    const gateway = await startGateway({ env: { V2_SHIPMENT_PATH: '/v2/shipments' } })
    const tenant = CLIENT.id
    for (const [at, one] of known.entries()) {
      const named = { kind: 'shipment', givenBy: 'caller', ...one } as const
      const { quote, ...name } = named
      const shipment = quote === undefined ? undefined : { tenant, id: name.id, quote }
      await gateway.store.put({ names: [{ tenant, at, ...name }], shipment })
    }
    await gateway.store.put({ names: [], quote: { tenant, id: 'Q', own: 'N', facts: null, names: ['N', 'O'] } })
    await read(gateway, { OrderRefNumber: 'O' })
    await post(gateway, '/deleteShipment.php', { OrderRefNumber: 'O' })
    const [get, cancel] = gateway.sandbox.requests.map(({ method, path }) => `${method} ${path}`)
    expect([get, cancel]).toEqual([`GET /v2/shipments/${id}`, `DELETE /v2/shipments/${id}`])
  })
})

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { book, expectBooked } from '../bookings/desk.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'

/*
 * The service gives a shipment the number by which a caller knows another one. The caller's own name comes first.
 */

/** The stand-in numbers shipments from here. */
const FIRST = 'TL-100001'
const SECOND = 'TL-100002'

const statusOf = ({ sandbox }: TestGateway, id: string) => sandbox.shipments.get(id)?.status
const cancel = (gateway: TestGateway, name: object) => post(gateway, '/deleteShipment.php', name)

/** Two bookings of one VIN; the reference of one is the number that the service gives the other. */
async function openConfusing(order: 'numbered first' | 'named first') {
  const gateway = await startGateway()
  const made = [
    await book(gateway, { ReferenceNumber: order === 'numbered first' ? 'REF-1' : SECOND }),
    await book(gateway, { ReferenceNumber: order === 'numbered first' ? FIRST : 'REF-1' }),
  ].map((answer) => expectBooked(answer))
  const [numbered = '', named = ''] = order === 'numbered first' ? made : made.toReversed()
  return { gateway, numbered, named, name: order === 'numbered first' ? FIRST : SECOND }
}

describe.each(['numbered first', 'named first'] as const)(
  'a reference that is a number of the service, %s',
  (order) => {
    test.each([{}, { VinNo: bookingExample.VinNo }])('cancels the booking of that reference, with %o', async (vin) => {
      const { gateway, numbered, named, name } = await openConfusing(order)
      expect(gateway.sandbox.shipments.get(numbered)?.number).toBe(name)
      expect((await cancel(gateway, { ReferenceNumber: name, ...vin })).status).toBe(200)
      expect([statusOf(gateway, named), statusOf(gateway, numbered)]).toEqual(['canceled', 'new'])
      // Again, it is the same one.
      expect((await cancel(gateway, { ReferenceNumber: name, ...vin })).status).toBe(200)
      expect(statusOf(gateway, numbered)).toBe('new')
    })

    test('reads and changes it', async () => {
      const { gateway, numbered, named, name } = await openConfusing(order)
      for (const field of ['ReferenceNumber', 'ShipmentNumber', 'number']) {
        const { json } = await get(gateway, `/getShipment.php?${new URLSearchParams({ [field]: name })}`)
        expect(json.ReferenceNumber).toBe(name)
      }
      const change = { ReferenceNumber: name, PickupName: 'Gate 9' }
      expect((await post(gateway, '/updateShipment.php', change)).status).toBe(200)
      expect(gateway.sandbox.shipments.get(named)?.pickup.contact_name).toBe('Gate 9')
      expect(gateway.sandbox.shipments.get(numbered)?.pickup.contact_name).toBe('Example Motors')
    })

    test('comes before a number of the service that the call names first', async () => {
      const { gateway, numbered, named } = await openConfusing(order)
      const number = gateway.sandbox.shipments.get(named)?.number ?? ''
      // The first field is only the service's number of one; the second is the caller's own of the other.
      expect((await cancel(gateway, { ShipmentNumber: number, ReferenceNumber: 'REF-1' })).status).toBe(200)
      expect([statusOf(gateway, named), statusOf(gateway, numbered)]).toEqual(['new', 'canceled'])
    })

    test('keeps its key when the other is canceled under /v2/ by its number', async () => {
      const { gateway, numbered, named, name } = await openConfusing(order)
      gateway.sandbox.fail({ kind: 'status', status: 204, body: '', on: { method: 'DELETE' } })
      const shipment = gateway.sandbox.shipments.get(numbered)
      if (shipment) shipment.status = 'canceled'
      const authorization = basic()
      await fetch(`${gateway.url}/v2/shipments/${name}`, { method: 'DELETE', headers: { authorization } })
      expect(expectBooked(await book(gateway, { ReferenceNumber: name }), true)).toBe(named)
      expect(expectBooked(await book(gateway, { ReferenceNumber: 'REF-1' }))).not.toBe(numbered)
    })
  },
)

test('a number of the service names its shipment, where the caller has called nothing so', async () => {
  const gateway = await startGateway()
  const id = expectBooked(await book(gateway))
  for (const field of ['number', 'ReferenceNumber', 'ShipmentNumber']) {
    const { json } = await get(gateway, `/getShipment.php?${new URLSearchParams({ [field]: FIRST })}`)
    expect(json.ReferenceNumber).toBe(bookingExample.ReferenceNumber)
  }
  await cancel(gateway, { number: FIRST })
  expect(statusOf(gateway, id)).toBe('canceled')
})

test("a quote's number never means a shipment that the service numbered so", async () => {
  const gateway = await startGateway()
  const id = expectBooked(await book(gateway))
  await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: FIRST, OrderRefNumber: '' })
  expect((await cancel(gateway, { ShipmentNumber: FIRST })).status).toBe(404)
  expect(statusOf(gateway, id)).toBe('new')
  // Approved, it is a separate shipment.
  await post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: FIRST })
  expect((await cancel(gateway, { ShipmentNumber: FIRST })).status).toBe(200)
  expect(statusOf(gateway, id)).toBe('new')
})

test('a number of the service that named an update is not taken for a name of the caller', async () => {
  const gateway = await startGateway()
  const numbered = expectBooked(await book(gateway, { ReferenceNumber: 'REF-1' }))
  const update = { number: FIRST, VinNo: '1HGCM82633A004352' }
  expect((await post(gateway, '/updateShipment.php', update)).status).toBe(200)
  const named = expectBooked(await book(gateway, { ReferenceNumber: FIRST, VinNo: '1HGCM82633A004352' }))
  expect((await cancel(gateway, { ReferenceNumber: FIRST })).status).toBe(200)
  expect([statusOf(gateway, named), statusOf(gateway, numbered)]).toEqual(['canceled', 'new'])
})

describe('a name that the service is asked for', () => {
  const ask = (body: Record<string, unknown>) => async (gateway: TestGateway) => {
    gateway.sandbox.fail({ kind: 'status', status: 200, body, on: { method: 'GET' } })
    return get(gateway, '/getShipment.php?number=ABC-1')
  }

  test.each([
    { id: 'abc-1', status: 'new' },
    { id: 's-1', number: 'abc-1' },
    { id: 's-1', status: 'new', external_id: 'Abc-1' },
  ])('is the one of %o', async (body) => {
    const gateway = await startGateway()
    expect((await ask(body)(gateway)).status).toBe(200)
  })

  test.each([
    { id: 's-1', number: 'ABC-2', external_id: 'ABC-3', status: 'new' },
    { id: 's-1', status: 'new' },
    { number: 'ABC-1', status: 'new' },
    { id: '..', number: 'ABC-1' },
    { data: { id: 's-1', number: 'ABC-1' } },
    { id: 's-1', number: 'ABC-1', success: false },
    { shipment_id: 's-1', number: 'ABC-1', price: 5 },
  ])('is not the one of %o, and nothing is recorded', async (body) => {
    const gateway = await startGateway()
    const { status, json } = await ask(body)(gateway)
    expect(status).toBe(502)
    expect(json).toEqual({ Message: expect.stringMatching(/not what was asked for/), TransportationBooked: 'Unknown' })
    expect((await get(gateway, '/getShipment.php?number=ABC-1')).status).toBe(404)
    expect(gateway.sandbox.requests.map(({ path }) => path)).not.toContain('/v2/shipments/s-1')
  })
})

/** Promise: quotes and shipments live from the first quote to the cancellation (contract, section 3). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'

const NUMBER = quoteExample.ShipmentNumber
const REFERENCE = bookingExample.ReferenceNumber
const VIN = bookingExample.VinNo
const OTHER_VIN = '1HGCM82633A004352'
const UNKNOWN_ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'

const DAY_MS = 86_400_000

function read(gateway: TestGateway, query: Record<string, string>, authorization = basic()) {
  return get(gateway, `/getShipment.php?${new URLSearchParams(query)}`, { authorization })
}

/** The requests at the service, one line each. */
function sent(gateway: TestGateway): string[] {
  return gateway.sandbox.requests.map(({ method, path }) => `${method} ${path}`)
}

/** The body of the last request at the service. */
function lastBody(gateway: TestGateway): unknown {
  return JSON.parse(gateway.sandbox.requests.at(-1)?.body ?? 'null')
}

/** Books, and returns the service's ids. */
async function book(gateway: TestGateway, changes: object = {}, authorization = basic()) {
  const { status, headers } = await post(
    gateway,
    '/createShipment.php',
    { ...bookingExample, ...changes },
    { authorization },
  )
  expect(status).toBe(200)
  return {
    id: headers.get('transload-shipment-id') ?? '',
    number: headers.get('transload-shipment-number') ?? '',
  }
}

/** Puts a shipment of two vehicles into the service, as a version-2 caller does. */
async function shipmentOfTwo(gateway: TestGateway) {
  const { json } = await post(
    gateway,
    '/v2/shipments',
    {
      customer: { customer_name: 'Pat Example' },
      pickup: { city: 'Dallas', state: 'TX', zipcode: 75201, contact_name: 'Lot' },
      delivery: { city: 'Miami', state: 'FL', zipcode: 33166 },
      vehicles: [
        { vin: VIN, make: 'Ford', model: 'E-450', year: 2023, type: 'van', notes: 'first' },
        { vin: OTHER_VIN, make: 'Honda', model: 'Accord', year: 2003, type: 'car', notes: 'second' },
      ],
    },
    { 'content-type': 'application/json' },
  )
  return {
    id: String(json.id),
    number: String(json.number),
    vehicles: json.vehicles.map(({ id }: { id: string }) => id),
  }
}

describe('the life of a quote', () => {
  test('a trip is quoted, changed, approved and read', async () => {
    const gateway = await startGateway()
    const quote = await post(gateway, '/quotes/getShippingQuoteWTS.php', quoteExample)
    expect(quote.status).toBe(200)
    expect(quote.json).toEqual({ Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: NUMBER })

    const change = { ShipmentNumber: NUMBER, ActionName: 'update_rate', EquipmentType: 'ENCLOSED AUTO' }
    const updated = await post(gateway, '/getShippingQuote.php', change)
    expect(updated.json).toEqual({ Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: NUMBER })
    expect(Number(updated.json.Cost)).toBeGreaterThan(Number(quote.json.Cost))
    // The update tells the service what the quote was made with, under what the caller changed.
    expect(lastBody(gateway)).toEqual({
      pickup: '10314',
      delivery: '33166',
      vehicle_type: 'truck_ext',
      transport_type: 'enclosed',
    })

    const approved = await post(gateway, '/getShippingQuote.php', {
      ShipmentNumber: NUMBER,
      ActionName: 'Accept Quote',
    })
    expect(approved.json).toEqual({
      Cost: updated.json.Cost,
      ShipmentNumber: NUMBER,
      Message: expect.stringContaining('approved'),
      TransportationBooked: 'Yes',
    })
    expect(lastBody(gateway)).toEqual({})

    const shipment = await read(gateway, { ShipmentNumber: NUMBER })
    expect(shipment.json).toMatchObject({ ShipmentNumber: NUMBER, Cost: updated.json.Cost, PickupZip: '10314' })
    expect(shipment.json).toMatchObject({ DeliveryZip: '33166', Status: 'new', TransportationBooked: 'Yes' })

    const [id] = gateway.sandbox.quotes.keys()
    expect(sent(gateway)).toEqual([
      'POST /v2/quote',
      `PUT /v2/quote/${id}`,
      `POST /v2/quote/${id}/approve`,
      `GET /v2/shipments/${id}`,
    ])
  })

  test('an update without a new price gives no price, and says so', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', quoteExample)
    gateway.sandbox.fail({ kind: 'status', status: 204, body: '', on: { method: 'PUT' } })
    const { status, json } = await post(gateway, '/getShippingQuote.php', {
      ActionName: 'Update Quote',
      ShipmentNumber: NUMBER,
    })
    expect(status).toBe(200)
    expect(json).toEqual({ Cost: '', ShipmentNumber: NUMBER, Message: expect.stringMatching(/no new price/) })
  })

  test('a value that is not a price is not answered as one', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', quoteExample)
    for (const price of ['on request', true, { amount: 5 }]) {
      gateway.sandbox.fail({ kind: 'status', status: 200, body: { price }, on: { method: 'PUT' } })
      const change = { ActionName: 'Update Quote', ShipmentNumber: NUMBER }
      expect((await post(gateway, '/getShippingQuote.php', change)).json.Cost).toBe('')
    }
  })

  test('an approval that says no price gives none', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', quoteExample)
    gateway.sandbox.fail({ kind: 'status', status: 200, body: {}, on: { path: '/v2/quote/*' } })
    const { json } = await post(gateway, '/getShippingQuote.php', { ActionName: 'ApproveRate', ShipmentNumber: NUMBER })
    expect(json).toMatchObject({ Cost: '', ShipmentNumber: NUMBER, TransportationBooked: 'No' })
  })

  test('OrderRefNumber names the quote as well as ShipmentNumber does', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', quoteExample)
    const own = { OrderRefNumber: quoteExample.OrderRefNumber }
    const updated = await post(gateway, '/getShippingQuote.php', { ...own, ActionName: 'Update Rate' })
    // The caller's own number is the one it gave the quote.
    expect(updated.json).toMatchObject({ ShipmentNumber: NUMBER })
    const approved = await post(gateway, '/getShippingQuote.php', { ...own, ActionName: 'Accept Rate' })
    expect(approved.json).toMatchObject({ ShipmentNumber: NUMBER, TransportationBooked: 'Yes' })
  })

  test("a quote without a number gets the service's, which names it from then on", async () => {
    const gateway = await startGateway()
    const { ShipmentNumber: _, OrderRefNumber: __, ...nameless } = quoteExample
    const quote = await post(gateway, '/getShippingQuote.php', nameless)
    const [id] = gateway.sandbox.quotes.keys()
    expect(quote.json.ShipmentNumber).toBe(id)
    const updated = await post(gateway, '/getShippingQuote.php', { ActionName: 'Update Rate', ShipmentNumber: id })
    expect(updated.status).toBe(200)
    expect(updated.json.ShipmentNumber).toBe(id)
  })

  test('SHIPMENT_NUMBER=service gives the number of the service, and either number is understood', async () => {
    const gateway = await startGateway({ env: { SHIPMENT_NUMBER: 'service' } })
    const quote = await post(gateway, '/getShippingQuote.php', quoteExample)
    const [id = ''] = gateway.sandbox.quotes.keys()
    expect(quote.json.ShipmentNumber).toBe(id)
    for (const ShipmentNumber of [NUMBER, id]) {
      const updated = await post(gateway, '/getShippingQuote.php', { ActionName: 'Update Rate', ShipmentNumber })
      expect(updated.json).toEqual({ Cost: quote.json.Cost, ShipmentNumber: id })
    }
    const booked = await book(gateway)
    expect((await read(gateway, { ReferenceNumber: REFERENCE })).json.ShipmentNumber).toBe(booked.number)
  })

  test('a name used again for a new quote means the newest', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', quoteExample)
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, TempShipToPostalCode: '60601' })
    await post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: NUMBER })
    const [, newest] = gateway.sandbox.quotes.values()
    expect(newest).toMatchObject({ delivery: '60601', approved: true })
    expect(sent(gateway).at(-1)).toBe(`POST /v2/quote/${newest?.shipment_id}/approve`)
  })

  test('names that were never given are not known, and nothing is sent', async () => {
    const gateway = await startGateway()
    for (const ActionName of ['Update Rate', 'Accept Rate']) {
      const { status, json } = await post(gateway, '/getShippingQuote.php', { ActionName, ShipmentNumber: 'NOBODY' })
      expect(status).toBe(404)
      expect(json).toEqual({ Cost: '', ShipmentNumber: 'NOBODY', Message: expect.stringContaining('NOBODY') })
    }
    expect(sent(gateway)).toEqual([])
  })

  test.each(['Update Rate', 'Accept Rate'])('%s without a name is 422', async (ActionName) => {
    const gateway = await startGateway()
    const { status, json } = await post(gateway, '/getShippingQuote.php', { ActionName })
    expect(status).toBe(422)
    expect(json).toEqual({ Cost: '', ShipmentNumber: '', Message: expect.stringContaining('ShipmentNumber') })
    expect(sent(gateway)).toEqual([])
  })
})

describe('the life of a booking', () => {
  test('a cancellation by an id in capitals frees the key', async () => {
    const gateway = await startGateway()
    const { id } = await book(gateway)
    expect((await post(gateway, '/deleteShipment.php', { id: id.toUpperCase() })).status).toBe(200)
    expect((await book(gateway)).id).not.toBe(id)
  })

  test('a quote is booked with its facts, read by all its names, changed, and canceled twice', async () => {
    const gateway = await startGateway({ env: { SEND_QUOTE_ID: 'true' } })
    const quote = await post(gateway, '/getShippingQuote.php', { ...quoteExample, EquipmentType: 'enclosed auto' })
    const [quoteId = ''] = gateway.sandbox.quotes.keys()

    const { BillToName: _, ...unsigned } = bookingExample
    const booked = await post(gateway, '/ConfirmBooking', unsigned)
    const { id, number } = [...gateway.sandbox.shipments.values()][0] ?? { id: '', number: '' }
    expect(booked.status).toBe(200)
    expect(booked.json).toEqual({ Message: expect.stringContaining(number), TransportationBooked: 'Yes' })
    expect(booked.headers.get('transload-shipment-id')).toBe(id)
    expect(booked.headers.get('transload-shipment-number')).toBe(number)
    expect(lastBody(gateway)).toMatchObject({
      quote_id: quoteId,
      transport_type: 'enclosed',
      external_id: REFERENCE,
      customer: {
        customer_name: 'Pat Example',
        address: '1 Test Dr',
        city: 'Dallas',
        state: 'TX',
        zipcode: 75234,
        contact_name: 'Pat Example',
        contact_email: 'pat@example.com',
        contact_phone: '2145550000',
        // The booking's own values.
        phone: '2145550000',
        email: 'pat@example.com',
      },
      vehicles: [{ vin: VIN, type: 'truck_ext' }],
    })

    const names = { ReferenceNumber: REFERENCE, ShipmentNumber: REFERENCE, OrderRefNumber: REFERENCE }
    const all = { ...names, number, id, shipment_id: id }
    const { ActionName: _action, ...fields } = unsigned
    for (const [name, value] of Object.entries(all)) {
      const { status, json } = await read(gateway, { [name]: value })
      expect(status, name).toBe(200)
      expect(json, name).toEqual({
        ...fields,
        ShipmentNumber: NUMBER,
        BillToName: 'Pat Example',
        'PickupPhNo.': '7185550100',
        'DeliveryPhNo.': '3055550101',
        'BillToPhNo.': '2145550000',
        Cost: quote.json.Cost,
        Status: 'new',
        TransportationBooked: 'Yes',
        Message: expect.stringContaining(number),
      })
    }
    for (const ShipmentNumber of [number, id]) {
      expect((await read(gateway, { ShipmentNumber })).json.ReferenceNumber).toBe(REFERENCE)
    }

    const change = { ReferenceNumber: REFERENCE, DeliveryName: 'Sam Example', DeliveryZip: '33101-0001' }
    const updated = await post(gateway, '/updateShipment.php', change)
    expect(updated.json).toEqual({ Message: expect.stringContaining(number), TransportationBooked: 'Yes' })
    const changed = (await read(gateway, { ReferenceNumber: REFERENCE })).json
    expect(changed).toMatchObject({ DeliveryName: 'Sam Example', DeliveryZip: '33101', PickupName: 'Example Motors' })

    const canceled = await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })
    expect(canceled.status).toBe(200)
    expect(canceled.json).toEqual({ Message: expect.stringContaining('canceled'), TransportationBooked: 'No' })
    expect((await read(gateway, { number })).json).toMatchObject({ Status: 'canceled', TransportationBooked: 'No' })
    const again = await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })
    expect(again.status).toBe(200)
    expect(again.json).toMatchObject({ TransportationBooked: 'No' })
  })

  test('a booking without a quote uses the defaults, and leaves out the other fields', async () => {
    const gateway = await startGateway({ env: { DEFAULT_TRANSPORT_TYPE: 'enclosed', SEND_QUOTE_ID: 'true' } })
    await book(gateway)
    expect(lastBody(gateway)).toMatchObject({ transport_type: 'enclosed' })
    expect(lastBody(gateway)).not.toHaveProperty('quote_id')
    expect(lastBody(gateway)).not.toHaveProperty(['vehicles', 0, 'type'])
    expect(lastBody(gateway)).toHaveProperty('customer', {
      customer_name: 'Pat Example',
      phone: '2145550000',
      email: 'pat@example.com',
    })
  })

  test('quote_id is not sent unless SEND_QUOTE_ID asks for it', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', quoteExample)
    await book(gateway)
    expect(lastBody(gateway)).not.toHaveProperty('quote_id')
    expect(lastBody(gateway)).toHaveProperty('customer.address', '1 Test Dr')
  })

  test('a ReferenceNumber that is the OrderRefNumber of a quote recalls that quote', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', quoteExample)
    await book(gateway, { ReferenceNumber: quoteExample.OrderRefNumber })
    expect(lastBody(gateway)).toHaveProperty('customer.address', '1 Test Dr')
    const { json } = await read(gateway, { ReferenceNumber: quoteExample.OrderRefNumber })
    expect(json.ShipmentNumber).toBe(NUMBER)
  })

  test('after an update of the quote, the booking has the updated facts', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', quoteExample)
    const change = { EquipmentType: 'ENCLOSED AUTO', BillToStreet1: '2 New Rd', BillToStreet2: 'Suite 7' }
    await post(gateway, '/getShippingQuote.php', { ActionName: 'Update Rate', ShipmentNumber: NUMBER, ...change })
    await book(gateway)
    expect(lastBody(gateway)).toMatchObject({
      transport_type: 'enclosed',
      customer: { address: '2 New Rd, Suite 7', city: 'Dallas' },
    })
  })

  test('a quote is remembered for QUOTE_MEMORY and no longer; its number stays', async () => {
    let now = Date.parse('2026-03-01T00:00:00Z')
    const gateway = await startGateway({ env: { QUOTE_MEMORY: '30d' }, now: () => now })
    await post(gateway, '/getShippingQuote.php', quoteExample)
    now += 30 * DAY_MS
    await book(gateway)
    expect(lastBody(gateway)).toHaveProperty('customer.address', '1 Test Dr')
    now += 1
    await book(gateway, { VinNo: OTHER_VIN })
    expect(lastBody(gateway)).not.toHaveProperty('customer.address')
    const approved = await post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: NUMBER })
    expect(approved.json).toMatchObject({ ShipmentNumber: NUMBER, TransportationBooked: 'Yes' })
  })

  test.each([
    ['a quote that had no number of its own', {}, { ShipmentNumber: '', OrderRefNumber: '' }],
    ['a quote that was answered with the number of the service', { SHIPMENT_NUMBER: 'service' }, {}],
  ])('a booking under the number that the gateway gave: %s', async (_what, env, numbers) => {
    const gateway = await startGateway({ env })
    const asked = { ...quoteExample, ...numbers, EquipmentType: 'ENCLOSED AUTO' }
    const quote = await post(gateway, '/getShippingQuote.php', asked)
    const [id] = gateway.sandbox.quotes.keys()
    expect(quote.json.ShipmentNumber).toBe(id)
    const { BillToName: _, ...booking } = bookingExample
    const booked = await post(gateway, '/createShipment.php', { ...booking, ReferenceNumber: id })
    expect(booked.status).toBe(200)
    expect(lastBody(gateway)).toMatchObject({
      transport_type: 'enclosed',
      customer: { customer_name: expect.any(String), address: '1 Test Dr' },
    })
  })

  test('a customer with only an e-mail address in the quote has it as the name in the booking', async () => {
    const gateway = await startGateway()
    const { BillToCompany: _, ...quote } = { ...quoteExample, BillToContact: 'pat@example.com' }
    await post(gateway, '/getShippingQuote.php', { ...quote, OrderRefNumber: REFERENCE })
    const { BillToName: __, ...booking } = bookingExample
    expect((await post(gateway, '/createShipment.php', booking)).status).toBe(200)
    expect(lastBody(gateway)).toHaveProperty('customer.customer_name', 'pat@example.com')
  })

  test('a booking is known by the number that a read gives it: that of its quote', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, OrderRefNumber: REFERENCE })
    const { id } = await book(gateway)
    expect((await read(gateway, { ReferenceNumber: REFERENCE })).json.ShipmentNumber).toBe(NUMBER)
    expect((await read(gateway, { ShipmentNumber: NUMBER })).json.ReferenceNumber).toBe(REFERENCE)
    const change = { ShipmentNumber: NUMBER, PickupName: 'Gate 9' }
    expect((await post(gateway, '/updateShipment.php', change)).status).toBe(200)
    expect(gateway.sandbox.shipments.get(id)?.pickup.contact_name).toBe('Gate 9')
    expect((await post(gateway, '/deleteShipment.php', { ShipmentNumber: NUMBER })).status).toBe(200)
    expect(gateway.sandbox.shipments.get(id)?.status).toBe('canceled')
  })

  test('a name that stands for a quote alone gives way to one that stands for a booking', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, OrderRefNumber: '' })
    const { id } = await book(gateway)
    const named = { ShipmentNumber: NUMBER, ReferenceNumber: REFERENCE }
    expect((await read(gateway, named)).status).toBe(200)
    expect((await post(gateway, '/deleteShipment.php', named)).status).toBe(200)
    expect(gateway.sandbox.shipments.get(id)?.status).toBe('canceled')
  })

  test('a name that is both a quote and a booking means the booking', async () => {
    const gateway = await startGateway()
    const { id } = await book(gateway, { ReferenceNumber: NUMBER })
    await post(gateway, '/getShippingQuote.php', quoteExample)
    await read(gateway, { ShipmentNumber: NUMBER })
    expect(sent(gateway).at(-1)).toBe(`GET /v2/shipments/${id}`)
  })

  test.each(['/getShipment.php', '/updateShipment.php', '/deleteShipment.php'])(
    '%s that names nothing is 422, and nothing is sent',
    async (path) => {
      const gateway = await startGateway()
      const { status, json } =
        path === '/getShipment.php' ? await get(gateway, path) : await post(gateway, path, { VinNo: VIN })
      expect(status).toBe(422)
      expect(json).toEqual({ Message: expect.stringContaining('ReferenceNumber'), TransportationBooked: 'Unknown' })
      expect(sent(gateway)).toEqual([])
    },
  )
})

describe('several vehicles under one reference', () => {
  async function gatewayWithTwo() {
    const gateway = await startGateway()
    const first = await book(gateway)
    const second = await book(gateway, { VinNo: OTHER_VIN, Model: 'Accord' })
    gateway.sandbox.requests.length = 0
    return { gateway, first, second }
  }

  test('VinNo chooses, in any case and spacing', async () => {
    const { gateway, first, second } = await gatewayWithTwo()
    for (const [VinNo, { id }] of [
      [VIN, first],
      [OTHER_VIN, second],
      [` ${VIN.toLowerCase().replace('fe', 'f e')} `, first],
    ] as const) {
      const { json } = await read(gateway, { ReferenceNumber: REFERENCE, VinNo })
      expect(json.Status).toBe('new')
      expect(sent(gateway).at(-1)).toBe(`GET /v2/shipments/${id}`)
    }
    await post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, VinNo: VIN, PickupName: 'First' })
    expect(gateway.sandbox.shipments.get(first.id)?.pickup.contact_name).toBe('First')
    expect(gateway.sandbox.shipments.get(second.id)?.pickup.contact_name).toBe('Example Motors')
    await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE, VinNo: OTHER_VIN })
    expect(gateway.sandbox.shipments.get(first.id)?.status).toBe('new')
    expect(gateway.sandbox.shipments.get(second.id)?.status).toBe('canceled')
  })

  test('reading without a VinNo takes the newest', async () => {
    const { gateway, second } = await gatewayWithTwo()
    expect((await read(gateway, { ReferenceNumber: REFERENCE })).json.VinNo).toBe(OTHER_VIN)
    expect(sent(gateway)).toEqual([`GET /v2/shipments/${second.id}`])
  })

  test.each(['/updateShipment.php', '/deleteShipment.php'])(
    '%s without a VinNo is 409, lists the VINs and changes nothing',
    async (path) => {
      const { gateway } = await gatewayWithTwo()
      const before = structuredClone(gateway.sandbox.shipments)
      const { status, json } = await post(gateway, path, { ReferenceNumber: REFERENCE, PickupName: 'Nobody' })
      expect(status).toBe(409)
      expect(json.TransportationBooked).toBe('Unknown')
      expect(json.Message).toContain(VIN)
      expect(json.Message).toContain(OTHER_VIN)
      expect(gateway.sandbox.shipments).toEqual(before)
    },
  )

  test('the list of VINs is shown only to a credential that the service accepts', async () => {
    const { gateway } = await gatewayWithTwo()
    const stranger = { authorization: basic('demo', 'a guess') }
    const { status, text } = await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE }, stranger)
    expect(status).toBe(401)
    expect(text).not.toContain(VIN)
  })

  test('a number of the service names one of them alone', async () => {
    const { gateway, first } = await gatewayWithTwo()
    const { status } = await post(gateway, '/deleteShipment.php', { number: first.number })
    expect(status).toBe(200)
    expect(gateway.sandbox.shipments.get(first.id)?.status).toBe('canceled')
  })
})

describe('two clients with the same numbers', () => {
  const ACME = basic('acme', 'acme-secret')
  const ZENITH = basic('zenith', 'zenith-secret')
  const gatewayOfTwo = () =>
    startGateway({ sandbox: { credentials: { acme: 'acme-secret', zenith: 'zenith-secret' }, shipmentPath: 'plural' } })

  test('never meet', async () => {
    const gateway = await gatewayOfTwo()
    const acme = await book(gateway, { PickupName: 'Acme' }, ACME)
    const zenith = await book(gateway, { PickupName: 'Zenith' }, ZENITH)
    expect(acme.id).not.toBe(zenith.id)
    expect((await read(gateway, { ReferenceNumber: REFERENCE }, ACME)).json.PickupName).toBe('Acme')
    expect((await read(gateway, { ReferenceNumber: REFERENCE }, ZENITH)).json.PickupName).toBe('Zenith')
    await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE }, { authorization: ACME })
    expect(gateway.sandbox.shipments.get(zenith.id)?.status).toBe('new')
  })

  test("one does not see the other's numbers or quotes", async () => {
    const gateway = await gatewayOfTwo()
    const { id, number } = await book(gateway, {}, ACME)
    for (const query of [{ ReferenceNumber: REFERENCE }, { number }, { id }]) {
      expect((await read(gateway, query, ZENITH)).status).toBe(404)
    }
    await post(gateway, '/getShippingQuote.php', quoteExample, { authorization: ACME })
    const accept = { ActionName: 'Accept Rate', ShipmentNumber: NUMBER }
    const approved = await post(gateway, '/getShippingQuote.php', accept, { authorization: ZENITH })
    expect(approved.status).toBe(404)
    await book(gateway, { ReferenceNumber: NUMBER }, ZENITH)
    expect(lastBody(gateway)).not.toHaveProperty('customer.address')
  })

  test('whose ids differ only in bytes that are not UTF-8', async () => {
    const gateway = await startGateway({ sandbox: { credentials: 'any' } })
    const latin = (byte: number) => `Basic ${Buffer.from([0x63, byte, 0x3a, 0x73]).toString('base64')}`
    await post(gateway, '/getShippingQuote.php', quoteExample, { authorization: latin(0xe9) })
    const accept = { ActionName: 'Accept Rate', ShipmentNumber: NUMBER }
    const other = await post(gateway, '/getShippingQuote.php', accept, { authorization: latin(0xe8) })
    expect(other.status).toBe(404)
    const own = await post(gateway, '/getShippingQuote.php', accept, { authorization: latin(0xe9) })
    expect(own.status).toBe(200)
  })
})

describe('an update', () => {
  test('carries every id that the parts of the shipment have, and nothing that only the service sets', async () => {
    const gateway = await startGateway()
    const { id, vehicles } = await shipmentOfTwo(gateway)
    await post(gateway, '/updateShipment.php', { id, PickupName: 'Gate 2' })
    const body = JSON.parse(gateway.sandbox.requests.find(({ method }) => method === 'PUT')?.body ?? '')
    expect(body.vehicles.map((vehicle: { id: string }) => vehicle.id)).toEqual(vehicles)
    for (const key of ['id', 'number', 'status', 'price', 'distance', 'distance_meters', 'documents']) {
      expect(body).not.toHaveProperty(key)
    }
    for (const key of ['weight', 'height', 'width', 'length', 'photos']) {
      for (const vehicle of body.vehicles) expect(vehicle).not.toHaveProperty(key)
    }
    expect(body.pickup).toMatchObject({ city: 'Dallas', contact_name: 'Gate 2', location_name: 'Gate 2' })
  })

  test('of a shipment of two vehicles leaves two, and VinNo says which one is meant', async () => {
    const gateway = await startGateway()
    const { id, vehicles } = await shipmentOfTwo(gateway)
    const update = (change: object) => post(gateway, '/updateShipment.php', { id, ...change })
    expect((await update({ VinNo: OTHER_VIN, Model: 'Civic' })).status).toBe(200)
    expect((await update({ Year: '2022' })).status).toBe(200)
    const now = gateway.sandbox.shipments.get(id)?.vehicles
    expect(now?.map((vehicle) => vehicle.id)).toEqual(vehicles)
    expect(now).toMatchObject([
      { vin: VIN, year: 2022, model: 'E-450', notes: 'first', type: 'van' },
      { vin: OTHER_VIN, year: 2003, model: 'Civic', notes: 'second', type: 'car' },
    ])
    const { json } = await read(gateway, { id })
    expect(json).toMatchObject({ VinNo: VIN, Message: expect.stringMatching(/2 vehicles/) })
  })

  test('gives a shipment of one vehicle another VIN', async () => {
    const gateway = await startGateway()
    const { id } = await book(gateway)
    const { status } = await post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, VinNo: OTHER_VIN })
    expect(status).toBe(200)
    expect(gateway.sandbox.shipments.get(id)?.vehicles).toMatchObject([{ vin: OTHER_VIN, model: 'E-450' }])
    const gone = await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE, VinNo: OTHER_VIN })
    expect(gone.status).toBe(200)
    expect(gateway.sandbox.shipments.get(id)?.status).toBe('canceled')
  })

  test('gives one of several under a reference another VIN, which chooses it from then on', async () => {
    const gateway = await startGateway()
    const first = await book(gateway)
    const second = await book(gateway, { VinNo: OTHER_VIN, Model: 'Accord' })
    const THIRD_VIN = '1FTFW1E59DFB38261'
    await post(gateway, '/updateShipment.php', { number: first.number, VinNo: THIRD_VIN })
    // The newest is the one that was booked last, not the one that was changed last.
    expect((await read(gateway, { ReferenceNumber: REFERENCE })).json.VinNo).toBe(OTHER_VIN)
    expect((await read(gateway, { ReferenceNumber: REFERENCE, VinNo: THIRD_VIN })).json.VinNo).toBe(THIRD_VIN)
    await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE, VinNo: THIRD_VIN })
    expect(gateway.sandbox.shipments.get(first.id)?.status).toBe('canceled')
    expect(gateway.sandbox.shipments.get(second.id)?.status).toBe('new')
  })

  test('may change the ReferenceNumber of a shipment that another name finds', async () => {
    const gateway = await startGateway()
    const { id, number } = await book(gateway)
    await post(gateway, '/updateShipment.php', { number, ReferenceNumber: 'NEW-REF' })
    expect(gateway.sandbox.shipments.get(id)?.external_id).toBe('NEW-REF')
    for (const ReferenceNumber of ['NEW-REF', REFERENCE]) {
      expect((await read(gateway, { ReferenceNumber })).json.ReferenceNumber).toBe('NEW-REF')
    }
    expect((await post(gateway, '/deleteShipment.php', { ReferenceNumber: 'NEW-REF', VinNo: VIN })).status).toBe(200)
  })

  test('sends the ETag back as If-Match, and none where the service gives none', async () => {
    const gateway = await startGateway({ sandbox: { etag: true } })
    await book(gateway)
    const change = { ReferenceNumber: REFERENCE, PickupName: 'Gate 3' }
    await post(gateway, '/updateShipment.php', change)
    expect(gateway.sandbox.requests.at(-1)?.headers['if-match']).toBe('"1"')
    gateway.sandbox.set({ etag: false })
    await post(gateway, '/updateShipment.php', change)
    expect(gateway.sandbox.requests.at(-1)?.headers['if-match']).toBeUndefined()
  })

  test('that finds a changed shipment starts again from a fresh read, and keeps the other change', async () => {
    const gateway = await startGateway({ sandbox: { etag: true } })
    const { id } = await book(gateway)
    gateway.sandbox.requests.length = 0
    const overtaken = gateway.sandbox
      .next(({ method }) => method === 'GET')
      .then(() => {
        const shipment = gateway.sandbox.shipments.get(id)
        const delivery = { ...shipment?.delivery, contact_name: 'Their change' }
        if (shipment) gateway.sandbox.shipments.set(id, { ...shipment, delivery })
      })
    const updated = await post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, PickupName: 'Our change' })
    await overtaken
    expect(updated.json).toMatchObject({ TransportationBooked: 'Yes' })
    const [get1, put1, get2, put2, ...more] = gateway.sandbox.requests
    expect([get1, put1, get2, put2].map((request) => request?.method)).toEqual(['GET', 'PUT', 'GET', 'PUT'])
    expect(more).toEqual([])
    expect(put2?.headers['if-match']).not.toBe(put1?.headers['if-match'])
    expect(gateway.sandbox.shipments.get(id)).toMatchObject({
      pickup: { contact_name: 'Our change' },
      delivery: { contact_name: 'Their change' },
    })
  })

  test('gives up after three tries, and says so', async () => {
    const gateway = await startGateway({ sandbox: { etag: true } })
    const { id } = await book(gateway)
    gateway.sandbox.fail({ kind: 'status', status: 412, times: 'always', on: { method: 'PUT' } })
    gateway.sandbox.requests.length = 0
    const { status, json } = await post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, PickupName: 'X' })
    expect(status).toBe(409)
    expect(json).toEqual({ Message: expect.stringMatching(/again/), TransportationBooked: 'Unknown' })
    const [one, other] = [`GET /v2/shipments/${id}`, `PUT /v2/shipments/${id}`]
    expect(sent(gateway)).toEqual([one, other, one, other, one, other])
  })

  test('waits for the one of the same shipment before it, and not for those of others', async () => {
    const gateway = await startGateway()
    const { id } = await book(gateway)
    const other = await book(gateway, { ReferenceNumber: 'OTHER' })
    gateway.sandbox.requests.length = 0

    gateway.sandbox.fail({ kind: 'timeout-unprocessed', on: { method: 'PUT', path: `/v2/shipments/${other.id}` } })
    const stuck = gateway.sandbox.next(({ method, path }) => method === 'PUT' && path.endsWith(other.id))
    const update = (ReferenceNumber: string, change: object) =>
      post(gateway, '/updateShipment.php', { ReferenceNumber, ...change })
    // Never answered: the test is over before its time-out.
    void update('OTHER', { PickupName: 'Stuck' }).catch(() => undefined)
    await stuck

    const changes = [
      { PickupName: 'A' },
      { PickupCity: 'B' },
      { DeliveryName: 'C' },
      { DeliveryCity: 'D' },
      { BillToName: 'E' },
      { Model: 'F' },
    ]
    const answers = await Promise.all(changes.map((change) => update(REFERENCE, change)))
    expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200))
    const order = gateway.sandbox.requests.filter(({ path }) => path.endsWith(id)).map(({ method }) => method)
    expect(order).toEqual(changes.flatMap(() => ['GET', 'PUT']))
    expect(gateway.sandbox.shipments.get(id)).toMatchObject({
      pickup: { contact_name: 'A', city: 'B' },
      delivery: { contact_name: 'C', city: 'D' },
      customer: { customer_name: 'E' },
      vehicles: [{ model: 'F' }],
    })
    await gateway.sandbox.close()
  })

  test('with a field that cannot be translated changes nothing', async () => {
    const gateway = await startGateway()
    await book(gateway)
    gateway.sandbox.requests.length = 0
    const { status, json } = await post(gateway, '/updateShipment.php', {
      ReferenceNumber: REFERENCE,
      PickupZip: 'nope',
    })
    expect(status).toBe(422)
    expect(json.Message).toContain('PickupZip')
    expect(sent(gateway)).toEqual([expect.stringMatching(/^GET /)])
  })
})

describe('canceling a canceled shipment', () => {
  test.each([200, 404, 409] as const)('succeeds where the service answers %i', async (repeatedCancel) => {
    const gateway = await startGateway({ sandbox: { repeatedCancel } })
    await book(gateway)
    for (const _ of ['first', 'second', 'third']) {
      const { status, json } = await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })
      expect(status).toBe(200)
      expect(json).toEqual({ Message: expect.stringContaining('canceled'), TransportationBooked: 'No' })
    }
  })

  test('succeeds where the service has forgotten a shipment that was booked here', async () => {
    const gateway = await startGateway()
    const { id } = await book(gateway)
    gateway.sandbox.shipments.delete(id)
    const { status, json } = await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })
    expect(status).toBe(200)
    expect(json.TransportationBooked).toBe('No')
  })

  test('does not succeed for an unknown shipment', async () => {
    const gateway = await startGateway()
    const { status, json } = await post(gateway, '/deleteShipment.php', { id: UNKNOWN_ID })
    expect(status).toBe(404)
    expect(json).toEqual({ Message: expect.any(String), TransportationBooked: 'No' })
  })

  test('is not claimed where the service refuses a cancellation for another reason', async () => {
    const gateway = await startGateway()
    await book(gateway)
    gateway.sandbox.fail({
      kind: 'status',
      status: 409,
      body: { message: 'already on the truck' },
      on: { method: 'DELETE' },
    })
    const { status, json } = await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })
    expect(status).toBe(409)
    expect(json.Message).toContain('already on the truck')
  })
})

describe('a name that the cross-reference does not have', () => {
  test.each([
    '../x',
    'a/b',
    '.',
    '..',
    '...',
    '%2e%2e',
    '..%2fquote',
    'a?b',
    'a#b',
    'a b',
    'a\\b',
    'é',
    'x'.repeat(65),
  ])('%s never reaches the service as a path', async (name) => {
    const gateway = await startGateway()
    for (const field of ['ReferenceNumber', 'ShipmentNumber', 'id']) {
      expect((await read(gateway, { [field]: name })).status).toBe(404)
      for (const path of ['/updateShipment.php', '/deleteShipment.php']) {
        const { status, json } = await post(gateway, path, { [field]: name })
        expect(status).toBe(404)
        expect(json.TransportationBooked).toBe('No')
      }
    }
    expect(sent(gateway)).toEqual([])
  })

  test('stays one segment of a path where the service itself gave such an id', async () => {
    const gateway = await startGateway()
    const { id } = await book(gateway, { VinNo: '' })
    const shipment = gateway.sandbox.shipments.get(id)
    if (!shipment) throw new Error('there is no shipment')
    gateway.sandbox.shipments.set('a/../b?c', { ...shipment, id: 'a/../b?c' })
    gateway.sandbox.fail({
      kind: 'status',
      status: 200,
      body: { id: 'a/../b?c', number: 'ODD-1' },
      on: { path: '/v2/shipments/ODD-1' },
    })
    expect((await read(gateway, { number: 'ODD-1' })).status).toBe(200)
    expect((await read(gateway, { number: 'ODD-1' })).status).toBe(200)
    expect(sent(gateway).at(-1)).toBe('GET /v2/shipments/a%2F..%2Fb%3Fc')
  })

  test('is asked for at the service, once, and remembered', async () => {
    const gateway = await startGateway()
    const { id, number } = await shipmentOfTwo(gateway)
    gateway.sandbox.requests.length = 0
    expect((await read(gateway, { ShipmentNumber: number })).json).toMatchObject({ ShipmentNumber: number, VinNo: VIN })
    expect(sent(gateway)).toEqual([`GET /v2/shipments/${number}`])
    await read(gateway, { number })
    expect(sent(gateway)[1]).toBe(`GET /v2/shipments/${id}`)
    await post(gateway, '/deleteShipment.php', { ReferenceNumber: number })
    expect(gateway.sandbox.shipments.get(id)?.status).toBe('canceled')
  })

  test('that the service knows is read anew for an update, for another may have come between', async () => {
    const gateway = await startGateway()
    const { id, number } = await shipmentOfTwo(gateway)
    gateway.sandbox.requests.length = 0
    const changes = [{ PickupName: 'Gate 4' }, { DeliveryName: 'Gate 5' }, { DeliveryCity: 'Tampa' }]
    const update = (change: object) => post(gateway, '/updateShipment.php', { number, ...change })
    const answers = await Promise.all(changes.map(update))
    expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200))
    expect(sent(gateway).slice(-6)).toEqual(
      changes.flatMap(() => [`GET /v2/shipments/${id}`, `PUT /v2/shipments/${id}`]),
    )
    expect(gateway.sandbox.shipments.get(id)).toMatchObject({
      pickup: { contact_name: 'Gate 4' },
      delivery: { contact_name: 'Gate 5', city: 'Tampa' },
    })
  })

  test('that is a UUID is the id itself', async () => {
    const gateway = await startGateway()
    const { status, json } = await read(gateway, { ReferenceNumber: UNKNOWN_ID })
    expect(status).toBe(404)
    expect(json).toEqual({ Message: expect.any(String), TransportationBooked: 'No' })
    expect(new Set(sent(gateway))).toEqual(
      new Set([`GET /v2/shipments/${UNKNOWN_ID}`, `GET /v2/shipment/${UNKNOWN_ID}`]),
    )
  })

  test('is 404 with its own name where the service does not know it either', async () => {
    const gateway = await startGateway()
    const { status, json } = await read(gateway, { ReferenceNumber: 'REF-404' })
    expect(status).toBe(404)
    expect(json).toEqual({ Message: expect.stringContaining('REF-404'), TransportationBooked: 'No' })
  })
})

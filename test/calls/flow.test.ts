/** Promise: quotes and shipments live from the first quote to the cancellation (contract, section 3). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'

const NUMBER = quoteExample.ShipmentNumber
const REFERENCE = bookingExample.ReferenceNumber
const VIN = bookingExample.VinNo
const OTHER_VIN = '1HGCM82633A004352'
const DAY_MS = 86_400_000

const read = (gateway: TestGateway, query: Record<string, string>) =>
  get(gateway, `/getShipment.php?${new URLSearchParams(query)}`)
const quote = (gateway: TestGateway, changes: object = {}) =>
  post(gateway, '/getShippingQuote.php', { ...quoteExample, ...changes })
const accept = (gateway: TestGateway) =>
  post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Quote', ShipmentNumber: NUMBER })
const update = (gateway: TestGateway, fields: object) => post(gateway, '/updateShipment.php', fields)
const cancel = (gateway: TestGateway, fields: object) => post(gateway, '/deleteShipment.php', fields)

/** The requests at the service, one line each. */
function sent(gateway: TestGateway): string[] {
  return gateway.sandbox.requests.map(({ method, path }) => `${method} ${path}`)
}

/** The body of the last request at the service. */
function lastBody(gateway: TestGateway): unknown {
  return JSON.parse(gateway.sandbox.requests.at(-1)?.body ?? 'null')
}

/** Books, and returns the service's ids. */
async function book(gateway: TestGateway, changes: object = {}) {
  const { status, headers } = await post(gateway, '/createShipment.php', { ...bookingExample, ...changes })
  expect(status).toBe(200)
  const [id = '', number = ''] = ['id', 'number'].map((what) => headers.get(`transload-shipment-${what}`) ?? '')
  return { id, number }
}

/** Opens a gateway before a service with a shipment that a version-2 caller made. */
async function openWithUnknown() {
  const gateway = await startGateway()
  const { json } = await post(gateway, '/v2/shipments', {
    customer: { customer_name: 'Pat Example' },
    pickup: { zipcode: 75201 },
    delivery: { zipcode: 33166 },
    vehicles: [{ vin: VIN }],
  })
  gateway.sandbox.requests.length = 0
  return { gateway, id: String(json.id), number: String(json.number) }
}

describe('the life of a quote', () => {
  test('a trip is quoted, changed, approved and read', async () => {
    const gateway = await startGateway()
    const quoted = await post(gateway, '/quotes/getShippingQuoteWTS.php', quoteExample)
    expect(quoted.status).toBe(200)
    expect(quoted.json).toEqual({ Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: NUMBER })

    const change = { ShipmentNumber: NUMBER, ActionName: 'update_rate', EquipmentType: 'ENCLOSED AUTO' }
    const updated = await post(gateway, '/getShippingQuote.php', change)
    expect(updated.json).toEqual({ Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: NUMBER })
    expect(Number(updated.json.Cost)).toBeGreaterThan(Number(quoted.json.Cost))
    // The update tells the service what the quote was made with, under what the caller changed.
    expect(lastBody(gateway)).toEqual({
      pickup: '10314',
      delivery: '33166',
      vehicle_type: 'truck_ext',
      transport_type: 'enclosed',
    })

    const approved = await accept(gateway)
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

  test('a name used again for a new quote means the newest', async () => {
    const gateway = await startGateway()
    await quote(gateway)
    await quote(gateway, { TempShipToPostalCode: '60601' })
    await accept(gateway)
    const [, newest] = gateway.sandbox.quotes.values()
    expect(newest).toMatchObject({ delivery: '60601', approved: true })
    expect(sent(gateway).at(-1)).toBe(`POST /v2/quote/${newest?.shipment_id}/approve`)
  })
})

describe('the life of a booking', () => {
  test('a quote is booked with its facts, read by all its names, changed, and canceled twice', async () => {
    const gateway = await startGateway({ env: { SEND_QUOTE_ID: 'true' } })
    const quoted = await quote(gateway, { EquipmentType: 'enclosed auto' })
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
        EquipmentType: 'ENCLOSED AUTO',
        ShipmentNumber: NUMBER,
        BillToName: 'Pat Example',
        'PickupPhNo.': '7185550100',
        'DeliveryPhNo.': '3055550101',
        'BillToPhNo.': '2145550000',
        Cost: quoted.json.Cost,
        Status: 'new',
        TransportationBooked: 'Yes',
        Message: expect.stringContaining(number),
      })
    }
    for (const ShipmentNumber of [number, id]) {
      expect((await read(gateway, { ShipmentNumber })).json.ReferenceNumber).toBe(REFERENCE)
    }

    const change = { ReferenceNumber: REFERENCE, DeliveryName: 'Sam Example', DeliveryZip: '33101-0001' }
    const updated = await update(gateway, change)
    expect(updated.json).toEqual({ Message: expect.stringContaining(number), TransportationBooked: 'Yes' })
    const changed = (await read(gateway, { ReferenceNumber: REFERENCE })).json
    expect(changed).toMatchObject({ DeliveryName: 'Sam Example', DeliveryZip: '33101', PickupName: 'Example Motors' })

    const canceled = await cancel(gateway, { ReferenceNumber: REFERENCE })
    expect(canceled.status).toBe(200)
    expect(canceled.json).toEqual({ Message: expect.stringContaining('canceled'), TransportationBooked: 'No' })
    expect((await read(gateway, { number })).json).toMatchObject({ Status: 'canceled', TransportationBooked: 'No' })
    const again = await cancel(gateway, { ReferenceNumber: REFERENCE })
    expect(again.status).toBe(200)
    expect(again.json).toMatchObject({ TransportationBooked: 'No' })
  })

  test('a quote is remembered for QUOTE_MEMORY and no longer; its number stays', async () => {
    let now = Date.parse('2026-03-01T00:00:00Z')
    const gateway = await startGateway({ env: { QUOTE_MEMORY: '30d' }, now: () => now })
    await quote(gateway)
    now += 30 * DAY_MS
    await book(gateway)
    expect(lastBody(gateway)).toHaveProperty('customer.address', '1 Test Dr')
    now += 1
    await book(gateway, { VinNo: OTHER_VIN })
    expect(lastBody(gateway)).not.toHaveProperty('customer.address')
    expect((await accept(gateway)).json).toMatchObject({ ShipmentNumber: NUMBER, TransportationBooked: 'Yes' })
  })

  test.each([
    ['a quote that had no number of its own', {}, { ShipmentNumber: '', OrderRefNumber: '' }],
    ['a quote that was answered with the number of the service', { SHIPMENT_NUMBER: 'service' }, {}],
  ])('a booking under the number that the gateway gave: %s', async (_what, env, numbers) => {
    const gateway = await startGateway({ env })
    const quoted = await quote(gateway, { ...numbers, EquipmentType: 'ENCLOSED AUTO' })
    const [id] = gateway.sandbox.quotes.keys()
    expect(quoted.json.ShipmentNumber).toBe(id)
    const { BillToName: _, ...booking } = bookingExample
    const booked = await post(gateway, '/createShipment.php', { ...booking, ReferenceNumber: id })
    expect(booked.status).toBe(200)
    expect(lastBody(gateway)).toMatchObject({
      transport_type: 'enclosed',
      customer: { customer_name: expect.any(String), address: '1 Test Dr' },
    })
  })
})

test('two clients whose ids differ only in bytes that are not UTF-8 never meet', async () => {
  const gateway = await startGateway({ sandbox: { credentials: 'any' } })
  const latin = (byte: number) => ({
    authorization: `Basic ${Buffer.from([0x63, byte, 0x3a, 0x73]).toString('base64')}`,
  })
  await post(gateway, '/getShippingQuote.php', quoteExample, latin(0xe9))
  const approval = { ActionName: 'Accept Rate', ShipmentNumber: NUMBER }
  for (const [byte, status] of [
    [0xe8, 404],
    [0xe9, 200],
  ] as const) {
    expect((await post(gateway, '/getShippingQuote.php', approval, latin(byte))).status).toBe(status)
  }
})

describe('an update', () => {
  test('that finds a changed shipment starts again from a fresh read with its ETag, and keeps the other change', async () => {
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
    const updated = await update(gateway, { ReferenceNumber: REFERENCE, PickupName: 'Our change' })
    await overtaken
    expect(updated.json).toMatchObject({ TransportationBooked: 'Yes' })
    const [get1, put1, get2, put2, ...more] = gateway.sandbox.requests
    expect([get1, put1, get2, put2].map((request) => request?.method)).toEqual(['GET', 'PUT', 'GET', 'PUT'])
    expect(more).toEqual([])
    const etags = [put1, put2].map((put) => put?.headers['if-match'])
    expect(etags).toEqual([expect.stringMatching(/^"\d+"$/), expect.stringMatching(/^"\d+"$/)])
    expect(etags[0]).not.toBe(etags[1])
    expect(gateway.sandbox.shipments.get(id)).toMatchObject({
      pickup: { contact_name: 'Our change' },
      delivery: { contact_name: 'Their change' },
    })
    gateway.sandbox.set({ etag: false })
    await update(gateway, { ReferenceNumber: REFERENCE, PickupName: 'Another' })
    expect(gateway.sandbox.requests.at(-1)?.headers['if-match']).toBeUndefined()
  })

  test('gives up after three tries, and says so', async () => {
    const gateway = await startGateway({ sandbox: { etag: true } })
    const { id } = await book(gateway)
    gateway.sandbox.fail({ kind: 'status', status: 412, times: 'always', on: { method: 'PUT' } })
    gateway.sandbox.requests.length = 0
    const { status, json } = await update(gateway, { ReferenceNumber: REFERENCE, PickupName: 'X' })
    expect(status).toBe(409)
    expect(json).toEqual({ Message: expect.stringMatching(/again/), TransportationBooked: 'Unknown' })
    const [one, other] = [`GET /v2/shipments/${id}`, `PUT /v2/shipments/${id}`]
    expect(sent(gateway)).toEqual([one, other, one, other, one, other])
  })
})

test.each([200, 404, 409] as const)(
  'canceling a canceled shipment succeeds where the service answers %i',
  async (repeatedCancel) => {
    const gateway = await startGateway({ sandbox: { repeatedCancel } })
    await book(gateway)
    for (const _ of ['first', 'second', 'third']) {
      const { status, json } = await cancel(gateway, { ReferenceNumber: REFERENCE })
      expect(status).toBe(200)
      expect(json).toEqual({ Message: expect.stringContaining('canceled'), TransportationBooked: 'No' })
    }
  },
)

test.each([204, 404])('canceling what the service does not show any more succeeds: it answers %i', async (status) => {
  const gateway = await startGateway()
  const { id } = await book(gateway)
  gateway.sandbox.shipments.delete(id)
  gateway.sandbox.fail({ kind: 'status', status, on: { method: 'DELETE' } })
  expect(await cancel(gateway, { ReferenceNumber: REFERENCE })).toMatchObject({
    status: 200,
    json: { TransportationBooked: 'No' },
  })
})

describe('a name that the cross-reference does not have', () => {
  test('never reaches the service as a path', async () => {
    const gateway = await startGateway()
    const odd = [
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
    ]
    for (const name of odd) {
      for (const field of ['ReferenceNumber', 'ShipmentNumber', 'id']) {
        expect((await read(gateway, { [field]: name })).status, name).toBe(404)
        for (const path of ['/updateShipment.php', '/deleteShipment.php']) {
          const { status, json } = await post(gateway, path, { [field]: name })
          expect([status, json.TransportationBooked], name).toEqual([404, 'No'])
        }
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
    const { gateway, id, number } = await openWithUnknown()
    expect((await read(gateway, { ShipmentNumber: number })).json).toMatchObject({ ShipmentNumber: number, VinNo: VIN })
    expect(sent(gateway)).toEqual([`GET /v2/shipments/${number}`])
    await read(gateway, { number })
    expect(sent(gateway)[1]).toBe(`GET /v2/shipments/${id}`)
    await cancel(gateway, { ReferenceNumber: number })
    expect(gateway.sandbox.shipments.get(id)?.status).toBe('canceled')
  })

  test('that the service knows is read anew for an update, for another may have come between', async () => {
    const { gateway, id, number } = await openWithUnknown()
    const changes = [{ PickupName: 'Gate 4' }, { DeliveryName: 'Gate 5' }, { DeliveryCity: 'Tampa' }]
    const answers = await Promise.all(changes.map((change) => update(gateway, { number, ...change })))
    expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200))
    expect(sent(gateway).slice(-6)).toEqual(
      changes.flatMap(() => [`GET /v2/shipments/${id}`, `PUT /v2/shipments/${id}`]),
    )
    expect(gateway.sandbox.shipments.get(id)).toMatchObject({
      pickup: { contact_name: 'Gate 4' },
      delivery: { contact_name: 'Gate 5', city: 'Tampa' },
    })
  })
})

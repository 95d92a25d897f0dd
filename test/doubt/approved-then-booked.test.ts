import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import type { Fault } from '../../src/sandbox/sandbox.ts'
import { claimOf, creations, isCreation } from '../bookings/desk.ts'
import { type Answered, get, type House, type HouseOptions, openHouse, post } from '../gateway.ts'

/*
 * A quote that is approved and then booked is one shipment, whether the service makes a shipment of it on approval or not.
 */

const NUMBER = quoteExample.ShipmentNumber
const VIN = bookingExample.VinNo
const OTHER_VIN = '1HGCM82633A004352'
const ACCEPT = { ActionName: 'Accept Rate', ShipmentNumber: NUMBER }

const quote = (house: House, changes: object = {}) =>
  post(house, '/getShippingQuote.php', { ...quoteExample, ...changes })
const approve = (house: House, names: object = {}) => post(house, '/getShippingQuote.php', { ...ACCEPT, ...names })
const book = (house: House, changes: object = {}) =>
  post(house, '/createShipment.php', { ...bookingExample, ReferenceNumber: NUMBER, ...changes })
const cancel = (house: House, name: object = { ReferenceNumber: NUMBER }) => post(house, '/deleteShipment.php', name)
const read = (house: House, name: Record<string, string> = { ReferenceNumber: NUMBER }) =>
  get(house, `/getShipment.php?${new URLSearchParams(name)}`)

const live = ({ sandbox }: House) => [...sandbox.shipments.values()].filter(({ status }) => status !== 'canceled')
const sent = ({ sandbox }: House) => sandbox.requests.map(({ method, path }) => `${method} ${path}`)
const lastBody = ({ sandbox }: House) => JSON.parse(sandbox.requests.at(-1)?.body ?? '')

/** The two worlds: the service makes an approved quote a shipment of the same id, or does not. */
const worlds = [
  { world: 'approving books', approvalBooks: true },
  { world: 'approving books nothing', approvalBooks: false },
] as const

async function openQuoted(approvalBooks: boolean, options: HouseOptions = {}): Promise<{ house: House; id: string }> {
  const house = await openHouse({ ...options, sandbox: { ...options.sandbox, approvalBooks } })
  expect((await quote(house)).status).toBe(200)
  const [id = ''] = house.sandbox.quotes.keys()
  return { house, id }
}

function expectBooked(answer: Answered): void {
  expect(answer.status, answer.text).toBe(200)
  expect(answer.json.TransportationBooked).toBe('Yes')
}

describe.each(worlds)('where $world', ({ approvalBooks }) => {
  test('approved, then booked is one shipment, which the number reads and cancels', async () => {
    const { house, id } = await openQuoted(approvalBooks)
    expectBooked(await approve(house))
    expectBooked(await book(house))
    expect(live(house)).toMatchObject([{ external_id: NUMBER, vehicles: [{ vin: VIN }] }])
    const [shipment] = live(house)
    expect(shipment?.id === id).toBe(approvalBooks)
    expect((await read(house)).json).toMatchObject({ ReferenceNumber: NUMBER, VinNo: VIN, TransportationBooked: 'Yes' })
    expect((await cancel(house)).json).toMatchObject({ TransportationBooked: 'No' })
    expect(live(house)).toEqual([])
  })

  test('the booking is made once: a retry is answered as the first call was', async () => {
    const { house } = await openQuoted(approvalBooks)
    await approve(house)
    const first = await book(house)
    const requests = house.sandbox.requests.length
    const retry = await book(house)
    expect(retry.text).toBe(first.text)
    expect(retry.headers.get('idempotent-replayed')).toBe('true')
    expect(retry.headers.get('transload-shipment-id')).toBe(live(house)[0]?.id)
    expect(house.sandbox.requests).toHaveLength(requests)
    expect((await book(house, { DeliveryName: 'Somebody Else' })).status).toBe(409)
  })

  test('a second vehicle under the number is a booking of its own', async () => {
    const { house } = await openQuoted(approvalBooks)
    await approve(house)
    expectBooked(await book(house))
    expectBooked(await book(house, { VinNo: OTHER_VIN }))
    expect(live(house).map(({ vehicles }) => vehicles.map(({ vin }) => vin))).toEqual([[VIN], [OTHER_VIN]])
    expect((await read(house, { ReferenceNumber: NUMBER, VinNo: VIN })).json.VinNo).toBe(VIN)
    const unclear = await cancel(house)
    expect(unclear.status).toBe(409)
    expect(unclear.json.Message).not.toContain('(none)')
    for (const VinNo of [VIN, OTHER_VIN])
      expect((await cancel(house, { ReferenceNumber: NUMBER, VinNo })).status).toBe(200)
    expect(live(house)).toEqual([])
  })

  test('two vehicles at once are two shipments', async () => {
    const { house } = await openQuoted(approvalBooks)
    await approve(house)
    const answers = await Promise.all([VIN, OTHER_VIN].map((VinNo) => book(house, { VinNo })))
    answers.forEach(expectBooked)
    expect(
      live(house)
        .flatMap(({ vehicles }) => vehicles.map(({ vin }) => vin))
        .sort(),
    ).toEqual([VIN, OTHER_VIN])
    expect(live(house)).toHaveLength(2)
  })

  test('canceled and booked again is one shipment, with the id of the quote', async () => {
    const { house, id } = await openQuoted(approvalBooks)
    await approve(house)
    await book(house)
    await cancel(house)
    expectBooked(await book(house))
    expect(lastBody(house)).toMatchObject({ quote_id: id })
    expect(live(house)).toHaveLength(1)
    expect((await read(house)).json).toMatchObject({ VinNo: VIN, Status: 'new' })
    expect((await cancel(house)).status).toBe(200)
    expect(live(house)).toEqual([])
  })

  test('booked under the other name of the quote is the same shipment', async () => {
    const { house } = await openQuoted(approvalBooks)
    await approve(house)
    expectBooked(await book(house, { ReferenceNumber: quoteExample.OrderRefNumber }))
    expect(live(house)).toHaveLength(1)
    for (const name of [{ ReferenceNumber: NUMBER }, { ReferenceNumber: quoteExample.OrderRefNumber }]) {
      expect((await read(house, name)).json.VinNo).toBe(VIN)
    }
    await cancel(house)
    expect(live(house)).toEqual([])
  })

  test("a VIN that is not the shipment's cancels nothing, under any name of the quote", async () => {
    const { house } = await openQuoted(approvalBooks)
    await approve(house, { ShipmentNumber: '', OrderRefNumber: quoteExample.OrderRefNumber })
    await book(house)
    for (const ReferenceNumber of [NUMBER, quoteExample.OrderRefNumber]) {
      const { status } = await cancel(house, { ReferenceNumber, VinNo: OTHER_VIN })
      expect([404, 409]).toContain(status)
    }
    expect(live(house)).toHaveLength(1)
    await cancel(house)
    await book(house, { VinNo: OTHER_VIN })
    expect((await cancel(house, { ReferenceNumber: NUMBER, VinNo: '2HGFC2F59KH512345' })).status).toBe(409)
    expect(live(house)).toHaveLength(1)
  })

  test('an approval under a number that is booked is answered from that booking, and not sent', async () => {
    const { house } = await openQuoted(approvalBooks)
    await book(house)
    house.sandbox.requests.length = 0
    const [shipment] = live(house)
    const answer = await approve(house)
    expect(answer.json).toEqual({
      Cost: shipment?.price.toFixed(2),
      ShipmentNumber: NUMBER,
      Message: expect.stringContaining(`booked already, as shipment ${shipment?.number}`),
      TransportationBooked: 'Yes',
    })
    expect(sent(house)).toEqual([`GET /v2/shipments/${shipment?.id}`])
    // Nothing was approved, so the next booking asks for nothing.
    await cancel(house)
    house.sandbox.requests.length = 0
    expectBooked(await book(house))
    expect(sent(house)).toEqual(['POST /v2/shipments'])
  })

  test('a quote of one number whose booking is canceled can be approved', async () => {
    const { house } = await openQuoted(approvalBooks)
    await book(house)
    await cancel(house)
    expectBooked(await approve(house))
    expect(live(house)).toHaveLength(approvalBooks ? 1 : 0)
    expectBooked(await book(house))
    expect(live(house)).toHaveLength(1)
    expect((await cancel(house)).status).toBe(200)
    expect(live(house)).toEqual([])
  })
})

describe('where approving books', () => {
  test('the number of an approved quote reads and cancels its shipment, whatever is quoted later', async () => {
    const { house, id } = await openQuoted(true)
    await approve(house)
    await quote(house, { TempShipToPostalCode: '60601' })
    expect((await read(house)).json).toMatchObject({ ShipmentNumber: NUMBER, DeliveryZip: '33166' })
    expectBooked(await book(house))
    expect(live(house)).toMatchObject([{ id, external_id: NUMBER }])
    expect((await cancel(house)).status).toBe(200)
    expect(live(house)).toEqual([])
  })

  test('an approval of another quote under that number is answered from the shipment there is', async () => {
    const { house, id } = await openQuoted(true)
    await approve(house)
    await quote(house, { TempShipToPostalCode: '60601' })
    expectBooked(await approve(house))
    expect(live(house)).toMatchObject([{ id }])
  })

  test('an approval of a canceled shipment is no success', async () => {
    const { house } = await openQuoted(true)
    await approve(house)
    await cancel(house)
    const { status, json } = await approve(house)
    expect(status).toBe(409)
    expect(json).toEqual({ Cost: '', ShipmentNumber: NUMBER, Message: expect.stringMatching(/canceled/) })
  })

  test('a cancellation before the booking cancels the shipment of the approval', async () => {
    const { house } = await openQuoted(true)
    await approve(house)
    expect((await cancel(house)).status).toBe(200)
    expect(live(house)).toEqual([])
  })

  test('a booking without a VIN gets the shipment as well', async () => {
    const { house, id } = await openQuoted(true)
    await approve(house)
    expectBooked(await book(house, { VinNo: '' }))
    expect(live(house)).toMatchObject([{ id, vehicles: [{ make: bookingExample.Make }] }])
  })

  test('no more than what the booking says is changed, and nothing that only the service sets is sent', async () => {
    const { house, id } = await openQuoted(true)
    await approve(house)
    const before = structuredClone(house.sandbox.shipments.get(id))
    await book(house)
    const body = lastBody(house)
    for (const key of ['id', 'number', 'status', 'price', 'quote_id', 'documents']) expect(body).not.toHaveProperty(key)
    expect(body.vehicles).toMatchObject([{ id: before?.vehicles[0]?.id, vin: VIN }])
    expect(house.sandbox.shipments.get(id)).toMatchObject({ number: before?.number, price: before?.price })
  })

  test('APPROVAL_BOOKS=no never asks', async () => {
    const { house, id } = await openQuoted(true, { env: { APPROVAL_BOOKS: 'no' } })
    await approve(house)
    house.sandbox.requests.length = 0
    expectBooked(await book(house))
    expect(sent(house)).toEqual(['POST /v2/shipments'])
    expect(lastBody(house)).toMatchObject({ quote_id: id })
  })
})

describe('the read before a booking of an approved quote', () => {
  const unclear: readonly (readonly [what: string, fault: Fault])[] = [
    ['500', { kind: 'status', status: 500, body: { message: 'Boom' } }],
    ['503', { kind: 'status', status: 503 }],
    ['401', { kind: 'status', status: 401 }],
    ['429', { kind: 'status', status: 429 }],
    ['302', { kind: 'status', status: 302 }],
    ['an empty body', { kind: 'empty' }],
    ['a list', { kind: 'body', body: '[]' }],
    ['a page', { kind: 'not-json' }],
    ['another shipment', { kind: 'body', body: '{"id":"another","pickup":{},"vehicles":[]}' }],
    ['a denial', { kind: 'body', body: '{"success":false}' }],
    ['half a shipment', { kind: 'status', status: 200, body: {} }],
    ['no reply', { kind: 'timeout-unprocessed' }],
  ]

  test.each(unclear)('that gives %s sends nothing, and claims nothing', async (_, fault) => {
    const { house, id } = await openQuoted(true, { env: { UPSTREAM_TIMEOUT_MS: '700' } })
    await approve(house)
    house.sandbox.requests.length = 0
    house.sandbox.fail({ ...fault, times: 'always', on: { method: 'GET' } })
    const { status, json } = await book(house)
    expect(status).toBe(503)
    expect(json).toEqual({ Message: expect.stringMatching(/nothing was sent.*again/), TransportationBooked: 'No' })
    expect(house.sandbox.requests.filter(({ method }) => method !== 'GET')).toEqual([])
    expect((await claimOf(house, NUMBER)).state).toBe('freed')

    house.sandbox.clearFaults()
    expectBooked(await book(house))
    expect(live(house)).toMatchObject([{ id }])
  })

  test.each([404, 410])('that gives %i books anew, with the id of the quote', async (status) => {
    const { house, id } = await openQuoted(false)
    await approve(house)
    house.sandbox.fail({ kind: 'status', status, times: 'always', on: { method: 'GET' } })
    expectBooked(await book(house))
    expect(lastBody(house)).toMatchObject({ quote_id: id, external_id: NUMBER })
  })
})

describe('an update with a booking that fails', () => {
  const on = { method: 'PUT' } as const

  test.each([
    { kind: 'status', status: 500, process: true, on },
    { kind: 'status', status: 500, on },
    { kind: 'reset-after', on },
    { kind: 'timeout', on },
    { kind: 'body', body: '{"success":false}', on },
    { kind: 'body', body: '{"id":"another"}', on },
    { kind: 'body', body: '{"status":"canceled"}', on },
    { kind: 'not-json', on },
  ] satisfies Fault[])('by $kind asks for the booking again, which is not made twice', async (fault) => {
    const { house, id } = await openQuoted(true, { env: { UPSTREAM_TIMEOUT_MS: '700' } })
    await approve(house)
    house.sandbox.fail(fault)
    const { status, json } = await book(house)
    expect(status).toBe(503)
    expect(json).toEqual({ Message: expect.stringMatching(/again.*not booked twice/), TransportationBooked: 'Unknown' })
    expectBooked(await book(house))
    expect(live(house)).toMatchObject([{ id, external_id: NUMBER, vehicles: [{ vin: VIN }] }])
    expect(creations(house)).toBe(0)
  })

  test('because the service refuses it is a refusal', async () => {
    const { house } = await openQuoted(true)
    await approve(house)
    house.sandbox.fail({ kind: 'status', status: 422, body: { message: 'No such dealer' }, on })
    const { status, json } = await book(house)
    expect(status).toBe(422)
    expect(json).toEqual({ Message: expect.stringContaining('No such dealer'), TransportationBooked: 'No' })
    expectBooked(await book(house))
  })
})

describe('an approval', () => {
  test('whose outcome is not known lets the booking ask the service', async () => {
    for (const kind of ['timeout', 'timeout-unprocessed'] as const) {
      const { house } = await openQuoted(true, { env: { UPSTREAM_TIMEOUT_MS: '700' } })
      house.sandbox.fail({ kind, on: { path: '/v2/quote/*' } })
      expect((await approve(house)).status).toBe(504)
      expectBooked(await book(house))
      expect(live(house)).toHaveLength(1)
      expect(creations(house)).toBe(kind === 'timeout' ? 0 : 1)
    }
  })

  test('that the service refuses leaves nothing', async () => {
    const { house } = await openQuoted(true)
    house.sandbox.fail({ kind: 'status', status: 422, on: { path: '/v2/quote/*' } })
    expect((await approve(house)).status).toBe(422)
    house.sandbox.requests.length = 0
    expectBooked(await book(house))
    expect(sent(house)).toEqual(['POST /v2/shipments'])
    expect(lastBody(house)).not.toHaveProperty('quote_id')
  })

  test('of a quote whose booking is under way waits for it', async () => {
    const { house } = await openQuoted(true)
    house.sandbox.fail({ kind: 'delay', ms: 300, on: { method: 'POST', path: '/v2/shipments' } })
    const begun = house.sandbox.next(isCreation)
    const booking = book(house)
    await begun
    const early = await approve(house)
    expect(early.status).toBe(409)
    expect(early.headers.get('retry-after')).toBe('5')
    expectBooked(await booking)
    expect((await approve(house)).json.Message).toMatch(/booked already/)
    expect(live(house)).toHaveLength(1)
  })

  test('of a quote whose booking may have been made is not sent', async () => {
    const { house } = await openQuoted(true, { env: { UPSTREAM_TIMEOUT_MS: '700' } })
    house.sandbox.fail({ kind: 'timeout', on: { method: 'POST', path: '/v2/shipments' } })
    const { handle } = await book(house).then(() => claimOf(house, NUMBER))
    for (const names of [{}, { ShipmentNumber: '', OrderRefNumber: quoteExample.OrderRefNumber }]) {
      const { status, json } = await approve(house, names)
      expect(status).toBe(503)
      expect(json.Message).toContain(handle)
    }
    expect(live(house)).toHaveLength(1)
  })

  test('that says nothing of a shipment tells of none', async () => {
    const { house } = await openQuoted(false)
    const { json } = await approve(house)
    expect(json.Message).not.toMatch(/shipment|booked/)
    expect((await read(house)).status).toBe(404)
    expect((await cancel(house)).status).toBe(404)
  })
})

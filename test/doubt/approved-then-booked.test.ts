import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { claimOf, creations, isCreation } from '../bookings/desk.ts'
import { type Answered, basic, get, post, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'

/*
 * A quote that is approved and then booked is one shipment, whether the service makes a shipment of it on approval or not.
 */

const NUMBER = quoteExample.ShipmentNumber
const VIN = bookingExample.VinNo
const OTHER_VIN = '1HGCM82633A004352'
const ACCEPT = { ActionName: 'Accept Rate', ShipmentNumber: NUMBER }

const quote = (gateway: TestGateway, changes: object = {}) =>
  post(gateway, '/getShippingQuote.php', { ...quoteExample, ...changes })
const approve = (gateway: TestGateway, names: object = {}) =>
  post(gateway, '/getShippingQuote.php', { ...ACCEPT, ...names })
const book = (gateway: TestGateway, changes: object = {}) =>
  post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: NUMBER, ...changes })
const cancel = (gateway: TestGateway, name: object = { ReferenceNumber: NUMBER }) =>
  post(gateway, '/deleteShipment.php', name)
const read = (gateway: TestGateway, name: Record<string, string> = { ReferenceNumber: NUMBER }) =>
  get(gateway, `/getShipment.php?${new URLSearchParams(name)}`)

const live = ({ sandbox }: TestGateway) => [...sandbox.shipments.values()].filter(({ status }) => status !== 'canceled')
const sent = ({ sandbox }: TestGateway) => sandbox.requests.map(({ method, path }) => `${method} ${path}`)
const lastBody = ({ sandbox }: TestGateway) => JSON.parse(sandbox.requests.at(-1)?.body ?? '')

/** Both kinds of service: an approved quote becomes a shipment of the same id, or it does not. */
const worlds = [
  { world: 'approving books', approvalBooks: true },
  { world: 'approving books nothing', approvalBooks: false },
] as const

async function openQuoted(
  approvalBooks: boolean,
  options: TestGatewayOptions = {},
): Promise<{ gateway: TestGateway; id: string }> {
  const gateway = await startGateway({ ...options, sandbox: { ...options.sandbox, approvalBooks } })
  expect((await quote(gateway)).status).toBe(200)
  const [id = ''] = gateway.sandbox.quotes.keys()
  return { gateway, id }
}

function expectBooked(answer: Answered): void {
  expect(answer.status, answer.text).toBe(200)
  expect(answer.json.TransportationBooked).toBe('Yes')
}

/** Checks an approval: it is a booking only where the service shows a shipment. */
function expectApproved({ status, text, json }: Answered, isBooked: boolean): void {
  expect(status, text).toBe(200)
  expect(json.TransportationBooked).toBe(isBooked ? 'Yes' : 'No')
  if (!isBooked) expect(json.Message).toMatch(/^The quote is approved; the transportation is not booked yet\./)
}

describe.each(worlds)('where $world', ({ approvalBooks }) => {
  test.each([undefined, 'reset-after'] as const)(
    'approved under /v2/ (%s), then booked is one shipment',
    async (kind) => {
      const { gateway, id } = await openQuoted(approvalBooks)
      if (kind) gateway.sandbox.fail({ kind, on: { path: `/v2/quote/${id}/approve` } })
      const headers = { authorization: basic() }
      // The service has accepted the credential under /v2/, too.
      await fetch(`${gateway.url}/v2/shipments/none`, { headers })
      const { status } = await fetch(`${gateway.url}/v2/quote/${id}/approve`, { method: 'POST', headers })
      expect(status).toBe(kind ? 502 : 200)
      expectBooked(await book(gateway))
      expect(live(gateway)).toMatchObject([{ external_id: NUMBER, vehicles: [{ vin: VIN }] }])
      expect(live(gateway)[0]?.id === id).toBe(approvalBooks)
    },
  )

  test('approved, then booked is one shipment, which the number reads and cancels', async () => {
    const { gateway, id } = await openQuoted(approvalBooks)
    expectApproved(await approve(gateway), approvalBooks)
    expectBooked(await book(gateway))
    expect(live(gateway)).toMatchObject([{ external_id: NUMBER, vehicles: [{ vin: VIN }] }])
    const [shipment] = live(gateway)
    expect(shipment?.id === id).toBe(approvalBooks)
    expect((await read(gateway)).json).toMatchObject({
      ReferenceNumber: NUMBER,
      VinNo: VIN,
      TransportationBooked: 'Yes',
    })
    expect((await cancel(gateway)).json).toMatchObject({ TransportationBooked: 'No' })
    expect(live(gateway)).toEqual([])
  })

  test('the booking is made once: a retry is answered as the first call was', async () => {
    const { gateway } = await openQuoted(approvalBooks)
    await approve(gateway)
    const first = await book(gateway)
    const requests = gateway.sandbox.requests.length
    const retry = await book(gateway)
    expect(retry.text).toBe(first.text)
    expect(retry.headers.get('idempotent-replayed')).toBe('true')
    expect(retry.headers.get('transload-shipment-id')).toBe(live(gateway)[0]?.id)
    expect(gateway.sandbox.requests).toHaveLength(requests)
    expect((await book(gateway, { DeliveryName: 'Somebody Else' })).status).toBe(409)
  })

  test('a second vehicle under the number is a separate booking', async () => {
    const { gateway } = await openQuoted(approvalBooks)
    await approve(gateway)
    expectBooked(await book(gateway))
    expectBooked(await book(gateway, { VinNo: OTHER_VIN }))
    expect(live(gateway).map(({ vehicles }) => vehicles.map(({ vin }) => vin))).toEqual([[VIN], [OTHER_VIN]])
    expect((await read(gateway, { ReferenceNumber: NUMBER, VinNo: VIN })).json.VinNo).toBe(VIN)
    const unclear = await cancel(gateway)
    expect(unclear.status).toBe(409)
    expect(unclear.json.Message).not.toContain('(none)')
    for (const VinNo of [VIN, OTHER_VIN])
      expect((await cancel(gateway, { ReferenceNumber: NUMBER, VinNo })).status).toBe(200)
    expect(live(gateway)).toEqual([])
  })

  test('two vehicles at once are two shipments', async () => {
    const { gateway } = await openQuoted(approvalBooks)
    await approve(gateway)
    const answers = await Promise.all([VIN, OTHER_VIN].map((VinNo) => book(gateway, { VinNo })))
    answers.forEach(expectBooked)
    expect(
      live(gateway)
        .flatMap(({ vehicles }) => vehicles.map(({ vin }) => vin))
        .sort(),
    ).toEqual([VIN, OTHER_VIN])
    expect(live(gateway)).toHaveLength(2)
  })

  test('canceled and booked again is one shipment, with the id of the quote', async () => {
    const { gateway, id } = await openQuoted(approvalBooks)
    await approve(gateway)
    await book(gateway)
    await cancel(gateway)
    expectBooked(await book(gateway))
    expect(lastBody(gateway)).toMatchObject({ quote_id: id })
    expect(live(gateway)).toHaveLength(1)
    expect((await read(gateway)).json).toMatchObject({ VinNo: VIN, Status: 'new' })
    expect((await cancel(gateway)).status).toBe(200)
    expect(live(gateway)).toEqual([])
  })

  test('booked under the other name of the quote is the same shipment', async () => {
    const { gateway } = await openQuoted(approvalBooks)
    await approve(gateway)
    expectBooked(await book(gateway, { ReferenceNumber: quoteExample.OrderRefNumber }))
    expect(live(gateway)).toHaveLength(1)
    for (const name of [{ ReferenceNumber: NUMBER }, { ReferenceNumber: quoteExample.OrderRefNumber }]) {
      expect((await read(gateway, name)).json.VinNo).toBe(VIN)
    }
    await cancel(gateway)
    expect(live(gateway)).toEqual([])
  })

  test("a VIN that is not the shipment's cancels nothing, under any name of the quote", async () => {
    const { gateway } = await openQuoted(approvalBooks)
    await approve(gateway, { ShipmentNumber: '', OrderRefNumber: quoteExample.OrderRefNumber })
    await book(gateway)
    for (const ReferenceNumber of [NUMBER, quoteExample.OrderRefNumber]) {
      const { status } = await cancel(gateway, { ReferenceNumber, VinNo: OTHER_VIN })
      expect([404, 409]).toContain(status)
    }
    expect(live(gateway)).toHaveLength(1)
    await cancel(gateway)
    await book(gateway, { VinNo: OTHER_VIN })
    expect((await cancel(gateway, { ReferenceNumber: NUMBER, VinNo: '2HGFC2F59KH512345' })).status).toBe(409)
    expect(live(gateway)).toHaveLength(1)
  })

  test('an approval under a number that is booked is answered from that booking, and not sent', async () => {
    const { gateway } = await openQuoted(approvalBooks)
    await book(gateway)
    gateway.sandbox.requests.length = 0
    const [shipment] = live(gateway)
    const answer = await approve(gateway)
    expect(answer.json).toEqual({
      Cost: shipment?.price.toFixed(2),
      ShipmentNumber: NUMBER,
      Message: expect.stringContaining(`booked already, as shipment ${shipment?.number}`),
      TransportationBooked: 'Yes',
    })
    expect(sent(gateway)).toEqual([`GET /v2/shipments/${shipment?.id}`])
    // Nothing was approved, so the next booking asks for nothing.
    await cancel(gateway)
    gateway.sandbox.requests.length = 0
    expectBooked(await book(gateway))
    expect(sent(gateway)).toEqual(['POST /v2/shipments'])
  })

  test('a quote of one number whose booking is canceled can be approved', async () => {
    const { gateway } = await openQuoted(approvalBooks)
    await book(gateway)
    await cancel(gateway)
    expectApproved(await approve(gateway), approvalBooks)
    expect(live(gateway)).toHaveLength(approvalBooks ? 1 : 0)
    expectBooked(await book(gateway))
    expect(live(gateway)).toHaveLength(1)
    expect((await cancel(gateway)).status).toBe(200)
    expect(live(gateway)).toEqual([])
  })
})

describe('where approving books', () => {
  test('the number of an approved quote reads and cancels its shipment, even after later quotes', async () => {
    const { gateway, id } = await openQuoted(true)
    await approve(gateway)
    await quote(gateway, { TempShipToPostalCode: '60601' })
    expect((await read(gateway)).json).toMatchObject({ ShipmentNumber: NUMBER, DeliveryZip: '33166' })
    expectBooked(await book(gateway))
    expect(live(gateway)).toMatchObject([{ id, external_id: NUMBER }])
    expect((await cancel(gateway)).status).toBe(200)
    expect(live(gateway)).toEqual([])
  })

  test('an approval of another quote under that number is answered from the shipment there is', async () => {
    const { gateway, id } = await openQuoted(true)
    await approve(gateway)
    await quote(gateway, { TempShipToPostalCode: '60601' })
    expectBooked(await approve(gateway))
    expect(live(gateway)).toMatchObject([{ id }])
  })

  test('an approval of a canceled shipment is no success', async () => {
    const { gateway } = await openQuoted(true)
    await approve(gateway)
    await cancel(gateway)
    const { status, json } = await approve(gateway)
    expect(status).toBe(409)
    expect(json).toEqual({ Cost: '', ShipmentNumber: NUMBER, Message: expect.stringMatching(/canceled/) })
  })

  test('a cancellation before the booking cancels the shipment of the approval', async () => {
    const { gateway } = await openQuoted(true)
    await approve(gateway)
    expect((await cancel(gateway)).status).toBe(200)
    expect(live(gateway)).toEqual([])
  })

  test('a booking without a VIN gets the shipment as well', async () => {
    const { gateway, id } = await openQuoted(true)
    await approve(gateway)
    expectBooked(await book(gateway, { VinNo: '' }))
    expect(live(gateway)).toMatchObject([{ id, vehicles: [{ make: bookingExample.Make }] }])
  })

  test('only the fields of the booking are changed, and no member that only the service sets is sent', async () => {
    const { gateway, id } = await openQuoted(true)
    await approve(gateway)
    const before = structuredClone(gateway.sandbox.shipments.get(id))
    await book(gateway)
    const body = lastBody(gateway)
    for (const key of ['id', 'number', 'status', 'price', 'quote_id', 'documents']) expect(body).not.toHaveProperty(key)
    expect(body.vehicles).toMatchObject([{ id: before?.vehicles[0]?.id, vin: VIN }])
    expect(gateway.sandbox.shipments.get(id)).toMatchObject({ number: before?.number, price: before?.price })
  })
})

describe.each(worlds)('with APPROVAL_BOOKS=no, where $world', ({ approvalBooks }) => {
  const env = { APPROVAL_BOOKS: 'no' }
  /** The service makes another shipment of the approval where the operator says wrongly that it makes none. */
  const ofApproval = approvalBooks ? 1 : 0

  test('a booking is sent without a question, with the id of the quote, and once', async () => {
    const { gateway, id } = await openQuoted(approvalBooks, { env })
    expectApproved(await approve(gateway), approvalBooks)
    expect(live(gateway)).toHaveLength(ofApproval)
    gateway.sandbox.requests.length = 0
    expectBooked(await book(gateway))
    expect(sent(gateway)).toEqual(['POST /v2/shipments'])
    expect(lastBody(gateway)).toMatchObject({ quote_id: id, external_id: NUMBER })
    expect((await book(gateway)).headers.get('idempotent-replayed')).toBe('true')
    expect(sent(gateway)).toEqual(['POST /v2/shipments'])
    expect(live(gateway)).toHaveLength(ofApproval + 1)
  })

  test('the number and the VIN read and cancel the booking, and it can be booked again', async () => {
    const { gateway } = await openQuoted(approvalBooks, { env })
    await approve(gateway)
    expectBooked(await book(gateway))
    const name = { ReferenceNumber: NUMBER, VinNo: VIN }
    expect((await read(gateway, name)).json).toMatchObject({ ReferenceNumber: NUMBER, VinNo: VIN })
    expect((await cancel(gateway, name)).status).toBe(200)
    expect(live(gateway)).toHaveLength(ofApproval)
    gateway.sandbox.requests.length = 0
    expectBooked(await book(gateway))
    expect(sent(gateway)).toEqual(['POST /v2/shipments'])
    expect(live(gateway)).toHaveLength(ofApproval + 1)
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
    const { gateway, id } = await openQuoted(true, { env: { UPSTREAM_TIMEOUT_MS: '700' } })
    await approve(gateway)
    gateway.sandbox.requests.length = 0
    gateway.sandbox.fail({ ...fault, times: 'always', on: { method: 'GET' } })
    const { status, json } = await book(gateway)
    expect(status).toBe(503)
    expect(json).toEqual({ Message: expect.stringMatching(/nothing was sent.*again/), TransportationBooked: 'No' })
    expect(gateway.sandbox.requests.filter(({ method }) => method !== 'GET')).toEqual([])
    expect((await claimOf(gateway, NUMBER)).state).toBe('freed')

    gateway.sandbox.clearFaults()
    expectBooked(await book(gateway))
    expect(live(gateway)).toMatchObject([{ id }])
  })

  test.each([404, 410])('that gives %i books anew, with the id of the quote', async (status) => {
    const { gateway, id } = await openQuoted(false)
    await approve(gateway)
    gateway.sandbox.fail({ kind: 'status', status, times: 'always', on: { method: 'GET' } })
    expectBooked(await book(gateway))
    expect(lastBody(gateway)).toMatchObject({ quote_id: id, external_id: NUMBER })
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
    const { gateway, id } = await openQuoted(true, { env: { UPSTREAM_TIMEOUT_MS: '700' } })
    await approve(gateway)
    gateway.sandbox.fail(fault)
    const { status, json } = await book(gateway)
    expect(status).toBe(503)
    expect(json).toEqual({ Message: expect.stringMatching(/again.*not booked twice/), TransportationBooked: 'Unknown' })
    expectBooked(await book(gateway))
    expect(live(gateway)).toMatchObject([{ id, external_id: NUMBER, vehicles: [{ vin: VIN }] }])
    expect(creations(gateway)).toBe(0)
  })

  test('because the service refuses it is a refusal', async () => {
    const { gateway } = await openQuoted(true)
    await approve(gateway)
    gateway.sandbox.fail({ kind: 'status', status: 422, body: { message: 'No such dealer' }, on })
    const { status, json } = await book(gateway)
    expect(status).toBe(422)
    expect(json).toEqual({ Message: expect.stringContaining('No such dealer'), TransportationBooked: 'No' })
    expectBooked(await book(gateway))
  })
})

describe('an approval', () => {
  test('whose outcome is not known lets the booking ask the service', async () => {
    for (const kind of ['timeout', 'timeout-unprocessed'] as const) {
      const { gateway } = await openQuoted(true, { env: { UPSTREAM_TIMEOUT_MS: '700' } })
      gateway.sandbox.fail({ kind, on: { path: '/v2/quote/*' } })
      expect((await approve(gateway)).status).toBe(504)
      expectBooked(await book(gateway))
      expect(live(gateway)).toHaveLength(1)
      expect(creations(gateway)).toBe(kind === 'timeout' ? 0 : 1)
    }
  })

  test.each(['timeout', 'reset-after', 'reset-mid-body'] as const)(
    'whose reply is lost (%s) may have been made; sent again, it is answered from the shipment that it made',
    async (kind) => {
      const { gateway, id } = await openQuoted(true, { env: { UPSTREAM_TIMEOUT_MS: '700' } })
      gateway.sandbox.fail({ kind, on: { path: '/v2/quote/*' } })
      expect((await approve(gateway)).json.Message).toMatch(/may have been made or not/)
      gateway.sandbox.requests.length = 0
      const [shipment] = live(gateway)
      const again = await approve(gateway)
      expect(again.json).toEqual({
        Cost: shipment?.price.toFixed(2),
        ShipmentNumber: NUMBER,
        Message: expect.stringContaining(`booked already, as shipment ${shipment?.number}`),
        TransportationBooked: 'Yes',
      })
      expect(again.headers.get('transload-shipment-id')).toBe(id)
      expect(sent(gateway)).toEqual([`GET /v2/shipments/${id}`])
      expect((await read(gateway)).json).toMatchObject({ ShipmentNumber: NUMBER, TransportationBooked: 'Yes' })
      expectBooked(await book(gateway))
      expect(live(gateway)).toMatchObject([{ id }])
    },
  )

  test.each([true, false])('that did not arrive is sent again (approving books: %s)', async (approvalBooks) => {
    const env = { UPSTREAM_TIMEOUT_MS: '700', V2_SHIPMENT_PATH: '/v2/shipments' }
    const { gateway, id } = await openQuoted(approvalBooks, { env })
    gateway.sandbox.fail({ kind: 'timeout-unprocessed', on: { path: '/v2/quote/*' } })
    expect((await approve(gateway)).status).toBe(504)
    gateway.sandbox.requests.length = 0
    expectApproved(await approve(gateway), approvalBooks)
    const reads = approvalBooks ? [] : [`GET /v2/shipments/${id}`]
    expect(sent(gateway)).toEqual([`GET /v2/shipments/${id}`, `POST /v2/quote/${id}/approve`, ...reads])
    expect(live(gateway)).toHaveLength(approvalBooks ? 1 : 0)
  })

  test('whose outcome is not known is not sent again while the service does not show what it made', async () => {
    const { gateway, id } = await openQuoted(true)
    gateway.sandbox.fail({ kind: 'reset-after', on: { path: '/v2/quote/*' } })
    await approve(gateway)
    gateway.sandbox.requests.length = 0
    gateway.sandbox.fail({ kind: 'status', status: 500, on: { path: '/v2/shipments/*' }, times: 'always' })
    expect((await approve(gateway)).status).toBe(502)
    expect(sent(gateway)).toEqual([`GET /v2/shipments/${id}`])
    gateway.sandbox.clearFaults()
    expectBooked(await approve(gateway))
    expect(live(gateway)).toMatchObject([{ id }])
  })

  test('is sent again without a look where the operator says that approvals make no shipment', async () => {
    const { gateway, id } = await openQuoted(false, { env: { APPROVAL_BOOKS: 'no' } })
    gateway.sandbox.fail({ kind: 'reset-after', on: { path: '/v2/quote/*' } })
    await approve(gateway)
    gateway.sandbox.requests.length = 0
    expectApproved(await approve(gateway), false)
    expect(sent(gateway)).toEqual([`POST /v2/quote/${id}/approve`])
  })

  test('that the service refuses leaves nothing', async () => {
    const { gateway } = await openQuoted(true)
    gateway.sandbox.fail({ kind: 'status', status: 422, on: { path: '/v2/quote/*' } })
    expect((await approve(gateway)).status).toBe(422)
    gateway.sandbox.requests.length = 0
    expectBooked(await book(gateway))
    expect(sent(gateway)).toEqual(['POST /v2/shipments'])
    expect(lastBody(gateway)).not.toHaveProperty('quote_id')
  })

  test('of a quote whose booking is under way waits for it', async () => {
    const { gateway } = await openQuoted(true)
    gateway.sandbox.fail({ kind: 'delay', ms: 300, on: { method: 'POST', path: '/v2/shipments' } })
    const begun = gateway.sandbox.next(isCreation)
    const booking = book(gateway)
    await begun
    const early = await approve(gateway)
    expect(early.status).toBe(409)
    expect(early.headers.get('retry-after')).toBe('5')
    expectBooked(await booking)
    expect((await approve(gateway)).json.Message).toMatch(/booked already/)
    expect(live(gateway)).toHaveLength(1)
  })

  test('of a quote whose booking may have been made is not sent', async () => {
    const { gateway } = await openQuoted(true, { env: { UPSTREAM_TIMEOUT_MS: '700' } })
    gateway.sandbox.fail({ kind: 'timeout', on: { method: 'POST', path: '/v2/shipments' } })
    const { handle } = await book(gateway).then(() => claimOf(gateway, NUMBER))
    for (const names of [{}, { ShipmentNumber: '', OrderRefNumber: quoteExample.OrderRefNumber }]) {
      const { status, json } = await approve(gateway, names)
      expect(status).toBe(503)
      expect(json.Message).toContain(handle)
    }
    expect(live(gateway)).toHaveLength(1)
  })

  test('that says nothing of a shipment tells of none', async () => {
    const { gateway } = await openQuoted(false)
    const { json } = await approve(gateway)
    expect(json).toMatchObject({ Message: expect.stringMatching(/not booked yet/), TransportationBooked: 'No' })
    expect((await read(gateway)).status).toBe(404)
    expect((await cancel(gateway)).status).toBe(404)
  })
})

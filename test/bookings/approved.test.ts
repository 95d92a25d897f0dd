/** Promise: a quote is approved once, and booked as what it became (contract, section 7). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { get, post, startGateway, type TestGateway, type TestGatewayOptions, type WholeAnswer } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import * as desk from './desk.ts'
import { claimOf, creations, expectBooked, OTHER_VIN, shipments } from './desk.ts'

/*
 * Promise: a quote that is approved and then booked is one shipment, whether the service makes one of it on approval or not
 * (contract, section 7: approved, then booked).
 */

const NUMBER = quoteExample.ShipmentNumber
const VIN = bookingExample.VinNo
const OTHER_NAME = quoteExample.OrderRefNumber
const SHORT = { UPSTREAM_TIMEOUT_MS: '700' }
const OF_QUOTE = { path: '/v2/quote/*' }

const quote = (gateway: TestGateway, changes: object = {}) =>
  post(gateway, '/getShippingQuote.php', { ...quoteExample, ...changes })
const approve = (gateway: TestGateway, names: object = {}) =>
  post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: NUMBER, ...names })
const approveAtService = (gateway: TestGateway, id: string) => desk.ask(gateway, 'POST', `/v2/quote/${id}/approve`)
const book = (gateway: TestGateway, changes: object = {}) => desk.book(gateway, { ReferenceNumber: NUMBER, ...changes })
const cancel = (gateway: TestGateway, VinNo = '') =>
  post(gateway, '/deleteShipment.php', { ReferenceNumber: NUMBER, VinNo })
const read = (gateway: TestGateway, VinNo = '') =>
  get(gateway, `/getShipment.php?${new URLSearchParams({ ReferenceNumber: NUMBER, VinNo })}`)

const sent = ({ sandbox }: TestGateway) => sandbox.requests.splice(0).map(({ method, path }) => `${method} ${path}`)
const lastBody = ({ sandbox }: TestGateway) => JSON.parse(sandbox.requests.at(-1)?.body ?? '')

/** The service's own reply with other members, or without those that are undefined. */
const having = (more: object, on: NonNullable<Fault['on']>): Fault => ({
  kind: 'change',
  change: ({ body: text, ...answer }) => ({
    ...answer,
    body: JSON.stringify({ ...JSON.parse(String(text)), ...more }),
  }),
  process: true,
  on,
})

/** A gateway with a quote. */
async function openQuoted(approvalBooks: boolean, options: TestGatewayOptions = {}) {
  const gateway = await startGateway({ ...options, sandbox: { approvalBooks } })
  expect((await quote(gateway)).status).toBe(200)
  const [id = ''] = gateway.sandbox.quotes.keys()
  return { gateway, id }
}

/** A gateway with an approved quote, whose requests so far do not count. */
async function openApproved(approvalBooks: boolean, options: TestGatewayOptions = {}) {
  const { gateway, id } = await openQuoted(approvalBooks, options)
  expectApproved(await approve(gateway), approvalBooks)
  gateway.sandbox.requests.length = 0
  return { gateway, id }
}

/** Checks an approval: it is a booking only where the service shows a shipment. */
function expectApproved({ status, text, json }: WholeAnswer, isBooked: boolean): void {
  expect([status, json.TransportationBooked], text).toEqual([200, isBooked ? 'Yes' : 'No'])
  if (!isBooked) expect(json.Message).toMatch(/^The quote is approved; the transportation is not booked yet\./)
}

/** Checks that an approval is answered from the one shipment that there is, which is read and not approved again. */
async function expectAnsweredFrom(gateway: TestGateway, id: string): Promise<void> {
  const [shipment] = shipments(gateway)
  gateway.sandbox.requests.length = 0
  const answer = await approve(gateway)
  expect(answer.json).toEqual({
    Cost: shipment?.price.toFixed(2),
    ShipmentNumber: NUMBER,
    Message: expect.stringContaining(`booked already, as shipment ${shipment?.number}`),
    TransportationBooked: 'Yes',
  })
  expect(answer.headers.get('transload-shipment-id')).toBe(id)
  const requests = sent(gateway)
  expect(requests.at(-1)).toBe(`GET /v2/shipments/${id}`)
  expect(requests.filter((request) => !request.startsWith('GET'))).toEqual([])
}

describe.each([true, false])('where approving books: %s', (approvalBooks) => {
  test.each(['in version 1', 'under /v2/', 'under /v2/, where the reply is lost'])(
    'approved %s, then booked is one shipment, which its names read and cancel',
    async (how) => {
      const { gateway, id } = await openQuoted(approvalBooks)
      if (how.endsWith('lost')) gateway.sandbox.fail({ kind: 'reset-after', on: OF_QUOTE })
      // The service has accepted the credential under /v2/, too.
      await get(gateway, '/v2/shipments/none')
      if (how === 'in version 1') await approve(gateway)
      else await approveAtService(gateway, id)
      const made = expectBooked(await book(gateway))
      expect(shipments(gateway)).toMatchObject([{ id: made, external_id: NUMBER, vehicles: [{ vin: VIN }] }])
      expect(made === id).toBe(approvalBooks)
      sent(gateway)
      expect(expectBooked(await book(gateway), true)).toBe(made)
      expect((await book(gateway, { DeliveryName: 'Somebody Else' })).status).toBe(409)
      expect(sent(gateway)).toEqual([])
      expect((await read(gateway)).json).toMatchObject({ ReferenceNumber: NUMBER, VinNo: VIN })
      await cancel(gateway)
      expect(shipments(gateway)).toEqual([])
      // Booked again, it names the quote.
      expectBooked(await book(gateway))
      if (!how.endsWith('lost')) expect(lastBody(gateway)).toMatchObject({ quote_id: id })
      expect((await read(gateway)).json).toMatchObject({ VinNo: VIN, Status: 'new' })
      await cancel(gateway)
      expect(shipments(gateway)).toEqual([])
    },
  )

  test('with APPROVAL_BOOKS=no a booking is sent without a question, with the id of the quote, and once', async () => {
    const { gateway, id } = await openApproved(approvalBooks, { env: { APPROVAL_BOOKS: 'no' } })
    // The service makes another shipment of the approval where the operator says wrongly that it makes none.
    const ofApproval = approvalBooks ? 1 : 0
    for (const names of [{ external_id: NUMBER, quote_id: id }, { external_id: NUMBER }]) {
      expectBooked(await book(gateway))
      expect(lastBody(gateway)).toMatchObject(names)
      expectBooked(await book(gateway), true)
      expect(sent(gateway)).toEqual(['POST /v2/shipments'])
      expect(shipments(gateway)).toHaveLength(ofApproval + 1)
      expect((await cancel(gateway, VIN)).status).toBe(200)
      sent(gateway)
    }
  })
})

test('an approval of a booked quote is answered from the newest shipment that stands, and sent where none does', async () => {
  const { gateway } = await openQuoted(true)
  const numbers: (string | null)[] = []
  for (const VinNo of [VIN, OTHER_VIN])
    numbers.push((await book(gateway, { VinNo })).headers.get('transload-shipment-number'))
  expect((await approve(gateway)).json.Message).toContain(`as shipment ${numbers[1]};`)
  await cancel(gateway, OTHER_VIN)
  expect((await approve(gateway)).json.Message).toContain(`as shipment ${numbers[0]};`)
  await cancel(gateway, VIN)
  sent(gateway)
  expectApproved(await approve(gateway), true)
  expect(sent(gateway).at(-1)).toMatch(/^POST .*\/approve$/)
})

describe('the shipment that an approval made', () => {
  test('is what its number means, even after later quotes; it is not approved again, and takes the booking', async () => {
    const { gateway, id } = await openApproved(true)
    await quote(gateway, { TempShipToPostalCode: '60601' })
    expect((await read(gateway)).json).toMatchObject({ ShipmentNumber: NUMBER, DeliveryZip: '33166' })
    await expectAnsweredFrom(gateway, id)
    expectBooked(await book(gateway))
    expect(shipments(gateway)).toMatchObject([{ id, vehicles: [{ vin: VIN }] }])
  })

  test('gets the fields of the booking alone, with or without a VIN', async () => {
    for (const VinNo of [VIN, '']) {
      const { gateway, id } = await openApproved(true)
      const { number, price, vehicles = [] } = structuredClone(gateway.sandbox.shipments.get(id)) ?? {}
      expectBooked(await book(gateway, { VinNo }))
      const body = lastBody(gateway)
      const ofService = ['id', 'number', 'status', 'price', 'quote_id', 'documents']
      expect(Object.keys(body).filter((key) => ofService.includes(key))).toEqual([])
      expect(body.vehicles).toMatchObject([
        { id: vehicles[0]?.id, make: bookingExample.Make, ...(VinNo && { vin: VIN }) },
      ])
      expect(shipments(gateway)).toMatchObject([{ id, number, price }])
    }
  })
})

const GET = { method: 'GET' }
const PUT = { method: 'PUT' }
const body = (text: string, on: NonNullable<Fault['on']>): Fault => ({ kind: 'body', body: text, on })

test.each<Fault>([
  { kind: 'status', status: 500, on: GET },
  { kind: 'status', status: 401, on: GET },
  body('{"id":"another","pickup":{},"vehicles":[]}', GET),
  body('{"success":false}', GET),
  { kind: 'timeout-unprocessed', on: GET },
])('a booking whose quote’s shipment cannot be read (%o) sends nothing, and claims nothing', async (fault) => {
  const { gateway, id } = await openApproved(true, { env: SHORT })
  gateway.sandbox.fail({ ...fault, times: 'always' })
  const { status, json } = await book(gateway)
  expect(status).toBe(503)
  expect(json).toEqual({ Message: expect.stringMatching(/nothing was sent.*again/), TransportationBooked: 'No' })
  expect(sent(gateway).filter((request) => !request.startsWith('GET'))).toEqual([])
  expect((await claimOf(gateway, NUMBER)).state).toBe('freed')
  gateway.sandbox.clearFaults()
  expectBooked(await book(gateway))
  expect(shipments(gateway)).toMatchObject([{ id }])
})

test.each([404, 410])(
  'a booking whose quote has no shipment (%i) is sent, with the id of the quote',
  async (status) => {
    const { gateway, id } = await openApproved(false)
    gateway.sandbox.fail({ kind: 'status', status, times: 'always', on: GET })
    expectBooked(await book(gateway))
    expect(lastBody(gateway)).toMatchObject({ quote_id: id, external_id: NUMBER })
  },
)

test.each<[Fault, number, object]>([
  ...[
    { kind: 'status', status: 500, process: true, on: PUT } as const,
    { kind: 'reset-after', on: PUT } as const,
    { kind: 'timeout', on: PUT } as const,
    body('{"success":false}', PUT),
    body('{"status":"canceled"}', PUT),
  ].map((fault): [Fault, number, object] => [
    fault,
    503,
    {
      Message: expect.stringMatching(/Send the same booking again.*it will not be booked twice/),
      TransportationBooked: 'Unknown',
    },
  ]),
  [
    { kind: 'status', status: 422, body: { message: 'No such dealer' }, on: PUT },
    422,
    { Message: expect.stringContaining('No such dealer'), TransportationBooked: 'No' },
  ],
])('a booking whose update of that shipment fails (%o) is %i, and is made once', async (fault, status, json) => {
  const { gateway, id } = await openApproved(true, { env: SHORT })
  gateway.sandbox.fail(fault)
  expect(await book(gateway)).toMatchObject({ status, json })
  expectBooked(await book(gateway))
  expect(shipments(gateway)).toMatchObject([{ id, external_id: NUMBER, vehicles: [{ vin: VIN }] }])
  expect(creations(gateway)).toBe(0)
})

describe('an approval', () => {
  test.each([
    ['timeout', 504],
    ['reset-after', 502],
    ['reset-mid-body', 502],
  ] as const)('whose reply is lost (%s) may have been made; it is answered from what it made', async (kind, status) => {
    const { gateway, id } = await openQuoted(true, { env: SHORT })
    gateway.sandbox.fail({ kind, on: OF_QUOTE })
    const message = expect.stringMatching(/It is not known whether the change was made\. It is safe to send it again/)
    expect(await approve(gateway)).toMatchObject({ status, json: { Message: message } })
    // While the service does not show it, it is not sent again.
    gateway.sandbox.fail({ kind: 'status', status: 500, on: { path: '/v2/shipments/*' } })
    sent(gateway)
    expect((await approve(gateway)).status).toBe(502)
    await expectAnsweredFrom(gateway, id)
    expect((await read(gateway)).json).toMatchObject({ ShipmentNumber: NUMBER, TransportationBooked: 'Yes' })
    expectBooked(await book(gateway))
    expect([shipments(gateway).length, creations(gateway)]).toEqual([1, 0])
  })

  test.each([
    [true, 'auto'],
    [false, 'auto'],
    [false, 'no'],
  ])('that did not arrive is sent again (approving books: %s, APPROVAL_BOOKS=%s)', async (approvalBooks, setting) => {
    const env = { ...SHORT, V2_SHIPMENT_PATH: '/v2/shipments', APPROVAL_BOOKS: setting }
    const { gateway, id } = await openQuoted(approvalBooks, { env })
    gateway.sandbox.fail({ kind: 'timeout-unprocessed', on: OF_QUOTE })
    expect((await approve(gateway)).status).toBe(504)
    sent(gateway)
    expectApproved(await approve(gateway), approvalBooks)
    const look = `GET /v2/shipments/${id}`
    const approval = `POST /v2/quote/${id}/approve`
    const requests = approvalBooks ? [look, approval] : [look, approval, look]
    expect(sent(gateway)).toEqual(setting === 'no' ? [approval] : requests)
    expect(shipments(gateway)).toHaveLength(approvalBooks ? 1 : 0)
    expectBooked(await book(gateway))
    expect(shipments(gateway)).toHaveLength(1)
  })

  test.each(['in version 1', 'under /v2/'])('that the service refuses %s leaves nothing', async (where) => {
    const { gateway, id } = await openQuoted(true)
    gateway.sandbox.fail({ kind: 'status', status: 422, on: OF_QUOTE })
    const refused = where === 'in version 1' ? approve(gateway) : approveAtService(gateway, id)
    expect((await refused).status).toBe(422)
    sent(gateway)
    expectBooked(await book(gateway))
    expect(lastBody(gateway)).not.toHaveProperty('quote_id')
    expect(sent(gateway)).toEqual(['POST /v2/shipments'])
  })

  test.each([NUMBER, OTHER_NAME])(
    'of a quote whose booking as %s has no outcome yet is not sent',
    async (reference) => {
      const { gateway } = await openQuoted(true, { env: SHORT })
      const { answer } = await desk.begin(gateway, { kind: 'timeout' }, { ReferenceNumber: reference })
      const early = await approve(gateway)
      expect([early.status, early.headers.get('retry-after')]).toEqual([409, '5'])
      const Message = expect.stringContaining(desk.expectUnknown(await answer))
      for (const names of [{}, { ShipmentNumber: '', OrderRefNumber: OTHER_NAME }]) {
        expect(await approve(gateway, names)).toMatchObject({ status: 503, json: { Message } })
      }
      expect(shipments(gateway)).toHaveLength(1)
      expect(gateway.sandbox.requests.filter(({ path }) => path.endsWith('/approve'))).toEqual([])
    },
  )

  test.each([{ approved: false }, { approved: 'no' }, { status: 'Rejected' }])(
    'that is answered %j is not approved, and its shipment takes a booking',
    async (said) => {
      const { gateway, id } = await openQuoted(true)
      gateway.sandbox.fail(having(said, OF_QUOTE))
      expect((await approve(gateway)).status).toBe(502)
      expectBooked(await book(gateway))
      expect(shipments(gateway).map((shipment) => shipment.id)).toEqual([id])
    },
  )
})

/*
 * The reply to an approval may name another id than the quote's. If that is the shipment that the approval made, a later booking or
 * approval must not make a second one.
 */
describe('a shipment that an approval named', () => {
  /** Makes a shipment at the service, as an approval does that gives it an id of its own. */
  async function make({ sandbox }: TestGateway, more: object = {}): Promise<string> {
    const made = { customer: { customer_name: 'Pat' }, pickup: { city: 'Miami' }, vehicles: [{}], ...more }
    await post(sandbox, '/v2/shipments', made, { 'content-type': 'application/json' })
    sandbox.requests.length = 0
    return [...sandbox.shipments.keys()].at(-1) ?? ''
  }

  /** Opens a gateway whose service has answered the approval of a quote by naming another shipment. */
  async function openNamed(reply = (id: string): object => ({ id, status: 'new' }), more = {}, options = {}) {
    const { gateway } = await openQuoted(false, options)
    const id = await make(gateway, more)
    gateway.sandbox.fail(body(JSON.stringify(reply(id)), OF_QUOTE))
    const answer = await approve(gateway)
    sent(gateway)
    return { gateway, id, answer }
  }
  const approvals = ({ sandbox }: TestGateway) =>
    sandbox.requests.filter(({ path }) => path.endsWith('/approve')).length

  test.each([
    ['as its id', (id: string) => ({ id, status: 'new' }), 502],
    ['as the shipment_id', (id: string) => ({ shipment_id: id }), 502],
    ['beside an id of its own', (id: string) => ({ id: 'approval-7', shipment_id: id }), 502],
    ['in a denial', (id: string) => ({ success: false, id }), 502],
    ['in data', (id: string) => ({ data: { id } }), 200],
    ['in a shipment', (id: string) => ({ shipment: { id } }), 200],
  ])('%s takes the booking, and no second one is made', async (_, reply, status) => {
    const { gateway, id, answer } = await openNamed(reply)
    expect(answer.status).toBe(status)
    expectBooked(await book(gateway))
    expect(creations(gateway)).toBe(0)
    expect(shipments(gateway)).toMatchObject([{ id, external_id: NUMBER, vehicles: [{ vin: VIN }] }])
    expectBooked(await book(gateway, { VinNo: OTHER_VIN }))
    expect(creations(gateway)).toBe(1)
  })

  test('answers a second approval until it is canceled', async () => {
    const { gateway, id } = await openNamed()
    await expectAnsweredFrom(gateway, id)
    expect((await cancel(gateway)).status).toBe(200)
    expect(gateway.sandbox.shipments.get(id)?.status).toBe('canceled')
    await approve(gateway)
    expect(approvals(gateway)).toBe(1)
    expectBooked(await book(gateway))
    expect(creations(gateway)).toBe(1)
  })

  test.each([
    ['cannot be read', {}, [503, 502]],
    ['has another reference', { external_id: 'SOMEBODY-ELSES' }, [503, 502]],
    ['has another VIN', { vehicles: [{ vin: OTHER_VIN }] }, [503, 200]],
  ])('and that %s is not changed, and nothing is sent', async (what, more, statuses) => {
    const { gateway, id } = await openNamed(undefined, more)
    const before = structuredClone(gateway.sandbox.shipments.get(id))
    const on = { path: `/v2/shipments/${id}` }
    if (what === 'cannot be read') gateway.sandbox.fail({ kind: 'status', status: 500, on, times: 'always' })
    expect([(await book(gateway)).status, (await approve(gateway)).status]).toEqual(statuses)
    expect((await claimOf(gateway, NUMBER)).state).toBe('freed')
    expect([creations(gateway), approvals(gateway)]).toEqual([0, 0])
    expect(gateway.sandbox.shipments.get(id)).toEqual(before)
  })

  test('and that another booking has stays as it is, and the quote is booked', async () => {
    const { gateway } = await openQuoted(false)
    await desk.book(gateway, { ReferenceNumber: 'OTHER' })
    const [other] = shipments(gateway)
    gateway.sandbox.fail(body(JSON.stringify({ id: other?.id }), OF_QUOTE))
    expect((await approve(gateway)).status).toBe(502)
    expectBooked(await book(gateway))
    expect(shipments(gateway)).toMatchObject([other, { external_id: NUMBER }])
  })

  test.each([
    ['{"shipment_id":"ID" }\n', 0],
    ['{"id":"ID","note":"x"}', 0],
    ['OK', 1],
    ['', 1],
  ])('under /v2/ in %j takes the booking, and the reply is passed on unchanged', async (text, created) => {
    const { gateway, id: quoteId } = await openQuoted(false)
    const reply = text.replace('ID', await make(gateway))
    gateway.sandbox.fail(body(reply, OF_QUOTE))
    const answer = await approveAtService(gateway, quoteId)
    expect([answer.status, answer.text]).toEqual([200, reply])
    expectBooked(await book(gateway))
    expect(creations(gateway)).toBe(created)
  })
})

test('the shipment that an approval under /v2/ shows counts for the name of its quote, beside an earlier booking', async () => {
  const { gateway, id } = await openQuoted(true)
  const booked = expectBooked(await book(gateway))
  const reply = JSON.parse((await approveAtService(gateway, id)).text)
  expect(reply.shipment_id ?? reply.id).not.toBe(booked)
  expect(shipments(gateway)).toHaveLength(2)
  expect((await read(gateway)).json.Message).toContain('2 shipments')
  expect((await cancel(gateway)).status).toBe(409)
  expect((await post(gateway, '/deleteShipment.php', { shipment_id: id })).status).toBe(200)
  expect(shipments(gateway).map((one) => one.id)).toEqual([booked])
})

/** Promise: each error has its status, shape and message (contract, section 9). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { get, post, startGateway, type TestGateway, type TestGatewayOptions, type WholeAnswer } from '../gateway.ts'
import { openService } from '../http/service.ts'
import type { Fault } from '../stand-in/stand-in.ts'

const QUOTE = '/getShippingQuote.php'
const CREATE = '/createShipment.php'
const NUMBER = quoteExample.ShipmentNumber
const REFERENCE = bookingExample.ReferenceNumber
const ACCEPT = { ActionName: 'Accept Rate', ShipmentNumber: NUMBER }

const quote = (gateway: TestGateway) => post(gateway, QUOTE, quoteExample)
const book = (gateway: TestGateway) => post(gateway, CREATE, bookingExample)

/** Every call that can be answered with an error of the service, with the call that must precede it. */
const CALLS = {
  'quote.get': { first: async () => undefined, make: quote },
  'quote.update': {
    first: quote,
    make: (gateway: TestGateway) => post(gateway, QUOTE, { ...ACCEPT, ActionName: 'Update Rate' }),
  },
  'quote.approve': { first: quote, make: (gateway: TestGateway) => post(gateway, QUOTE, ACCEPT) },
  'shipment.get': {
    first: book,
    make: (gateway: TestGateway) => get(gateway, `/getShipment.php?ReferenceNumber=${REFERENCE}`),
  },
  'shipment.update': {
    first: book,
    make: (gateway: TestGateway) =>
      post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, PickupName: 'X' }),
  },
  'shipment.cancel': {
    first: book,
    make: (gateway: TestGateway) => post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE }),
  },
} as const
type Name = keyof typeof CALLS

/** Makes a call while the service always fails in one way. */
async function failing(name: Name, fault: Fault, options: TestGatewayOptions = {}): Promise<WholeAnswer> {
  const gateway = await startGateway(options)
  const { first, make } = CALLS[name]
  await first(gateway)
  gateway.sandbox.fail({ ...fault, times: 'always' })
  return await make(gateway)
}

/** The members of an error beside its message: those of a quote have the caller's number. */
const ofQuote = (own: string = NUMBER) => ({ Cost: '', ShipmentNumber: own })
const NOT_BOOKED = { TransportationBooked: 'No' }
const UNKNOWN = { TransportationBooked: 'Unknown' }
const ofCall = (name: string) => (name.startsWith('quote') ? ofQuote() : UNKNOWN)

/** Checks that an error has the shape of its path, and one line of plain English. */
function expectError(answer: WholeAnswer, status: number, shape: object, says: RegExp | string): void {
  expect(answer.status, answer.text).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(answer.json).toEqual({ ...shape, Message: expect.any(String) })
  expect(answer.json.Message).toMatch(says)
  expect(answer.json.Message).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]{10,500}$/u)
}

describe('a mistake of the caller', () => {
  test('has the shape of its path', async () => {
    const gateway = await startGateway({ env: { BODY_LIMIT_BYTES: '1500' } })
    const without = { authorization: '' }
    const long = ' '.repeat(1501)
    expectError(await post(gateway, QUOTE, 'nonsense'), 400, ofQuote(''), /JSON/)
    expectError(await post(gateway, '/deleteShipment.php', '{"a":'), 400, UNKNOWN, /JSON/)
    expectError(await post(gateway, QUOTE, quoteExample, without), 401, ofQuote(), /Client ID/)
    expectError(await post(gateway, CREATE, bookingExample, without), 401, NOT_BOOKED, /Client ID/)
    expectError(await get(gateway, '/getShipment.php?number=1', without), 401, UNKNOWN, /Client ID/)
    expectError(await post(gateway, QUOTE, ACCEPT), 404, ofQuote(), NUMBER)
    expect(gateway.sandbox.requests).toEqual([])
    expectError(await get(gateway, '/getShipment.php?number=NO-1'), 404, NOT_BOOKED, /NO-1/)
    expectError(await post(gateway, QUOTE, long), 413, ofQuote(''), /1500 bytes/)
    expectError(await post(gateway, CREATE, long), 413, NOT_BOOKED, /1500 bytes/)
    const quote = await post(gateway, QUOTE, { ...quoteExample, EquipmentType: 'SUBMARINE' })
    expectError(quote, 422, ofQuote(), /EquipmentType/)
    expectError(await post(gateway, CREATE, { ...bookingExample, Year: 'old' }), 422, NOT_BOOKED, /Year/)
  })

  test('in more fields than a line has room for is listed by field', async () => {
    const gateway = await startGateway()
    const wrong = Object.fromEntries(Object.keys(bookingExample).map((field) => [field, { nested: true }]))
    const booking = await post(gateway, CREATE, wrong)
    expectError(booking, 422, NOT_BOOKED, new RegExp(`^${Object.keys(wrong).length} fields`))
    expect(booking.json.Message).toContain('PickupPhNo.')
  })

  test('leaves the caller its own ShipmentNumber, in any spelling and type', async () => {
    const gateway = await startGateway()
    for (const [body, own] of [
      [{ SHIPMENTNUMBER: 'S-1' }, 'S-1'],
      [{ ShipmentNumber: 17 }, '17'],
      [{ ShipmentNumber: ' S-2 ', ActionName: 'nonsense' }, 'S-2'],
      [{ ShipmentNumber: { a: 1 } }, ''],
      [{}, ''],
    ] as const) {
      expectError(await post(gateway, QUOTE, body), 422, ofQuote(own), /./)
    }
  })

  test('does not bring its control characters and line ends into the message', async () => {
    const gateway = await startGateway()
    const ShipmentNumber = 'A\r\nB\u0007C\u2028D\u0085E'
    const { json } = await post(gateway, QUOTE, { ...ACCEPT, ShipmentNumber })
    expect(json.Message).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u)
    expect(json.Message).toContain('A B C D E')
    const long = await get(gateway, `/getShipment.php?number=${'é'.repeat(2000)}`)
    expectError(long, 404, NOT_BOOKED, /…$/)
  })
})

const status = (code: number, body: string | object, headers: Record<string, string> = {}): Fault => ({
  kind: 'status',
  status: code,
  body,
  headers,
})
// Longer than a call may take, so it is not tried again.
const LATER = { 'retry-after': '60' }

/** What a failing service does, what its callers are told, and the headers of the answer. */
const FAILURES: readonly (readonly [fault: Fault, status: number, says: RegExp, headers?: Record<string, RegExp>])[] = [
  [status(422, { error: { message: 'Lane closed.' } }), 422, /Lane closed\./],
  [status(401, {}, { 'www-authenticate': 'Bearer realm="x"' }), 401, /Client ID/, { 'www-authenticate': /^Basic / }],
  [status(403, ''), 403, /^This credential is not allowed to do this\.$/],
  [status(429, 'Slow down', { 'retry-after': '17' }), 429, /Slow down/, { 'retry-after': /^17$/ }],
  [status(500, { message: 'Boom' }), 502, /Boom/],
  [status(503, 'Closed', LATER), 503, /Closed/, { 'retry-after': /^60$/ }],
  [{ kind: 'timeout-unprocessed' }, 504, /in time/],
]

test.each(Object.keys(CALLS) as Name[])('a failure of the service at %s is told as what it is', async (name) => {
  for (const [fault, code, says, headers = {}] of FAILURES) {
    const env = code === 504 ? { UPSTREAM_TIMEOUT_MS: '250' } : {}
    const answer = await failing(name, fault, { env })
    expectError(answer, code, ofCall(name), says)
    for (const [header, value] of Object.entries(headers)) expect(answer.headers.get(header)).toMatch(value)
  }
})

test('a refusal of a booking keeps its status and its words as well', async () => {
  const gateway = await startGateway()
  gateway.sandbox.fail(status(422, { message: 'No such dealer' }))
  expectError(await book(gateway), 422, NOT_BOOKED, 'No such dealer')
})

describe("the service's own words", () => {
  /** Replies and the words that are found in them, and replies without any. */
  const { found, none } = JSON.parse(readFileSync(join(import.meta.dirname, 'words.json'), 'utf8'))

  test('are found in every usual shape', async () => {
    const gateway = await startGateway()
    for (const [body, says] of found) {
      const content = Array.isArray(body) ? JSON.stringify(body) : body
      gateway.sandbox.fail(status(422, content))
      const { json } = await quote(gateway)
      expect(json.Message.split('The service says: ')[1], JSON.stringify(body)).toBe(says)
    }
  })

  test('are not looked for in pages, in halves, or too deep', async () => {
    const gateway = await startGateway()
    for (const body of none) {
      gateway.sandbox.fail(status(422, body))
      const answer = await quote(gateway)
      expectError(answer, 422, ofQuote(), /^The service rejected this request\./)
      expect(answer.json.Message).not.toContain('Oops')
    }
  })

  test('are cut where they are long, and never in the middle of a character', async () => {
    for (const pad of ['', 'x']) {
      const answer = await failing('shipment.get', status(400, pad + '😀'.repeat(2000)))
      expectError(answer, 400, UNKNOWN, /😀…$/)
      expect(answer.json.Message.isWellFormed()).toBe(true)
    }
  })
})

describe('a service', () => {
  test.each(['http://127.0.0.1:1', 'http://transload.invalid'])('that is not there (%s) is 502', async (serviceUrl) => {
    const gateway = await startGateway({ serviceUrl })
    expectError(await quote(gateway), 502, ofQuote(), /cannot be reached/)
    expectError(await get(gateway, '/getShipment.php?number=TL-1'), 502, UNKNOWN, /cannot be reached/)
  })

  test.each([301, 307])('that redirects (%i) is 502, and is not followed', async (code) => {
    const elsewhere = await openService((_, outgoing) => outgoing.end('{"shipment_id":"x","price":1}'))
    for (const name of ['quote.get', 'shipment.get', 'shipment.update'] as const) {
      const answer = await failing(name, status(code, {}, { location: `${elsewhere.url}/v2/quote` }))
      expectError(answer, 502, ofCall(name), `${code}`)
    }
    expect(elsewhere.requests).toEqual([])
  })
})

test('a store that is gone is 503 with Retry-After', async () => {
  const store = createMemoryStore()
  const gateway = await startGateway({ store })
  await store.close()
  const quote = await post(gateway, QUOTE, ACCEPT)
  expectError(quote, 503, ofQuote(), /again/)
  expect(quote.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expectError(await get(gateway, '/getShipment.php?number=1'), 503, UNKNOWN, /again/)
})

describe('ERROR_STATUS=ok', () => {
  const env = { ERROR_STATUS: 'ok' }

  test('makes every error on a legacy path 200, in the same shape', async () => {
    const gateway = await startGateway({ env })
    expectError(await post(gateway, QUOTE, 'nonsense'), 200, ofQuote(''), /JSON/)
    expectError(await post(gateway, QUOTE, quoteExample, { authorization: '' }), 200, ofQuote(), /Client ID/)
    expectError(await get(gateway, CREATE), 200, NOT_BOOKED, /POST/)
    expectError(await post(gateway, CREATE, { PickupZip: 'x' }), 200, NOT_BOOKED, /PickupZip/)
    expectError(await failing('shipment.get', status(500, 'Boom'), { env }), 200, UNKNOWN, /Boom/)
    const later = await failing('quote.get', status(429, '', LATER), { env })
    expectError(later, 200, ofQuote(), /again later/)
    expect(later.headers.get('retry-after')).toBe('60')
  })

  test('touches nothing else', async () => {
    const gateway = await startGateway({ env })
    expect((await post(gateway, '/nothing.php', {})).status).toBe(404)
    expect((await post(gateway, '/dry-run/createShipment.php', 'nonsense')).status).toBe(400)
    expect((await post(gateway, '/v2/shipments', {})).status).toBe(422)
    expect((await get(gateway, '/%zz')).status).toBe(400)
  })

  test('is logged with its cause', async () => {
    const gateway = await startGateway({ env })
    await post(gateway, QUOTE, ACCEPT)
    expect(gateway.lines().find(({ msg }) => msg === 'call')).toMatchObject({ error: 'number-unknown' })
  })
})

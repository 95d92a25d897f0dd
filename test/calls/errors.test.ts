/** Promise: each error has its status, code and message (contract, section 9). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Answered, get, post, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'
import { openService } from '../http/service.ts'
import type { Fault } from '../stand-in/stand-in.ts'

const QUOTE = '/getShippingQuote.php'
const NUMBER = quoteExample.ShipmentNumber
const REFERENCE = bookingExample.ReferenceNumber
const ACCEPT = { ActionName: 'Accept Rate', ShipmentNumber: NUMBER }

/** Every call that the service answers, with the calls that must precede it. */
const CALLS = {
  'quote.get': { make: (gateway: TestGateway) => post(gateway, QUOTE, quoteExample), first: async () => {} },
  'quote.update': {
    make: (gateway: TestGateway) => post(gateway, QUOTE, { ...ACCEPT, ActionName: 'Update Rate' }),
    first: (gateway: TestGateway) => post(gateway, QUOTE, quoteExample),
  },
  'quote.approve': {
    make: (gateway: TestGateway) => post(gateway, QUOTE, ACCEPT),
    first: (gateway: TestGateway) => post(gateway, QUOTE, quoteExample),
  },
  'shipment.get': {
    make: (gateway: TestGateway) => get(gateway, `/getShipment.php?ReferenceNumber=${REFERENCE}`),
    first: (gateway: TestGateway) => post(gateway, '/createShipment.php', bookingExample),
  },
  'shipment.update': {
    make: (gateway: TestGateway) =>
      post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, PickupName: 'X' }),
    first: (gateway: TestGateway) => post(gateway, '/createShipment.php', bookingExample),
  },
  'shipment.cancel': {
    make: (gateway: TestGateway) => post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE }),
    first: (gateway: TestGateway) => post(gateway, '/createShipment.php', bookingExample),
  },
} as const
const NAMES = Object.keys(CALLS) as (keyof typeof CALLS)[]

/** Makes a call while the service always fails in one way. */
async function failing(name: keyof typeof CALLS, fault: Fault, options: TestGatewayOptions = {}): Promise<Answered> {
  const gateway = await startGateway(options)
  const { first, make } = CALLS[name]
  await first(gateway)
  gateway.sandbox.fail({ ...fault, times: 'always' })
  return await make(gateway)
}

/** Checks that an error has the shape of its path, and one line of plain English. */
function expectError(
  answer: Answered,
  status: number,
  isQuote: boolean | 'booking',
  says: RegExp | string,
  own: string = NUMBER,
): void {
  expect(answer.status, answer.text).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  const message = expect.any(String)
  const booked = isQuote === 'booking' || status === 404 ? 'No' : 'Unknown'
  expect(answer.json).toEqual(
    isQuote === true
      ? { Cost: '', ShipmentNumber: own, Message: message }
      : { Message: message, TransportationBooked: booked },
  )
  expect(answer.json.Message).toMatch(says)
  expect(answer.json.Message).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]{10,500}$/u)
}

const isQuote = (name: string) => name.startsWith('quote')

describe('a mistake of the caller', () => {
  test('no body that can be read is 400', async () => {
    const gateway = await startGateway()
    for (const body of ['nonsense', '[]', '{"a":']) {
      expectError(await post(gateway, QUOTE, body), 400, true, /JSON/, '')
      expectError(await post(gateway, '/deleteShipment.php', body), 400, false, /JSON/)
    }
  })

  test('no credential is 401, with the challenge', async () => {
    const gateway = await startGateway()
    const without = { authorization: '' }
    const quote = await post(gateway, QUOTE, quoteExample, without)
    expectError(quote, 401, true, /Client ID/)
    expect(quote.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
    expectError(await post(gateway, '/createShipment.php', bookingExample, without), 401, 'booking', /Client ID/)
    expectError(await get(gateway, '/getShipment.php?number=1', without), 401, false, /Client ID/)
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('a number that is not known is 404', async () => {
    const gateway = await startGateway()
    expectError(await post(gateway, QUOTE, ACCEPT), 404, true, NUMBER)
    expectError(await get(gateway, '/getShipment.php?number=NO-1'), 404, false, /NO-1/)
    expectError(await post(gateway, '/updateShipment.php', { ReferenceNumber: 'NO-2' }), 404, false, /NO-2/)
  })

  test('a number that stands for several is 409', async () => {
    const gateway = await startGateway()
    await post(gateway, '/createShipment.php', bookingExample)
    await post(gateway, '/createShipment.php', { ...bookingExample, VinNo: '1HGCM82633A004352' })
    expectError(await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE }), 409, false, /VinNo/)
  })

  test('a body that is too large is 413', async () => {
    const gateway = await startGateway({ env: { BODY_LIMIT_BYTES: '100' } })
    expectError(await post(gateway, QUOTE, quoteExample), 413, true, /100 bytes/, '')
    expectError(await post(gateway, '/createShipment.php', bookingExample), 413, 'booking', /100 bytes/)
  })

  test('fields that cannot be translated are 422, all of them at once', async () => {
    const gateway = await startGateway()
    const { TempShipFromPostalCode: _, ...trip } = quoteExample
    const quote = await post(gateway, QUOTE, { ...trip, EquipmentType: 'SUBMARINE', TempShipToPostalCode: '' })
    expectError(quote, 422, true, /TempShipFromPostalCode/)
    for (const field of ['TempShipToPostalCode', 'EquipmentType']) expect(quote.json.Message).toContain(field)

    const wrong = { PickupZip: 'x', PickupState: 'Nowhere', Year: 'old', DeliveryZip: '1', DeliveryCity: ['a'] }
    const booking = await post(gateway, '/createShipment.php', { ...bookingExample, ...wrong })
    expectError(booking, 422, 'booking', /PickupZip/)
    for (const field of Object.keys(wrong)) expect(booking.json.Message).toContain(field)
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('more problems than a line has room for are listed by field', async () => {
    const gateway = await startGateway()
    const wrong = Object.fromEntries(Object.keys(bookingExample).map((field) => [field, { nested: true }]))
    const booking = await post(gateway, '/createShipment.php', wrong)
    expectError(booking, 422, 'booking', new RegExp(`^${Object.keys(wrong).length} fields`))
    expect(booking.json.Message).toContain('PickupPhNo.')
  })

  test("the caller's own ShipmentNumber comes back, in any spelling and type", async () => {
    const gateway = await startGateway()
    for (const [body, own] of [
      [{ SHIPMENTNUMBER: 'S-1' }, 'S-1'],
      [{ ShipmentNumber: 17 }, '17'],
      [{ ShipmentNumber: ' S-2 ', ActionName: 'nonsense' }, 'S-2'],
      [{ ShipmentNumber: { a: 1 } }, ''],
      [{}, ''],
    ] as const) {
      expectError(await post(gateway, QUOTE, body), 422, true, /./, own)
    }
  })

  test('control characters and line ends of the caller do not reach the message', async () => {
    const gateway = await startGateway()
    const ShipmentNumber = 'A\r\nB\u0007C\u2028D\u0085E'
    const { json } = await post(gateway, QUOTE, { ...ACCEPT, ShipmentNumber })
    expect(json.Message).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u)
    expect(json.Message).toContain('A B C D E')
    const long = await get(gateway, `/getShipment.php?number=${'é'.repeat(2000)}`)
    expectError(long, 404, false, /…$/)
  })
})

describe('a refusal of the service', () => {
  test.each(NAMES)('of %s keeps its status and carries the words of the service', async (name) => {
    for (const status of [400, 403, 409, 418, 422]) {
      const fault: Fault = { kind: 'status', status, body: { error: { message: 'Lane closed.' } } }
      const answer = await failing(name, fault)
      // A read before the update that is refused is a refusal of the update.
      expectError(answer, status, isQuote(name), 'Lane closed.')
    }
  })

  test('of a booking keeps its status and its words as well', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ kind: 'status', status: 422, body: { message: 'No such dealer' } })
    expectError(await post(gateway, '/createShipment.php', bookingExample), 422, 'booking', 'No such dealer')
  })

  test.each(NAMES)('of the credential, at %s, is 401 with a challenge for version-1 callers', async (name) => {
    const headers = { 'www-authenticate': 'Bearer realm="x"' }
    const answer = await failing(name, { kind: 'status', status: 401, headers, body: {} })
    expectError(answer, 401, isQuote(name), /Client ID/)
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
  })

  test.each(NAMES)('of too many calls, at %s, is 429 with its Retry-After', async (name) => {
    const headers = { 'retry-after': '17' }
    const answer = await failing(name, { kind: 'status', status: 429, headers, body: 'Slow down' })
    expectError(answer, 429, isQuote(name), /Slow down/)
    expect(answer.headers.get('retry-after')).toBe('17')
  })

  test.each(['une année', 'soon', '60s', '-3', '5, 7'])('that asks to wait %s says nothing of it', async (asked) => {
    const answer = await failing('quote.get', { kind: 'status', status: 429, headers: { 'retry-after': asked } })
    expect(answer.status).toBe(429)
    expect(answer.headers.has('retry-after')).toBe(false)
  })

  test('of an id is 404', async () => {
    const body = { message: 'gone' }
    for (const name of ['quote.update', 'quote.approve', 'shipment.get', 'shipment.update'] as const) {
      expectError(await failing(name, { kind: 'status', status: 404, body }), 404, isQuote(name), /gone/)
    }
  })
})

describe("the service's own words", () => {
  const WORDS = 'Pickup is closed'
  const found: [name: string, body: string | object, says: string][] = [
    ['message', { message: WORDS }, WORDS],
    ['Message', { Message: WORDS }, WORDS],
    ['an error in an object', { error: { code: 7, message: WORDS } }, WORDS],
    ['an error as text', { error: WORDS, status: 422 }, WORDS],
    ['error_description', { error: 'invalid_request', error_description: WORDS }, `${WORDS}; invalid_request`],
    ['errorMessage', { errorMessage: WORDS }, WORDS],
    ['error_message', { error_message: WORDS }, WORDS],
    ['msg', { success: false, msg: WORDS }, WORDS],
    ['problem details', { type: 'about:blank', title: 'Bad', status: 422, detail: WORDS }, WORDS],
    ['a title alone', { type: 'about:blank', title: WORDS }, WORDS],
    [
      'a list of errors',
      { errors: [{ title: 'Invalid', detail: WORDS }, { detail: 'so is delivery' }] },
      `${WORDS}; so is delivery`,
    ],
    ['errors as texts', { errors: [WORDS, 'and full'] }, `${WORDS}; and full`],
    [
      'errors by field',
      { errors: { 'pickup.zipcode': ['is required', 'is odd'] } },
      'pickup.zipcode: is required; pickup.zipcode: is odd',
    ],
    ['a message and errors by field', { message: WORDS, errors: { zip: ['is odd'] } }, `${WORDS}; zip: is odd`],
    ['errors that name their field', { errors: [{ field: 'zip', message: 'is odd' }] }, 'zip: is odd'],
    ['violations', { violations: [{ propertyPath: 'zip', message: 'is odd' }] }, 'zip: is odd'],
    ['steps of a path', { detail: [{ loc: ['body', 'vehicles', 0, 'vin'], msg: 'is odd' }] }, 'vehicles.0.vin: is odd'],
    ['issues', { issues: [{ path: ['zip'], message: 'is odd' }] }, 'zip: is odd'],
    ['default messages', { errors: [{ field: 'zip', defaultMessage: 'is odd' }] }, 'zip: is odd'],
    ['messages in a list', { errorMessages: ['Zip is odd'], errors: {} }, 'Zip is odd'],
    ['lists by field alone', { stop: { zip: ['is odd', 7] }, trace: 'a1', count: [3] }, 'stop.zip: is odd'],
    ['messages in a list', { statusCode: 400, message: ['one', 'two'], error: 'Bad Request' }, 'one; two; Bad Request'],
    ['a detail that is a list', { detail: [{ loc: ['body', 'zip'], msg: 'field required' }] }, 'zip: field required'],
    ['the path of the request is no field', { status: 422, message: WORDS, path: '/v2/quote' }, WORDS],
    ['a fault', { fault: { faultstring: WORDS } }, WORDS],
    ['a list', [{ message: WORDS }], WORDS],
    ['a JSON string', JSON.stringify(WORDS), WORDS],
    ['text', `${WORDS}\r\n`, WORDS],
    ['text with something less than something', 'weight must be < 5 and > 1', 'weight must be < 5 and > 1'],
    ['several lines', { message: 'one\r\n\ttwo\u0000\u2029three' }, 'one two three'],
    ['the same words twice', { message: WORDS, error: { message: WORDS } }, WORDS],
  ]
  test.each(found)('are found in %s', async (_, body, says) => {
    const content = typeof body === 'string' || !Array.isArray(body) ? body : JSON.stringify(body)
    const { json } = await failing('quote.get', { kind: 'status', status: 422, body: content as string })
    expect(json.Message).toMatch(/The service says: /)
    expect(json.Message.split('The service says: ')[1]).toBe(says)
  })

  test.each([
    ['a page', '<!doctype html><title>Oops</title><h1>Oops</h1>'],
    ['a page after a blank', ' \r\n<html><body>Oops</body></html>'],
    ['a page after text', 'Fatal error: <b>Oops</b> in <b>/srv/x.php</b><br />'],
    ['a page in a message', { message: '<p>Oops</p>' }],
    ['XML', '<?xml version="1.0"?><error>Oops</error>'],
    ['half a JSON', '{"message":"Oops'],
    ['JSON without words', { code: 'Oops', status: 422 }],
    ['nothing', ''],
    ['blanks', ' \r\n'],
    ['an empty message', { message: ' ', error: null, errors: [] }],
    ['a message too deep', { error: { error: { error: { error: { error: { error: { message: 'Oops' } } } } } } }],
  ])('are not looked for in %s', async (_, body) => {
    const answer = await failing('quote.get', { kind: 'status', status: 422, body })
    expectError(answer, 422, true, /refused/)
    expect(answer.json.Message).not.toContain('Oops')
  })

  test('are cut where they are long, and never in the middle of a character', async () => {
    for (const pad of ['', 'x']) {
      const answer = await failing('shipment.get', { kind: 'status', status: 400, body: pad + '😀'.repeat(2000) })
      expectError(answer, 400, false, /😀…$/)
      expect(answer.json.Message.isWellFormed()).toBe(true)
    }
  })
})

describe('a failure of the service', () => {
  test.each(NAMES)('at %s is 502, with its words', async (name) => {
    for (const status of [500, 502, 504]) {
      expectError(
        await failing(name, { kind: 'status', status, body: { message: 'Boom' } }),
        502,
        isQuote(name),
        /Boom/,
      )
    }
  })

  test.each(NAMES)('at %s that says 503 is 503, with its Retry-After or one of ours', async (name) => {
    // Longer than a call may take, so it is not tried again.
    const headers = { 'retry-after': '60' }
    const told = await failing(name, { kind: 'status', status: 503, headers, body: 'Closed' })
    expectError(told, 503, isQuote(name), /Closed/)
    expect(told.headers.get('retry-after')).toBe('60')
    const untold = await failing(name, { kind: 'status', status: 503, body: '' })
    expectError(untold, 503, isQuote(name), /again/)
    expect(untold.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  })

  test.each(NAMES)('at %s to answer in time is 504', async (name) => {
    const fault: Fault = { kind: 'timeout-unprocessed' }
    expectError(await failing(name, fault, { env: { UPSTREAM_TIMEOUT_MS: '250' } }), 504, isQuote(name), /in time/)
  })

  test('to end its reply in time is 504, even if bytes keep coming', async () => {
    const answer = await failing('quote.get', { kind: 'drip', ms: 20 }, { env: { UPSTREAM_TIMEOUT_MS: '300' } })
    expectError(answer, 504, true, /in time/)
  })

  test.each(['reset-before', 'reset-after', 'reset-mid-body'] as const)(
    'to keep the connection (%s) is 502',
    async (kind) => {
      for (const name of ['quote.get', 'shipment.get', 'shipment.update'] as const) {
        expectError(await failing(name, { kind }), 502, isQuote(name), /again/)
      }
    },
  )

  test('to take connections at all is 502', async () => {
    const gateway = await startGateway({ serviceUrl: 'http://127.0.0.1:1' })
    expectError(await post(gateway, QUOTE, quoteExample), 502, true, /cannot be reached/)
    expectError(await get(gateway, '/getShipment.php?number=TL-1'), 502, false, /cannot be reached/)
  })

  test('to be found is 502', async () => {
    const gateway = await startGateway({ serviceUrl: 'http://transload.invalid' })
    expectError(await post(gateway, QUOTE, quoteExample), 502, true, /cannot be reached/)
  })

  test('to speak HTTP is 502', async () => {
    const service = await openService((incoming) => incoming.socket.end('SSH-2.0-x\r\n'))
    const gateway = await startGateway({ serviceUrl: service.url })
    expectError(await post(gateway, QUOTE, quoteExample), 502, true, /again/)
  })

  test('by redirecting is 502, and is not followed', async () => {
    const elsewhere = await openService((_, outgoing) => outgoing.end('{"shipment_id":"x","price":1}'))
    for (const name of ['quote.get', 'shipment.get', 'shipment.update'] as const) {
      for (const status of [301, 302, 303, 307, 308]) {
        const headers = { location: `${elsewhere.url}/v2/quote` }
        expectError(await failing(name, { kind: 'status', status, headers, body: {} }), 502, isQuote(name), `${status}`)
      }
    }
    expect(elsewhere.requests).toEqual([])
  })

  const unreadable: [name: string, fault: Fault][] = [
    ['a page', { kind: 'not-json' }],
    ['half a JSON', { kind: 'half-json' }],
    ['nothing', { kind: 'empty' }],
    ['a length that is wrong', { kind: 'wrong-length' }],
    ['more than anybody reads', { kind: 'huge', megabytes: 9 }],
    ['a status that nobody knows', { kind: 'status', status: 999, body: {} }],
  ]
  test.each(unreadable)('by answering a quote with %s is 502', async (_, fault) => {
    expectError(await failing('quote.get', fault), 502, true, /\.$/)
  })

  test.each([
    ['no price', {}],
    ['a price of null', { price: null }],
    ['an empty price', { price: '' }],
    ['words for a price', { price: 'on request' }],
    ['a list', []],
    ['null', null],
    ['an object for a price', { price: { amount: 1 } }],
  ])('by answering a quote with %s is 502', async (_, body) => {
    const content = JSON.stringify(Array.isArray(body) || body === null ? body : { shipment_id: 'q-1', ...body })
    const headers = { 'content-type': 'application/json' }
    const answer = await failing('quote.get', { kind: 'status', status: 200, headers, body: content })
    expectError(answer, 502, true, /reply (lacks price|is not what was asked for)/)
  })
})

test.each([
  ['1.005', '1.01'],
  ['1234.5', '1234.50'],
  ['1e3', '1000.00'],
  ['0', '0.00'],
  ['"17.994999"', '17.99'],
  ['"1234.5"', '1234.50'],
])('a price of %s costs %s', async (price, cost) => {
  const headers = { 'content-type': 'application/json' }
  const body = `{"shipment_id":"q-1","price":${price}}`
  const { status, json } = await failing('quote.get', { kind: 'status', status: 200, headers, body })
  expect(status).toBe(200)
  expect(json).toEqual({ Cost: cost, ShipmentNumber: NUMBER })
})

test('a good reply in another encoding than it should have is no error', async () => {
  expect((await failing('shipment.get', { kind: 'latin1' })).status).toBe(200)
})

test('a store that is gone is 503 with Retry-After', async () => {
  const store = createMemoryStore()
  const gateway = await startGateway({ store })
  await store.close()
  const quote = await post(gateway, QUOTE, ACCEPT)
  expectError(quote, 503, true, /again/)
  expect(quote.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expectError(await get(gateway, '/getShipment.php?number=1'), 503, false, /again/)
})

describe('ERROR_STATUS=ok', () => {
  const env = { ERROR_STATUS: 'ok' }

  test('makes every error on a legacy path 200, in the same shape', async () => {
    const gateway = await startGateway({ env })
    const without = { authorization: '' }
    expectError(await post(gateway, QUOTE, 'nonsense'), 200, true, /JSON/, '')
    expectError(await post(gateway, QUOTE, quoteExample, without), 200, true, /Client ID/)
    expectError(await post(gateway, QUOTE, ACCEPT), 200, true, NUMBER)
    expectError(await get(gateway, '/createShipment.php'), 200, 'booking', /POST/)
    expectError(await post(gateway, '/createShipment.php', { PickupZip: 'x' }), 200, 'booking', /PickupZip/)
    expectError(
      await failing('shipment.get', { kind: 'status', status: 500, body: 'Boom' }, { env }),
      200,
      false,
      /Boom/,
    )
    const later = await failing('quote.get', { kind: 'status', status: 429, headers: { 'retry-after': '7' } }, { env })
    expectError(later, 200, true, /again later/)
    expect(later.headers.get('retry-after')).toBe('7')
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

/** Promise: every body and query that legacy clients write is read (contract, section 2). */

import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { dial, send } from '../http/wire.ts'

const QUOTE = '/getShippingQuote.php'
const BOOKING = '/createShipment.php'
const AUTHORIZATION = `Authorization: ${basic()}`
const BODY = JSON.stringify(quoteExample)
const TRIP = { pickup: '10314', delivery: '33166', vehicle_type: 'truck_ext', transport_type: 'open' }

const JSON_LABEL = { 'content-type': 'application/json' }
const FORM_LABEL = { 'content-type': 'application/x-www-form-urlencoded' }

/** The body of the last request at the service. */
function lastBody(gateway: TestGateway) {
  return JSON.parse(gateway.sandbox.requests.at(-1)?.body ?? 'null')
}

function form(fields: Readonly<Record<string, string>>): string {
  return new URLSearchParams(fields).toString()
}

/** Books with this body, and returns the request at the service. */
async function booked(body: string | object | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const gateway = await startGateway()
  const answer = await post(gateway, BOOKING, body, headers)
  expect(answer.text).toContain('"Yes"')
  return lastBody(gateway)
}

/** Sends an invalid call, and returns the answer; checks that nothing was sent to the service. */
async function refused(
  body: string | object | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  path = BOOKING,
) {
  const gateway = await startGateway()
  const answer = await post(gateway, path, body, headers)
  expect(gateway.sandbox.requests).toEqual([])
  return answer
}

describe('the body decides, not its label', () => {
  const labels = [
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain',
    'text/xml; charset=utf-8',
    'image/png',
    'nonsense',
    '',
    'multipart/form-data; boundary=x',
  ]
  test('JSON and forms are read under any label, and without one', async () => {
    const gateway = await startGateway()
    for (const body of [BODY, form(quoteExample)]) {
      for (const label of labels) {
        const { status } = await post(gateway, QUOTE, body, { 'content-type': label })
        expect([status, lastBody(gateway)], label).toEqual([200, TRIP])
      }
      const head = `POST ${QUOTE} HTTP/1.1\r\nHost: x\r\n${AUTHORIZATION}\r\nConnection: close\r\nContent-Length: ${body.length}`
      const reply = await send(gateway, `${head}\r\n\r\n${body}`)
      expect([reply.status, lastBody(gateway)]).toEqual([200, TRIP])
    }
  })

  test('JSON may begin with a byte order mark and blanks, and end with some', async () => {
    const gateway = await startGateway()
    for (const body of [`\ufeff${BODY}`, ` \r\n\t${BODY}\r\n`, `\ufeff \r\n${BODY}\n\n`]) {
      expect((await post(gateway, QUOTE, body)).status).toBe(200)
      expect(lastBody(gateway)).toEqual(TRIP)
    }
  })

  test('what is neither is 400, in one line that says what to send', async () => {
    const gateway = await startGateway()
    for (const body of [
      '',
      ' \r\n ',
      '[{"ReferenceNumber":"1"}]',
      '"ReferenceNumber=1"',
      '17',
      'null',
      '{"ReferenceNumber":"1"',
      '{"ReferenceNumber":"1"} x',
      "{'ReferenceNumber':'1'}",
      '<html><a href="?x=1">x</a></html>',
      '<?xml version="1.0"?><booking/>',
      'please book a truck',
      'Fatal error: x=1',
      '=x',
      '--x\r\nContent-Disposition: form-data; name="ReferenceNumber"\r\n\r\n1\r\n',
    ]) {
      const { status, json } = await post(gateway, BOOKING, body)
      const Message = expect.stringMatching(/^[^\r\n]{10,}$/)
      expect([status, json], body).toEqual([400, { Message, TransportationBooked: 'No' }])
      const quote = await post(gateway, QUOTE, body)
      expect(quote.json).toEqual({ Cost: '', ShipmentNumber: '', Message: json.Message })
    }
    expect(gateway.sandbox.requests).toEqual([])
  })
})

test('a form may have a pair in each line where it is labeled as text', async () => {
  const body = form({ ...bookingExample, PickupName: 'Pat' }).replaceAll('&', '\r\n')
  expect((await booked(body, { 'content-type': 'text/plain' })).pickup.contact_name).toBe('Pat')
})

describe('the encoding of a body', () => {
  const NAME = 'Zoë Müller – “Lot”'
  // Windows-1252 by hand: é is the same in ISO-8859-1, the dash and the quotation marks are not.
  const NAME_1252 = Buffer.from('Zo\xeb M\xfcller \x96 \x93Lot\x94', 'latin1')

  /** A booking as JSON with a name in these bytes. */
  function jsonWith(name: Buffer): Buffer<ArrayBuffer> {
    const [before = '', after = ''] = JSON.stringify({ ...bookingExample, PickupName: '@@' }).split('@@')
    return Buffer.concat([Buffer.from(before), name, Buffer.from(after)])
  }

  test('is UTF-8', async () => {
    expect((await booked({ ...bookingExample, PickupName: NAME })).pickup.contact_name).toBe(NAME)
    expect((await booked(form({ ...bookingExample, PickupName: NAME }))).pickup.contact_name).toBe(NAME)
  })

  test.each(['', 'application/json', 'application/json; charset=utf-8', 'text/plain; charset=windows-1252'])(
    'is Windows-1252 where it is not UTF-8, labeled "%s"',
    async (label) => {
      expect((await booked(jsonWith(NAME_1252), { 'content-type': label })).pickup.contact_name).toBe(NAME)
    },
  )

  test('is Windows-1252 in the escapes of a form as well', async () => {
    const escaped = [...NAME_1252].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
    const body = `${form({ ...bookingExample, PickupName: '' })}&PickupName=${escaped}`
    expect((await booked(body, FORM_LABEL)).pickup.contact_name).toBe(NAME)
  })

  test('is the one that charset names', async () => {
    const label = { 'content-type': 'application/json; charset=ISO-8859-2' }
    expect((await booked(jsonWith(Buffer.of(0xb1, 0xb9)), label)).pickup.contact_name).toBe('ąš')
  })

  test('may be of gzip or deflate, and a charset or none in its place changes nothing', async () => {
    const gateway = await startGateway()
    const plain = ['identity', 'UTF-8', 'utf8', 'iso-8859-1', 'windows-1252', 'none', '8bit', 'binary']
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(BODY)],
      [' X-GZIP ', gzipSync(BODY)],
      ['deflate', deflateSync(BODY)],
      ['Deflate', deflateRawSync(BODY)],
      ...plain.map((name) => [name, Buffer.from(BODY)] as const),
    ] as const) {
      const { status } = await post(gateway, QUOTE, Uint8Array.from(bytes), { 'content-encoding': encoding })
      expect([status, lastBody(gateway)], encoding).toEqual([200, TRIP])
    }
  })

  test('that is unknown or wrong is 400', async () => {
    for (const encoding of ['br', 'gzip', 'gzip, gzip', 'utf-8, br', 'none-such']) {
      expect((await refused(BODY, { 'content-encoding': encoding }, QUOTE)).status).toBe(400)
    }
  })
})

describe('values', () => {
  test('numbers and booleans are read as strings, digit for digit', async () => {
    const body = JSON.stringify({ ...bookingExample, ReferenceNumber: 0, Year: 0, Make: true, PickupZip: 0 })
      .replace('"ReferenceNumber":0', '"ReferenceNumber":12345678901234567890')
      .replace('"Year":0', '"Year":2023')
      .replace('"PickupZip":0', '"PickupZip":2134')
    expect(await booked(body, JSON_LABEL)).toMatchObject({
      external_id: '12345678901234567890',
      vehicles: [{ year: 2023, make: 'true' }],
      pickup: { zipcode: 2134 },
    })
  })

  test('of 4 KiB pass, longer ones are a problem of their field', async () => {
    // é takes two bytes, and blanks around do not count.
    const most = 'é'.repeat(2048)
    expect((await booked({ ...bookingExample, PickupAddress: ` ${most} ` })).pickup.address).toBe(most)
    const { status, json } = await refused({ ...bookingExample, PickupAddress: `${most}x` })
    expect(status).toBe(422)
    expect(json.Message).toMatch(/^PickupAddress .*4096 bytes/)
  })

  test('of unknown fields are not looked at', async () => {
    const unknown = { Foo: 'x'.repeat(5000), Bar: { deep: [1] }, __sneaky: null }
    expect(await booked({ ...bookingExample, ...unknown })).toEqual(await booked(bookingExample))
  })
})

describe('field names', () => {
  test('two spellings that agree are one, and a blank one does not count', async () => {
    const body = { ...bookingExample, PickupPhNo: bookingExample['PickupPhNo.'], PICKUPPHNO_: '' }
    expect((await booked(body)).pickup.contact_phone).toBe('7185550100')
  })

  test.each([
    `${form(bookingExample)}&PickupPhNo.=2145559999`,
    JSON.stringify(bookingExample).replace('{', '{"PickupPhNo.":"2145559999",'),
  ])('one that is written twice with different values is a problem: %s', async (body) => {
    const { status, json } = await refused(body)
    expect(status).toBe(422)
    expect(json.Message).toMatch(/^PickupPhNo\. .*different values/)
  })

  test('that are unknown are counted in the log', async () => {
    const gateway = await startGateway()
    await post(gateway, BOOKING, { ...bookingExample, Foo: '1', toString: '2', __proto: '3' })
    expect(gateway.lines().find(({ msg }) => msg === 'call')).toMatchObject({ unknown_fields: 3 })
  })

  test('ActionName is compared without case, blanks, underscores and dashes', async () => {
    const gateway = await startGateway()
    for (const ActionName of ['Get Rate', 'GETRATE', 'get_rate', 'Get-Quote', ' g e t quote ']) {
      expect((await post(gateway, QUOTE, { ...quoteExample, ActionName })).status).toBe(200)
    }
    for (const ActionName of ['MakeBooking', 'make booking', 'CREATE_SHIPMENT', '']) {
      const body = { ...bookingExample, ActionName, ReferenceNumber: `R-${ActionName.length}` }
      expect((await post(gateway, BOOKING, body)).status).toBe(200)
    }
    // The name of the path is one, too.
    expect((await post(gateway, '/ConfirmBooking', { ...bookingExample, ActionName: 'Confirm Booking' })).status).toBe(
      200,
    )
  })

  test('an ActionName that is an object or a list is a problem, not the default', async () => {
    const { status, json } = await refused({ ...quoteExample, ActionName: ['Accept Rate'] }, {}, QUOTE)
    expect(status).toBe(422)
    expect(json.Message).toMatch(/^ActionName /)
  })
})

describe('limits', () => {
  const filled = (fields: number) =>
    Object.fromEntries(Array.from({ length: fields }, (_, i) => [`Unknown${i}`, String(i)]))
  const known = Object.keys(bookingExample).length

  test('200 fields pass, 201 are 422', async () => {
    const most = { ...bookingExample, ...filled(200 - known) }
    for (const written of [JSON.stringify, form]) {
      await booked(written(most))
      const { status, json } = await refused(written({ ...most, More: '1' }))
      expect(status).toBe(422)
      expect(json).toEqual({ Message: expect.stringContaining('200 fields'), TransportationBooked: 'No' })
    }
  })

  const padded = (bytes: number) => BODY.padEnd(bytes, ' ')
  test('a body of 256 KiB passes, one byte more is 413', async () => {
    const gateway = await startGateway()
    expect((await post(gateway, QUOTE, padded(262_144))).status).toBe(200)
    gateway.sandbox.requests.length = 0
    const { status, json } = await post(gateway, QUOTE, padded(262_145))
    expect(status).toBe(413)
    expect(json).toEqual({ Cost: '', ShipmentNumber: '', Message: expect.stringContaining('262144 bytes') })
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('BODY_LIMIT_BYTES moves the limit, which holds after inflation and for chunks', async () => {
    const gateway = await startGateway({ env: { BODY_LIMIT_BYTES: '20000' } })
    const statusOf = async (bytes: Uint8Array<ArrayBuffer>, headers = {}) =>
      (await post(gateway, QUOTE, bytes, headers)).status
    const packed = (bytes: number) => Uint8Array.from(gzipSync(padded(bytes)))
    const gzip = { 'content-encoding': 'gzip' }
    expect(await statusOf(Buffer.from(padded(20_000)))).toBe(200)
    expect(await statusOf(Buffer.from(padded(20_001)))).toBe(413)
    expect(await statusOf(packed(20_000), gzip)).toBe(200)
    expect(packed(5_000_000).length).toBeLessThan(20_000)
    expect(await statusOf(packed(5_000_000), gzip)).toBe(413)
    const wire = await dial(gateway)
    wire.write(`POST ${QUOTE} HTTP/1.1\r\nHost: x\r\n${AUTHORIZATION}\r\nTransfer-Encoding: chunked\r\n\r\n`)
    wire.write(`4e21\r\n${padded(20_001)}\r\n`)
    expect(await wire.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('a length that is too large is 413 before any of the body arrives', async () => {
    const gateway = await startGateway()
    const wire = await dial(gateway)
    wire.write(`POST ${QUOTE} HTTP/1.1\r\nHost: x\r\n${AUTHORIZATION}\r\nContent-Length: 99999999\r\n\r\n`)
    expect(await wire.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 413 /)
  })
})

describe('reading by query', () => {
  const REFERENCE = bookingExample.ReferenceNumber

  test('finds the field in each spelling', async () => {
    const gateway = await startGateway()
    await post(gateway, BOOKING, bookingExample)
    for (const query of [
      `ReferenceNumber=${REFERENCE}`,
      `REFERENCENUMBER=${REFERENCE}`,
      `ReferenceNumber_=${REFERENCE}`,
      `ReferenceNumber=+%20${REFERENCE}%0d%0a`,
      `%52eferenceNumber=${REFERENCE.replace('W', '%57')}`,
      `&&x&ShipmentNumber=&Foo=%zz&ReferenceNumber=${REFERENCE}&`,
      `?ReferenceNumber=${REFERENCE}`,
    ]) {
      const { status, json } = await get(gateway, `/getShipment.php?${query}`)
      expect([status, json.ReferenceNumber], query).toEqual([200, REFERENCE])
    }
  })

  test('a question mark within a value is part of it', async () => {
    const gateway = await startGateway()
    await post(gateway, BOOKING, { ...bookingExample, ReferenceNumber: 'WHAT?NOW' })
    const { status, json } = await get(gateway, '/getShipment.php?ReferenceNumber=WHAT?NOW')
    expect(status).toBe(200)
    expect(json.ReferenceNumber).toBe('WHAT?NOW')
  })

  test('bytes that are no UTF-8 are Windows-1252', async () => {
    const gateway = await startGateway()
    await post(gateway, BOOKING, { ...bookingExample, ReferenceNumber: 'Zoë' })
    for (const escaped of ['Zo%EB', 'Zo%C3%AB', 'Zo%c3%ab']) {
      expect((await get(gateway, `/getShipment.php?ReferenceNumber=${escaped}`)).status, escaped).toBe(200)
    }
  })

  test('the limits are those of a body', async () => {
    const gateway = await startGateway()
    const disagree = await get(gateway, '/getShipment.php?ReferenceNumber=A&referencenumber=B')
    expect(disagree.status).toBe(422)
    expect(disagree.json.Message).toMatch(/ReferenceNumber is sent twice with different values/)
    const many = await get(gateway, `/getShipment.php?ReferenceNumber=A${'&x=1'.repeat(200)}`)
    expect(many.status).toBe(422)
    const long = await get(gateway, `/getShipment.php?ReferenceNumber=${'x'.repeat(4097)}`)
    expect(long.status).toBe(422)
    expect(long.json.Message).toContain('4096 bytes')
    expect(gateway.sandbox.requests).toEqual([])
  })
})

describe('a body of version 2 on a legacy path', () => {
  const SHIPMENT = {
    customer: { customer_name: 'Pat Example' },
    pickup: { zipcode: 75201 },
    delivery: { zipcode: 33166 },
    vehicles: [{ vin: '1FDXE4FN9PDD32477' }],
  }

  test.each([QUOTE, '/quotes/getShippingQuoteWTS.php'])(
    'on %s is a quote, and its reply is of version 2',
    async (path) => {
      const gateway = await startGateway()
      const body = '{ "pickup" : "10314",\n "delivery":"33166", "unknown_to_us": 12345678901234567890 }'
      const { status, json, headers } = await post(gateway, path, body, FORM_LABEL)
      const [request] = gateway.sandbox.requests
      expect(request).toMatchObject({ method: 'POST', path: '/v2/quote', body })
      expect(request?.headers['content-type']).toBe('application/json')
      expect(status).toBe(200)
      expect(json).toEqual({ shipment_id: expect.any(String), price: expect.any(Number) })
      expect(headers.get('deprecation')).toBe('@1767225600')
    },
  )

  test('is put into a query however deep it nests, without what no query holds', async () => {
    const gateway = await startGateway({ env: { V2_QUOTE_METHOD: 'GET' } })
    const deep = '['.repeat(200) + ']'.repeat(200)
    const body = `{"pickup":"1","pickup":"10314","delivery":"33166","weight":1.50,"notes":${deep}}`
    expect((await post(gateway, QUOTE, body)).status).toBe(200)
    expect(gateway.sandbox.requests).toMatchObject([
      { method: 'GET', path: '/v2/quote?pickup=10314&delivery=33166&weight=1.50' },
    ])
  })

  test('on a booking path is a new shipment', async () => {
    const gateway = await startGateway()
    for (const path of [BOOKING, '/ConfirmBooking', '/QUOTES/CONFIRMBOOKING/']) {
      const { status, json } = await post(gateway, path, `\ufeff\r\n${JSON.stringify(SHIPMENT)}`)
      const sent = { method: 'POST', path: '/v2/shipments', body: JSON.stringify(SHIPMENT) }
      expect(gateway.sandbox.requests.at(-1)).toMatchObject(sent)
      expect([status, json]).toEqual([201, JSON.parse(JSON.stringify(gateway.sandbox.shipments.get(json.id)))])
    }
  })

  test('on the update path changes the shipment whose id it has', async () => {
    const gateway = await startGateway({ sandbox: { etag: true } })
    const { json: made } = await post(gateway, BOOKING, SHIPMENT)
    const body = { id: made.id, instructions: 'Call first' }
    gateway.sandbox.fail({
      kind: 'status',
      status: 200,
      body: '{"note":"the very reply"}',
      headers: {
        etag: '"7"',
        'content-type': 'application/vnd.x+json',
        'x-ratelimit-remaining': '9',
        connection: 'close, x-of-this-hop',
        'x-of-this-hop': '1',
      },
      on: { method: 'PUT' },
    })
    const { status, text, headers } = await post(gateway, '/updateShipment.php', body)
    expect(gateway.sandbox.requests.at(-1)).toMatchObject({
      method: 'PUT',
      path: `/v2/shipments/${made.id}`,
      // The id stands in the path alone.
      body: JSON.stringify({ instructions: body.instructions }),
    })
    expect(status).toBe(200)
    expect(text).toBe('{"note":"the very reply"}')
    expect(headers.get('etag')).toBe('"7"')
    expect(headers.get('content-type')).toBe('application/vnd.x+json')
    expect([headers.get('x-ratelimit-remaining'), headers.get('x-of-this-hop')]).toEqual(['9', null])
  })

  test('on the cancel path cancels the shipment whose id it has', async () => {
    const gateway = await startGateway()
    const { json: made } = await post(gateway, BOOKING, SHIPMENT)
    const { status, json } = await post(gateway, '/deleteShipment.php', { id: made.id, external_id: 'X' })
    expect(gateway.sandbox.requests.at(-1)).toMatchObject({
      method: 'DELETE',
      path: `/v2/shipments/${made.id}`,
      body: '',
    })
    expect(status).toBe(200)
    expect(json).toMatchObject({ id: made.id, status: 'canceled' })
  })

  test.each([
    [204, null],
    [202, '0'],
  ])('has its reply %i without a body handed back, without a type of one', async (code, length) => {
    const service = await openService((_, outgoing) => outgoing.writeHead(code).end())
    const gateway = await startGateway({ serviceUrl: service.url })
    const { status, text, headers } = await post(gateway, BOOKING, SHIPMENT)
    expect(status).toBe(code)
    expect(text).toBe('')
    expect([headers.get('content-length'), headers.get('content-type')]).toEqual([length, null])
  })

  test.each(['/updateShipment.php', '/deleteShipment.php'])('on %s without an id is 422', async (path) => {
    for (const id of [undefined, '', '  ', 7, { a: 1 }]) {
      const { status, json } = await refused({ id, instructions: 'x' }, {}, path)
      expect(status).toBe(422)
      expect(json).toMatchObject({
        type: 'urn:transload:error:number-missing',
        status,
        detail: expect.stringMatching(/^The body has no id\./),
      })
    }
  })

  test.each(['/updateShipment.php', '/deleteShipment.php'])('on %s names its shipment as one segment', async (path) => {
    const gateway = await startGateway()
    for (const id of ['..', '.']) expect((await post(gateway, path, { id, instructions: 'x' })).status).toBe(404)
    expect(gateway.sandbox.requests).toEqual([])
    await post(gateway, path, { id: '../quote?a=b', instructions: 'x' })
    expect(gateway.sandbox.requests[0]?.path).toBe('/v2/shipments/..%2Fquote%3Fa%3Db')
  })

  test('has the refusal of the service handed back as it is', async () => {
    const gateway = await startGateway()
    const { status, json } = await post(gateway, QUOTE, { pickup: '10314' })
    expect(status).toBe(422)
    expect(json.error).toMatchObject({ code: 'validation_failed', message: expect.stringContaining('delivery') })
  })

  test('that mixes both versions is 422, and says which fields', async () => {
    const gateway = await startGateway()
    for (const key of [
      'customer',
      'pickup',
      'delivery',
      'vehicles',
      'vehicle_type',
      'transport_type',
      'external_id',
      'instructions',
    ]) {
      const { status, json } = await post(gateway, BOOKING, { [key]: 'x', PickupZip: '10314' })
      expect([status, json]).toEqual([422, { Message: expect.stringContaining(key), TransportationBooked: 'No' }])
      expect(json.Message).toContain('PickupZip')
    }
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('is not mixed by a field without a value, of either version', async () => {
    const gateway = await startGateway()
    const absent = { instructions: null, pickup: ' ', customer: '' }
    expect((await post(gateway, BOOKING, { ...absent, ...bookingExample })).json.TransportationBooked).toBe('Yes')
    const { status, json } = await post(gateway, BOOKING, { ...SHIPMENT, PickupZip: null, Year: ' ' })
    expect([status, json.status]).toEqual([201, 'new'])
    expect((await post(gateway, BOOKING, { pickup: null, PickupZip: null })).json).not.toHaveProperty('Message')
  })

  test('is known by its keys in their own case only, and only in JSON', async () => {
    const gateway = await startGateway()
    expect(
      (await post(gateway, BOOKING, { ...bookingExample, Pickup: 'x', CUSTOMER: 'y' })).json.TransportationBooked,
    ).toBe('Yes')
    const body = form({ ...bookingExample, ReferenceNumber: 'R-2', pickup: 'x', customer: 'y' })
    expect((await post(gateway, BOOKING, body)).json.TransportationBooked).toBe('Yes')
  })
})

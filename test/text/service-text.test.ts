/** Promise: text of the service is shown without harm (contract, section 9). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { parseJson } from '../../src/language/text/json.ts'
import {
  FIELD_LIMIT,
  HEADER_LIMIT,
  headerText,
  isSameThing,
  serviceId,
  shownText,
} from '../../src/language/text/service-text.ts'
import { get, post, startGateway, type TestGateway, type WholeAnswer } from '../gateway.ts'
import { runs } from '../size.ts'

const RUNS = runs(400, 2_000)

/** Strings that a service should not send. */
const strange = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 }).map((units) => String.fromCharCode(...units)),
  fc
    .array(
      fc.constantFrom('\r', '\n', '\x1b[31m', '\x9b', '\x7f', '\0', '\u2028', '\u202e', '\ud83d', '🚚', 'é', ' ', 'a'),
    )
    .map((parts) => parts.join('')),
)
const limit = fc.integer({ min: 1, max: 60 })

const UNSHOWN = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u

describe('a text that is shown', () => {
  test('has no control character, no half of a character and no more than its limit', () => {
    const law = fc.property(strange, limit, (text, most) => {
      const shown = shownText(text, most)
      expect(shown.length).toBeLessThanOrEqual(most)
      expect(shown.isWellFormed()).toBe(true)
      expect(shown).not.toMatch(UNSHOWN)
      expect(shownText(shown, most)).toBe(shown)
    })
    fc.assert(law, { numRuns: RUNS })
  })

  test.each([
    ['10  Sample St', '10  Sample St'],
    ['Ring twice.\r\nThen wait.\n', 'Ring twice. Then wait.'],
    ['\x1b]0;title\x07TL-1', ']0;title TL-1'],
    ['TL-1\u2028\u2029\u0085', 'TL-1'],
    ['abc\u202egnp.exe', 'abcgnp.exe'],
    ['\ud83d', '\ufffd'],
    ['\u0000\u0007', ''],
    ['José 🚚 ☃', 'José 🚚 ☃'],
  ])('%j is %j', (text, shown) => {
    expect(shownText(text, FIELD_LIMIT)).toBe(shown)
  })
})

describe('a header', () => {
  test('is bounded ASCII without blanks, and can be decoded', () => {
    const law = fc.property(strange, (text) => {
      const header = headerText(text)
      expect(header).toMatch(/^[\x21-\x7e]*$/)
      const plain = shownText(text, HEADER_LIMIT)
      if (!plain.includes('%')) expect(decodeURIComponent(header)).toBe(plain)
    })
    fc.assert(law, { numRuns: RUNS })
  })
})

describe('an id of the service', () => {
  test.each([
    ['"6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11"', '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'],
    ['" 17 "', '17'],
    ['12345678901234567890', '12345678901234567890'],
    ['"Nº🚚"', 'Nº🚚'],
    [`"${'x'.repeat(256)}"`, 'x'.repeat(256)],
  ])('%s is %s', (json, id) => {
    expect(serviceId(parseJson(json))).toBe(id)
  })

  test('can always stand in a path and in a header', () => {
    const law = fc.property(fc.oneof(strange, fc.integer(), fc.jsonValue()), (value) => {
      const id = serviceId(value)
      if (id === undefined) return
      expect(decodeURIComponent(encodeURIComponent(id))).toBe(id)
      expect(headerText(id)).not.toBe('')
    })
    fc.assert(law, { numRuns: RUNS })
  })
})

describe('a service of strange strings', () => {
  const REFERENCE = bookingExample.ReferenceNumber

  /** Checks that the answer, its headers and the log contain no control characters. */
  function expectPlain({ json, headers }: WholeAnswer, gateway: TestGateway): void {
    for (const text of Object.values<string>(json)) {
      expect(text).not.toMatch(UNSHOWN)
      expect(text.isWellFormed()).toBe(true)
    }
    for (const [, value] of headers) expect(value).toMatch(/^[\x20-\x7e]*$/)
    expect(JSON.stringify(gateway.lines())).not.toMatch(/\\u00(?:[01]|7f|[89])|\\r|\\u202[89e]/i)
  }

  test('is quoted, booked, read, updated and canceled at like any other', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ kind: 'strange-strings', times: 'always' })
    const quote = await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: 'Q-1' })
    expect(quote).toMatchObject({ status: 200, json: { ShipmentNumber: 'Q-1' } })

    const booked = await post(gateway, '/createShipment.php', bookingExample)
    expect(booked.json).toEqual({
      Message: 'Transportation booked: shipment number TL-100001 [31m �.',
      TransportationBooked: 'Yes',
    })
    expect(booked.headers.get('transload-shipment-number')).toBe('TL-100001%20[31m%20%EF%BF%BD')

    const read = await get(gateway, `/getShipment.php?ReferenceNumber=${REFERENCE}`)
    expect(read).toMatchObject({ status: 200, json: { TransportationBooked: 'Yes', Make: 'Ford [31m �' } })
    const updated = await post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, PickupName: 'Kim' })
    const canceled = await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })
    expect([updated.status, canceled.status]).toEqual([200, 200])
    for (const answer of [quote, booked, read, updated, canceled]) expectPlain(answer, gateway)
  })

  test('that never end is cut between characters, with an ellipsis', async () => {
    const shipment = { id: 's-1', number: '9'.repeat(30_000), pickup: { notes: 'n'.repeat(4_094) + '🚚'.repeat(5) } }
    const { json } = await post(await startGateway(), '/dry-run/reply/shipment.get', shipment)
    const { ShipmentNumber, PickupTransportationInstruction: notes, Message } = json.reply.v1
    expect([ShipmentNumber, notes]).toEqual([`${'9'.repeat(4_095)}…`, `${'n'.repeat(4_094)}…`])
    expect(Message.length).toBeLessThanOrEqual(500)
  })

  test('that nest deep is unreadable, and nothing is written on that ground', async () => {
    const gateway = await startGateway()
    await post(gateway, '/createShipment.php', bookingExample)
    gateway.sandbox.fail({ kind: 'deep', levels: 20_000, times: 'always', on: { method: 'GET' } })
    const before = gateway.sandbox.requests.length
    const updated = await post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, PickupName: 'Kim' })
    expect([updated.status, updated.json.TransportationBooked]).toEqual([502, 'Unknown'])
    expect(gateway.sandbox.requests.slice(before).map(({ method }) => method)).toEqual(['GET'])
    expect((await get(gateway, `/getShipment.php?ReferenceNumber=${REFERENCE}`)).status).toBe(502)
  })
})

test('ids of one thing may differ in case if they are UUIDs, and no others', () => {
  const uuid = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
  expect(isSameThing(uuid, uuid.toUpperCase())).toBe(true)
  expect(isSameThing('TL-100001', 'tl-100001')).toBe(false)
})

/** Promise: text from the service is shown harmlessly, and moves no cursor (contract, sections 9 and 11). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { parseJson } from '../../src/language/text/json.ts'
import {
  escapeControls,
  escapeSequence,
  FIELD_LIMIT,
  HEADER_LIMIT,
  headerText,
  isSameThing,
  printableJson,
  printableLines,
  serviceId,
  shownText,
} from '../../src/language/text/service-text.ts'
import { get, post, startGateway } from '../gateway.ts'
import { anyCharacter } from '../laws.ts'
import { runs } from '../size.ts'

const RUNS = runs(400, 2_000)

/** Strings that a service should not send. */
const pieces = ['\r', '\n', '\x1b[31m', '\x9b', '\x7f', '\0', '\u2028', '\u202e', '\ud83d', '🚚', 'é', ' ', 'a']
const strange = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(...pieces) }),
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
    ['9'.repeat(30_000), `${'9'.repeat(4_095)}…`],
    // Cut between characters.
    ['n'.repeat(4_094) + '🚚'.repeat(5), `${'n'.repeat(4_094)}…`],
  ])('%j is %j', (text, shown) => {
    expect(shownText(text, FIELD_LIMIT)).toBe(shown)
  })
})

test('a header is bounded ASCII without blanks, and can be decoded', () => {
  const law = fc.property(strange, (text) => {
    const header = headerText(text)
    expect(header).toMatch(/^[\x21-\x7e]*$/)
    const plain = shownText(text, HEADER_LIMIT)
    if (!plain.includes('%')) expect(decodeURIComponent(header)).toBe(plain)
  })
  fc.assert(law, { numRuns: RUNS })
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

  test('can always be part of a path and of a header', () => {
    const law = fc.property(fc.oneof(strange, fc.integer(), fc.jsonValue()), (value) => {
      const id = serviceId(value)
      if (id === undefined) return
      expect(decodeURIComponent(encodeURIComponent(id))).toBe(id)
      expect(headerText(id)).not.toBe('')
    })
    fc.assert(law, { numRuns: RUNS })
  })
})

test('quotes, bookings, reads, updates and cancellations work with a service of strange strings', async () => {
  const gateway = await startGateway()
  const { ReferenceNumber } = bookingExample
  gateway.sandbox.fail({ kind: 'strange-strings', times: 'always' })
  const quote = await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: 'Q-1' })
  expect(quote.json.ShipmentNumber).toBe('Q-1')

  const booked = await post(gateway, '/createShipment.php', bookingExample)
  expect(booked.json).toEqual({
    Message: 'Transportation booked: shipment number TL-100001 [31m �.',
    TransportationBooked: 'Yes',
  })
  expect(booked.headers.get('transload-shipment-number')).toBe('TL-100001%20[31m%20%EF%BF%BD')

  const read = await get(gateway, `/getShipment.php?ReferenceNumber=${ReferenceNumber}`)
  expect(read.json).toMatchObject({ TransportationBooked: 'Yes', Make: 'Ford [31m �' })
  const updated = await post(gateway, '/updateShipment.php', { ReferenceNumber, PickupName: 'Kim' })
  const canceled = await post(gateway, '/deleteShipment.php', { ReferenceNumber })
  for (const { status, json, headers } of [quote, booked, read, updated, canceled]) {
    expect(status).toBe(200)
    for (const text of Object.values<string>(json)) {
      expect(text).not.toMatch(UNSHOWN)
      expect(text.isWellFormed()).toBe(true)
    }
    for (const [, value] of headers) expect(value).toMatch(/^[\x20-\x7e]*$/)
  }
  expect(JSON.stringify(gateway.lines())).not.toMatch(/\\u00(?:[01]|7f|[89])|\\r|\\u202[89e]/i)
})

test('ids of one thing may differ in case if they are UUIDs, and no others', () => {
  const uuid = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
  expect(isSameThing(uuid, uuid.toUpperCase())).toBe(true)
  expect(isSameThing('TL-100001', 'tl-100001')).toBe(false)
})

describe('text on a terminal moves no cursor', () => {
  test.each([
    ['plain text ~', 'plain text ~'],
    ['Zoë 🚚', 'Zoë 🚚'],
    ['\x1b[31m', '\\u001b[31m'],
    ['a\tb\r\nc', 'a\\u0009b\\u000d\\u000ac'],
    ['\x7f\x80\x9f\xa0', '\\u007f\\u0080\\u009f\xa0'],
    ['\u2028\u2029\u061c\u200e\u200f', '\\u2028\\u2029\\u061c\\u200e\\u200f'],
    ['\u202a\u202e\u2066\u2069', '\\u202a\\u202e\\u2066\\u2069'],
    ['\ud83d', '\\ud83d'],
    ['', ''],
  ])('%j is safe to show', (text, shown) => {
    expect(escapeControls(text)).toBe(shown)
  })

  test('lines keep their ends', () => {
    expect(printableLines('a\nb\x07\n')).toBe('a\nb\\u0007\n')
    expect(escapeSequence('\n')).toBe('\\u000a')
  })

  test('JSON stays valid, with its indentation', () => {
    const value = { a: 'x\n\u202e', b: [1] }
    expect(printableJson(value)).toBe('{"a":"x\\n\\u202e","b":[1]}')
    expect(printableJson(value, 1)).toBe('{\n "a": "x\\n\\u202e",\n "b": [\n  1\n ]\n}')
    expect(JSON.parse(printableJson(value, 2))).toEqual(value)
  })
})

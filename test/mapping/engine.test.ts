/** Promise: a row translates as its declaration says, and says what it lost or assumed (contract, section 4). */

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { type Codec, codec } from '../../src/mapping/codec.ts'
import {
  callerNumber,
  exact,
  ifAbsent,
  ifPresent,
  ifSeveral,
  join,
  message,
  move,
  quoteFact,
  type Row,
  type Sentence,
  setting,
  split,
} from '../../src/mapping/declare.ts'
import { type FieldValue, IS_FILE, indexFields, NOT_FLAT, sortFields } from '../../src/mapping/fields.ts'
import { compileOverlay } from '../../src/mapping/overlay.ts'
import type { Draft } from '../../src/mapping/paths.ts'
import { compileReply } from '../../src/mapping/reply.ts'
import type { Explanation, KnownFacts } from '../../src/mapping/request.ts'
import type { Settings } from '../../src/mapping/row.ts'
import { parseJson } from '../../src/text/json.ts'
import { post, startGateway } from '../gateway.ts'
import { translated } from './translated.ts'

const { actions } = await loadMappings()

describe('rows of a request', () => {
  /** Text with remarks on its words, as its first letter wants it. */
  const odd: Codec<string> = codec(z.string(), {
    name: 'odd',
    summary: '',
    keeps: { class: 'lossy', lost: 'its case' },
    decode: (text, fail, leaveOut) => {
      if (text === 'bad') return fail('must be good')
      return text === 'none' ? leaveOut('means nothing') : text.toLowerCase()
    },
    encode: String,
    remark: (text) => {
      if (text === 'Lossy') return { loss: 'the case' }
      if (text === 'Assumed') return { assumed: 'a case' }
      return text === 'Warning' ? { warning: 'a case' } : undefined
    },
  })
  const quiet = { problems: [], notes: [] }

  describe('a field that moves', () => {
    const row = move('Field', 'a.b', odd)

    test.each([
      ['Lossy', 'lossy', { loss: 'the case' }],
      ['Assumed', 'assumed', { assumed: 'a case' }],
      ['Warning', 'warning', { warning: 'a case' }],
    ])('has the remarks of its codec: %s', (text, code, remark) => {
      const { notes, explanations } = translated(row, { Field: text })
      expect(notes).toEqual([{ name: 'Field', code }])
      expect(explanations).toMatchObject([remark])
    })

    test('that counts as absent is noted as lost', () => {
      expect(translated(row, { Field: 'none' })).toEqual({
        body: {},
        problems: [],
        notes: [{ name: 'Field', code: 'lossy' }],
        explanations: [],
      })
    })
  })

  describe('a field that is absent', () => {
    const keeps = 'one way: the caller did not send it'

    const fallbacks = [quoteFact('one', 'two'), setting('vehicle_type'), quoteFact('three')]
    test.each<[KnownFacts | undefined, string | number]>([
      [{ two: 2, three: 3 }, 2],
      [{ one: 'first', two: 2 }, 'first'],
    ])('falls back to a fact of %j', (facts, after) => {
      const { body, notes, problems, explanations } = translated(
        move('Field', 'a', odd, { required: true, fallbacks }),
        {},
        facts && { facts },
      )
      expect([body, notes, problems]).toEqual([{ a: after }, [], []])
      expect(explanations).toStrictEqual([{ to: 'a', from: [], after, keeps, origin: 'quote' }])
    })

    test.each([[{ three: 3 }], [undefined]])('falls back to a setting without a fact before it: %j', (facts) => {
      const row = move('Field', 'a', odd, { required: true, fallbacks })
      const { body, notes, problems, explanations } = translated(row, { Field: 'none' }, facts && { facts })
      expect([body, problems]).toEqual([{ a: 'car' }, []])
      expect(notes).toEqual([
        { name: 'Field', code: 'lossy' },
        { name: 'a', code: 'assumed' },
      ])
      expect(explanations).toStrictEqual([
        { to: 'a', from: [], after: 'car', keeps, origin: 'default', assumed: 'no Field was sent' },
      ])
    })
  })

  describe('a field of several places', () => {
    const pair = codec(z.record(z.string(), z.string()), {
      name: 'pair',
      summary: '',
      decode: (text, fail, leaveOut) => {
        if (text.startsWith('bad')) return fail()
        if (text.startsWith('none')) return leaveOut('means nothing')
        const [one = '', two] = text.split('~')
        return { one, ...(two !== undefined && { two }) }
      },
      encode: () => '',
      remark: (text) => (text.endsWith('!') ? { loss: 'the sign' } : undefined),
    })
    const row = split('Field', { one: 'a', two: 'b.c' }, pair)

    test('is put at the places of its parts', () => {
      const explained = { from: ['Field'], before: 'x~y!', rule: 'pair', origin: 'caller', loss: 'the sign' }
      expect(translated(row, { Field: 'x~y!' })).toEqual({
        body: { a: 'x', b: { c: 'y!' } },
        problems: [],
        notes: [{ name: 'Field', code: 'lossy' }],
        explanations: [
          { ...explained, to: 'a', after: 'x' },
          { ...explained, to: 'b.c', after: 'y!' },
        ],
      })
      expect(translated(row, { Field: 'x' })).toMatchObject({ ...quiet, body: { a: 'x' }, explanations: [{ to: 'a' }] })
    })

    test('is left out if it is absent, counts as absent, or cannot be read', () => {
      const nothing = { body: {}, explanations: [] }
      expect(translated(row, {})).toEqual({ ...nothing, ...quiet })
      // Nor has it the remarks of its codec then.
      expect(translated(row, { Field: 'none!' })).toMatchObject({ ...nothing, notes: [{ code: 'lossy' }] })
      expect(translated(row, { Field: 'bad!' })).toMatchObject({
        ...nothing,
        notes: [],
        problems: [{ field: 'Field', code: 'pair', message: 'Field cannot be read' }],
      })
    })
  })

  test('several fields are joined at one place, without those that are absent', () => {
    const lines = { name: 'lines', summary: '', join: (parts: readonly string[]) => parts.join('/'), split: () => [] }
    const row = join(['One', 'Two', 'Three'], 'a', lines)
    expect(translated(row, { One: 'x', Two: 'y', Three: 'z' }).body).toEqual({ a: 'x/y/z' })
    expect(translated(row, { One: 'x', Two: NOT_FLAT, Three: 'z' })).toEqual({
      ...quiet,
      body: { a: 'x/z' },
      explanations: [
        { to: 'a', from: ['One', 'Three'], before: ['x', 'z'], after: 'x/z', rule: 'lines', origin: 'caller' },
      ],
    })
    expect(translated(row, {})).toEqual({ ...quiet, body: {}, explanations: [] })
  })
})

describe('rows of a reply', () => {
  const SETTINGS: Settings = {
    transport_type: 'open',
    vehicle_type: 'car',
    send_quote_id: false,
    shipment_number: 'caller',
  }

  interface Options {
    readonly own?: string
    readonly settings?: Partial<Settings>
  }

  /** Translates a body with these rows. */
  function translated(rows: Row | readonly Row[], body: unknown, { own, settings }: Options = {}) {
    const explanations: Explanation[] = []
    const reply: Record<string, string> = {}
    const run = { body, own, settings: { ...SETTINGS, ...settings }, reply, missing: [], unreadable: [], explanations }
    for (const step of compileReply([rows].flat())) step(run)
    return run
  }

  const ANY = { name: 'any', summary: '', decode: (text: string) => text, keeps: exact }
  /** Text that does not contain `!`. */
  const calm: Codec<string> = codec(z.string(), {
    ...ANY,
    encode: (text, fail) => (text.includes('!') ? fail() : text.toLowerCase()),
  })
  const strict: Codec<string> = { ...calm, passThroughUnknown: false }

  describe('a field that moves', () => {
    test.each<[string, unknown, string]>([
      ['text', 'ABC', 'abc'],
      ['text that the codec does not know', 'Oh!', 'Oh!'],
      ['a number that the codec does not know', 5, '5'],
      ['a flag that the codec does not know', true, 'true'],
      ['a number that keeps its digits', parseJson('1.50'), '1.50'],
      ['an object', { a: 1 }, ''],
      ['a list', ['x'], ''],
      ['nothing', undefined, ''],
      ['null', null, ''],
      ['blanks', ' \t', ''],
    ])('is %s', (_, value, shown) => {
      const run = translated(move('Field', 'a.b', calm), { a: { b: value } })
      expect(run.reply).toEqual({ Field: shown })
      expect([run.missing, run.unreadable]).toEqual([[], []])
    })

    test('is empty where its codec passes nothing on that it does not know', () => {
      const run = translated(move('Field', 'a', strict), { a: 'Oh!' })
      expect(run.reply).toEqual({ Field: '' })
      expect([run.missing, run.unreadable]).toEqual([[], ['a']])
    })

    test.each<[string, unknown, readonly string[]]>([
      ['nothing', undefined, []],
      ['blanks', ' ', []],
      ['unknown text', 'Oh!', ['a']],
      ['an object', {}, ['a']],
    ])('is missing where it is required and the service has %s', (_, value, unreadable) => {
      const run = translated(move('Field', 'a', calm, { required: true }), { a: value })
      expect(run.reply).toEqual({ Field: '' })
      expect([run.missing, run.unreadable]).toEqual([['a'], unreadable])
    })
  })

  describe('a field of several places', () => {
    const named = codec(z.record(z.string(), z.string()), {
      ...ANY,
      decode: (): Record<string, string> => ({}),
      encode: ({ first = '-', last = '-' }, fail) => (last === '!' ? fail() : `${first} ${last}`),
    })
    const row = split('Name', { first: 'one', last: 'two' }, named)

    test.each<[unknown, string, readonly string[], unknown]>([
      [{ one: 'Pat', two: 'Example' }, 'Pat Example', ['one', 'two'], { first: 'Pat', last: 'Example' }],
      [{ one: 'Pat', two: ' ' }, 'Pat -', ['one'], { first: 'Pat' }],
      [{ one: null, two: 5 }, '- 5', ['two'], { last: '5' }],
      [{ one: 'Pat', two: '!' }, '', ['one', 'two'], { first: 'Pat', last: '!' }],
      [{ one: {} }, ' -', ['one'], { first: '' }],
    ])('%j', (body, Name, from, before) => {
      const { reply, explanations } = translated(row, body)
      expect(reply).toEqual({ Name })
      expect(explanations).toMatchObject([{ to: 'Name', from, before, rule: 'any', keeps: 'exact', origin: 'service' }])
    })

    test('is empty if the service has none of them', () => {
      const { reply, explanations } = translated(row, { one: null })
      expect(reply).toEqual({ Name: '' })
      expect(explanations).toStrictEqual([
        { to: 'Name', from: [], after: '', rule: 'any', keeps: 'exact', origin: 'service' },
      ])
    })
  })

  describe('fields of one place', () => {
    const row = join(['One', 'Two'], 'lines', {
      name: 'lines',
      summary: '',
      join: (lines) => lines.join(','),
      split: (text) => text.split(','),
    })

    test.each<[unknown, string, string]>([
      ['a,b', 'a', 'b'],
      ['a', 'a', ''],
      ['a,b,c', 'a', 'b'],
      [5, '5', ''],
      [undefined, '', ''],
      [' ', '', ''],
    ])('%j', (lines, One, Two) => {
      const { reply, explanations } = translated(row, { lines })
      expect(reply).toEqual({ One, Two })
      expect(explanations).toMatchObject([
        { to: 'One', from: One ? ['lines'] : [], after: One, rule: 'lines', origin: 'service' },
        { to: 'Two', from: Two ? ['lines'] : [], after: Two, rule: 'lines', origin: 'service' },
      ])
    })
  })

  describe('the number of a thing', () => {
    const row = callerNumber('Number', 'number')
    test.each<[string, Options, string, Partial<Explanation>]>([
      ["is the caller's own", { own: 'N-1' }, 'N-1', { from: [], origin: 'caller' }],
      [
        "is the service's where the caller has none",
        {},
        'TL-1',
        { from: ['number'], before: 'TL-1', origin: 'service' },
      ],
      [
        "is the service's where the operator wants it",
        { own: 'N-1', settings: { shipment_number: 'service' } },
        'TL-1',
        { from: ['number'], before: 'TL-1', origin: 'service' },
      ],
    ])('%s', (_, options, number, explained) => {
      const { reply, explanations } = translated(row, { number: 'TL-1' }, options)
      expect(reply).toEqual({ Number: number })
      expect(explanations).toMatchObject([{ to: 'Number', after: number, rule: 'number', ...explained }])
    })

    test('is empty if there is none at all', () => {
      expect(translated(row, {}).reply).toEqual({ Number: '' })
    })
  })
})

describe('sentences', () => {
  const settings = { transport_type: '', vehicle_type: '', send_quote_id: false, shipment_number: 'caller' } as const
  const strictZip = codec(z.number(), {
    name: 'zip',
    summary: '',
    passThroughUnknown: false,
    decode: Number,
    encode: String,
  })

  /** Translates a body with a message of these sentences, after a row that reads its `zip`. */
  function translated(sentences: readonly Sentence[], body: unknown, field = 'Message') {
    const explanations: Explanation[] = []
    const reply: Record<string, string> = {}
    const run = { body, own: undefined, settings, reply, missing: [], unreadable: [], explanations }
    for (const step of compileReply([move('Zip', 'zip', strictZip), message(field, sentences)])) step(run)
    return { message: reply[field], explanations: explanations.filter(({ to }) => to === field) }
  }

  const always = (sentence: string): Sentence => ({ text: sentence })

  describe('a sentence', () => {
    test.each<[string, Sentence, unknown, string | undefined]>([
      ['counts without a condition', always('Booked.'), {}, 'Booked.'],
      ['quotes a place', always('It is {a.b}.'), { a: { b: ' TL-1 ' } }, 'It is TL-1.'],
      ['quotes a number', always('{a} miles, {a}.'), { a: 5 }, '5 miles, 5.'],
      ['quotes the first place that has a value', always('{a|b|c}'), { a: ' ', b: 'x', c: 'y' }, 'x'],
      ['quotes nothing where no place has a value', always('({a|b})'), { a: {} }, '()'],
      ['quotes no pattern', always('{a}'), { a: '$&$1' }, '$&$1'],
      ['counts the entries of a list', always('{list.length}'), { list: [1, 2] }, '2'],
      ['for a value counts if it is there', ifPresent('a', 'Yes.'), { a: 0 }, 'Yes.'],
      ['for a value counts not for blanks', ifPresent('a', 'Yes.'), { a: ' ' }, undefined],
      ['for a value counts not for an object', ifPresent('a', 'Yes.'), { a: {} }, undefined],
      ['for a value counts not if no codec can read it', ifPresent('zip', 'Yes.'), { zip: 'nowhere' }, undefined],
      ['for no value counts if there is none', ifAbsent('a', 'No.'), {}, 'No.'],
      ['for no value counts if no codec can read it', ifAbsent('zip', 'No.'), { zip: 'nowhere' }, 'No.'],
      ['for no value counts not if there is one', ifAbsent('a', 'No.'), { a: 'x' }, undefined],
      ['for several counts from two entries on', ifSeveral('a', 'Many.'), { a: [1, 2] }, 'Many.'],
      ['for several counts not for one', ifSeveral('a', 'Many.'), { a: [1] }, undefined],
      ['for several counts not for a text', ifSeveral('a', 'Many.'), { a: 'abc' }, undefined],
    ])('%s', (_, sentence, body, told) => {
      expect(translated([sentence], body).message).toBe(told)
    })
  })

  describe('a message', () => {
    test('has at most 500 characters, and another field 4096', () => {
      const long = Array.from({ length: 1_000 }, () => always('xxxxxxxxx'))
      expect(translated(long, {}).message).toHaveLength(500)
      expect(translated(long, {}, 'Notes').message).toHaveLength(4_096)
    })
  })
})

describe('an update laid over a shipment', () => {
  const overlay = compileOverlay(['price', 'vehicles[0].weight'])

  describe('an update', () => {
    test.each<[string, unknown, Draft, number, unknown]>([
      ['changes what was sent', { id: 1, a: 1 }, { a: 2, b: 3 }, 0, { id: 1, a: 2, b: 3 }],
      ['changes parts, which keep their ids', { a: { id: 1, b: 2 } }, { a: { b: 3 } }, 0, { a: { id: 1, b: 3 } }],
      [
        'changes one entry of a list',
        { vehicles: [{ id: 1 }, { id: 2, vin: 'x' }] },
        { vehicles: [{ vin: 'y' }] },
        1,
        { vehicles: [{ id: 1 }, { id: 2, vin: 'y' }] },
      ],
      [
        'changes the first entry of a list inside an entry',
        { vehicles: [{}, { parts: [{ id: 1 }, { id: 2 }] }] },
        { vehicles: [{ parts: [{ a: 1 }] }] },
        1,
        { vehicles: [{}, { parts: [{ id: 1, a: 1 }, { id: 2 }] }] },
      ],
      [
        'changes the first entry of a list in a part',
        { a: { list: [{ id: 1 }, { id: 2 }] } },
        { a: { list: [{ b: 1 }] } },
        1,
        { a: { list: [{ id: 1, b: 1 }, { id: 2 }] } },
      ],
      ['adds the parts that are not there', {}, { a: { b: 1 }, c: [{ d: 2 }] }, 0, { a: { b: 1 }, c: [{ d: 2 }] }],
      [
        'replaces what is no part',
        { a: 'x', b: null, c: 5 },
        { a: { b: 1 }, b: { c: 2 }, c: [{ d: 3 }] },
        0,
        {
          a: { b: 1 },
          b: { c: 2 },
          c: [{ d: 3 }],
        },
      ],
      ['replaces an entry that is no object', { a: ['x', 'y'] }, { a: [{ b: 1 }] }, 1, { a: ['x', { b: 1 }] }],
      ['may clear a value', { a: { b: 1 } }, { a: null }, 0, { a: null }],
      [
        'leaves out what only the service sets',
        { price: 5, vehicles: [{ id: 1, weight: 5 }, { weight: 6 }] },
        {},
        0,
        { vehicles: [{ id: 1 }, {}] },
      ],
      ['of nothing is what was sent', null, { a: 1 }, 0, { a: 1 }],
      ['of a list is what was sent', [1], { a: 1 }, 0, { a: 1 }],
    ])('%s', (_, current, sent, entry, whole) => {
      const before = JSON.stringify([current, sent])
      expect(overlay(current, sent, entry)).toEqual(whole)
      expect(JSON.stringify([current, sent])).toBe(before)
    })
  })
})

describe('fields as they are sent', () => {
  const index = indexFields(['Zip', 'Phone.', 'phone', 'Notes'])
  const sorted = (...entries: readonly (readonly [string, FieldValue])[]) => sortFields(index, entries)

  describe('sent fields', () => {
    test('may repeat themselves, or be blank the other time', () => {
      expect(sorted(['Zip', '1'], ['zip', '1'], ['Zip.', null], ['Notes', null], ['Notes', 'x'])).toEqual({
        values: ['1', undefined, undefined, 'x'],
        blank: [],
        unknown: [],
        problems: [],
      })
    })

    test.each<[string, string, readonly FieldValue[]]>([
      ['not-flat', 'Zip must be a single value, not an object or a list', [NOT_FLAT]],
      ['is-file', 'Zip must be text, not a file', [IS_FILE]],
      ['not-text', 'Zip must not contain a NUL or half a character', ['a\0b']],
      ['not-text', 'Zip must not contain a NUL or half a character', ['\ud83d']],
      ['too-long', 'Zip must not be longer than 4096 bytes', ['x'.repeat(4_097)]],
      ['too-long', 'Zip must not be longer than 4096 bytes', ['€'.repeat(1_366)]],
      ['disagree', 'Zip is sent twice with different values', ['1', '2']],
      ['disagree', 'Zip is sent twice with different values', ['1', '2', '1', '3']],
      ['not-flat', 'Zip must be a single value, not an object or a list', [NOT_FLAT, IS_FILE, '1', null]],
      ['is-file', 'Zip must be text, not a file', ['1', IS_FILE]],
    ])('are a problem: %s', (code, message, values) => {
      const { values: sortedValues, problems, blank } = sorted(...values.map((value) => ['zip', value] as const))
      expect(problems).toEqual([{ field: 'Zip', code, message }])
      expect(sortedValues[0]).toBeTypeOf('symbol')
      expect(blank).toEqual([])
    })

    test.each([['x'.repeat(4_096)], ['€'.repeat(1_365)], ['é'.repeat(2_048)]])('may have 4096 bytes: %#', (value) => {
      expect(sorted(['Zip', value])).toMatchObject({ values: [value, undefined, undefined, undefined], problems: [] })
    })
  })
})

describe('names in messages of the service', () => {
  /** A message of the service as a caller of the action reads it. */
  const told = (action: string, text: string) => actions.get(action)?.nameFields(text)

  describe('a message of the service names the fields of the caller', () => {
    test.each([
      ['pickup must be a postal code', 'TempShipFromPostalCode must be a postal code'],
      [
        'pickup: must be a postal code; delivery is required',
        'TempShipFromPostalCode: must be a postal code; TempShipToPostalCode is required',
      ],
      ['Invalid pickup', 'Invalid TempShipFromPostalCode'],
      ['The field "delivery" is too short.', 'The field "TempShipToPostalCode" is too short.'],
      ["missing parameter 'pickup'", "missing parameter 'TempShipFromPostalCode'"],
      ['transport_type must be one of open, enclosed', 'EquipmentType must be one of open, enclosed'],
      ['vehicle_type is unknown', 'PickupCommodityCode or DeliveryCommodityCode or LoadReference is unknown'],
    ])('of a quote: %s', (text, expected) => {
      expect(told('quote.get', text)).toBe(expected)
    })

    test.each([
      ['pickup.zipcode must be an integer', 'PickupZip must be an integer'],
      ['/pickup/zipcode: must be an integer', 'PickupZip: must be an integer'],
      ['body.vehicles[0].year must be a number', 'Year must be a number'],
      ['vehicles.0.vin has a wrong check digit.', 'VinNo has a wrong check digit.'],
      ['#/vehicles/0/vin is taken', '#VinNo is taken'],
      ['delivery[contact_phone] is not a phone number', 'DeliveryPhNo. is not a phone number'],
      ['pickup.location_name is blank', 'PickupName is blank'],
      ['external_id is taken', 'ReferenceNumber is taken'],
    ])('of a booking: %s', (text, expected) => {
      expect(told('shipment.create', text)).toBe(expected)
    })

    test.each([
      'There is no driver for pickup and delivery on that day.',
      'The pickup date has passed.',
      'pickup/delivery',
      'See https://service.example.com/pickup/zipcode for help.',
      'vehicles[1].year must be a number',
      'transport.type must be open',
      'the transport_types',
      '',
    ])('and leaves other words alone: %s', (text) => {
      expect(told('quote.get', text)).toBe(text)
      expect(told('shipment.create', text)).toBe(text)
    })

    test('in the answer, and says nothing twice', async () => {
      const gateway = await startGateway()
      const { status, json } = await post(gateway, '/getShippingQuote.php', {
        ...quoteExample,
        TempShipFromPostalCode: 'nowhere',
        TempShipToPostalCode: 'SW1A 1AA',
      })
      expect(status).toBe(422)
      expect(json.Message).toMatch(
        /TempShipFromPostalCode must be a postal code; TempShipToPostalCode must be a postal code$/,
      )
    })
  })
})

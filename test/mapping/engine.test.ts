/** Promise: a row translates as its declaration says, and says what it lost or assumed (contract, section 4). */

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadMappings } from '../../mappings/load.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { type Codec, codec } from '../../src/language/mapping/codec.ts'
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
} from '../../src/language/mapping/declare.ts'
import { type FieldValue, IS_FILE, indexFields, NOT_FLAT, sortFields } from '../../src/language/mapping/fields.ts'
import { compileOverlay } from '../../src/language/mapping/overlay.ts'
import type { Draft } from '../../src/language/mapping/paths.ts'
import { compileReply } from '../../src/language/mapping/reply.ts'
import { compileRequest, type Explanation, type KnownFacts, type Note } from '../../src/language/mapping/request.ts'
import type { Settings } from '../../src/language/mapping/row.ts'
import { fieldsOf } from '../../src/language/mapping/row-parts.ts'
import { parseJson } from '../../src/language/text/json.ts'
import { post, startGateway } from '../gateway.ts'

const { actions } = await loadMappings()

const SETTINGS: Settings = {
  transport_type: 'open',
  vehicle_type: 'car',
  send_quote_id: false,
  shipment_number: 'caller',
}

describe('rows of a request', () => {
  /** Translates sent fields with one row. */
  function translated(row: Row, sent: Readonly<Record<string, string | typeof NOT_FLAT>>, facts?: KnownFacts) {
    const index = indexFields(fieldsOf(row))
    const { values } = sortFields(index, Object.entries(sent))
    const body: Draft = {}
    const notes: Note[] = []
    const problems: { field: string; code: string; message: string }[] = []
    const explanations: Explanation[] = []
    const run = { values, facts, settings: SETTINGS, body, problems, notes, sent: [], explanations }
    for (const step of compileRequest([row], index, new Map())) step(run)
    return { body, notes, problems, explanations }
  }
  const NOTHING = { body: {}, notes: [], problems: [], explanations: [] }
  const LOSSY = [{ name: 'Field', code: 'lossy' }]

  /** Text with remarks on its words, as its first letter wants it. */
  const odd: Codec<string> = codec(z.string(), {
    name: 'odd',
    summary: '',
    keeps: { class: 'lossy', lost: 'its case' },
    decode: (text, _, leaveOut) => (text === 'none' ? leaveOut('means nothing') : text.toLowerCase()),
    encode: String,
    remark: (text) => (text === 'none' ? undefined : { [text.toLowerCase()]: 'a case' }),
  })

  test.each([
    ['Loss', 'lossy'],
    ['Assumed', 'assumed'],
    ['Warning', 'warning'],
  ])('a field that moves has the remarks of its codec: %s', (text, code) => {
    const { notes, explanations } = translated(move('Field', 'a.b', odd), { Field: text })
    expect(notes).toEqual([{ name: 'Field', code }])
    expect(explanations).toMatchObject([{ to: 'a.b', after: text.toLowerCase(), [text.toLowerCase()]: 'a case' }])
  })

  test('a field that counts as absent is noted as lost', () => {
    expect(translated(move('Field', 'a.b', odd), { Field: 'none' })).toEqual({ ...NOTHING, notes: LOSSY })
  })

  const fallbacks = [quoteFact('one', 'two'), setting('vehicle_type'), quoteFact('three')]
  test.each<[KnownFacts | undefined, string | number, object, readonly object[]]>([
    [{ two: 2, three: 3 }, 2, { origin: 'quote' }, []],
    [{ one: 'first', two: 2 }, 'first', { origin: 'quote' }, []],
    [{ three: 3 }, 'car', { origin: 'default', assumed: 'no Field was sent' }, [{ name: 'a', code: 'assumed' }]],
    [undefined, 'car', { origin: 'default', assumed: 'no Field was sent' }, [{ name: 'a', code: 'assumed' }]],
  ])('a field that is absent falls back, of the facts %j, to %j', (facts, after, why, notes) => {
    const row = move('Field', 'a', odd, { required: true, fallbacks })
    expect(translated(row, { Field: 'none' }, facts)).toStrictEqual({
      body: { a: after },
      problems: [],
      notes: [...LOSSY, ...notes],
      explanations: [{ to: 'a', from: [], after, keeps: 'one way: the caller did not send it', ...why }],
    })
  })

  test('a field of several places is put at those of its parts, or left out', () => {
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
    const explained = { from: ['Field'], before: 'x~y!', rule: 'pair', origin: 'caller', loss: 'the sign' }
    expect(translated(row, { Field: 'x~y!' })).toEqual({
      body: { a: 'x', b: { c: 'y!' } },
      problems: [],
      notes: LOSSY,
      explanations: [
        { ...explained, to: 'a', after: 'x' },
        { ...explained, to: 'b.c', after: 'y!' },
      ],
    })
    expect(translated(row, { Field: 'x' })).toMatchObject({ ...NOTHING, body: { a: 'x' }, explanations: [{ to: 'a' }] })
    expect(translated(row, {})).toEqual(NOTHING)
    // What is left out or cannot be read has no remarks of its codec.
    expect(translated(row, { Field: 'none!' })).toEqual({ ...NOTHING, notes: LOSSY })
    const problems = [{ field: 'Field', code: 'pair', message: 'Field cannot be read' }]
    expect(translated(row, { Field: 'bad!' })).toEqual({ ...NOTHING, problems })
  })

  test('several fields are joined at one place, without those that are absent', () => {
    const lines = { name: 'lines', summary: '', join: (parts: readonly string[]) => parts.join('/'), split: () => [] }
    const row = join(['One', 'Two', 'Three'], 'a', lines)
    const [from, before, after] = [['One', 'Three'], ['x', 'z'], 'x/z']
    expect(translated(row, { One: 'x', Two: NOT_FLAT, Three: 'z' })).toEqual({
      ...NOTHING,
      body: { a: after },
      explanations: [{ to: 'a', from, before, after, rule: 'lines', origin: 'caller' }],
    })
    expect(translated(row, {})).toEqual(NOTHING)
  })
})

describe('rows of a reply', () => {
  /** Translates a body with these rows. */
  function translated(rows: Row | readonly Row[], body: unknown, own?: string) {
    const explanations: Explanation[] = []
    const reply: Record<string, string> = {}
    const run = { body, own, settings: SETTINGS, reply, missing: [], unreadable: [], explanations }
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
  ])('a field that moves is %s', (_, value, Field) => {
    const run = translated(move('Field', 'a.b', calm), { a: { b: value } })
    expect(run).toMatchObject({ reply: { Field }, missing: [], unreadable: [] })
  })

  const required = move('Field', 'a', calm, { required: true })
  test.each<[string, unknown, Row, readonly string[], readonly string[]]>([
    ['unknown text, which its codec does not pass on', 'Oh!', move('Field', 'a', strict), [], ['a']],
    ['nothing, and it is required', undefined, required, ['a'], []],
    ['unknown text, and it is required', 'Oh!', required, ['a'], ['a']],
    ['an object, and it is required', {}, required, ['a'], ['a']],
  ])('a field that moves is empty for %s', (_, a, row, missing, unreadable) => {
    expect(translated(row, { a })).toMatchObject({ reply: { Field: '' }, missing, unreadable })
  })

  const named = codec(z.record(z.string(), z.string()), {
    ...ANY,
    decode: (): Record<string, string> => ({}),
    encode: ({ first = '-', last = '-' }, fail) => (last === '!' ? fail() : `${first} ${last}`),
  })
  test.each<[unknown, string, readonly string[], unknown]>([
    [{ one: 'Pat', two: 'Example' }, 'Pat Example', ['one', 'two'], { first: 'Pat', last: 'Example' }],
    [{ one: null, two: 5 }, '- 5', ['two'], { last: '5' }],
    [{ one: 'Pat', two: '!' }, '', ['one', 'two'], { first: 'Pat', last: '!' }],
    [{ one: {} }, ' -', ['one'], { first: '' }],
    [{ one: null, two: ' ' }, '', [], undefined],
  ])('a field of several places, of %j, is %j', (body, Name, from, before) => {
    const { reply, explanations } = translated(split('Name', { first: 'one', last: 'two' }, named), body)
    expect(reply).toEqual({ Name })
    const told = { to: 'Name', from, before, after: Name, rule: 'any', keeps: 'exact', origin: 'service' }
    expect(explanations).toEqual([told])
  })

  test.each<[unknown, string, string]>([
    ['a,b', 'a', 'b'],
    ['a', 'a', ''],
    ['a,b,c', 'a', 'b'],
    [5, '5', ''],
    [' ', '', ''],
  ])('fields of one place, of %j, are %j and %j', (lines, One, Two) => {
    const joiner = { name: 'lines', summary: '', join: () => '', split: (text: string) => text.split(',') }
    const { reply, explanations } = translated(join(['One', 'Two'], 'lines', joiner), { lines })
    expect(reply).toEqual({ One, Two })
    expect(explanations).toMatchObject([
      { to: 'One', from: One ? ['lines'] : [], after: One, rule: 'lines', origin: 'service' },
      { to: 'Two', from: Two ? ['lines'] : [], after: Two, rule: 'lines', origin: 'service' },
    ])
  })

  test("the caller's own number of a thing is explained as the caller's", () => {
    const { explanations } = translated(callerNumber('Number', 'number'), { number: 'TL-1' }, 'N-1')
    expect(explanations).toMatchObject([{ to: 'Number', from: [], after: 'N-1', rule: 'number', origin: 'caller' }])
  })

  const zip = move('Zip', 'zip', codec(z.string(), { ...ANY, passThroughUnknown: false, encode: (_, fail) => fail() }))
  const told = (sentences: readonly Sentence[], body: unknown, field = 'Message') =>
    translated([zip, message(field, sentences)], body).reply[field]

  test.each<[string, Sentence, unknown, string | undefined]>([
    ['quotes a place', { text: 'It is {a.b}.' }, { a: { b: ' TL-1 ' } }, 'It is TL-1.'],
    ['quotes a number', { text: '{a} miles, {a}.' }, { a: 5 }, '5 miles, 5.'],
    ['quotes the first place that has a value', { text: '{a|b|c}' }, { a: ' ', b: 'x', c: 'y' }, 'x'],
    ['quotes nothing where no place has a value', { text: '({a|b})' }, { a: {} }, '()'],
    ['quotes no pattern', { text: '{a}' }, { a: '$&$1' }, '$&$1'],
    ['counts the entries of a list', { text: '{list.length}' }, { list: [1, 2] }, '2'],
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
  ])('a sentence %s', (_, sentence, body, said) => {
    expect(told([sentence], body)).toBe(said)
  })

  test('a message has at most 500 characters, and another field 4096', () => {
    const long = Array.from({ length: 1_000 }, () => ({ text: 'xxxxxxxxx' }))
    expect(told(long, {})).toHaveLength(500)
    expect(told(long, {}, 'Notes')).toHaveLength(4_096)
  })
})

test.each<[string, unknown, Draft, number, unknown]>([
  [
    'changes one entry of a list, and parts, which keep their ids',
    { a: { id: 1, b: 2 }, vehicles: [{ id: 1 }, { id: 2, vin: 'x' }] },
    { a: { b: 3 }, vehicles: [{ vin: 'y' }] },
    1,
    { a: { id: 1, b: 3 }, vehicles: [{ id: 1 }, { id: 2, vin: 'y' }] },
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
  ['replaces what is no part', { a: 'x', c: 5 }, { a: { b: 1 }, c: [{ d: 3 }] }, 0, { a: { b: 1 }, c: [{ d: 3 }] }],
  ['replaces an entry that is no object', { a: ['x', 'y'] }, { a: [{ b: 1 }] }, 1, { a: ['x', { b: 1 }] }],
  ['may clear a value', { a: { b: 1 } }, { a: null }, 0, { a: null }],
  ['leaves out what only the service sets', { price: 5, vehicles: [{ weight: 5 }, {}] }, {}, 0, { vehicles: [{}, {}] }],
  ['of a list is what was sent', [1], { a: 1 }, 0, { a: 1 }],
])('an update laid over a shipment %s', (_, current, sent, entry, whole) => {
  expect(compileOverlay(['price', 'vehicles[0].weight'])(current, sent, entry)).toEqual(whole)
})

describe('fields as they are sent', () => {
  const sorted = (...entries: readonly (readonly [string, FieldValue])[]) =>
    sortFields(indexFields(['Zip', 'Phone.', 'phone', 'Notes']), entries)

  test.each<[string, string, readonly FieldValue[]]>([
    ['not-text', 'Zip must not contain a NUL or half a character', ['a\0b']],
    ['not-text', 'Zip must not contain a NUL or half a character', ['\ud83d']],
    ['too-long', 'Zip must not be longer than 4096 bytes', ['€'.repeat(1_366)]],
    ['disagree', 'Zip is sent twice with different values', ['1', '2', '1', '3']],
    ['not-flat', 'Zip must be a single value, not an object or a list', [NOT_FLAT, IS_FILE, '1', null]],
    ['is-file', 'Zip must be text, not a file', ['1', IS_FILE]],
  ])('are a problem: %s', (code, message, values) => {
    const fields = sorted(...values.map((value) => ['zip', value] as const))
    expect(fields).toMatchObject({ problems: [{ field: 'Zip', code, message }], blank: [] })
    expect(fields.values[0]).toBeTypeOf('symbol')
  })
})

describe('a message of the service names the fields of the caller', () => {
  test.each([
    [
      'quote.get',
      'pickup: must be a postal code; delivery is required',
      'TempShipFromPostalCode: must be a postal code; TempShipToPostalCode is required',
    ],
    ['quote.get', 'The field "delivery" is too short.', 'The field "TempShipToPostalCode" is too short.'],
    ['quote.get', "missing parameter 'pickup'", "missing parameter 'TempShipFromPostalCode'"],
    [
      'quote.get',
      'vehicle_type is unknown',
      'PickupCommodityCode or DeliveryCommodityCode or LoadReference is unknown',
    ],
    ['shipment.create', '/pickup/zipcode: must be an integer', 'PickupZip: must be an integer'],
    ['shipment.create', 'body.vehicles[0].year must be a number', 'Year must be a number'],
    ['shipment.create', 'vehicles.0.vin has a wrong check digit.', 'VinNo has a wrong check digit.'],
    ['shipment.create', '#/vehicles/0/vin is taken', '#VinNo is taken'],
    ['shipment.create', 'delivery[contact_phone] is not a phone number', 'DeliveryPhNo. is not a phone number'],
    ['shipment.create', 'pickup.location_name is blank', 'PickupName is blank'],
  ])('of a %s: %s', (action, text, expected) => {
    expect(actions.get(action)?.nameFields(text)).toBe(expected)
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
    for (const action of ['quote.get', 'shipment.create']) expect(actions.get(action)?.nameFields(text)).toBe(text)
  })

  test('in the answer, and says nothing twice', async () => {
    const gateway = await startGateway()
    const wrong = { TempShipFromPostalCode: 'nowhere', TempShipToPostalCode: 'SW1A 1AA' }
    const { status, json } = await post(gateway, '/getShippingQuote.php', { ...quoteExample, ...wrong })
    expect(status).toBe(422)
    expect(json.Message).toMatch(
      /TempShipFromPostalCode must be a postal code; TempShipToPostalCode must be a postal code$/,
    )
  })
})

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Codec, codec } from '../../src/mapping/codec.ts'
import { callerNumber, exact, join, move, type Row, split } from '../../src/mapping/declare.ts'
import { compileReply } from '../../src/mapping/reply.ts'
import type { Explanation } from '../../src/mapping/request.ts'
import type { Settings } from '../../src/mapping/row.ts'
import { parseJson } from '../../src/text/json.ts'

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
    ["is the service's where the caller has none", {}, 'TL-1', { from: ['number'], before: 'TL-1', origin: 'service' }],
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

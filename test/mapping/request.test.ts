import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Codec, codec } from '../../src/mapping/codec.ts'
import {
  callerNumber,
  choose,
  fixed,
  fromQuote,
  join,
  lookup,
  message,
  move,
  phraseIn,
  quoteFact,
  type Row,
  ref,
  setting,
  split,
  v1Only,
  v2Only,
  wholeValue,
} from '../../src/mapping/declare.ts'
import { IS_FILE, indexFields, NOT_FLAT, sortFields } from '../../src/mapping/fields.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'
import type { Note } from '../../src/mapping/notes.ts'
import type { Draft } from '../../src/mapping/paths.ts'
import { compileRequest } from '../../src/mapping/request.ts'
import type { Explanation, KnownFacts } from '../../src/mapping/request-run.ts'
import { fieldsOf } from '../../src/mapping/row-parts.ts'

const SETTINGS = {
  transport_type: 'open',
  vehicle_type: 'car',
  send_quote_id: false,
  shipment_number: 'caller',
} as const
const tables = new Map([['types', compileLookup({ SUV: 'suv', 'BOX TRUCK': 'truck' })]])

interface Options {
  readonly facts?: KnownFacts
  readonly sendQuoteId?: boolean
}

/** Translates sent fields with one row. */
function translated(row: Row, sent: Readonly<Record<string, string | typeof NOT_FLAT>>, options: Options = {}) {
  const index = indexFields(fieldsOf(row))
  const { values } = sortFields(index, Object.entries(sent))
  const body: Draft = {}
  const notes: Note[] = []
  const problems: { field: string; code: string; message: string }[] = []
  const explanations: Explanation[] = []
  const settings = { ...SETTINGS, send_quote_id: options.sendQuoteId ?? false }
  const run = { values, facts: options.facts, settings, body, problems, notes, explanations }
  for (const step of compileRequest([row], index, tables)) step(run)
  return { body, notes, problems, explanations }
}

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
const bySchema: Codec<string> = { name: 'schema', summary: '', schema: odd.schema }
const quiet = { problems: [], notes: [] }

describe('a field that moves', () => {
  const row = move('Field', 'a.b', odd)

  test('is put at its place, and explained', () => {
    expect(translated(row, { Field: 'X' })).toEqual({
      ...quiet,
      body: { a: { b: 'x' } },
      explanations: [
        {
          to: 'a.b',
          from: ['Field'],
          before: 'X',
          after: 'x',
          rule: 'odd',
          keeps: 'lossy: its case',
          origin: 'caller',
        },
      ],
    })
  })

  test.each([
    ['Lossy', 'lossy', { loss: 'the case' }],
    ['Assumed', 'assumed', { assumed: 'a case' }],
    ['Warning', 'warning', { warning: 'a case' }],
  ])('has the remarks of its codec: %s', (text, code, remark) => {
    const { notes, explanations } = translated(row, { Field: text })
    expect(notes).toEqual([{ name: 'Field', code }])
    expect(explanations).toMatchObject([remark])
  })

  test('is a problem if it cannot be read, in the words of its codec', () => {
    const problem = { field: 'Field', message: 'Field must be good' }
    const nothing = { body: {}, notes: [], explanations: [] }
    expect(translated(row, { Field: 'bad' })).toEqual({ ...nothing, problems: [{ ...problem, code: 'odd' }] })
    expect(translated(move('Field', 'a', bySchema, { required: true }), { Field: 'bad' })).toEqual({
      ...nothing,
      problems: [{ ...problem, code: 'schema' }],
    })
  })

  test('is no second problem if it was refused before', () => {
    for (const refused of [NOT_FLAT, IS_FILE]) {
      const { body, problems } = translated(move('Field', 'a', odd, { required: true }), {
        Field: refused as typeof NOT_FLAT,
      })
      expect([body, problems]).toEqual([{}, []])
    }
  })

  test('that counts as absent is noted as lost', () => {
    expect(translated(row, { Field: 'none' })).toEqual({
      body: {},
      problems: [],
      notes: [{ name: 'Field', code: 'lossy' }],
      explanations: [],
    })
  })

  test('may be read by a schema alone', () => {
    const { body, explanations } = translated(move('Field', 'a', bySchema), { Field: 'X' })
    expect(body).toEqual({ a: 'x' })
    expect(explanations).toStrictEqual([
      { to: 'a', from: ['Field'], before: 'X', after: 'x', rule: 'schema', origin: 'caller' },
    ])
  })
})

describe('a field that is absent', () => {
  const keeps = 'one way: the caller did not send it'

  test('is a problem if it is required', () => {
    expect(translated(move('Field', 'a', odd, { required: true }), {}).problems).toEqual([
      { field: 'Field', code: 'required', message: 'Field is required' },
    ])
    expect(translated(move('Field', 'a', odd), {})).toEqual({ ...quiet, body: {}, explanations: [] })
  })

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

describe('a place of a table', () => {
  const row = lookup([wholeValue('Kind'), phraseIn('Text')], 'a', 'types', [setting('transport_type')])

  test.each<[Record<string, string | typeof NOT_FLAT>, string, string]>([
    [{ Kind: 'suv', Text: 'a box truck' }, 'suv', 'Kind'],
    [{ Kind: 'big suv', Text: 'a box truck' }, 'truck', 'Text'],
    [{ Kind: NOT_FLAT, Text: 'a box truck' }, 'truck', 'Text'],
    [{ Text: 'my suv' }, 'suv', 'Text'],
  ])('is decided by the first field that it knows: %o', (sent, after, field) => {
    expect(translated(row, sent)).toMatchObject({
      ...quiet,
      body: { a: after },
      explanations: [{ to: 'a', from: [field], before: sent[field], after, rule: 'types', origin: 'caller' }],
    })
  })

  test('falls back where it knows none of them', () => {
    expect(translated(row, { Kind: 'x' })).toMatchObject({
      body: { a: 'open' },
      notes: [{ name: 'a', code: 'assumed' }],
      explanations: [{ assumed: 'the table types knows none of Kind, Text' }],
    })
  })

  test('needs the table', () => {
    const other = lookup([wholeValue('Kind')], 'a', 'others')
    expect(() => compileRequest([other], indexFields(['Kind']), tables)).toThrow('there is no table others')
  })
})

describe('a place of the remembered quote', () => {
  const facts = { quote_id: 'Q-1' }

  test('is filled with its fact', () => {
    const { body, explanations } = translated(fromQuote('a', 'quote_id'), {}, { facts })
    expect(body).toEqual({ a: 'Q-1' })
    expect(explanations).toMatchObject([{ to: 'a', from: [], after: 'Q-1', origin: 'quote' }])
    expect(translated(fromQuote('a', 'quote_id'), {}).body).toEqual({})
  })

  test('falls back without one', () => {
    const row = fromQuote('a', 'quote_id', { fallbacks: [setting('vehicle_type')] })
    expect(translated(row, {}).explanations).toMatchObject([
      { after: 'car', assumed: 'version 1 has no field for it and no quote is remembered' },
    ])
  })

  test('may depend on a setting', () => {
    const row = fromQuote('a', 'quote_id', { onlyWith: 'send_quote_id' })
    expect(translated(row, {}, { facts, sendQuoteId: true }).body).toEqual({ a: 'Q-1' })
    expect(translated(row, {}, { facts }).body).toEqual({})
  })
})

test('rows of a reply are none of a request, and rows that only explain do nothing', () => {
  const compile = (...rows: readonly Row[]) => compileRequest(rows, indexFields([]), tables)
  for (const row of [callerNumber('A', 'a'), fixed('A', ''), choose('A', 'a', {}, ''), message('A', [])]) {
    expect(() => compile(row)).toThrow(`a ${row.kind} row cannot be used in a request`)
  }
  expect(compile(ref('A', 'why'), ...v1Only(['B'], 'why'), ...v2Only(['b'], 'why'))).toEqual([])
})

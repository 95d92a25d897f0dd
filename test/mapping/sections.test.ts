import { describe, expect, test } from 'vitest'
import { text } from '../../mappings/codecs.ts'
import { compileCatalog, MappingErrors } from '../../src/mapping/catalog.ts'
import {
  type Action,
  callback,
  callerNumber,
  choose,
  fixed,
  fromQuote,
  join,
  lookup,
  message,
  move,
  type Row,
  ref,
  split,
  v2Only,
  wholeValue,
} from '../../src/mapping/declare.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'

/** One row of each kind. */
const ROWS: Readonly<Record<Row['kind'], Row>> = {
  move: move('A', 'a', text),
  split: split('A', { part: 'a', other: 'b.c' }, { ...text, name: 'parts' } as unknown as Parameters<typeof split>[2]),
  join: join(['A', 'B'], 'a', { name: 'lines', summary: '', join: String, split: () => [] }),
  lookup: lookup([wholeValue('A'), wholeValue('B')], 'a', 'types'),
  fromQuote: fromQuote('a', 'quote_id'),
  ref: ref('A', 'why'),
  v1Only: { ...ref('A', 'why'), kind: 'v1Only' },
  v2Only: v2Only(['a'], 'why')[0] ?? expect.fail('there is no row'),
  callerNumber: callerNumber('A', 'a'),
  fixed: fixed('A', ''),
  choose: choose('A', 'a', {}, ''),
  message: message('A', [{ text: 'Told.' }]),
}
const KINDS = Object.keys(ROWS) as Row['kind'][]

const base: Action = {
  name: 'act',
  summary: 'Do it.',
  family: 'quote',
  legacy: { method: 'POST', paths: ['/act.php'], actionNames: 'any' },
  service: { method: 'POST', path: '/v2/x' },
  request: [],
  reply: [],
  example: { request: {}, reply: {} },
}
const event = { shipment_id: 'S', event: 'x', event_date: 'now' }
const tables = new Map([['types', compileLookup({ SUV: 'suv' })]])

/** The mistakes of a declaration with these rows in one of its sections. */
function mistakesOf(section: 'request' | 'remember' | 'reply' | 'callback', rows: readonly Row[]): readonly string[] {
  try {
    if (section !== 'callback') compileCatalog([{ ...base, [section]: rows }], { tables })
    else {
      const told = callback({ name: 'act', summary: 'Tell.', events: 'any', fields: rows, example: event })
      compileCatalog([], { tables, callbacks: [told] })
    }
    return []
  } catch (error) {
    if (error instanceof MappingErrors) return error.mistakes
    throw error
  }
}

describe.each([
  ['request', ['move', 'split', 'join', 'lookup', 'fromQuote', 'ref', 'v1Only', 'v2Only']],
  ['remember', ['move', 'split', 'join', 'v1Only']],
  ['reply', ['move', 'split', 'join', 'callerNumber', 'fixed', 'choose', 'message', 'v2Only']],
  ['callback', ['move', 'split', 'join', 'callerNumber', 'fixed', 'choose', 'message']],
] as const)('a section "%s"', (section, allowed: readonly Row['kind'][]) => {
  test.each(KINDS.filter((kind) => allowed.includes(kind)))('may have a row %s', (kind) => {
    expect(mistakesOf(section, [ROWS[kind]])).toEqual([])
  })

  test.each(KINDS.filter((kind) => !allowed.includes(kind)))('has no row %s', (kind) => {
    expect(mistakesOf(section, [ROWS[kind]])).toEqual([
      expect.stringMatching(
        new RegExp(`^act: ${section} row "${kind} .*": a ${kind} row cannot be used in a ${section}$`),
      ),
    ])
  })
})

describe('a row is named by its fields and places', () => {
  test.each<[Row['kind'], string]>([
    ['move', 'A → a'],
    ['split', 'A → a + b.c'],
    ['join', 'A + B → a'],
    ['callerNumber', 'A → a'],
    ['fixed', 'A'],
    ['choose', 'A → a'],
    ['message', 'A'],
  ])('of a reply: %s %s', (kind, about) => {
    expect(mistakesOf('reply', [fixed('A', ''), ROWS[kind]])).toEqual([
      `act: reply row "${kind} ${about}": A is covered twice (already as A)`,
    ])
  })

  test.each<[Row['kind'], string]>([
    ['lookup', 'A + B → a'],
    ['fromQuote', 'a'],
    ['ref', 'A'],
    ['v1Only', 'A'],
  ])('of a request: %s %s', (kind, about) => {
    expect(mistakesOf('reply', [ROWS[kind]])).toEqual([
      `act: reply row "${kind} ${about}": a ${kind} row cannot be used in a reply`,
    ])
  })

  test('that has places alone', () => {
    expect(mistakesOf('request', [ROWS.move, ROWS.v2Only])).toEqual(['act: request row "v2Only a": a is written twice'])
  })
})

describe('two callbacks', () => {
  const told = (name: string, events: readonly string[] | 'any') =>
    callback({ name, summary: 'Tell.', events, fields: [], example: event })
  const mistakes = (...callbacks: readonly ReturnType<typeof told>[]) => {
    try {
      return compileCatalog([], { tables, callbacks }) && []
    } catch (error) {
      return error instanceof MappingErrors ? error.mistakes : [error]
    }
  }

  test('may not be for any other event, nor for the same one', () => {
    expect(mistakes(told('one', 'any'), told('two', 'any'))).toEqual(['two callbacks are for any other event'])
    expect(mistakes(told('one', ['x', 'y', 'x']), told('two', ['y']))).toEqual([
      'two callbacks are for x',
      'two callbacks are for y',
    ])
    expect(mistakes(told('one', ['any', 'x']), told('two', 'any'))).toEqual([])
  })

  test('for an event and for any are told apart', () => {
    const { callbackOf } = compileCatalog([], { tables, callbacks: [told('one', ['x', 'any']), told('two', 'any')] })
    expect(['x', 'any', 'y', ''].map((name) => callbackOf(name)?.callback.name)).toEqual(['one', 'one', 'two', 'two'])
  })
})

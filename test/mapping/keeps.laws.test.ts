/** Promise: a row that works both ways keeps what its class says (contract, section 4). */

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { actions, callbacks } from '../../mappings/index.ts'
import { type Keeps, lettersAndDigits } from '../../src/language/mapping/codec.ts'
import type { Row } from '../../src/language/mapping/declare.ts'
import { indexFields } from '../../src/language/mapping/fields.ts'
import { type Draft, placeOf, putAt, valueAt } from '../../src/language/mapping/paths.ts'
import { compileReply } from '../../src/language/mapping/reply.ts'
import { compileRequest } from '../../src/language/mapping/request.ts'
import { fieldsOf, keepsOf, keepsTextOf, placesOf } from '../../src/language/mapping/row-parts.ts'
import { shownText } from '../../src/language/text/service-text.ts'
import { SETTINGS as settings } from '../events/office.ts'
import { anyField } from '../mappings/fields.ts'
import { runs, SAMPLE_SEED } from '../size.ts'

const RUNS = runs(400, 10_000)
/** A million runs take minutes. */
const LAW_MS = 1_800_000

/** The fields of one row, absent ones left out. */
type Fields = Readonly<Record<string, string>>
type TwoWays = Extract<Row, { kind: 'move' | 'split' | 'join' }>

const all: readonly Row[] = [
  ...actions.flatMap(({ request, remember = [], reply }) => [...request, ...remember, ...reply]),
  ...callbacks.flatMap(({ fields }) => fields),
]
const isTwoWays = (row: Row): row is TwoWays => 'codec' in row || 'joiner' in row
const ruleOf = (row: TwoWays) => ('codec' in row ? row.codec : row.joiner)

/** Returns the body of a request with these fields; undefined if the row refuses one, or all count as absent. */
function put(row: TwoWays, fields: Fields): Draft | undefined {
  // A fallback fills a place that the caller did not send: it is no part of a round trip.
  const alone = row.kind === 'move' ? { ...row, fallbacks: [] } : row
  const index = indexFields(fieldsOf(row))
  const values = index.names.map((name) => fields[name])
  const translate = compileRequest([alone], [], index, new Map())
  const { body, problems } = translate(values, { facts: undefined, settings }, {}, [])
  return problems.length === 0 && Object.keys(body).length > 0 ? body : undefined
}

/** Returns the fields of a reply with this body; blank ones are absent. */
function get(row: TwoWays, body: Draft): Fields {
  const { reply } = compileReply([row])(body, { own: undefined, settings })
  return Object.fromEntries(Object.entries(reply).filter(([, text]) => text.trim() !== ''))
}

/** Returns a body with the even parts of one and the odd parts of another: the service may hold any. */
function mix(row: TwoWays, one: Draft, other: Draft = one): Draft {
  const mixed: Draft = {}
  for (const [i, place] of placesOf(row).map(placeOf).entries()) {
    const value = valueAt(i % 2 === 0 ? one : other, place)
    if (value !== undefined) putAt(mixed, place, value)
  }
  return mixed
}

const anyText = anyField.map((text) => shownText(text, 200).trim()).filter((text) => text !== '')

/** Fields of a row; the second of several may be absent. */
const someFields = (row: TwoWays): fc.Arbitrary<Fields> => {
  const names = fieldsOf(row)
  return fc
    .record(Object.fromEntries(names.map((name) => [name, anyText])), {
      requiredKeys: names.length > 1 ? [] : [...names],
    })
    .map((fields) => ({ ...fields }))
}

/** Tries the law of a row's class on fields, beside others whose parts the service may hold; returns whether anything is lost. */
function losesIn(row: TwoWays, keeps: Exclude<Keeps, { class: 'oneWay' }>, fields: Fields, others: Fields): boolean {
  const body = put(row, fields)
  if (!body) return false
  const back = get(row, body)
  const mixed = mix(row, body, put(row, others))
  const mixedAgain = put(row, get(row, mixed))
  const sense = keeps.class === 'exact' ? String : (keeps.sense ?? lettersAndDigits)
  const meaning = (sent: Fields) => Object.fromEntries(Object.entries(sent).map(([name, text]) => [name, sense(text)]))
  if (keeps.class === 'lossy') {
    const isLost = !isDeepStrictEqual(meaning(back), meaning(fields))
    // A codec that can remark on losses remarks on each.
    if (isLost && 'codec' in row && row.codec.remark)
      expect(row.codec.remark(fields[row.v1] ?? '')).toHaveProperty('loss')
    return isLost || !isDeepStrictEqual(mixedAgain, mixed)
  }
  expect(meaning(back)).toEqual(meaning(fields))
  expect(mixedAgain).toEqual(mixed)
  const again = put(row, back)
  expect(again).toEqual(body)
  expect(again && get(row, again)).toEqual(back)
  return false
}

test('each row of the built-in declarations has a class', () => {
  expect(all.filter((row) => keepsOf(row) === undefined)).toEqual([])
})

// A codec is tried in many rows; in one of them its loss must show.
test.each([...Map.groupBy(all.filter(isTwoWays), ruleOf)].map(([{ name, keeps }, rows]) => ({ name, keeps, rows })))(
  '$name keeps what it says',
  ({ keeps, rows }) => {
    if (!keeps || keeps.class === 'oneWay') return expect.fail('it has no class of two ways')
    let isLossy = false
    const trial = fc.constantFrom(...rows).chain((row) => fc.tuple(fc.constant(row), someFields(row), someFields(row)))
    const law = fc.property(trial, ([row, fields, others]) => {
      if (losesIn(row, keeps, fields, others)) isLossy = true
    })
    fc.assert(law, { numRuns: RUNS, ...SAMPLE_SEED })
    expect(isLossy).toBe(keeps.class === 'lossy')
  },
  LAW_MS,
)

test('a row without a class says nothing', () => {
  const [move] = all.filter((row) => row.kind === 'move')
  if (!move) return expect.fail('no row moves a field')
  const { keeps: _, ...codec } = move.codec
  expect(keepsTextOf({ ...move, codec })).toBeUndefined()
})

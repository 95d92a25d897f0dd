/** Promise: a row that works both ways keeps the meaning of a value, or reports what is lost (contract, section 4). */

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { actions, callbacks } from '../../mappings/index.ts'
import { stateCodes } from '../../mappings/us-states.ts'
import type { Row } from '../../src/language/mapping/declare.ts'
import { indexFields } from '../../src/language/mapping/fields.ts'
import { type Draft, placeOf, putAt, valueAt } from '../../src/language/mapping/paths.ts'
import { compileReply } from '../../src/language/mapping/reply.ts'
import { compileRequest } from '../../src/language/mapping/request.ts'
import { fieldsOf, placesOf } from '../../src/language/mapping/row-parts.ts'
import { shownText } from '../../src/language/text/service-text.ts'
import { SETTINGS as settings } from '../events/office.ts'
import { anyField } from '../mappings/fields.ts'
import { runs, SAMPLE_SEED } from '../size.ts'

const RUNS = runs(400, 10_000)
/** A million runs take minutes. */
const LAW_MS = 1_800_000

/** The fields of one row, without absent ones. */
type Fields = Readonly<Record<string, string>>
type TwoWays = Extract<Row, { kind: 'move' | 'split' | 'join' }>

const all: readonly Row[] = [
  ...actions.flatMap(({ request, remember = [], reply }) => [...request, ...remember, ...reply]),
  ...callbacks.flatMap(({ fields }) => fields),
]
const isTwoWays = (row: Row): row is TwoWays => 'codec' in row || 'joiner' in row
const ruleOf = (row: TwoWays) => ('codec' in row ? row.codec : row.joiner).name

/* The meaning that texts share, by the rule of the row; by default their letters and digits. */

const lettersAndDigits = (text: string) =>
  text
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .replace(/^0+/, '')
const withoutFraction = (text: string) => text.replace(/^(\d+)\.0+$/, '$1')
const zip = (text: string) => lettersAndDigits(withoutFraction(text))

/** The keys of `A` to `Z`. */
const KEYPAD = '22233344455566677778889999'
function phone(text: string): string {
  const bare = text.replace(/[\s().-]+/g, '').toLowerCase()
  const isInWords = /^\+?1?(?=[\da-z]{10,})\d{3}(?:\d{3})?[a-z][\da-z]*$/.test(bare)
  const keys = bare.replace(/[a-z]/g, (letter) => KEYPAD[letter.charCodeAt(0) - 97] ?? '')
  const digits = isInWords
    ? keys.replace(/^\+?1(?=\d{10})/, '').slice(0, 10)
    : withoutFraction(text).replace(/\D+/g, '')
  return digits.replace(/^1+/, '')
}

function contact(text: string): string {
  const isNumber = (part: string) => part.replace(/\D+/g, '').length * 2 > part.replace(/\s+/g, '').length
  const parts = text.split('~').map((part) => (isNumber(part) ? phone(part) : lettersAndDigits(part)))
  return [...new Set(parts)].sort().join('')
}

const SENSES: Readonly<Record<string, (text: string) => string>> = {
  ...{ text: String, email: String, zipcode: zip, quoteZip: zip, year: withoutFraction, phone, contactParts: contact },
  state: (text) => stateCodes.get(lettersAndDigits(text)) ?? lettersAndDigits(text),
  money: (text) => String(Number(text.replace(/[$,\s]/g, ''))),
}
const LOSSY = new Set(['zipcode', 'quoteZip', 'phone', 'contactParts', 'money', 'locationName', 'streetLines'])

/** Returns the body of a request with these fields; undefined if the row refuses one, or all count as absent. */
function put(row: TwoWays, fields: Fields): Draft | undefined {
  // A fallback fills a place that the caller did not send, so it is not part of a round trip.
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

/** Returns a body with the even parts of one and the odd parts of another, because the service may have any combination. */
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

/** Tries the law of a row on fields, next to others whose parts the service may have; reports whether anything is lost. */
function losesIn(row: TwoWays, fields: Fields, others: Fields): boolean {
  const body = put(row, fields)
  if (!body) return false
  const back = get(row, body)
  const mixed = mix(row, body, put(row, others))
  const mixedAgain = put(row, get(row, mixed))
  const sense = SENSES[ruleOf(row)] ?? lettersAndDigits
  const meaning = (sent: Fields) => Object.fromEntries(Object.entries(sent).map(([name, text]) => [name, sense(text)]))
  if (LOSSY.has(ruleOf(row))) {
    const isLost = !isDeepStrictEqual(meaning(back), meaning(fields))
    // A codec that can report losses reports each one.
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

// A codec is tried in many rows, and at least one must show its loss.
test.each([...Map.groupBy(all.filter(isTwoWays), ruleOf)])(
  '%s keeps what it says',
  (rule, rows) => {
    let isLossy = false
    const trial = fc.constantFrom(...rows).chain((row) => fc.tuple(fc.constant(row), someFields(row), someFields(row)))
    const law = fc.property(trial, ([row, fields, others]) => {
      if (losesIn(row, fields, others)) isLossy = true
    })
    fc.assert(law, { numRuns: RUNS, ...SAMPLE_SEED })
    expect(isLossy).toBe(LOSSY.has(rule))
  },
  LAW_MS,
)

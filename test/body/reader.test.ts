/** Promise: fields are made of any bytes, or refused with a reason (contract, section 2). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FlatBody, readBody, readQuery } from '../../src/body/read.ts'
import { GatewayError } from '../../src/errors.ts'
import { type FieldValue, NOT_FLAT } from '../../src/mapping/fields.ts'
import { NAUGHTY } from '../calls/naughty-values.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

const RUNS = runs(2_000, 10_000)
const NIGHT_MS = 3_600_000
const MOST_FIELDS = 200

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(...NAUGHTY.filter((one) => one.length < 100)),
)
const anyFields = fc.array(fc.tuple(anyText, anyText), { minLength: 1, maxLength: 12 })
const anyLabel = fc.oneof(
  anyText,
  fc
    .constantFrom(
      'utf-8',
      'utf-16le',
      'shift_jis',
      'euc-kr',
      'iso-2022-jp',
      'windows-1251',
      'koi8-r',
      'gbk',
      'nonsense',
    )
    .map((name) => `application/json; charset=${name}`),
)
/** Pieces of valid bodies, with which random bodies get beyond the first byte. */
const piece = fc.oneof(
  fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    '\\',
    '\\u',
    '\\ud800',
    '&',
    '=',
    '+',
    '%',
    '%0',
    '%e9',
    '%00',
    ';',
    '\0',
  ),
  fc.constantFrom(
    'null',
    'true',
    '1e9',
    '-0',
    'a',
    'PickupZip',
    '"a":',
    '"a":1',
    'a=b',
    '\r\n',
    '\ufeff',
    '\t',
    '{}',
    '[{',
  ),
  anyText,
)
const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
  fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.from(pieces.join(''))),
  fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.from(`{"a":${pieces.join('')}}`)),
  fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.from(`a=${pieces.join('')}`)),
  fc.array(piece, { maxLength: 20 }).map((pieces) => Buffer.from(`{"a":"${pieces.join('')}"}`, 'utf16le')),
  fc.array(piece, { maxLength: 20 }).map((pieces) => Buffer.from(pieces.join(''), 'latin1')),
)

const REFUSED = new Set([400, 422])
const CONTROL = /\p{Cc}/u

/** Returns a body that was read, or its valid refusal. */
function readOr(read: () => FlatBody): FlatBody | GatewayError {
  try {
    return read()
  } catch (error) {
    if (error instanceof GatewayError && REFUSED.has(error.status) && !CONTROL.test(error.message)) return error
    throw error
  }
}

const isField = ([name, value]: readonly [string, FieldValue]) =>
  name === name.trim() && (typeof value !== 'string' || (value !== '' && value === value.trim()))

const inJson = (fields: readonly (readonly [string, string])[]) =>
  `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)}}`

describe('the reader', { timeout: NIGHT_MS }, () => {
  test('makes fields of any bytes, or refuses them with a reason, with the same result the second time', () => {
    const law = fc.property(anyBytes, anyLabel, (bytes, label) => {
      const before = bytes.toString('hex')
      const first = readOr(() => readBody(bytes, label))
      const second = readOr(() => readBody(bytes, label))
      if (first instanceof GatewayError) return second instanceof GatewayError && first.message === second.message
      expect(second).toEqual(first)
      return first.entries.length <= MOST_FIELDS && first.entries.every(isField) && bytes.toString('hex') === before
    })
    expectLaw(law, RUNS)
  })

  test('makes fields of any query', () => {
    const law = fc.property(anyBytes, (bytes) => {
      const read = readOr(() => readQuery(bytes.toString('latin1')))
      return read instanceof GatewayError || read.entries.every(isField)
    })
    expectLaw(law, RUNS)
  })

  test('reads the same from JSON as from a form', () => {
    const law = fc.property(anyFields, (pairs) => {
      // A form has no lone surrogates, and its first name has to be one.
      const fields = [
        ['first', 'x'] as const,
        ...pairs.map(([name, value]) => [name.toWellFormed(), value.toWellFormed()] as const),
      ]
      const form = fields.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
      const json = inJson(fields)
      expect(readBody(Buffer.from(form), undefined).entries).toEqual(readBody(Buffer.from(json), undefined).entries)
    })
    expectLaw(law, RUNS)
  })

  test('reads its own result back unchanged', () => {
    const law = fc.property(anyBytes, (bytes) => {
      const read = readOr(() => readBody(bytes, undefined))
      if (read instanceof GatewayError) return
      const flat = read.entries.map(([name, value]) => [name, typeof value === 'string' ? value : ''] as const)
      const again = readBody(Buffer.from(inJson(flat)), undefined).entries
      expect(again).toEqual(flat.map(([name, value]) => [name, value === '' ? null : value]))
    })
    expectLaw(law, RUNS)
  })

  test('never lets a field touch another, nor anything else', () => {
    const law = fc.property(
      anyFields,
      fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString'),
      (fields, name) => {
        const nested = `"${name}":{"polluted":"yes","toString":"x"}`
        const { entries } = readBody(Buffer.from(`{${nested},${inJson(fields).slice(1)}`), undefined)
        expect(entries[0]).toEqual([name, NOT_FLAT])
        expect(entries).toHaveLength(fields.length + 1)
        return Reflect.get({}, 'polluted') === undefined && `${{}}` === '[object Object]'
      },
    )
    expectLaw(law, RUNS)
  })
})

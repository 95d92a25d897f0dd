/** Promise: whatever a caller sends is read field for field, or refused with a reason (contract, section 2). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readBody, readQuery } from '../../src/edge/body/read.ts'
import { GatewayError } from '../../src/language/errors.ts'
import { type FieldValue, type FlatBody, NOT_FLAT } from '../../src/language/mapping/fields.ts'
import { NAUGHTY } from '../calls/naughty-values.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

/** Of each law; together they run seven times as often. */
const RUNS = runs(400, 1_500)
const NIGHT_MS = 3_600_000
const MOST_FIELDS = 200

type Fields = readonly (readonly [string, FieldValue])[]

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.stringMatching(/^[ !#-[\]-~é]{0,12}$/),
  fc.constantFrom(...NAUGHTY.filter((one) => one.length < 100)),
)
const anyName = fc.oneof(anyText, fc.constantFrom('__proto__', 'constructor', 'PickupPhNo.', 'a', 'a'))
const jsonBlank = fc.stringMatching(/^[ \t\r\n]{0,3}$/)
const jsonNumber = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?$/)

/** Values as JSON, each with the value of its field. */
const jsonValue: fc.Arbitrary<readonly [literal: string, value: FieldValue]> = fc.oneof(
  anyText.map((text) => [JSON.stringify(text), text.trim() || null] as const),
  jsonNumber.map((literal) => [literal, literal] as const),
  fc.boolean().map((flag) => [String(flag), String(flag)] as const),
  fc.constant(['null', null] as const),
  fc
    .oneof(fc.array(fc.jsonValue()), fc.dictionary(anyText, fc.jsonValue()))
    .map((nested) => [JSON.stringify(nested), NOT_FLAT] as const),
)
const jsonFields = fc.array(fc.tuple(anyName, jsonValue), { minLength: 1, maxLength: 30 })

const labels = fc.constantFrom(undefined, 'application/json', 'text/plain; charset=utf-8', 'a/b; charset=nonsense', '')

/** Pieces of valid bodies, with which random bodies get beyond the first byte. */
const piece = fc.oneof(
  fc.constantFrom(...'{}[]":,\\&=+%;\0\t', '\\u', '\\ud800', '%0', '%e9', '%00', '\r\n', '\ufeff'),
  fc.constantFrom('null', 'true', '1e9', '-0', 'a', 'PickupZip', '"a":', '"a":1', 'a=b', '{}', '[{'),
  anyText,
)
const pieces = fc.array(piece, { maxLength: 40 }).map((all) => all.join(''))
const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
  pieces.map((text) => Buffer.from(text)),
  pieces.map((text) => Buffer.from(`{"a":${text}}`)),
  pieces.map((text) => Buffer.from(`a=${text}`)),
  pieces.map((text) => Buffer.from(`{"a":"${text}"}`, 'utf16le')),
  pieces.map((text) => Buffer.from(text, 'latin1')),
)
const charsets = fc.constantFrom('utf-16', 'shift_jis', 'iso-2022-jp', 'gb18030', 'big5', 'x-user-defined', 'koi8-r')
const anyLabel = fc.oneof(
  anyText,
  charsets.map((name) => `text/plain; charset=${name}`),
)

/** Returns the fields of a body; undefined if it is refused, with a status and a message as they should be. */
function fieldsOr(read: () => FlatBody): Fields | undefined {
  try {
    return read().entries
  } catch (error) {
    if (error instanceof GatewayError && [400, 422].includes(error.status) && !/\p{Cc}/u.test(error.message)) return
    throw error
  }
}

const isField = ([name, value]: readonly [string, FieldValue]) =>
  name === name.trim() && (typeof value !== 'string' || (value !== '' && value === value.trim()))

describe('laws of reading', { timeout: NIGHT_MS }, () => {
  test('a JSON object reads back field for field, in order, duplicates and digits included', () => {
    const law = fc.property(jsonFields, jsonBlank, labels, (fields, blank, label) => {
      const pairs = fields.map(([name, [literal]]) => [JSON.stringify(name), ':', literal].join(blank))
      const text = `${blank}{${blank}${pairs.join(`${blank},${blank}`)}${blank}}${blank}`
      expect(readBody(Buffer.from(text), label).entries).toEqual(
        fields.map(([name, [, value]]) => [name.trim(), value]),
      )
    })
    expectLaw(law, RUNS)
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test('a form reads back field for field, in order, duplicates included', () => {
    const named = fc.array(fc.tuple(anyName, anyText), { minLength: 1, maxLength: 30 })
    const law = fc.property(named, labels, (pairs, label) => {
      fc.pre(pairs[0]?.[0] !== '')
      const text = new URLSearchParams(pairs).toString()
      const sent = pairs.map(([name, value]) => [name.toWellFormed().trim(), value.toWellFormed().trim() || null])
      expect(readBody(Buffer.from(text), label).entries).toEqual(sent)
      expect(readQuery(text).entries).toEqual(sent)
    })
    expectLaw(law, RUNS)
  })

  test('any Windows-1252 byte that is not UTF-8 reads the same raw and escaped, in JSON and in a form', () => {
    const law = fc.property(fc.array(fc.integer({ min: 0x80, max: 0xbf }), { minLength: 1, maxLength: 20 }), (high) => {
      const raw = Buffer.from(high).toString('latin1')
      const escaped = high.map((byte) => `%${byte.toString(16)}`).join('')
      const read = [`{"a":"x${raw}x"}`, `a=x${raw}x`, `a=x${escaped}x`].map((text) => {
        return readBody(Buffer.from(text, 'latin1'), undefined).entries[0]?.[1]
      })
      return new Set(read).size === 1 && !String(read[0]).includes('\ufffd')
    })
    expectLaw(law, RUNS)
  })

  test('any bytes under any label end in fields or in a refusal, the same the second time, and stay as they are', () => {
    const law = fc.property(anyBytes, anyLabel, (bytes, label) => {
      const before = bytes.toString('hex')
      const fields = fieldsOr(() => readBody(bytes, label))
      expect(fieldsOr(() => readBody(bytes, label))).toEqual(fields)
      const query = fieldsOr(() => readQuery(bytes.toString('latin1')))
      for (const read of [fields, query]) {
        expect(read?.every(isField)).not.toBe(false)
        expect(read?.length ?? 0).toBeLessThanOrEqual(MOST_FIELDS)
      }
      expect(bytes.toString('hex')).toBe(before)
    })
    expectLaw(law, 3 * RUNS)
  })

  test('JSON with a character changed is read as JSON.parse reads it, or refused', () => {
    const law = fc.property(jsonFields, fc.nat(), fc.nat(0x7f), (fields, place, code) => {
      const json = `{${fields.map(([name, [literal]]) => `${JSON.stringify(name)}:${literal}`).join(',')}}`
      const at = 1 + (place % (json.length - 1))
      const text = (json.slice(0, at) + String.fromCharCode(code) + json.slice(at + 1)).toWellFormed()
      const read = fieldsOr(() => readBody(Buffer.from(text), 'a/b; charset=utf-8'))
      if (read === undefined) return
      const parsed = Object.keys(JSON.parse(text.trim())).map((name) => name.trim())
      expect(new Set(read.map(([name]) => name))).toEqual(new Set(parsed))
    })
    expectLaw(law, RUNS)
  })
})

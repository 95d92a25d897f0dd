/** Promise: whatever a caller sends is read field for field, or refused (contract, section 2). */

import fc from 'fast-check'
import { describe, test } from 'vitest'
import { readBody, readQuery } from '../../src/body/read.ts'
import { GatewayError } from '../../src/errors.ts'
import { type FieldValue, NOT_FLAT } from '../../src/mapping/fields.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

/** Of each law; together they run seven times as often. */
const RUNS = runs(400, 1_500)
/** Far more than they take, for runs of a million. */
const TIMEOUT_MS = Math.max(30_000, RUNS * 5)

interface Sample {
  readonly name: string
  readonly literal: string
  readonly value: FieldValue
}

const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), fc.stringMatching(/^[ !#-[\]-~é]{0,12}$/))
const anyName = fc.oneof(anyText, fc.constantFrom('__proto__', 'constructor', 'PickupPhNo.', 'a', 'a'))
const jsonBlank = fc.stringMatching(/^[ \t\r\n]{0,3}$/)
const jsonNumber = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?$/)

const jsonValue: fc.Arbitrary<Omit<Sample, 'name'>> = fc.oneof(
  anyText.map((text) => ({ literal: JSON.stringify(text), value: text.trim() || null })),
  jsonNumber.map((literal) => ({ literal, value: literal })),
  fc.boolean().map((flag) => ({ literal: String(flag), value: String(flag) })),
  fc.constant({ literal: 'null', value: null }),
  fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(anyText, fc.jsonValue())).map((nested): Omit<Sample, 'name'> => {
    return { literal: JSON.stringify(nested), value: NOT_FLAT }
  }),
)
const jsonField = fc.record({ name: anyName, of: jsonValue }).map(({ name, of }): Sample => ({ name, ...of }))

const labels = fc.constantFrom(undefined, 'application/json', 'text/plain; charset=utf-8', 'a/b; charset=nonsense', '')

function sameEntries(
  read: readonly (readonly [string, FieldValue])[],
  sent: readonly (readonly [string, FieldValue])[],
) {
  return (
    read.length === sent.length &&
    read.every(([name, value], index) => name === sent[index]?.[0] && value === sent[index]?.[1])
  )
}

function onlyGatewayErrors(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
  }
}

describe('laws of reading', { timeout: TIMEOUT_MS }, () => {
  test('a JSON object reads back field for field, in order, duplicates and digits included', () => {
    const law = fc.property(fc.array(jsonField, { maxLength: 30 }), jsonBlank, labels, (fields, blank, label) => {
      const pairs = fields.map(({ name, literal }) => [JSON.stringify(name), ':', literal].join(blank))
      const text = `${blank}{${blank}${pairs.join(`${blank},${blank}`)}${blank}}${blank}`
      const sent = fields.map(({ name, value }) => [name.trim(), value] as const)
      return sameEntries(readBody(Buffer.from(text), label).entries, sent)
    })
    expectLaw(law, RUNS)
  })

  test('a form reads back field for field, in order, duplicates included', () => {
    const named = fc.array(fc.tuple(anyName, anyText), { minLength: 1, maxLength: 30 })
    const law = fc.property(named, labels, (pairs, label) => {
      fc.pre(pairs[0]?.[0] !== '')
      const text = new URLSearchParams(pairs).toString()
      const sent = pairs.map(([name, value]) => [name.trim(), value.trim() || null] as const)
      return sameEntries(readBody(Buffer.from(text), label).entries, sent) && sameEntries(readQuery(text).entries, sent)
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

  test('arbitrary bytes under an arbitrary label end in fields or in a refusal', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      ':',
      ',',
      '&',
      '=',
      '%',
      '%e',
      '+',
      'a',
      '1',
      ' ',
      '\0',
    )
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array)),
      fc.array(piece, { maxLength: 30 }).map((pieces) => Buffer.from(pieces.join(''))),
      fc.array(piece, { maxLength: 30 }).map((pieces) => Buffer.from(`{"a":${pieces.join('')}`)),
      fc.uint8Array({ maxLength: 30 }).map((array) => Buffer.from([0x61, 0x3d, ...array])),
    )
    const charset = fc.constantFrom('utf-16', 'shift_jis', 'iso-2022-jp', 'gb18030', 'big5', 'x-user-defined', 'ibm866')
    const label = fc.oneof(
      anyText,
      labels,
      charset.map((name) => `text/plain; charset=${name}`),
    )
    const law = fc.property(bytes, label, (body, contentType) => {
      onlyGatewayErrors(() => readBody(body, contentType))
      onlyGatewayErrors(() => readQuery(body.toString('latin1')))
    })
    expectLaw(law, 3 * RUNS)
  })

  test('JSON with a character changed is read as JSON.parse reads it, or refused', () => {
    const sent = fc.array(jsonField, { minLength: 1, maxLength: 4 })
    const law = fc.property(sent, fc.nat(), fc.nat(0x7f), (fields, place, code) => {
      const json = `{${fields.map(({ name, literal }) => `${JSON.stringify(name)}:${literal}`).join(',')}}`
      const at = 1 + (place % (json.length - 1))
      const text = (json.slice(0, at) + String.fromCharCode(code) + json.slice(at + 1)).toWellFormed()
      onlyGatewayErrors(() => {
        const names = new Set(readBody(Buffer.from(text), 'a/b; charset=utf-8').entries.map(([name]) => name))
        const parsed = new Set(Object.keys(JSON.parse(text.trim())).map((name) => name.trim()))
        if (names.symmetricDifference(parsed).size > 0) throw new Error('other names')
      })
    })
    expectLaw(law, RUNS)
  })
})

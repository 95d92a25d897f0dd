/** Promise: one JSON value has one text (contract, section 7). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, parseJson } from '../../src/text/json.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

const canonical = (text: string) => canonicalJson(parseJson(text))

test('members are in the order of their names, and blanks are gone', () => {
  expect(canonical('{ "b" : [ 1 , {"d":null,"c":true} ], "a" : "\\u0041/\\/" }')).toBe(
    '{"a":"A//","b":[1,{"c":true,"d":null}]}',
  )
})

test('numbers keep their digits, and hostile names are members', () => {
  const text = '{"__proto__":1.50,"constructor":12345678901234567890,"z":1e400}'
  expect(canonical(text)).toBe(text)
})

test('half a character and NUL stay escaped', () => {
  const text = '["\\ud83d","\\u0000"]'
  expect(canonical(text)).toBe(text)
})

/** Reverses the members of every object. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  )
}

test('the order of members and the blanks between them change nothing', () => {
  expectLaw(
    fc.property(fc.json(), (text) => {
      const value = parseJson(text)
      const once = canonicalJson(value)
      expect(canonical(once)).toBe(once)
      expect(canonical(JSON.stringify(reversed(JSON.parse(text)), null, 2))).toBe(
        canonical(JSON.stringify(JSON.parse(text))),
      )
    }),
    runs(200, 5_000),
  )
})

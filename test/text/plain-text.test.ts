/** Promise: printed text moves no cursor (contract, section 11). */

import { expect, test } from 'vitest'
import { escapeControls, escapeSequence, printableJson, printableLines } from '../../src/language/text/service-text.ts'

test.each([
  ['plain text ~', 'plain text ~'],
  ['Zoë 🚚', 'Zoë 🚚'],
  ['\x1b[31m', '\\u001b[31m'],
  ['a\tb\r\nc', 'a\\u0009b\\u000d\\u000ac'],
  ['\x7f\x80\x9f\xa0', '\\u007f\\u0080\\u009f\xa0'],
  ['\u2028\u2029\u061c\u200e\u200f', '\\u2028\\u2029\\u061c\\u200e\\u200f'],
  ['\u202a\u202e\u2066\u2069', '\\u202a\\u202e\\u2066\\u2069'],
  ['\ud83d', '\\ud83d'],
  ['', ''],
])('%j is safe to show', (text, shown) => {
  expect(escapeControls(text)).toBe(shown)
})

test('lines keep their ends', () => {
  expect(printableLines('a\nb\x07\n')).toBe('a\nb\\u0007\n')
  expect(escapeSequence('\n')).toBe('\\u000a')
})

test('JSON stays valid, with its indentation', () => {
  const value = { a: 'x\n\u202e', b: [1] }
  expect(printableJson(value)).toBe('{"a":"x\\n\\u202e","b":[1]}')
  expect(printableJson(value, 1)).toBe('{\n "a": "x\\n\\u202e",\n "b": [\n  1\n ]\n}')
  expect(JSON.parse(printableJson(value, 2))).toEqual(value)
})

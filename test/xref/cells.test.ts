/** Promise: a cell of an export is not a formula, controls no terminal, and can be read back (contract, section 11). */

import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromCell, toCell } from '../../src/operator/file-records.ts'
import { anyCharacter } from '../laws.ts'
import { runs } from '../size.ts'

const OBEYED = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const FORMULA = /^[=+\-@\t]/
const CHARACTERS = '=+-@\t\'",;\\\n\r\u0007\u009b\u007f\u2028\u202e \u00a0'
const FRAGMENTS = ['""', '\\u', '\\u001b', '\\u003b', 'u0009', '\r\n', '\u001b[31m', '\u001b]0;x\u0007']

/** Texts with control characters, formulas, parts of CSV and its escapes, and other characters. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(...CHARACTERS, ...FRAGMENTS),
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 3 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join('').toWellFormed())

/** The cells of a line as any CSV parser sees them. */
const cellsOf = (line: string): readonly string[] => parse(line, { trim: true })[0] ?? []

test('a cell is read back unchanged, controls no terminal, and is not a formula in a spreadsheet', () => {
  const law = fc.property(fc.array(text, { minLength: 2, maxLength: 4 }), (values) => {
    const line = `acme,${values.map(toCell).join(',')},id-1`
    const cells = cellsOf(line)
    expect(cells.slice(1, -1).map(fromCell)).toEqual(values)
    expect(line).not.toMatch(OBEYED)
    for (const cell of cells) expect(cell).not.toMatch(FORMULA)
    // Programs differ in their separators, and in how they read quotes inside a cell.
    for (const cell of line.split(';')) expect(cell.replace(/^["\s]+/, '')).not.toMatch(FORMULA)
  })
  fc.assert(law, { numRuns: runs(500, 5_000) })
})

test('blanks between two letters stay unchanged, in linear time', () => {
  const text = `a${' '.repeat(500_000)}b`
  expect(toCell(text)).toBe(text)
})

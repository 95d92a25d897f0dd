import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromCell, toCell } from '../../src/xref/file-records.ts'
import { runs } from '../size.ts'

const OBEYED = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u
const FORMULA = /^[=+\-@\t]/

/** Texts with control characters, formulas, parts of CSV and its escapes, and other characters. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom('=', '+', '-', '@', '\t', "'", '"', '""', ',', ';', '\\', '\\u', '\\u001b', '\\u003b', 'u0009'),
      fc.constantFrom(
        '\n',
        '\r\n',
        '\u001b[31m',
        '\u001b]0;x\u0007',
        '\u009b',
        '\u007f',
        '\u2028',
        '\u202e',
        ' ',
        '\u00a0',
      ),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join('').toWellFormed())

/** The cells of a line as any reader of CSV sees them. */
const cellsOf = (line: string): readonly string[] => parse(line, { trim: true })[0] ?? []

const RUNS = { numRuns: runs(500, 5_000) }

describe('a cell', () => {
  test('is read back as it was, by our reader', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 2, maxLength: 4 }), (values) => {
        expect(cellsOf(values.map(toCell).join(',')).map(fromCell)).toEqual(values)
      }),
      RUNS,
    )
  })

  test('has nothing that a terminal obeys, and is one line', () => {
    fc.assert(
      fc.property(text, (value) => {
        expect(toCell(value)).not.toMatch(OBEYED)
      }),
      RUNS,
    )
  })

  test('is no formula in a spreadsheet, with commas or semicolons between its cells', () => {
    fc.assert(
      fc.property(text, (value) => {
        const line = `acme,${toCell(value)},id-1`
        for (const cell of cellsOf(line)) expect(cell).not.toMatch(FORMULA)
        // Programs differ in what they make of quotes inside a cell.
        for (const cell of line.split(';')) expect(cell.replace(/^["\s]+/, '')).not.toMatch(FORMULA)
      }),
      RUNS,
    )
  })
})

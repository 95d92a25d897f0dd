import { escapeControls, escapeSequence } from '../text/plain-text.ts'

/** A spreadsheet takes a cell that begins like this for a formula, or hides the formula behind it. */
const FORMULA_START = /^[=+\-@\t']/
const GUARD = "'"
const GUARDED = /^'(?=[=+\-@\t']|\\u0009)/

/**
 * Characters that a cell has as escape sequences, besides control characters: a backslash that would look like one of
 * those, blanks that a reader of the file trims, and a semicolon that starts a formula where semicolons separate cells.
 */
const ESCAPED = /\\(?=u[0-9a-f]{4})|^\s+|\s+$|;(?=["\s]*[=+\-@])/gu
const SEQUENCE = /\\u([0-9a-f]{4})/g

/** Writes a value as a cell of a CSV line (RFC 4180) that is safe in terminals and spreadsheets. */
export function toCell(value: string): string {
  const escaped = escapeControls(value.replace(ESCAPED, (found) => [...found].map(escapeSequence).join('')))
  const cell = FORMULA_START.test(value) ? GUARD + escaped : escaped
  return /[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** Reads the value of a cell, without the quotes of CSV. Sequences that `toCell` never writes stay as they are. */
export function fromCell(cell: string): string {
  return cell.replace(GUARDED, '').replace(SEQUENCE, (sequence, digits: string) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16))
    const isOurs = /[\\;\s]/.test(character) || escapeControls(character) !== character
    return isOurs ? character : sequence
  })
}

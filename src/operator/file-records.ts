import { pipeline, type Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { errorCodeOf } from '../language/config/json-file.ts'
import { isObject } from '../language/text/json.ts'
import { escapeControls, escapeSequence, isUuid } from '../language/text/service-text.ts'
import type { Kind } from '../outside/store/store.ts'
import { FileUnreadable } from './commands/failures.ts'

/** The columns of an export, in their order. */
export const COLUMNS = ['tenant', 'kind', 'name', 'vin', 'id', 'at', 'given_by'] as const
export type FileColumn = (typeof COLUMNS)[number]

/** The meaning of a column's name. */
interface Meaning {
  readonly column: FileColumn
  /** The kind that the name of an id implies. */
  readonly kind?: Kind
}

/** Columns by their names in lower case: those of an export, and those of old integrations' tables. */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ...COLUMNS.map((column) => [column, { column }] as const),
  ['shipmentnumber', { column: 'name' }],
  ['referencenumber', { column: 'name' }],
  ['orderrefnumber', { column: 'name' }],
  ['number', { column: 'name' }],
  ['shipment_id', { column: 'id', kind: 'shipment' }],
  ['quote_id', { column: 'id', kind: 'quote' }],
  ['uuid', { column: 'id' }],
  ['vinno', { column: 'vin' }],
])

/** Returns the meaning of a column's name, in any case; undefined for an unknown name. */
const meaningOf = (name: string): Meaning | undefined => MEANINGS.get(name.trim().toLowerCase())

/** The format of an import or an export. */
export type Format = 'csv' | 'ndjson'

/** A value of a row, with the meaning of its column. */
type Cell = readonly [meaning: Meaning | undefined, value: string]

/** A row of a file. */
export interface FileRecord {
  readonly line: number
  /** The cells of a row, or an error. */
  readonly record: readonly Cell[] | string
}

/** Limits the length of a row: after an unclosed quote, the rest of the file would be one row. */
const ROW_LIMIT_CHARACTERS = 64 * 1024

/** Reads the rows of a CSV file, the first line with the names of its columns included. */
export async function* csvRows(texts: AsyncIterable<string>) {
  const parser = parse({
    // Files that were joined from several may end their lines in different ways.
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: ROW_LIMIT_CHARACTERS,
    trim: true,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
  })
  let beginning = ''
  async function* noted() {
    for await (const text of texts) {
      if (beginning.length < ROW_LIMIT_CHARACTERS && !/[\n\r]/.test(beginning.trimStart()))
        beginning = (beginning + text).slice(0, ROW_LIMIT_CHARACTERS)
      yield text
    }
  }
  // The parser passes on the errors of its input.
  pipeline(noted(), parser, () => {})
  let isEmpty = true
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      isEmpty = false
      yield { line: info.lines, cells: record }
    }
  } catch (error) {
    // Quotes mean nothing to the parser where other characters separate cells.
    const [line = ''] = beginning.trimStart().split(/[\n\r]/, 1)
    const bare = line.replace(/"[^"]*"/g, '')
    if (error instanceof CsvError && !bare.includes(',')) refuseSeparator(bare, error)
    // The parser's messages name the line; what follows is about its own options.
    const message = error instanceof CsvError && error.message.replace(/( at line \d+)\b.*$/s, '$1')
    throw message ? new FileUnreadable(`is not CSV: ${message}`, { cause: error }) : error
  }
  if (isEmpty) throw new FileUnreadable('is empty; its first line must name the columns')
}

/** Refuses a first line whose cells another character than a comma separates. */
export function refuseSeparator(line: string, cause?: Error): void {
  const [separator] = /[;\t|]/.exec(line) ?? []
  if (separator === undefined) return
  const by = separator === '\t' ? 'tabs' : `"${separator}"`
  throw new FileUnreadable(`separates its cells by ${by}, not by commas; save it as CSV with commas`, { cause })
}

/** Reads the records of a CSV file. */
export async function* csvRecords(
  input: Readable,
  onUnused: (columns: readonly string[]) => void,
): AsyncGenerator<FileRecord> {
  let columns: readonly (Meaning | undefined)[] | undefined
  let last: FileRecord | undefined
  let end = ''
  async function* noted(texts: AsyncIterable<string>) {
    for await (const text of texts) {
      end = text.at(-1) ?? end
      yield text
    }
  }
  for await (const { line, cells } of csvRows(noted(notJson(decodedText(input))))) {
    if (last) yield last
    if (columns) last = { line, record: cellsOf(cells, columns) }
    else columns = header(cells, onUnused)
  }
  if (last) yield /[\s"]/.test(end) ? last : { ...last, record: withWholeId(last.record) }
}

/** Returns the row at the end of a file that ends in it, or an error if its id may be the beginning of another one. */
function withWholeId(record: FileRecord['record']): FileRecord['record'] {
  const [meaning, value] = typeof record === 'string' ? [] : (record.at(-1) ?? [])
  return meaning?.column !== 'id' || value === undefined || isUuid(value) ? record : CUT_OFF
}

const CUT_OFF = 'may be cut off: the file ends in its id, which is no UUID; if it is whole, add a line end'

function header(names: readonly string[], onUnused: (columns: readonly string[]) => void) {
  const columns = names.map(meaningOf)
  const lacking = (['name', 'id'] as const).filter((column) => !columns.some((meaning) => meaning?.column === column))
  if (lacking.length > 0) {
    throw new FileUnreadable(
      `has no column ${lacking.join(' and no column ')}; its first line must name the columns, separated by commas: ${[...MEANINGS.keys()].join(', ')}`,
    )
  }
  const unused = names.filter((name, index) => name !== '' && !columns[index])
  if (unused.length > 0) onUnused(unused)
  return columns
}

function cellsOf(record: readonly string[], columns: readonly (Meaning | undefined)[]): FileRecord['record'] {
  // A comma that should have been quoted shifts all later cells into the wrong columns.
  if (record.slice(columns.length).some((value) => value !== '')) return 'has more fields than the first line'
  return record.map((value, index) => [columns[index], fromCell(value.trim())])
}

/** Passes text on unless it begins like JSON, which the CSV parser would report as a wrong quote. */
async function* notJson(texts: AsyncIterable<string>) {
  let isBeginning = true
  for await (const text of texts) {
    if (isBeginning && /^\s*[{[]/.test(text)) throw new FileUnreadable('holds JSON, not CSV; add --format ndjson')
    isBeginning &&= text.trim() === ''
    yield text
  }
}

/** Reads the lines of an NDJSON file. */
export async function* jsonRecords(input: Readable): AsyncGenerator<FileRecord> {
  let line = 0
  let rest = ''
  let isFirst = true
  // Not `node:readline`: it ends lines at U+2028 too, which JSON may hold.
  for await (const text of withLastLineEnd(decodedText(input))) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const whole of lines) {
      line += 1
      if (whole.trim() === '') continue
      if (isFirst && !/^\s*\{./.test(whole))
        throw new FileUnreadable('does not begin with a JSON object on one line; add --format csv if it is CSV')
      isFirst = false
      yield { line, record: jsonRecord(whole) }
    }
    if (rest.length > ROW_LIMIT_CHARACTERS) throw new FileUnreadable(`has a line that is too long, line ${line + 1}`)
  }
}

async function* withLastLineEnd(texts: AsyncIterable<string>) {
  yield* texts
  yield '\n'
}

function jsonRecord(text: string): FileRecord['record'] {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return 'is not a JSON object'
    return Object.entries(value).map(([name, entry]) => [meaningOf(name), scalar(entry).trim()])
  } catch {
    return 'is not JSON'
  }
}

/** Reads a number that JavaScript rounds as no value. */
const scalar = (value: unknown) => (typeof value === 'string' || Number.isSafeInteger(value) ? String(value) : '')

/** Decodes strictly: wrong letters would make names that no caller sends. The byte order mark is dropped. */
export async function* decodedText(input: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of input) yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  } catch (error) {
    if (errorCodeOf(error) !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error
    throw new FileUnreadable('is not UTF-8; convert it first', { cause: error })
  }
}

/** A spreadsheet takes a cell that begins like this for a formula, or hides the formula behind it. */
const FORMULA_START = /^[=+\-@\t']/
const GUARD = "'"
const GUARDED = /^'(?=[=+\-@\t']|\\u0009)/

/**
 * Characters that a cell has as escape sequences, besides control characters: a backslash that would look like one of
 * those, blanks that a reader of the file trims, and a semicolon that starts a formula where semicolons separate cells.
 * Blanks at the end are looked for where a run of them begins: it runs in linear time.
 */
const ESCAPED = /\\(?=u[0-9a-f]{4})|^\s+|(?<!\s)\s+$|;(?=["\s]*[=+\-@])/gu
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

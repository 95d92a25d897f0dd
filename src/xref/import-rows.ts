import { pipeline, type Readable } from 'node:stream'
import { parse } from 'csv-parse'
import type { Kind, Link } from '../store/store.ts'
import { vinKey } from './xref.ts'

export type Format = 'csv' | 'ndjson'

/** A row of an import: the links that it asks for, or why it asks for none. */
export type Row =
  | { readonly line: number; readonly links: readonly Link[] }
  | { readonly line: number; readonly mistake: string }

/** What a row may leave out. */
export interface RowDefaults {
  readonly tenant: string | undefined
  readonly at: number
}

/** A file that cannot be read any further; its rows up to there may have been. */
export class FileUnreadable extends Error {
  override readonly name = 'FileUnreadable'
}

export const COLUMNS = ['tenant', 'kind', 'name', 'vin', 'id', 'at'] as const
type Column = (typeof COLUMNS)[number]

/** What a column means. */
interface Meaning {
  readonly column: Column
  /** The kind of a thing whose id stands in a column of this name. */
  readonly kind?: Kind
}

/** Columns by their names in lower case: our own, and those of old integrations' tables. */
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

const meaningOf = (name: string): Meaning | undefined => MEANINGS.get(name.trim().toLowerCase())

/** The rows of a stream, one at a time, so that memory stays flat; `onUnused` hears of columns that mean nothing here. */
export async function* readRows(
  input: Readable,
  format: Format,
  defaults: RowDefaults,
  onUnused: (columns: readonly string[]) => void = () => {},
): AsyncGenerator<Row> {
  const records = format === 'csv' ? csvRecords(input, onUnused) : jsonRecords(input)
  for await (const { line, record } of records) {
    yield typeof record === 'string' ? { line, mistake: record } : rowOf(line, record, defaults)
  }
}

type Cell = readonly [meaning: Meaning | undefined, value: string]

interface Sent {
  readonly line: number
  /** The cells of a row, or what is wrong with it. */
  readonly record: readonly Cell[] | string
}

/** A quote that is never closed would make one row of all that follows it. */
const MOST_CHARACTERS = 64 * 1024

async function* csvRecords(input: Readable, onUnused: (columns: readonly string[]) => void): AsyncGenerator<Sent> {
  const parser = parse({
    // Files that were put together from several end their lines in more than one way.
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: MOST_CHARACTERS,
    trim: true,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
  })
  // What breaks comes out of the parser too, where it is heard.
  pipeline(textOf(input), parser, () => {})
  let columns: readonly (Meaning | undefined)[] | undefined
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      if (columns) yield { line: info.lines, record: cellsOf(record, columns) }
      else columns = header(record, onUnused)
    }
  } catch (error) {
    // The parser's messages name the line.
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw code.startsWith('CSV_') ? new FileUnreadable(`is not CSV: ${String(error)}`, { cause: error }) : error
  }
  if (!columns) throw new FileUnreadable('is empty; its first line must name the columns')
}

function header(names: readonly string[], onUnused: (columns: readonly string[]) => void) {
  const columns = names.map(meaningOf)
  const lacking = (['name', 'id'] as const).filter((column) => !columns.some((meaning) => meaning?.column === column))
  if (lacking.length > 0) {
    throw new FileUnreadable(
      `has no column ${lacking.join(' and no column ')}; its first line must name them, separated by commas. Known are ${[...MEANINGS.keys()].join(', ')}`,
    )
  }
  const unused = names.filter((name, index) => name !== '' && !columns[index])
  if (unused.length > 0) onUnused(unused)
  return columns
}

function cellsOf(record: readonly string[], columns: readonly (Meaning | undefined)[]): Sent['record'] {
  // A comma that nobody quoted moves all that follows it into the wrong columns.
  if (record.slice(columns.length).some((value) => value !== '')) return 'has more fields than the first line'
  return record.map((value, index) => [columns[index], value])
}

async function* jsonRecords(input: Readable): AsyncGenerator<Sent> {
  let line = 0
  let rest = ''
  // Not `node:readline`, which ends lines at U+2028 too, and JSON may hold that.
  for await (const text of textOf(input)) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MOST_CHARACTERS) throw new FileUnreadable(`has a line that is too long, line ${line + 1}`)
    for (const whole of lines) {
      line += 1
      if (whole.trim() !== '') yield { line, record: jsonRecord(whole) }
    }
  }
  if (rest.trim() !== '') yield { line: line + 1, record: jsonRecord(rest) }
}

function jsonRecord(text: string): Sent['record'] {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'is not a JSON object'
    return Object.entries(value).map(([name, entry]) => [meaningOf(name), scalar(entry)])
  } catch {
    return 'is not JSON'
  }
}

/** A number that JavaScript would round is no value rather than a wrong one. */
const scalar = (value: unknown) => (typeof value === 'string' || Number.isSafeInteger(value) ? String(value) : '')

/** Wrong letters would make names that no caller ever sends; a byte order mark is no part of the first of them. */
async function* textOf(input: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of input) yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error
    throw new FileUnreadable('is not UTF-8; convert it first', { cause: error })
  }
}

function rowOf(line: number, cells: readonly Cell[], defaults: RowDefaults): Row {
  const names = new Set<string>()
  const said: { [column in Column]?: string } = {}
  let implied: Kind = 'shipment'
  for (const [meaning, cell] of cells) {
    const value = cell.trim()
    if (!meaning || value === '') continue
    const { column } = meaning
    if (!isSound(value)) return { line, mistake: `has a ${column} with a character that cannot be stored` }
    if (column === 'name') names.add(value)
    else if (said[column] === undefined) said[column] = value
    else if (said[column] !== value) return { line, mistake: `says two things for ${column}` }
    if (column === 'id') implied = meaning.kind ?? implied
  }
  const { tenant = defaults.tenant, id, kind = implied, vin = '', at } = said
  if (tenant === undefined) return { line, mistake: 'has no tenant; add the column or --tenant' }
  if (names.size === 0 || id === undefined) return { line, mistake: `has no ${names.size === 0 ? 'name' : 'id'}` }
  if (!isKind(kind)) return { line, mistake: 'has a kind that is neither quote nor shipment' }
  const given = at === undefined ? defaults.at : /^\d{4}-\d{2}-\d{2}/.test(at) ? Date.parse(at) : Number.NaN
  if (Number.isNaN(given)) return { line, mistake: 'has a date that is not ISO 8601' }
  const link = { tenant, kind, vin: kind === 'quote' ? '' : vinKey(vin), id, at: given }
  // A row of several numbers, such as ShipmentNumber and ReferenceNumber, makes a link of each.
  return { line, links: [...names].map((name) => ({ ...link, name })) }
}

const isKind = (text: string): text is Kind => text === 'quote' || text === 'shipment'

/** What every engine can keep: PostgreSQL has no NUL, and UTF-8 no half of a pair. */
const isSound = (text: string) => text.isWellFormed() && !text.includes('\0')

/** The first line of an export. */
export const headerOf = (format: Format): string => (format === 'csv' ? `${COLUMNS.join(',')}\n` : '')

/** A link as a line of an export; `readRows` reads it back. */
export function lineOf(link: Link, format: Format): string {
  const row = { ...link, at: new Date(link.at).toISOString() }
  if (format === 'csv') return `${COLUMNS.map((column) => quoted(row[column])).join(',')}\n`
  return `${JSON.stringify(Object.fromEntries(COLUMNS.map((column) => [column, row[column]])))}\n`
}

/** A field of a CSV line (RFC 4180). */
function quoted(value: string): string {
  return /[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

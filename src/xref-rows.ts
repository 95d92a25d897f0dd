import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { parse } from 'csv-parse'
import type { Link } from './store/store.ts'

export type Format = 'csv' | 'ndjson'

/** A row of an import: a link, or why it is none. */
export type Row = { readonly line: number; readonly link: Link } | { readonly line: number; readonly mistake: string }

/** What a row may leave out. */
export interface RowDefaults {
  readonly tenant: string | undefined
  readonly at: number
}

const COLUMNS = ['tenant', 'kind', 'name', 'vin', 'id', 'at'] as const
type Column = (typeof COLUMNS)[number]

/** What the tables of old integrations call the columns. */
const ALIASES: ReadonlyMap<string, Column> = new Map([
  ...COLUMNS.map((column) => [column, column] as const),
  ['shipmentnumber', 'name'],
  ['referencenumber', 'name'],
  ['orderrefnumber', 'name'],
  ['number', 'name'],
  ['shipment_id', 'id'],
  ['quote_id', 'id'],
  ['uuid', 'id'],
  ['vinno', 'vin'],
])

const columnOf = (name: string): Column | undefined => ALIASES.get(name.trim().toLowerCase())

/** The rows of a file, or of any stream, one at a time, so that memory stays flat. */
export async function* readRows(source: string | Readable, format: Format, defaults: RowDefaults): AsyncGenerator<Row> {
  const input = typeof source === 'string' ? createReadStream(source) : source
  const records = format === 'csv' ? csvRecords(input) : jsonRecords(input)
  for await (const { line, record } of records) {
    yield typeof record === 'string' ? { line, mistake: record } : rowOf(line, record, defaults)
  }
}

interface Sent {
  readonly line: number
  /** The columns of a row, or what is wrong with it. */
  readonly record: ReadonlyMap<Column, string> | string
}

async function* csvRecords(input: Readable): AsyncGenerator<Sent> {
  const parser = input.pipe(
    parse({ bom: true, trim: true, info: true, relax_column_count: true, skip_empty_lines: true }),
  )
  input.on('error', (error) => parser.destroy(error))
  let columns: readonly (Column | undefined)[] | undefined
  for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
    if (!columns) {
      columns = record.map(columnOf)
      if (!columns.includes('name') || !columns.includes('id')) {
        throw new Error(
          `the first line must name the columns, at least name and id; known are ${[...ALIASES.keys()].join(', ')}`,
        )
      }
      continue
    }
    const known = columns
    yield { line: info.lines, record: toColumns(record.map((value, i) => [known[i], value] as const)) }
  }
}

async function* jsonRecords(input: Readable): AsyncGenerator<Sent> {
  let line = 0
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    line += 1
    if (text.trim() !== '') yield { line, record: jsonRecord(text) }
  }
}

function jsonRecord(text: string): Sent['record'] {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'is not a JSON object'
    return toColumns(Object.entries(value).map(([name, entry]) => [columnOf(name), scalar(entry)] as const))
  } catch {
    return 'is not JSON'
  }
}

const scalar = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

function toColumns(pairs: readonly (readonly [Column | undefined, string])[]): ReadonlyMap<Column, string> {
  const columns = new Map<Column, string>()
  for (const [column, value] of pairs) if (column && value.trim() !== '') columns.set(column, value.trim())
  return columns
}

function rowOf(line: number, record: ReadonlyMap<Column, string>, defaults: RowDefaults): Row {
  const tenant = record.get('tenant') ?? defaults.tenant
  const name = record.get('name')
  const id = record.get('id')
  const kind = record.get('kind') ?? 'shipment'
  const at = record.has('at') ? Date.parse(record.get('at') ?? '') : defaults.at
  if (tenant === undefined) return { line, mistake: 'has no tenant; add the column or --tenant' }
  if (name === undefined || id === undefined) return { line, mistake: `has no ${name === undefined ? 'name' : 'id'}` }
  if (kind !== 'quote' && kind !== 'shipment') return { line, mistake: 'has a kind that is neither quote nor shipment' }
  if (Number.isNaN(at)) return { line, mistake: 'has a date that is not ISO 8601' }
  const vin = (record.get('vin') ?? '').replace(/\s+/g, '').toUpperCase()
  return { line, link: { tenant, kind, name, vin: kind === 'quote' ? '' : vin, id, at } }
}

/** The first line of an export. */
export const headerOf = (format: Format): string => (format === 'csv' ? `${COLUMNS.join(',')}\n` : '')

/** A link as a line of an export; `readRows` reads it back. */
export function lineOf(link: Link, format: Format): string {
  const row = { ...link, at: new Date(link.at).toISOString() }
  if (format === 'ndjson')
    return `${JSON.stringify(Object.fromEntries(COLUMNS.map((column) => [column, row[column]])))}\n`
  return `${COLUMNS.map((column) => quoted(row[column])).join(',')}\n`
}

/** A field of a CSV line (RFC 4180). */
function quoted(value: string): string {
  return /[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

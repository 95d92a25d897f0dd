import { createHash } from 'node:crypto'
import { createReadStream, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import { isText } from '../mapping/fields.ts'
import type { GivenBy, Kind, Link, LinkKey, NewLink, Store } from '../store/store.ts'
import { printableJson, serviceId } from '../text/service-text.ts'
import {
  type Cell,
  COLUMNS,
  type Column,
  csvRecords,
  FileUnreadable,
  type Format,
  fromCell,
  jsonRecords,
  toCell,
} from './file-records.ts'
import { vinKey } from './xref.ts'

export interface ImportCounts {
  /** Rows of the file that are done, imported or not. */
  rows: number
  written: number
  same: number
  conflicts: number
  badRows: number
}

/** The durable progress of an import. */
interface ImportProgress {
  readonly counts: Readonly<ImportCounts>
  /** The last link of these rows; a store without it is not the one that the import wrote to. */
  readonly last?: LinkKey | undefined
}

/** Receives the events of an import. */
interface ImportWatch {
  readonly onConflict: (asked: NewLink, found: Link) => void
  readonly onBadRow: (line: number, error: string) => void
  /** Called when all rows so far are durable. */
  readonly onProgress: (progress: ImportProgress) => void
}

/** The rows of one durable step: enough to be fast, few enough to repeat. */
const BATCH_ROWS = 5_000

/** Writes rows into the store in durable batches, after those that `from` counts. */
export async function importRows(
  rows: AsyncIterable<ImportRow>,
  store: Pick<Store, 'load'>,
  options: { readonly replace: boolean; readonly from: ImportProgress },
  watch: ImportWatch,
): Promise<ImportCounts> {
  const counts = { ...options.from.counts }
  let { last } = options.from
  let skip = counts.rows
  let batch: ImportRow[] = []
  const flush = async () => {
    if (batch.length === 0) return
    const links = batch.flatMap((row) => ('links' in row ? row.links : []))
    const badRows = batch.filter((row) => 'error' in row)
    const loaded = await store.load(links, { replace: options.replace })
    for (const { asked, found } of loaded.conflicts) watch.onConflict(asked, found)
    for (const { line, error } of badRows) watch.onBadRow(line, error)
    counts.rows += batch.length
    counts.written += loaded.written
    counts.same += loaded.same
    counts.conflicts += loaded.conflicts.length
    counts.badRows += badRows.length
    last = links.at(-1) ?? last
    batch = []
    watch.onProgress({ counts, last })
  }
  for await (const row of rows) {
    if (skip > 0) {
      skip -= 1
      continue
    }
    batch.push(row)
    if (batch.length === BATCH_ROWS) await flush()
  }
  await flush()
  return counts
}

/** The progress of an import that has not begun. */
export const noProgress: ImportProgress = { counts: { rows: 0, written: 0, same: 0, conflicts: 0, badRows: 0 } }

/** Keeps the progress of an import, for a second run that continues where the first was interrupted. */
interface Checkpoint {
  readonly read: () => ImportProgress | undefined
  readonly write: (progress: ImportProgress) => void
  readonly remove: () => void
}

/** Keeps the checkpoint beside the file. One from before a change of the file, or for another `purpose`, does not count. */
export function checkpointOf(file: string, purpose: readonly unknown[]): Checkpoint {
  const path = `${file}.import-progress`
  const { size, mtimeMs } = statSync(file)
  // Hashed, because the address of a store may hold a password.
  const stamp = createHash('sha256')
    .update(JSON.stringify([size, mtimeMs, ...purpose]))
    .digest('hex')
  return {
    read: () => {
      try {
        const kept = JSON.parse(readFileSync(path, 'utf8')) as ImportProgress & { readonly stamp: string }
        return kept.stamp === stamp ? kept : undefined
      } catch {
        // There is none, or it is not ours. Writing rows again does no harm.
        return undefined
      }
    },
    write: (progress) => {
      try {
        // Written beside and renamed: an interruption leaves the old one or the new one, never half of one.
        writeFileSync(`${path}.new`, JSON.stringify({ stamp, ...progress }))
        renameSync(`${path}.new`, path)
      } catch {
        // If the folder is not writable, an interrupted import starts over.
      }
    },
    remove: () => rmSync(path, { force: true }),
  }
}

/** Returns true if the store has the last link of an import's checkpoint. */
export async function isInStore(store: Pick<Store, 'links'>, { last }: ImportProgress): Promise<boolean> {
  if (!last) return true
  const links = await store.links(last.tenant, last.name)
  return links.some(({ kind, vin, givenBy }) => kind === last.kind && vin === last.vin && givenBy === last.givenBy)
}

/** Returns the key of the last whole line of an interrupted export, undefined if it has none, and cuts off the rest. */
export async function lastKey(file: string, format: Format): Promise<LinkKey | undefined> {
  const header = headerOf(format)
  const begins = await textBetween(file, 0, header.length)
  if (!header.startsWith(begins)) throw new FileUnreadable('does not begin like an export; it stays as it is')
  const { start, end } = await lastLine(file, format)
  const key = end > header.length ? keyIn(await textBetween(file, start, end), format) : undefined
  truncateSync(file, end)
  return key
}

const NEW_LINE = 0x0a
const QUOTE = 0x22

/** Reads from the beginning: a quoted cell may hold line ends, and only counting quotes tells which. */
async function lastLine(file: string, format: Format): Promise<{ readonly start: number; readonly end: number }> {
  let [start, end, read] = [0, 0, 0]
  let quotes = 0
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    for (let index = 0; index < chunk.length; index += 1) {
      if (chunk[index] === QUOTE) quotes += 1
      else if (chunk[index] === NEW_LINE && (format === 'ndjson' || quotes % 2 === 0)) {
        start = end
        end = read + index + 1
      }
    }
    read += chunk.length
  }
  return { start, end }
}

async function textBetween(file: string, start: number, end: number): Promise<string> {
  if (end <= start) return ''
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(file, { start, end: end - 1 })) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** Reads the key as the store has it: blanks that an import would trim belong to it. */
function keyIn(line: string, format: Format): LinkKey {
  const { tenant, kind, name, vin, given_by: givenBy } = fieldsIn(line, format)
  const isText = [tenant, name, vin].every((value) => typeof value === 'string')
  const isLinkKey =
    isText && (kind === 'quote' || kind === 'shipment') && (givenBy === 'caller' || givenBy === 'service')
  // All of it is checked.
  if (isLinkKey) return { tenant, kind, name, vin, givenBy } as LinkKey
  throw new FileUnreadable('does not end like an export; it stays as it is')
}

function fieldsIn(line: string, format: Format): { readonly [column: string]: unknown } {
  if (format === 'csv') {
    return parse<{ readonly [column: string]: string }>(line, { columns: [...COLUMNS], cast: fromCell })[0] ?? {}
  }
  try {
    return JSON.parse(line) ?? {}
  } catch {
    return {}
  }
}

/** The first line of an export. */
export const headerOf = (format: Format): string => (format === 'csv' ? `${COLUMNS.join(',')}\n` : '')

/** Writes a link as a line of an export; `readRows` reads it back. */
export function lineOf(link: Link, format: Format): string {
  const row = { ...link, at: new Date(link.at).toISOString(), given_by: link.givenBy }
  if (format === 'csv') return `${COLUMNS.map((column) => toCell(row[column])).join(',')}\n`
  return `${printableJson(Object.fromEntries(COLUMNS.map((column) => [column, row[column]])))}\n`
}

/** A row of an import: its links, or the error. */
type ImportRow =
  | { readonly line: number; readonly links: readonly NewLink[] }
  | { readonly line: number; readonly error: string }

/** The values of a row that leaves them out. */
interface RowDefaults {
  readonly tenant: string | undefined
}

/** Reads the rows of a stream one at a time, which keeps memory flat; `onUnused` gets the columns that have no meaning. */
export async function* readRows(
  input: Readable,
  format: Format,
  defaults: RowDefaults,
  onUnused: (columns: readonly string[]) => void = () => {},
): AsyncGenerator<ImportRow> {
  const records = format === 'csv' ? csvRecords(input, onUnused) : jsonRecords(input)
  for await (const { line, record } of records) {
    yield typeof record === 'string' ? { line, error: record } : rowOf(line, record, defaults)
  }
}

function rowOf(line: number, cells: readonly Cell[], defaults: RowDefaults): ImportRow {
  const names = new Set<string>()
  const values: { [column in Column]?: string } = {}
  let implied: Kind = 'shipment'
  for (const [meaning, cell] of cells) {
    if (!meaning || cell === '') continue
    const { column } = meaning
    if (!isText(cell)) return { line, error: `has a ${column} with a character that cannot be stored` }
    if (column === 'name') names.add(cell)
    else if (values[column] === undefined) values[column] = cell
    else if (values[column] !== cell) return { line, error: `has two different values for ${column}` }
    if (column === 'id') implied = meaning.kind ?? implied
  }
  const { tenant = defaults.tenant, id, kind = implied, vin = '', at: time, given_by: givenBy = 'caller' } = values
  if (tenant === undefined) return { line, error: 'has no tenant; add the column or --tenant' }
  if (names.size === 0 || id === undefined) return { line, error: `has no ${names.size === 0 ? 'name' : 'id'}` }
  // No call could reach it: an id goes into a path, and the service's own ids are checked in the same way.
  if (serviceId(id) === undefined) return { line, error: NO_ID }
  if (!isKind(kind)) return { line, error: 'has a kind that is neither quote nor shipment' }
  if (!isGiver(givenBy)) return { line, error: 'has a given_by that is neither caller nor service' }
  const at = time === undefined ? undefined : /^\d{4}-\d{2}-\d{2}/.test(time) ? Date.parse(time) : Number.NaN
  if (Number.isNaN(at)) return { line, error: 'has a date that is not ISO 8601' }
  const link = { tenant, kind, vin: kind === 'quote' ? '' : vinKey(vin), id, givenBy, at }
  // A row of several numbers, such as ShipmentNumber and ReferenceNumber, makes a link of each.
  return { line, links: [...names].map((name) => ({ ...link, name })) }
}

const NO_ID = 'has an id that cannot be one: it is blank, of dots alone, too long, or has a control character'

const isGiver = (text: string): text is GivenBy => text === 'caller' || text === 'service'

const isKind = (text: string): text is Kind => text === 'quote' || text === 'shipment'

import { createHash } from 'node:crypto'
import { createReadStream, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import type { Link, LinkKey, NewLink, Store } from '../store/store.ts'
import { COLUMNS } from './columns.ts'
import { fromCell } from './csv-cell.ts'
import { headerOf } from './export-rows.ts'
import { FileUnreadable, type Format } from './file-records.ts'
import type { ImportRow } from './import-rows.ts'

export interface ImportCounts {
  /** Rows of the file that are done, imported or not. */
  rows: number
  written: number
  same: number
  conflicts: number
  badRows: number
}

/** The durable progress of an import. */
export interface ImportProgress {
  readonly counts: Readonly<ImportCounts>
  /** The last link of these rows; a store without it is not the one that the import wrote to. */
  readonly last?: LinkKey | undefined
}

/** Receives the events of an import. */
export interface ImportWatch {
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
export interface Checkpoint {
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

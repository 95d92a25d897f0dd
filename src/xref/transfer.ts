import { createHash } from 'node:crypto'
import { createReadStream, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import type { Link, LinkKey, Store } from '../store/store.ts'
import { COLUMNS, FileUnreadable, type Format, headerOf, type Row } from './import-rows.ts'

/** What an import has come to. */
export interface ImportTally {
  /** Rows of the file that are done, whatever became of them. */
  rows: number
  written: number
  same: number
  conflicts: number
  mistakes: number
}

/** How far an import has come, durably. */
export interface ImportProgress {
  readonly tally: Readonly<ImportTally>
  /** The last link of these rows: a store that lacks it is not the one that the import went into. */
  readonly last?: LinkKey | undefined
}

/** Where an import tells what happens on the way. */
export interface ImportWatch {
  readonly onConflict: (asked: Link, found: Link) => void
  readonly onMistake: (line: number, mistake: string) => void
  /** Called when everything up to here is durable. */
  readonly onProgress: (progress: ImportProgress) => void
}

/** Rows that share one durable step: large enough to be fast, small enough to repeat. */
const BATCH_ROWS = 5_000

/** Writes rows into the store, in durable batches; the rows of `from` are done already. */
export async function importRows(
  rows: AsyncIterable<Row>,
  store: Pick<Store, 'load'>,
  options: { readonly replace: boolean; readonly from: ImportProgress },
  watch: ImportWatch,
): Promise<ImportTally> {
  const tally = { ...options.from.tally }
  let { last } = options.from
  let skip = tally.rows
  let batch: Row[] = []
  const flush = async () => {
    if (batch.length === 0) return
    const links = batch.flatMap((row) => ('links' in row ? row.links : []))
    const mistakes = batch.filter((row) => 'mistake' in row)
    const loaded = await store.load(links, { replace: options.replace })
    for (const { asked, found } of loaded.conflicts) watch.onConflict(asked, found)
    for (const { line, mistake } of mistakes) watch.onMistake(line, mistake)
    tally.rows += batch.length
    tally.written += loaded.written
    tally.same += loaded.same
    tally.conflicts += loaded.conflicts.length
    tally.mistakes += mistakes.length
    last = links.at(-1) ?? last
    batch = []
    watch.onProgress({ tally, last })
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
  return tally
}

/** Where an import begins. */
export const theBeginning: ImportProgress = { tally: { rows: 0, written: 0, same: 0, conflicts: 0, mistakes: 0 } }

/** How far an import of a file has come, so that a second run goes on where the first was interrupted. */
export interface Checkpoint {
  readonly read: () => ImportProgress | undefined
  readonly write: (progress: ImportProgress) => void
  readonly remove: () => void
}

/** Keeps the checkpoint beside the file; one of a file that has changed since, or of another `purpose`, does not count. */
export function checkpointOf(file: string, purpose: readonly unknown[]): Checkpoint {
  const path = `${file}.import-progress`
  const { size, mtimeMs } = statSync(file)
  // A hash, for an address of a store may hold a password.
  const stamp = createHash('sha256')
    .update(JSON.stringify([size, mtimeMs, ...purpose]))
    .digest('hex')
  return {
    read: () => {
      try {
        const kept = JSON.parse(readFileSync(path, 'utf8')) as ImportProgress & { readonly stamp: string }
        return kept.stamp === stamp ? kept : undefined
      } catch {
        // None, or none of ours: rows that are written again do no harm.
        return undefined
      }
    },
    write: (progress) => {
      try {
        // A new file and a rename: an interruption leaves the old one or the new one, never half of one.
        writeFileSync(`${path}.new`, JSON.stringify({ stamp, ...progress }))
        renameSync(`${path}.new`, path)
      } catch {
        // Where nothing may be written beside the file, an import that is interrupted begins anew.
      }
    },
    remove: () => rmSync(path, { force: true }),
  }
}

/** Whether the store has what an import is said to have written. */
export async function isThere(store: Pick<Store, 'links'>, { last }: ImportProgress): Promise<boolean> {
  if (!last) return true
  const links = await store.links(last.tenant, last.name)
  return links.some(({ kind, vin }) => kind === last.kind && vin === last.vin)
}

/** The key of the last whole line of an interrupted export, or undefined if it has none; what follows is cut off. */
export async function lastKey(file: string, format: Format): Promise<LinkKey | undefined> {
  const header = headerOf(format)
  const begins = await textBetween(file, 0, header.length)
  if (!header.startsWith(begins)) throw new FileUnreadable('does not begin as an export does; it is left alone')
  const { start, end } = await lastLine(file, format)
  const key = end > header.length ? keyIn(await textBetween(file, start, end), format) : undefined
  truncateSync(file, end)
  return key
}

const NEW_LINE = 0x0a
const QUOTE = 0x22

/** Read from the beginning, since a line of CSV may hold others in quotes, and only counting them tells which. */
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

/** As it stands in the store: what an import would trim is part of the key. */
function keyIn(line: string, format: Format): LinkKey {
  const { tenant, kind, name, vin } = fieldsIn(line, format)
  const isKey = [tenant, name, vin].every((value) => typeof value === 'string')
  if (isKey && (kind === 'quote' || kind === 'shipment')) return { tenant, kind, name, vin } as LinkKey
  throw new FileUnreadable('does not end as an export does; it is left alone')
}

function fieldsIn(line: string, format: Format): { readonly [column: string]: unknown } {
  if (format === 'csv') return parse<{ readonly [column: string]: string }>(line, { columns: [...COLUMNS] })[0] ?? {}
  try {
    return JSON.parse(line) ?? {}
  } catch {
    return {}
  }
}

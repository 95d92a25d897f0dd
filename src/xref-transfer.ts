import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { Readable } from 'node:stream'
import type { Link, LinkKey, Store } from './store/store.ts'
import { type Format, headerOf, type Row, readRows } from './xref-rows.ts'

/** What an import has come to. */
export interface ImportTally {
  /** Rows of the file that are done, whatever became of them. */
  rows: number
  written: number
  same: number
  conflicts: number
  mistakes: number
}

/** Where an import tells what happens on the way. */
export interface ImportWatch {
  readonly onConflict: (asked: Link, found: Link) => void
  readonly onMistake: (line: number, mistake: string) => void
  /** Called when everything up to here is durable. */
  readonly onProgress: (tally: Readonly<ImportTally>) => void
}

/** Rows that share one durable step: large enough to be fast, small enough to repeat. */
const BATCH_ROWS = 5_000

/** Writes rows into the store, in durable batches; rows before `from.rows` are done already. */
export async function importRows(
  rows: AsyncIterable<Row>,
  store: Pick<Store, 'load'>,
  options: { readonly replace: boolean; readonly from: ImportTally },
  watch: ImportWatch,
): Promise<ImportTally> {
  const tally = { ...options.from }
  let skip = options.from.rows
  let batch: Row[] = []
  const flush = async () => {
    if (batch.length === 0) return
    const links = batch.flatMap((row) => ('link' in row ? [row.link] : []))
    const loaded = await store.load(links, { replace: options.replace })
    for (const { asked, found } of loaded.conflicts) watch.onConflict(asked, found)
    for (const row of batch) if ('mistake' in row) watch.onMistake(row.line, row.mistake)
    tally.rows += batch.length
    tally.written += loaded.written
    tally.same += loaded.same
    tally.conflicts += loaded.conflicts.length
    tally.mistakes += batch.length - links.length
    batch = []
    watch.onProgress(tally)
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

export const nothingYet: ImportTally = { rows: 0, written: 0, same: 0, conflicts: 0, mistakes: 0 }

/** How far an import of a file has come, so that a second run goes on where the first was interrupted. */
export interface Checkpoint {
  readonly read: () => ImportTally | undefined
  readonly write: (tally: Readonly<ImportTally>) => void
  readonly remove: () => void
}

/** Keeps the checkpoint beside the file; one of a file that has changed since does not count. */
export function checkpointOf(file: string): Checkpoint {
  const path = `${file}.import-progress`
  const { size, mtimeMs } = statSync(file)
  const stamp = `${size} ${mtimeMs}`
  return {
    read: () => {
      if (!existsSync(path)) return undefined
      const kept = JSON.parse(readFileSync(path, 'utf8')) as { readonly stamp: string; readonly tally: ImportTally }
      return kept.stamp === stamp ? kept.tally : undefined
    },
    write: (tally) => {
      // A new file and a rename: an interruption leaves the old one or the new one, never half of one.
      writeFileSync(`${path}.new`, JSON.stringify({ stamp, tally }))
      renameSync(`${path}.new`, path)
    },
    remove: () => rmSync(path, { force: true }),
  }
}

/** Lines are short; one that is cut off lies within this many bytes of the end. */
const TAIL_BYTES = 64 * 1024

/** The key of the last whole line of an interrupted export; what follows it is cut off. */
export async function lastKey(file: string, format: Format): Promise<LinkKey | undefined> {
  const { size } = statSync(file)
  const tail = Buffer.alloc(Math.min(size, TAIL_BYTES))
  const handle = openSync(file, 'r')
  readSync(handle, tail, 0, tail.length, size - tail.length)
  closeSync(handle)
  const end = tail.lastIndexOf('\n') + 1
  truncateSync(file, size - tail.length + end)
  const whole = tail.subarray(0, end).toString('utf8').trimEnd()
  const line = whole.slice(whole.lastIndexOf('\n') + 1)
  const text = format === 'csv' ? headerOf(format) + line : line
  for await (const row of readRows(Readable.from([text]), format, { tenant: undefined, at: 0 })) {
    if ('link' in row) return row.link
  }
  return undefined
}

import { hash } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parse } from 'csv-parse/sync'
import { z } from 'zod'
import { isText } from '../../language/mapping/fields.ts'
import { isSameThing, printableJson, printableLines, serviceId } from '../../language/text/service-text.ts'
import type { GivenBy, Kind, NameOfId, ScannedName, Store } from '../../outside/store/store.ts'
import { vinKey } from '../../state/names/resolve.ts'
import {
  COLUMNS,
  csvRecords,
  type FileColumn,
  type FileRecord,
  type Format,
  fromCell,
  jsonRecords,
  toCell,
} from '../file-records.ts'
import { grouped, isoTime, plural } from '../words.ts'
import { CommandFailed, EXIT_FAILED, namingFile, UsageError } from './failures.ts'
import { refuseStore, withExistingStore, withStore } from './open-store.ts'
import { createProgress, type Options, printError, printJson, printResult } from './output.ts'

/** Shows the quotes and shipments of a number. */
export function get(name: string, { tenant }: { readonly tenant: string }): Promise<number> {
  return withExistingStore(async (store) => {
    const found = await store.named(tenant, name)
    for (const { at, ...one } of found) {
      // A shipment may have the id of the quote that it was booked from.
      const {
        quote = await store.quote(tenant, one.id),
        shipment = await store.shipment(tenant, one.id),
        ...name
      } = one
      printJson({
        ...name,
        at: isoTime(at),
        own: shipment?.own || quote?.own || undefined,
        vehicles: shipment?.vehicles.length ? shipment.vehicles : undefined,
        // The facts contain a customer's address, so a terminal shows only their names.
        remembers: quote?.facts ? Object.keys(quote.facts) : undefined,
      })
    }
    if (found.length === 0) throw new CommandFailed(`${tenant} has no quote or shipment with the number ${name}`)
    return 0
  })
}

type ImportOptions = Options<'json' | 'replace' | 'restart', 'tenant'> & { readonly format?: Format }

/** Imports numbers. An import that was interrupted goes on after its last row. */
export const importNumbers = (file: string, options: ImportOptions) =>
  withStore(async (store, storeUrl) => {
    const { tenant, format = formatOf(file), replace = false, restart } = options
    const isRegular = file !== '-' && statSync(file).isFile()
    // Input from a pipe cannot be resumed.
    const checkpoint = isRegular ? checkpointOf(file, [storeUrl, tenant, format, replace]) : undefined
    const kept = restart ? undefined : checkpoint?.read()
    const from = kept && (await isInStore(store, kept)) ? kept : noProgress
    if (from.counts.rows > 0)
      printError(`Resuming after row ${grouped(from.counts.rows)}, where the last import stopped.`)
    const input = file === '-' ? process.stdin : createReadStream(file)
    const size = isRegular ? statSync(file).size : undefined
    const progress = createProgress('imported')
    const noteUnused = (columns: readonly string[]) => printError(`Unused columns: ${columns.join(', ')}`)
    const records = format === 'csv' ? csvRecords(input, noteUnused) : jsonRecords(input)
    let { counts, last } = from
    try {
      for await (const batch of batchesOf(records, tenant, counts.rows)) {
        const names = batch.flatMap((row) => ('names' in row ? row.names : []))
        const badRows = batch.filter((row) => 'error' in row)
        const { written, same, conflicts } = await store.load(names, { replace })
        for (const { asked, found } of conflicts) {
          const name = `${asked.tenant} ${asked.kind} ${asked.name}`
          printError(`conflict: ${name} is ${found.id} in the store but ${asked.id} in the file`)
        }
        for (const { line, error } of badRows) printError(`line ${line} ${error}`)
        counts = {
          rows: counts.rows + batch.length,
          written: counts.written + written,
          same: counts.same + same,
          conflicts: counts.conflicts + conflicts.length,
          badRows: counts.badRows + badRows.length,
        }
        last = names.at(-1) ?? last
        checkpoint?.write({ counts, last })
        progress(counts.rows - from.counts.rows, size && 'bytesRead' in input ? input.bytesRead / size : undefined)
      }
    } catch (error) {
      throw namingFile(error, file === '-' ? 'standard input' : file)
    }
    checkpoint?.remove()
    const left = counts.conflicts > 0 ? ' left as they were (--replace overwrites)' : ''
    const summary = `${plural(counts.rows, 'row')}: ${grouped(counts.written)} written, ${grouped(counts.same)} already there, ${plural(counts.conflicts, 'conflict')}${left}, ${plural(counts.badRows, 'bad row')}.`
    printResult(options, counts, summary)
    return counts.conflicts + counts.badRows > 0 ? EXIT_FAILED : 0
  })

/** `numbers.ndjson` and `numbers.jsonl` are NDJSON. */
const formatOf = (file = ''): Format => (/\.(ndjson|jsonl)$/i.test(file) ? 'ndjson' : 'csv')

type ExportOptions = Options<'resume' | 'force', 'tenant'> & { readonly format?: Format }

/** Exports numbers in the form of an import. */
export async function exportNumbers(to: string | undefined, options: ExportOptions): Promise<number> {
  const file = to === '-' ? undefined : to
  const { tenant, format = formatOf(file), resume, force } = options
  if (resume && file === undefined) throw new UsageError('--resume needs a FILE')
  if (file !== undefined && !resume && !force && existsSync(file) && statSync(file).isFile()) {
    throw new CommandFailed(`${file} exists; --force overwrites it, --resume continues after its last row`)
  }
  if (file !== undefined) refuseStore(file)
  return withExistingStore(async (store) => {
    const after = resume && file !== undefined && existsSync(file) ? lastKey(file, format) : undefined
    const progress = createProgress('exported')
    let rows = 0
    async function* lines() {
      if (!after) yield headerOf(format)
      for await (const page of store.scan({ tenant, after })) {
        yield printableLines(page.map((one) => lineOf(one, format)).join(''))
        rows += page.length
        progress(rows)
      }
    }
    // Numbers and VINs are for their owner alone, as in the store.
    const flags = after ? 'a' : 'w'
    const output = file === undefined ? process.stdout : createWriteStream(file, { flags, mode: 0o600 })
    await pipeline(Readable.from(lines()), output, { end: file !== undefined }).catch((error: unknown) => {
      throw file === undefined ? error : namingFile(error, file)
    })
    printError(`${plural(rows, 'number')} exported.`)
    return 0
  })
}

/** The progress of an import that has not begun. */
const noProgress = {
  counts: {
    /** Rows of the file that are done, imported or not. */
    rows: 0,
    written: 0,
    same: 0,
    conflicts: 0,
    badRows: 0,
  },
  /** The last name of these rows; a store without it is not the one that the import wrote to. */
  last: undefined as NameOfId | undefined,
}
type ImportProgress = Readonly<typeof noProgress>

/** The rows of one durable step: enough to be fast, few enough to repeat. */
const BATCH_ROWS = 5_000

/** Reads rows in batches, which keeps memory flat, without the first ones that an earlier import has done. */
async function* batchesOf(records: AsyncIterable<FileRecord>, tenant: string | undefined, done: number) {
  let skip = done
  let batch: ImportRow[] = []
  for await (const { line, record } of records) {
    if (skip > 0) {
      skip -= 1
      continue
    }
    batch.push(rowOf(line, record, tenant))
    if (batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/**
 * Keeps the progress of an import beside its file, for a second run that continues where the first was interrupted. One from before
 * a change of the file, or for another `purpose`, does not count.
 */
function checkpointOf(file: string, purpose: readonly unknown[]) {
  const path = `${file}.import-progress`
  const { size, mtimeMs } = statSync(file)
  // Hashed, because the address of a store may hold a password.
  const stamp = hash('sha256', JSON.stringify([size, mtimeMs, ...purpose]))
  return {
    read: (): ImportProgress | undefined => {
      try {
        const kept = JSON.parse(readFileSync(path, 'utf8')) as ImportProgress & { readonly stamp: string }
        return kept.stamp === stamp ? kept : undefined
      } catch {
        // There is none, or it is not ours. Writing rows again does no harm.
        return undefined
      }
    },
    write: (progress: ImportProgress) => {
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

/** Returns true if the store has the last name of an import's checkpoint; for a quote, it may mean another one by now. */
async function isInStore(store: Store, { last }: ImportProgress): Promise<boolean> {
  if (!last) return true
  return (await store.named(last.tenant, last.name)).some(
    ({ name, kind, givenBy, id }) =>
      name === last.name &&
      kind === last.kind &&
      givenBy === last.givenBy &&
      (kind === 'quote' || isSameThing(id, last.id)),
  )
}

/** More than a line of an export has: a name has 4,096 characters at most. */
const LINE_BYTES = 256 * 1024
const NEW_LINE = 0x0a

/** Returns the key of the last whole line of an interrupted export, undefined if it has none, and cuts off the rest. */
function lastKey(file: string, format: Format): NameOfId | undefined {
  const { size } = statSync(file)
  const header = headerOf(format)
  const descriptor = openSync(file, 'r+')
  try {
    const bytesAt = (at: number, length: number) => {
      const bytes = Buffer.alloc(Math.min(length, size - at))
      readSync(descriptor, bytes, 0, bytes.length, at)
      return bytes
    }
    if (!header.startsWith(bytesAt(0, header.length).toString()))
      throw new CommandFailed(`${file} does not begin like an export; it stays as it is`)
    // Line ends inside a cell are escaped.
    const before = Math.max(0, size - LINE_BYTES)
    const rest = bytesAt(before, LINE_BYTES)
    const end = rest.lastIndexOf(NEW_LINE) + 1
    const line = rest.subarray(rest.lastIndexOf(NEW_LINE, end - 2) + 1, end).toString()
    const hasKey = before + end > header.length
    const key = hasKey ? keyIn(line, format) : undefined
    if (hasKey && !key) throw new CommandFailed(`${file} does not end like an export; it stays as it is`)
    ftruncateSync(descriptor, before + end)
    return key
  } finally {
    closeSync(descriptor)
  }
}

/** Reads the key as the store has it, undefined if the line has none: blanks that an import would trim belong to it. */
function keyIn(line: string, format: Format): NameOfId | undefined {
  const { tenant, kind, name, id, given_by: givenBy } = fieldsIn(line, format)
  const isWhole = [tenant, name, id].every((value) => typeof value === 'string') && isKind(kind) && isGiver(givenBy)
  // All of it is checked.
  if (isWhole) return { tenant, kind, name, id, givenBy } as NameOfId
  return undefined
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
const headerOf = (format: Format): string => (format === 'csv' ? `${COLUMNS.join(',')}\n` : '')

/** Writes a name as a line of an export; `rowOf` reads it back. */
function lineOf(name: ScannedName, format: Format): string {
  const row = { ...name, at: isoTime(name.at), given_by: name.givenBy }
  if (format === 'csv') return `${COLUMNS.map((column) => toCell(row[column])).join(',')}\n`
  return `${printableJson(Object.fromEntries(COLUMNS.map((column) => [column, row[column]])))}\n`
}

/** A row of an import: its names, or the error. */
type ImportRow = ReturnType<typeof rowOf>

function rowOf(line: number, record: FileRecord['record'], owner: string | undefined) {
  if (typeof record === 'string') return { line, error: record }
  const names = new Set<string>()
  const values: { [column in FileColumn]?: string } = {}
  let implied: Kind = 'shipment'
  for (const [meaning, cell] of record) {
    if (!meaning || cell === '') continue
    const { column } = meaning
    if (!isText(cell)) return { line, error: `has a ${column} with a character that cannot be stored` }
    if (column === 'name') names.add(cell)
    else if (values[column] === undefined) values[column] = cell
    else if (values[column] !== cell) return { line, error: `has two different values for ${column}` }
    if (column === 'id') implied = meaning.kind ?? implied
  }
  const { tenant = owner, id, kind = implied, vin = '', at: time, given_by: givenBy = 'caller' } = values
  if (tenant === undefined) return { line, error: 'has no tenant; add the column or --tenant' }
  if (names.size === 0 || id === undefined) return { line, error: `has no ${names.size === 0 ? 'name' : 'id'}` }
  // No call could reach it: an id goes into a path, and the service's own ids are checked in the same way.
  if (serviceId(id) === undefined) return { line, error: NO_ID }
  if (!isKind(kind)) return { line, error: 'has a kind that is neither quote nor shipment' }
  if (!isGiver(givenBy)) return { line, error: 'has a given_by that is neither caller nor service' }
  // `Date` alone would read 30 February as 1 March.
  const at =
    time === undefined
      ? undefined
      : z.iso.date().safeParse(time.slice(0, DAY_CHARACTERS)).success
        ? Date.parse(time)
        : Number.NaN
  if (Number.isNaN(at)) return { line, error: 'has a date that is not ISO 8601' }
  const given = { tenant, kind, vin: kind === 'quote' ? '' : vinKey(vin), id, givenBy, at }
  // A row may have several numbers, such as ShipmentNumber and ReferenceNumber.
  return { line, names: [...names].map((name) => ({ ...given, name })) }
}

const DAY_CHARACTERS = 'yyyy-mm-dd'.length

const NO_ID = 'has an id that cannot be one: it is blank, of dots alone, too long, or has a control character'

const isGiver = (text: unknown): text is GivenBy => text === 'caller' || text === 'service'

const isKind = (text: unknown): text is Kind => text === 'quote' || text === 'shipment'

import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Store } from '../store/store.ts'
import { printableLines } from '../text/plain-text.ts'
import { headerOf, lineOf } from '../xref/export-rows.ts'
import { FileUnreadable, type Format } from '../xref/file-records.ts'
import { readRows } from '../xref/import-rows.ts'
import { checkpointOf, type ImportCounts, importRows, isInStore, lastKey, noProgress } from '../xref/transfer.ts'
import { readArguments } from './arguments.ts'
import { CommandFailed, isSystemError, systemReason, UsageError } from './failures.ts'
import { print, printError, printJson } from './output.ts'
import { count, createProgress, several } from './progress.ts'
import { withExistingStore, withStore } from './store.ts'

const USAGE = [
  'Usage:',
  '  transload xref get NAME --tenant TENANT',
  '  transload xref import FILE|- [--tenant TENANT] [--format csv|ndjson] [--replace] [--restart] [--json]',
  '  transload xref export [FILE] [--tenant TENANT] [--format csv|ndjson] [--resume | --force]',
  '',
  'Columns: tenant, kind (quote or shipment), name, vin, id, at, given_by (caller or service).',
  'Only name and id are required.',
  'ShipmentNumber, ReferenceNumber, OrderRefNumber and number are names too; shipment_id, quote_id and uuid are ids.',
]

const EXPLAINED = {
  tenant: 'The tenant of the names; for rows without one, and for the export of one tenant.',
  format: 'The format of the file, csv or ndjson; by default that of its name.',
  replace: 'Overwrites what the store says otherwise.',
  restart: 'Starts at the first row, although an interrupted import could go on.',
  resume: 'Goes on after the last row of FILE.',
  force: 'Overwrites FILE.',
  json: 'Prints the counts as JSON.',
}
const EXAMPLES = [
  'transload xref get REF-1 --tenant acme',
  'transload xref import numbers.csv --tenant acme',
  'transload xref import - --format ndjson < numbers.ndjson',
  'transload xref export numbers.csv --force',
]

/** Shows, imports and exports the cross-reference, on the store of running gateways. */
export async function xref(args: readonly string[]): Promise<number> {
  const { verb, operands, values } = readArguments(args, {
    usage: USAGE,
    options: {
      tenant: { type: 'string' },
      format: { type: 'string' },
      replace: { type: 'boolean' },
      restart: { type: 'boolean' },
      resume: { type: 'boolean' },
      force: { type: 'boolean' },
      json: { type: 'boolean' },
    },
    explained: EXPLAINED,
    examples: EXAMPLES,
    verbs: {
      get: { operands: ['NAME'], options: ['tenant'] },
      import: { operands: ['FILE'], options: ['tenant', 'format', 'replace', 'restart', 'json'] },
      export: { operands: ['[FILE]'], options: ['tenant', 'format', 'resume', 'force'] },
    },
  })
  const [target = ''] = operands
  // Fixed mode has one tenant only.
  const tenant = values.tenant ?? process.env['V2_CLIENT_ID']
  switch (verb) {
    case 'get':
      if (tenant === undefined) throw new UsageError('get needs --tenant', USAGE)
      return withExistingStore((store) => get(store, tenant, target))
    case 'import': {
      const { replace = false, restart = false, json = false } = values
      const options = { tenant, format: formatOf(values.format, target), replace, restart, json }
      return withStore((store, storeUrl) => importFile(store, target, { ...options, storeUrl }))
    }
    case 'export': {
      const [file] = operands
      const { resume = false, force = false } = values
      if (resume && file === undefined) throw new UsageError('--resume needs a FILE', USAGE)
      if (resume && force) throw new UsageError('--resume and --force exclude each other', USAGE)
      if (file !== undefined && !resume && !force) refuseExisting(file)
      const options = { tenant: values.tenant, format: formatOf(values.format, file), resume }
      return withExistingStore((store) => exportTo(store, file, options))
    }
    default:
      return verb satisfies never
  }
}

function refuseExisting(file: string): void {
  if (!existsSync(file) || !statSync(file).isFile()) return
  throw new CommandFailed(`${file} exists; --force overwrites it, --resume goes on after its last row`)
}

function formatOf(asked: string | undefined, file = ''): Format {
  if (asked === 'csv' || asked === 'ndjson') return asked
  if (asked !== undefined) throw new UsageError(`unknown format ${asked}; the formats are csv and ndjson`, USAGE)
  return /\.(ndjson|jsonl)$/i.test(file) ? 'ndjson' : 'csv'
}

async function get(store: Store, tenant: string, name: string): Promise<number> {
  const links = await store.links(tenant, name)
  for (const link of links) {
    const thing = await store.thing(tenant, link.id)
    const own = thing?.own ? { own: thing.own } : {}
    // The facts contain a customer's address, so a terminal shows only their names.
    const remembered = thing?.facts ? { remembers: Object.keys(thing.facts) } : {}
    printJson({ ...link, at: new Date(link.at).toISOString(), ...own, ...remembered })
  }
  if (links.length === 0) throw new CommandFailed(`${tenant} has nothing known as ${name}`)
  return 0
}

interface ImportOptions {
  readonly tenant: string | undefined
  readonly format: Format
  readonly replace: boolean
  readonly restart: boolean
  readonly json: boolean
  readonly storeUrl: string
}

async function importFile(store: Store, file: string, options: ImportOptions): Promise<number> {
  const { tenant, format, replace, restart, json, storeUrl } = options
  const checkpoint = isRegular(file) ? checkpointOf(file, [storeUrl, tenant, format, replace]) : undefined
  const kept = restart ? undefined : checkpoint?.read()
  const from = kept && (await isInStore(store, kept)) ? kept : noProgress
  if (from.counts.rows > 0) printError(`Going on after row ${count(from.counts.rows)}, where the last import ended.`)
  const input = file === '-' ? process.stdin : createReadStream(file)
  const size = isRegular(file) ? statSync(file).size : undefined
  const progress = createProgress('imported')
  const rows = readRows(input, format, { tenant }, (columns) =>
    printError(`Columns that are not used: ${columns.join(', ')}`),
  )
  const counts = await named(
    file,
    importRows(
      rows,
      store,
      { replace, from },
      {
        onConflict: (asked, found) => {
          const vin = asked.vin === '' ? '' : ` (${asked.vin})`
          const name = `${asked.tenant} ${asked.kind} ${asked.name}${vin}`
          printError(`conflict: ${name} is ${found.id} in the store and ${asked.id} in the file`)
        },
        onBadRow: (line, error) => printError(`line ${line} ${error}`),
        onProgress: (done) => {
          checkpoint?.write(done)
          const share = size && 'bytesRead' in input ? input.bytesRead / size : undefined
          progress.update(done.counts.rows - from.counts.rows, share)
        },
      },
    ),
  )
  progress.end()
  checkpoint?.remove()
  if (json) printJson(counts)
  else print(summaryOf(counts))
  return counts.conflicts + counts.badRows > 0 ? 1 : 0
}

function summaryOf(counts: ImportCounts): string {
  const left = counts.conflicts > 0 ? ' left as they were (--replace overwrites)' : ''
  return `${several(counts.rows, 'row')}: ${count(counts.written)} written, ${count(counts.same)} there already, ${several(counts.conflicts, 'conflict')}${left}, ${several(counts.badRows, 'bad row')}.`
}

/** Adds the file's name to a read error. */
async function named<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const name = file === '-' ? 'standard input' : file
    if (error instanceof FileUnreadable) throw new CommandFailed(`${name} ${error.message}`)
    throw isSystemError(error) ? new CommandFailed(systemReason(error, name)) : error
  }
}

/** Input from a pipe cannot be resumed. */
const isRegular = (file: string) => file !== '-' && statSync(file).isFile()

interface ExportOptions {
  readonly tenant: string | undefined
  readonly format: Format
  readonly resume: boolean
}

async function exportTo(store: Store, file: string | undefined, options: ExportOptions): Promise<number> {
  const { tenant, format, resume } = options
  const after = resume && file !== undefined && existsSync(file) ? await named(file, lastKey(file, format)) : undefined
  const progress = createProgress('exported')
  let rows = 0
  async function* lines() {
    if (!after) yield headerOf(format)
    for await (const page of store.scan({ ...(tenant !== undefined && { tenant }), ...(after && { after }) })) {
      yield printableLines(page.map((link) => lineOf(link, format)).join(''))
      rows += page.length
      progress.update(rows)
    }
  }
  const output = file === undefined ? process.stdout : createWriteStream(file, { flags: after ? 'a' : 'w' })
  await pipeline(Readable.from(lines()), output, { end: file !== undefined })
  progress.end()
  printError(`${several(rows, 'link')} exported.`)
  return 0
}

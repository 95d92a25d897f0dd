import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { EXIT_USAGE } from '../exit-codes.ts'
import type { Store } from '../store/store.ts'
import { FileUnreadable, type Format, headerOf, lineOf, readRows } from '../xref/import-rows.ts'
import { checkpointOf, importRows, isThere, lastKey, theBeginning } from '../xref/transfer.ts'
import { withLiveStore, withStore } from './with-store.ts'

const USAGE = `Usage:
  transload xref get NAME --tenant TENANT
  transload xref import FILE|- [--tenant TENANT] [--format csv|ndjson] [--replace] [--restart]
  transload xref export [FILE] [--tenant TENANT] [--format csv|ndjson] [--resume]

Columns: tenant, kind (quote or shipment), name, vin, id, at; only name and id are required.
ShipmentNumber, ReferenceNumber, OrderRefNumber and number are names too; shipment_id, quote_id and uuid are ids.
`

/** Shows, imports and exports the cross-reference, on a store that gateways are using. */
export async function xref(words: readonly string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      tenant: { type: 'string' },
      format: { type: 'string' },
      replace: { type: 'boolean', default: false },
      restart: { type: 'boolean', default: false },
      resume: { type: 'boolean', default: false },
    },
  })
  const [verb, target, ...more] = positionals
  const format = formatOf(values.format, target)
  if (more.length > 0) return misused(`there is no use for ${more.join(' ')}`)
  if (format === undefined) return misused('the formats are csv and ndjson')
  // Beside one application, as in `fixed` mode, there is but one tenant.
  const tenant = values.tenant ?? process.env['V2_CLIENT_ID']
  if (verb === 'get' && target !== undefined) {
    if (tenant === undefined) return misused('say whose number it is: --tenant')
    return withLiveStore((store) => get(store, tenant, target))
  }
  if (verb === 'import' && target !== undefined) {
    return heard(target, () =>
      withStore((store, storeUrl) => importFile(store, target, { ...values, tenant, format, storeUrl })),
    )
  }
  if (verb === 'export') {
    if (values.resume && target === undefined) return misused('only an export to a FILE can be resumed')
    const options = { tenant: values.tenant, format, resume: values.resume }
    return heard(target ?? 'standard output', () => withLiveStore((store) => exportTo(store, target, options)))
  }
  return misused(verb === 'get' || verb === 'import' ? `say what to ${verb}` : undefined)
}

function misused(how?: string): number {
  process.stderr.write(`${how === undefined ? '' : `transload: ${how}\n\n`}${USAGE}`)
  return EXIT_USAGE
}

function formatOf(asked: string | undefined, file: string | undefined): Format | undefined {
  if (asked === 'csv' || asked === 'ndjson') return asked
  if (asked !== undefined) return undefined
  return /\.(ndjson|jsonl)$/i.test(file ?? '') ? 'ndjson' : 'csv'
}

/** Tells what is wrong with a file in one line. */
async function heard(file: string, work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    const ofTheSystem = error instanceof Error && 'syscall' in error
    if (!(error instanceof FileUnreadable || ofTheSystem)) throw error
    process.stderr.write(`transload: ${file === '-' ? 'standard input' : file} ${inWords(error)}\n`)
    return 1
  }
}

const inWords = (error: Error) => (error instanceof FileUnreadable ? error.message : `cannot be used: ${error.message}`)

async function get(store: Store, tenant: string, name: string): Promise<number> {
  const links = await store.links(tenant, name)
  for (const link of links) {
    const thing = await store.thing(tenant, link.id)
    const own = thing?.own ? { own: thing.own } : {}
    // Facts are a customer's address: that they are remembered is all that a terminal needs to show.
    const remembered = thing?.facts ? { remembers: Object.keys(thing.facts) } : {}
    process.stdout.write(`${JSON.stringify({ ...link, at: new Date(link.at).toISOString(), ...own, ...remembered })}\n`)
  }
  if (links.length > 0) return 0
  process.stderr.write(`transload: ${tenant} has nothing known as ${name}\n`)
  return 1
}

interface ImportOptions {
  readonly tenant: string | undefined
  readonly format: Format
  readonly replace: boolean
  readonly restart: boolean
  readonly storeUrl: string
}

async function importFile(store: Store, file: string, options: ImportOptions): Promise<number> {
  const { tenant, format, replace, restart, storeUrl } = options
  const checkpoint = isRegular(file) ? checkpointOf(file, [storeUrl, tenant, format, replace]) : undefined
  const kept = restart ? undefined : checkpoint?.read()
  const from = kept && (await isThere(store, kept)) ? kept : theBeginning
  if (from.tally.rows > 0) tell(`Going on after row ${count(from.tally.rows)}, where the last import ended.`)
  const progress = progressLine('imported')
  const input = file === '-' ? process.stdin : createReadStream(file)
  const rows = readRows(input, format, { tenant, at: Date.now() }, (columns) =>
    tell(`Columns that are not used: ${columns.join(', ')}`),
  )
  const tally = await importRows(
    rows,
    store,
    { replace, from },
    {
      onConflict: (asked, found) => {
        const vin = asked.vin === '' ? '' : ` (${asked.vin})`
        const asks = `${asked.tenant} ${asked.kind} ${asked.name}${vin}`
        progress.tell(`conflict: ${asks}: ${found.id} stands, ${asked.id} was asked for`)
      },
      onMistake: (line, mistake) => progress.tell(`line ${line} ${mistake}`),
      onProgress: (done) => {
        checkpoint?.write(done)
        progress.show(done.tally.rows - from.tally.rows)
      },
    },
  ).finally(progress.end)
  checkpoint?.remove()
  const left = tally.conflicts > 0 ? ' left as they were (--replace overwrites)' : ''
  process.stdout.write(
    `${count(tally.rows)} rows: ${count(tally.written)} written, ${count(tally.same)} there already, ${count(tally.conflicts)} conflicts${left}, ${count(tally.mistakes)} mistakes.\n`,
  )
  return tally.conflicts + tally.mistakes > 0 ? 1 : 0
}

/** What comes through a pipe cannot be read again from where it was left. */
const isRegular = (file: string) => file !== '-' && statSync(file).isFile()

interface ExportOptions {
  readonly tenant: string | undefined
  readonly format: Format
  readonly resume: boolean
}

async function exportTo(store: Store, file: string | undefined, options: ExportOptions): Promise<number> {
  const { tenant, format, resume } = options
  const after = resume && file !== undefined && existsSync(file) ? await lastKey(file, format) : undefined
  const progress = progressLine('exported')
  let rows = 0
  async function* lines() {
    if (!after) yield headerOf(format)
    for await (const page of store.scan({ ...(tenant !== undefined && { tenant }), ...(after && { after }) })) {
      yield page.map((link) => lineOf(link, format)).join('')
      rows += page.length
      progress.show(rows)
    }
  }
  const output = file === undefined ? process.stdout : createWriteStream(file, { flags: after ? 'a' : 'w' })
  await pipeline(Readable.from(lines()), output, { end: file !== undefined }).finally(progress.end)
  tell(`${count(rows)} links exported.`)
  return 0
}

const SHOW_EVERY_MS = 500
const CLEAR_LINE = '\r\u001b[K'

/** A line that renews itself on a terminal, and is nothing elsewhere. */
function progressLine(verb: string) {
  const { isTTY } = process.stderr
  const startedAt = performance.now()
  let shownAt = startedAt
  const end = (): void => {
    if (isTTY) process.stderr.write(CLEAR_LINE)
  }
  return {
    show(rows: number): void {
      const now = performance.now()
      if (!isTTY || now - shownAt < SHOW_EVERY_MS) return
      shownAt = now
      const perSecond = Math.round((rows * 1000) / (now - startedAt))
      process.stderr.write(`${CLEAR_LINE}${count(rows)} ${verb}, ${count(perSecond)} a second`)
    },
    /** A line that stays. */
    tell(line: string): void {
      end()
      tell(line)
    },
    end,
  }
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`)
}

const count = (rows: number) => rows.toLocaleString('en-US')

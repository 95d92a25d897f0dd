import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { EXIT_USAGE } from '../exit-codes.ts'
import type { Store } from '../store/store.ts'
import { type Format, headerOf, lineOf, readRows } from '../xref-rows.ts'
import { checkpointOf, importRows, lastKey, nothingYet } from '../xref-transfer.ts'
import { withStore } from './with-store.ts'

const USAGE = `Usage:
  transload xref get NAME --tenant TENANT
  transload xref import FILE|- [--tenant TENANT] [--format csv|ndjson] [--replace] [--restart]
  transload xref export [FILE] [--tenant TENANT] [--format csv|ndjson] [--resume]

Columns: tenant, kind (quote or shipment), name, vin, id, at; only name and id are required.
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
  const [verb, target] = positionals
  const format = formatOf(values.format, target)
  if (format === undefined) return usage()
  const tenant = values.tenant ?? process.env['V2_CLIENT_ID']
  if (verb === 'get' && target !== undefined && tenant !== undefined)
    return withStore((store) => get(store, tenant, target))
  if (verb === 'import' && target !== undefined) {
    return withStore((store) => importFile(store, target, { ...values, tenant, format }))
  }
  if (verb === 'export' && !(values.resume && target === undefined)) {
    return withStore((store) => exportTo(store, target, { tenant: values.tenant, format, resume: values.resume }))
  }
  return usage()
}

function usage(): number {
  process.stderr.write(USAGE)
  return EXIT_USAGE
}

function formatOf(asked: string | undefined, file: string | undefined): Format | undefined {
  if (asked === 'csv' || asked === 'ndjson') return asked
  if (asked !== undefined) return undefined
  return /\.(ndjson|jsonl)$/i.test(file ?? '') ? 'ndjson' : 'csv'
}

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
}

async function importFile(
  store: Store,
  file: string,
  { tenant, format, replace, restart }: ImportOptions,
): Promise<number> {
  const checkpoint = file === '-' ? undefined : checkpointOf(file)
  const from = (restart ? undefined : checkpoint?.read()) ?? nothingYet
  if (from.rows > 0) process.stderr.write(`Going on after row ${count(from.rows)}, where the last import ended.\n`)
  const progress = progressLine('imported')
  const rows = readRows(file === '-' ? process.stdin : createReadStream(file), format, { tenant, at: Date.now() })
  const tally = await importRows(
    rows,
    store,
    { replace, from },
    {
      onConflict: (asked, found) => {
        const vin = asked.vin === '' ? '' : ` (${asked.vin})`
        process.stderr.write(
          `conflict: ${asked.tenant} ${asked.kind} ${asked.name}${vin}: ${found.id} stands, ${asked.id} was asked for\n`,
        )
      },
      onMistake: (line, mistake) => process.stderr.write(`line ${line} ${mistake}\n`),
      onProgress: (done) => {
        checkpoint?.write(done)
        progress.show(done.rows - from.rows)
      },
    },
  )
  progress.end()
  checkpoint?.remove()
  process.stdout.write(
    `${count(tally.rows)} rows: ${count(tally.written)} written, ${count(tally.same)} there already, ${count(tally.conflicts)} conflicts${tally.conflicts > 0 ? ' left as they were (--replace overwrites)' : ''}, ${count(tally.mistakes)} mistakes.\n`,
  )
  return tally.conflicts + tally.mistakes > 0 ? 1 : 0
}

interface ExportOptions {
  readonly tenant: string | undefined
  readonly format: Format
  readonly resume: boolean
}

async function exportTo(
  store: Store,
  file: string | undefined,
  { tenant, format, resume }: ExportOptions,
): Promise<number> {
  const after = resume && file !== undefined && existsSync(file) ? await lastKey(file, format) : undefined
  const output = file === undefined ? process.stdout : createWriteStream(file, { flags: after ? 'a' : 'w' })
  const progress = progressLine('exported')
  let rows = 0
  if (!after) output.write(headerOf(format))
  for await (const page of store.scan({ ...(tenant !== undefined && { tenant }), ...(after && { after }) })) {
    if (!output.write(page.map((link) => lineOf(link, format)).join(''))) await once(output, 'drain')
    rows += page.length
    progress.show(rows)
  }
  progress.end()
  if (output !== process.stdout) {
    output.end()
    await finished(output)
  }
  process.stderr.write(`${count(rows)} links exported.\n`)
  return 0
}

const SHOW_EVERY_MS = 500

/** A line that renews itself on a terminal, and is nothing elsewhere. */
function progressLine(verb: string): { readonly show: (rows: number) => void; readonly end: () => void } {
  const startedAt = performance.now()
  let shownAt = startedAt
  return {
    show: (rows) => {
      const now = performance.now()
      if (!process.stderr.isTTY || now - shownAt < SHOW_EVERY_MS) return
      shownAt = now
      process.stderr.write(`\r${count(rows)} ${verb}, ${count(Math.round((rows * 1000) / (now - startedAt)))} a second`)
    },
    end: () => {
      if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
    },
  }
}

const count = (rows: number) => rows.toLocaleString('en-US')

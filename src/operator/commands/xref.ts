import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { printableLines } from '../../language/text/service-text.ts'
import type { Format } from '../transfer/file-records.ts'
import {
  checkpointOf,
  headerOf,
  importRows,
  isInStore,
  lastKey,
  lineOf,
  noProgress,
  readRows,
} from '../transfer/transfer.ts'
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
    const { tenant, format = formatOf(file), replace = false, restart = false, json = false } = options
    const isRegular = file !== '-' && statSync(file).isFile()
    // Input from a pipe cannot be resumed.
    const checkpoint = isRegular ? checkpointOf(file, [storeUrl, tenant, format, replace]) : undefined
    const kept = restart ? undefined : checkpoint?.read()
    const from = kept && (await isInStore(store, kept)) ? kept : noProgress
    if (from.counts.rows > 0)
      printError(`Going on after row ${grouped(from.counts.rows)}, where the last import ended.`)
    const input = file === '-' ? process.stdin : createReadStream(file)
    const size = isRegular ? statSync(file).size : undefined
    const progress = createProgress('imported')
    const rows = readRows(input, format, tenant, (columns) => printError(`Unused columns: ${columns.join(', ')}`))
    let { counts } = from
    try {
      for await (const { conflicts, badRows, progress: done } of importRows(rows, store, { replace, from })) {
        for (const { asked, found } of conflicts) {
          const name = `${asked.tenant} ${asked.kind} ${asked.name}`
          printError(`conflict: ${name} is ${found.id} in the store but ${asked.id} in the file`)
        }
        for (const { line, error } of badRows) printError(`line ${line} ${error}`)
        counts = done.counts
        checkpoint?.write(done)
        progress.update(
          counts.rows - from.counts.rows,
          size && 'bytesRead' in input ? input.bytesRead / size : undefined,
        )
      }
    } catch (error) {
      throw namingFile(error, file === '-' ? 'standard input' : file)
    }
    progress.end()
    checkpoint?.remove()
    const left = counts.conflicts > 0 ? ' left as they were (--replace overwrites)' : ''
    const summary = `${plural(counts.rows, 'row')}: ${grouped(counts.written)} written, ${grouped(counts.same)} already there, ${plural(counts.conflicts, 'conflict')}${left}, ${plural(counts.badRows, 'bad row')}.`
    printResult({ json }, counts, summary)
    return counts.conflicts + counts.badRows > 0 ? EXIT_FAILED : 0
  })

/** `numbers.ndjson` and `numbers.jsonl` are NDJSON. */
const formatOf = (file = ''): Format => (/\.(ndjson|jsonl)$/i.test(file) ? 'ndjson' : 'csv')

type ExportOptions = Options<'resume' | 'force', 'tenant'> & { readonly format?: Format }

/** Exports numbers in the form of an import. */
export async function exportNumbers(to: string | undefined, options: ExportOptions): Promise<number> {
  const file = to === '-' ? undefined : to
  const { tenant, format = formatOf(file), resume = false, force = false } = options
  if (resume && file === undefined) throw new UsageError('--resume needs a FILE')
  if (file !== undefined && !resume && !force && existsSync(file) && statSync(file).isFile()) {
    throw new CommandFailed(`${file} exists; --force overwrites it, --resume continues after its last row`)
  }
  if (file !== undefined) refuseStore(file)
  return withExistingStore(async (store) => {
    const known = resume && file !== undefined && existsSync(file) ? file : undefined
    const after = known && lastKey(known, format)
    const progress = createProgress('exported')
    let rows = 0
    async function* lines() {
      if (!after) yield headerOf(format)
      for await (const page of store.scan({ ...(tenant !== undefined && { tenant }), ...(after && { after }) })) {
        yield printableLines(page.map((one) => lineOf(one, format)).join(''))
        rows += page.length
        progress.update(rows)
      }
    }
    const output = file === undefined ? process.stdout : createWriteStream(file, { flags: after ? 'a' : 'w' })
    await pipeline(Readable.from(lines()), output, { end: file !== undefined })
    progress.end()
    printError(`${plural(rows, 'number')} exported.`)
    return 0
  })
}

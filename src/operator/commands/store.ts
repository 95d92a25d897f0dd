import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { engineOf } from '../../language/config/store-address.ts'
import { type CopiedRow, type CopiedTable, MOVED, pages } from '../../outside/store/copy.ts'
import type { Inspection, NewDoubt } from '../../outside/store/doubt.ts'
import { loadEngine } from '../../outside/store/open.ts'
import { backupStore, inspectSqlite } from '../../outside/store/sqlite/backup.ts'
import {
  isDamage,
  isNoDatabase,
  isNoFile,
  isStoreFailure,
  messageOf,
  NotAStore,
} from '../../outside/store/sqlite/connection.ts'
import {
  BackupDamaged,
  backupTime,
  restoreStore,
  StoreInUse,
  StoreUnreadable,
} from '../../outside/store/sqlite/restore.ts'
import { type Store, StoreDown, StoreTooNew } from '../../outside/store/store.ts'
import { doubtView, originText } from '../../state/bookings/leases.ts'
import { nameOf, openEmergencyLog } from '../../state/bookings/record.ts'
import { aligned, grouped, isoTime } from '../words.ts'
import { CommandFailed, EXIT_FAILED, UsageError } from './failures.ts'
import { refuseOldFolder, storePlace } from './last-store.ts'
import {
  embeddedStorePath,
  existing,
  isSameFile,
  noStoreOnServer,
  refuseStore,
  storeConfig,
  timeOf,
  withExistingStore,
} from './open-store.ts'
import { createProgress, type JsonOption, type Options, print, printError, printResult } from './output.ts'

/** Copies the store into a file, while gateways go on. */
export async function backup(file: string, { force }: Options<'force'>): Promise<number> {
  const path = existing(
    embeddedStorePath('the store is on PostgreSQL: use pg_dump --schema=transload, or the backups of the server'),
  )
  const target = resolve(file)
  refuseStore(file)
  if (existsSync(target) && !statSync(target).isFile()) throw new CommandFailed(`${file} is not a regular file`)
  if (existsSync(target) && !force) throw new CommandFailed(`${file} exists; --force overwrites it`)
  try {
    const { at, version, bytes } = await backupStore(path, target, { onProgress: createProgress('copied', 'pages') })
    print(
      `${file} has the store as it was at ${isoTime(at)}: ${grouped(bytes)} bytes, version ${version} of the schema.`,
    )
    return 0
  } catch (error) {
    throw unusableFile(error, path)
  }
}

/** Returns an error of a file that is no store, or a damaged one, as a failure that names it; any other error as it is. */
function unusableFile(error: unknown, file: string): unknown {
  if (error instanceof NotAStore || isNoDatabase(error) || isNoFile(error))
    return new CommandFailed(`${file} is not a store`)
  if (isDamage(error)) return new CommandFailed(`${file} is damaged: ${messageOf(error)}`)
  // The disk is full, or fails.
  return isStoreFailure(error) ? new CommandFailed(messageOf(error)) : error
}

/** Puts a backup in the place of the store, which no gateway may use meanwhile. */
export async function restore(
  file: string,
  { force = false, ...options }: Options<'complete' | 'force', 'since' | 'until'>,
): Promise<number> {
  const since = timeOf('--since', options.since, 'past')
  const until = timeOf('--until', options.until, 'future') ?? 0
  const path = embeddedStorePath(
    'the store is on PostgreSQL: use pg_restore or the tools of the server, and then "transload store doubt"',
  )
  const source = resolve(file)
  if (!existsSync(source)) throw new CommandFailed(`there is no file ${file}`)
  if (isSameFile(path, source)) throw new CommandFailed(`${file} is the store itself; name a backup`)
  try {
    const backupAt = backupTime(source)
    const doubt = options.complete ? undefined : doubtAfter(file, backupAt, since, until)
    const kept = await restoreStore(path, source, {
      doubt,
      isUnreadableReplaced: force,
      onProgress: createProgress('copied', 'pages'),
    })
    print(`${path} is restored from ${file}.`)
    if (kept !== undefined) print(`The store that was there is ${kept}.`)
    if (doubt) print(...doubtLines(doubt))
    return 0
  } catch (error) {
    throw restoreFailure(error, file)
  }
}

/** Returns what the restored store may lack. Without a statement it would be booked again. */
function doubtAfter(file: string, backupAt: number | undefined, since = backupAt, until: number): NewDoubt {
  if (since !== undefined) return { since: Math.min(since, backupAt ?? since), until }
  throw new CommandFailed(
    `${file} does not say when it was made; add --since TIME, or --complete if nothing was written after it`,
  )
}

function restoreFailure(error: unknown, file: string): unknown {
  if (error instanceof StoreInUse) return new CommandFailed(error.message)
  if (error instanceof StoreUnreadable)
    return new CommandFailed(`${error.message}; --force replaces it, if no gateway is running`)
  if (error instanceof StoreTooNew)
    return new CommandFailed(`${file} was made by a newer version of the gateway, which has to restore it`)
  if (error instanceof BackupDamaged || (isDamage(error) && !isNoDatabase(error)))
    return new CommandFailed(`${file} is damaged, so nothing was changed: ${messageOf(error)}`)
  return unusableFile(error, file)
}

/** Declares that bookings may be missing in the store. Gateways that run know it within seconds. */
export function doubt(options: Options<never, 'since' | 'until'>): Promise<number> {
  const since = timeOf('--since', options.since, 'past') ?? 0
  const until = timeOf('--until', options.until, 'future') ?? 0
  return withExistingStore(async (store) => {
    print(...doubtLines(await store.declareDoubt({ since, until })))
    return 0
  })
}

/** Ends the doubt about a store, and accepts a copied store as that of its place. */
export function trust(): Promise<number> {
  return withExistingStore(async (store) => {
    const changed = await store.trust()
    print(changed ? 'The store is trusted: bookings that it does not know are sent.' : 'Nothing was in doubt.')
    return 0
  })
}

function doubtLines({ since, until }: NewDoubt): readonly string[] {
  const end = until === 0 ? 'until "transload store trust"' : `until ${isoTime(until)}`
  return [
    `Bookings since ${isoTime(since)} may be missing. A booking that the store does not know gets Unknown and is not sent ${end}.`,
    '"transload bookings list --state unknown" shows the ones that callers have retried.',
  ]
}

/** Verifies the store, or a backup of one; ends with 1 if an operator has to do something about it. */
export async function verify(file: string | undefined, options: JsonOption): Promise<number> {
  const { STORE_URL, EMERGENCY_LOG_FILE } = storeConfig()
  const isStore = file === undefined
  const isOnServer = isStore && engineOf(STORE_URL) === 'postgres'
  const name = isOnServer ? 'PostgreSQL' : existing(resolve(file ?? embeddedStorePath('')))
  const found = isOnServer ? await inspectServer(STORE_URL) : inspectFile(name)
  const unrecorded = isStore ? openEmergencyLog(EMERGENCY_LOG_FILE).read().map(nameOf) : []
  const problems = problemsOf(found, isStore, unrecorded)
  const { doubt: window, ...rest } = found
  const view = { store: name, ...rest, doubt: window && doubtView(window), unrecorded, problems }
  printResult(options, view, ...inspectionLines(name, found, unrecorded))
  if (!options.json) printError(...problems.map((problem) => `problem: ${problem}`))
  return problems.length === 0 ? 0 : EXIT_FAILED
}

async function inspectServer(storeUrl: string) {
  const { inspectPostgres } = await import('../../outside/store/postgres/postgres.ts')
  const found = await inspectPostgres(storeUrl)
  if (!found) throw noStoreOnServer()
  return found
}

function inspectFile(path: string) {
  try {
    return inspectSqlite(path)
  } catch (error) {
    throw unusableFile(error, path)
  }
}

/** Copies the store into an empty one, which may have the other engine. */
export function copy({ to: url }: { readonly to: string }): Promise<number> {
  const engine = engineOf(url)
  if (engine === undefined || engine === 'memory') throw new UsageError('--to takes a path or postgres://…')
  refuseOldFolder(storeConfig())
  return withExistingStore(async (store, storeUrl) => {
    // The other store would not be known for a copy that lacks bookings.
    const lacking = (await store.doubt()) ? undefined : originText(await store.origin())
    if (lacking !== undefined) throw new CommandFailed(lacking)
    if (storePlace(url) === storePlace(storeUrl)) throw new UsageError('--to names the store itself')
    const target = await openOther(url)
    try {
      if (!target.ready()) throw new CommandFailed('the other store does not answer; check --to')
      const counts = await copyStore(store, target, storePlace(storeUrl), storePlace(url), createProgress('copied'))
      print(
        ...[...counts].map(([table, rows]) => countLine(rows, table)),
        `The other store has the same rows. Start the gateways with it as STORE_URL.`,
      )
      return 0
    } finally {
      await target.close()
    }
  })
}

/** Opens the store that a copy goes to. */
async function openOther(url: string): Promise<Store> {
  const open = await loadEngine(url)
  try {
    return await open({ blocks: true })
  } catch (error) {
    if (!(error instanceof NotAStore || error instanceof StoreDown)) throw error
    throw new CommandFailed(`--to names a store that cannot be used: ${messageOf(error)}`)
  }
}

/**
 * Copies a store that no gateway uses into an empty one; after an interruption, what is not there yet. Returns the number of
 * rows of each table.
 */
export async function copyStore(
  from: Store,
  to: Store,
  name: string,
  toName: string,
  onProgress: (rows: number) => void,
): Promise<ReadonlyMap<string, number>> {
  async function refuseLive() {
    const [live] = [...(await from.liveInstances()), ...(await to.liveInstances())]
    if (live !== undefined) throw new CommandFailed(`a gateway uses one of the stores: ${live}; stop it first`)
  }
  await refuseLive()
  const mark = `${MOVED}${toName}`
  const before = await from.copiedFrom()
  if (before !== undefined && before !== mark)
    throw new CommandFailed(`the store is ${before.startsWith(MOVED) ? before : `an unfinished copy of ${before}`}`)
  const tables = await from.copiedTables()
  const begun = await to.copiedFrom()
  if (begun === undefined) {
    for (const table of tables) {
      if ((await to.rowsAfter(table, undefined)).length > 0)
        throw new CommandFailed(`the other store already has data (${table.name})`)
    }
    await to.beginCopy(name)
  } else if (begun.startsWith(MOVED)) throw new CommandFailed(`the other store is ${begun}; use an empty store`)
  else if (begun !== name)
    throw new CommandFailed(
      `a copy of ${begun} into the other store was started; finish that one, or use an empty store`,
    )
  // From here on it takes no bookings: a gateway that was suspended meanwhile would add what is not copied.
  await from.beginCopy(mark)
  let counts: ReadonlyMap<string, number>
  try {
    counts = await copyRows(from, to, tables, onProgress)
    // One that has started meanwhile writes what is not copied.
    await refuseLive()
  } catch (error) {
    // The other store still counts as half a copy, and so this one may be used again.
    await from.endCopy(await from.turnDay(0))
    throw error
  }
  await to.endCopy(await from.turnDay(0))
  return counts
}

async function copyRows(from: Store, to: Store, tables: readonly CopiedTable[], onProgress: (rows: number) => void) {
  let rows = 0
  for (const table of tables) {
    for await (const page of pages((last: CopiedRow | undefined) => from.rowsAfter(table, last))) {
      await to.addRows(table, page)
      rows += page.length
      onProgress(rows)
    }
  }
  const counts = new Map<string, number>()
  for (const table of tables) {
    const [source, target] = await Promise.all([sumOf(from, table), sumOf(to, table)])
    if (source.hash !== target.hash)
      throw new CommandFailed(
        `${table.name} differs: ${source.count} rows, and ${target.count} in the other store; start again with an empty one`,
      )
    counts.set(table.name, source.count)
    onProgress(rows)
  }
  return counts
}

async function sumOf(store: Store, table: CopiedTable) {
  const hash = createHash('sha256')
  let count = 0
  for await (const page of pages((last: CopiedRow | undefined) => store.rowsAfter(table, last))) {
    hash.update(JSON.stringify(page))
    count += page.length
  }
  return { count, hash: hash.digest('hex') }
}

/** Lists the problems that an operator has to solve. A backup is a copy on purpose. */
function problemsOf({ faults, origin }: Inspection, isStore: boolean, unrecorded: readonly string[]) {
  const copied = isStore ? originText(origin) : undefined
  return [
    ...faults.map((fault) => `damaged: ${fault}`),
    ...(copied === undefined ? [] : [copied]),
    ...unrecorded.map(
      (name) =>
        `${name}${name.startsWith('bk_') ? ' was made and' : ''} is not recorded; the next gateway to start records it`,
    ),
  ]
}

function inspectionLines(name: string, found: Inspection, unrecorded: readonly string[]): readonly string[] {
  const { version, programVersion, faults, rows, claims, id, origin, doubt: window } = found
  const older = version < programVersion ? `; the next gateway to start upgrades it to ${programVersion}` : ''
  const integrity = name === 'PostgreSQL' ? 'not checked here (pg_amcheck)' : faults.length === 0 ? 'ok' : 'damaged'
  const view = window && doubtView(window)
  const counted = (what: string, counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([name, count]) => [`${what} ${name}`, grouped(count)])
  return aligned([
    ['store', name],
    ...(id === undefined ? [] : [['id', id]]),
    ...(origin.kind === 'backup' ? [['backup of', isoTime(origin.at)]] : []),
    ['schema', `version ${version}${older}`],
    ['integrity', integrity],
    ['in doubt', view ? `since ${view.since}${view.until ? ` until ${view.until}` : ''}` : 'no'],
    ['emergency log', `${grouped(unrecorded.length)} bookings`],
    ...counted('bookings', claims),
    ...counted('rows of', rows),
  ])
}

const COUNT_CHARACTERS = 12
const countLine = (count: number, what: string) => `${grouped(count).padStart(COUNT_CHARACTERS)}  ${what}`

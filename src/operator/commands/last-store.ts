import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { type Config, DEFAULT_STORE } from '../../language/config/config.ts'
import { ConfigErrors, configurationErrors } from '../../language/config/errors.ts'
import { errorCodeOf } from '../../language/config/json-file.ts'
import { engineOf, pathOf } from '../../language/config/store-address.ts'
import { copyReads, MOVED } from '../../outside/store/copy.ts'
import { messageOf, openReader } from '../../outside/store/sqlite/connection.ts'
import { identity, isBehind, originOf, readStamp } from '../../outside/store/sqlite/stamp.ts'
import type { Store } from '../../outside/store/store.ts'
import { makeFolder } from '../../runtime/make-folder.ts'
import { originText } from '../../state/bookings/leases.ts'
import { unwritableReason } from '../../state/bookings/record.ts'
import { isSystemError } from './failures.ts'
import { memoryFile, mistakeOfStore } from './open-store.ts'

/*
 * A gateway that starts on another store than the one with its bookings would send them again. So an installation keeps a small file
 * beside the emergency log, its memory: which store it used last, and the newest booking seen in it. A start on a store that lacks that
 * booking is refused.
 */

const memory = z.object({
  /** The address without credentials. */
  store: z.string(),
  /** The handle of the newest booking. */
  newest: z.string().optional(),
  /** Of the embedded store, as the file beside it has it. */
  stamp: z.object({ id: z.string(), commits: z.number() }).optional(),
  /** The store that `--new-store` has declared. A start without that option forgets it. */
  declared: z.string().optional(),
})
type Memory = z.infer<typeof memory>

const KEEP_EVERY_MS = 10_000

function readMemory(place: Config): Memory | undefined {
  try {
    return memory.safeParse(JSON.parse(textOf(memoryFile(place)) ?? '')).data
  } catch {
    return undefined
  }
}

function writeMemory(place: Config, known: Memory): void {
  const file = memoryFile(place)
  const text = `${JSON.stringify(known)}\n`
  if (file === undefined || text === textOf(file)) return
  const next = `${file}.${process.pid}`
  try {
    writeFileSync(next, text, { mode: 0o600 })
    renameSync(next, file)
  } catch (error) {
    rmSync(next, { force: true })
    throw error
  }
}

const noMemory = (reason: string) =>
  `EMERGENCY_LOG_FILE cannot be written: ${reason}. The gateway records beside it which store it used last. Name a file in a folder that the gateway can write to, or set it to off to run without both`

/** Returns why the memory cannot be written; undefined if it can, or a gateway needs none. Makes nothing. */
export function mistakeOfMemory({ EMERGENCY_LOG_FILE: log, STORE_URL }: Config): string | undefined {
  if (log === undefined || engineOf(STORE_URL) === 'memory') return undefined
  // A pipe would be read until somebody writes to it, and some devices have no end.
  const isOther = () => existsSync(log) && !statSync(log).isFile()
  const reason = unwritableReason(log) ?? (isOther() ? `${log} is not a regular file` : undefined)
  return reason && noMemory(reason)
}

/** Makes the folder of the memory; throws `ConfigErrors` where that, or the place of the store, cannot be written. */
export function openMemory(config: Config): void {
  const mistakes = [mistakeOfStore(config.STORE_URL), mistakeOfMemory(config)].filter((one) => one !== undefined)
  if (mistakes.length > 0) throw new ConfigErrors(mistakes)
  const file = memoryFile(config)
  try {
    if (file !== undefined && engineOf(config.STORE_URL) !== 'memory') makeFolder(dirname(file))
  } catch (error) {
    throw new ConfigErrors([noMemory(messageOf(error))])
  }
}

/**
 * Reports whether `--new-store` declares the store of this start. It counts for one store: a unit keeps the option, and may name a third one
 * by mistake. After a start without it, it counts again.
 */
export function declaresStore(config: Config, isGiven: boolean): boolean {
  const last = readMemory(config)
  if (last?.declared === undefined) return isGiven
  if (!isGiven) writeMemory(config, { ...last, declared: undefined })
  return false
}

/** Returns the address of a store as an operator knows it, without what only a connection needs. */
export function storePlace(storeUrl: string): string {
  if (engineOf(storeUrl) === 'file') return resolve(pathOf(storeUrl))
  return (
    storeUrl
      .trim()
      .replace(/^postgres(ql)?:/i, 'postgres:')
      .replace(/[?#].*$/s, '')
      // Up to the last one: a password may have it, too.
      .replace(/\/\/[^/]*@/, '//')
  )
}

const stampOf = (storeUrl: string) => (engineOf(storeUrl) === 'file' ? readStamp(resolve(pathOf(storeUrl))) : undefined)

/** Reports whether an embedded store that is not open has such rows; false where there is none. */
function hasRows(path: string, rows: string): boolean {
  try {
    const db = new DatabaseSync(path, { readOnly: true })
    try {
      return db.prepare(`SELECT 1 FROM ${rows} LIMIT 1`).get() !== undefined
    } finally {
      db.close()
    }
  } catch {
    return false
  }
}

/** A booking that a store in doubt does not know is not sent. */
const isInDoubt = (path: string) => hasRows(path, `doubts WHERE until = 0 OR until > ${Date.now()}`)

/** Returns why a start would refuse an embedded store, as far as its files show it; undefined for any other. Changes nothing. */
export function refusalAhead(config: Config): string | undefined {
  const { STORE_URL } = config
  const path = storePlace(STORE_URL)
  if (engineOf(STORE_URL) !== 'file') return undefined
  try {
    refuseOldFolder(config)
    if (existsSync(path)) {
      const { db, session } = openReader(path)
      const marked = copyText(session.run(copyReads.copiedFrom()))
      const origin = originText(originOf(session.run(identity(), Date.now()), readStamp(path)))
      db.close()
      if (marked !== undefined || isInDoubt(path)) return marked
      if (origin !== undefined) return origin
    }
  } catch (error) {
    // What is no store is told elsewhere.
    return configurationErrors(error)?.[0] ?? (isSystemError(error) ? messageOf(error) : undefined)
  }
  const last = readMemory(config)
  const rows = (table: string) => `${table} WHERE handle = '${last?.newest?.replaceAll("'", "''")}'`
  const isKnown = hasRows(path, rows('claims')) || hasRows(path, rows('old_trails'))
  return lackOf(config, last, isKnown, !hasRows(path, 'claims'))
}

/**
 * Refuses an embedded store whose folder is an older one than that of the last time. This is seen before the store is opened, which
 * counts on.
 */
export function refuseOldFolder(config: Config): void {
  const last = readMemory(config)
  const { STORE_URL } = config
  if (!last?.stamp || engineOf(STORE_URL) !== 'file' || last.store !== storePlace(STORE_URL)) return
  const stamp = stampOf(STORE_URL)
  if (!stamp || (stamp.id === last.stamp.id && !isBehind(stamp.commits, last.stamp.commits))) return
  if (isInDoubt(last.store)) return
  throw refused("the store's folder is not the one that this installation used last, or is an older copy of it", last)
}

function refused(why: string, last: Memory | undefined): ConfigErrors {
  const remedies =
    last?.declared === undefined
      ? REMEDIES
      : `"--new-store" has declared ${last.declared}, and applies to one store: after a start without it, ${REMEDIES}`
  return new ConfigErrors([`${why}. ${remedies}`])
}

/** Returns what the mark of a copy says of a store. */
function copyText(from: string | undefined): string | undefined {
  if (from?.startsWith(MOVED))
    return `the store was copied to ${from.slice(MOVED.length)}, which replaces it; if that copy was interrupted, run it again`
  return from && `a copy of ${from} into the store did not finish; run it again`
}

/** Returns why a gateway must not start on a store; undefined if it may. */
async function wrongStore(store: Store, config: Config, last: Memory | undefined): Promise<string | undefined> {
  const marked = copyText(await store.copiedFrom())
  if (marked !== undefined) return marked
  // A booking that such a store does not know is not sent.
  if ((await store.doubt()) !== undefined) return undefined
  const copied = originText(await store.origin())
  if (copied !== undefined) return copied
  // A key that is booked again has another handle, and the trail of both.
  const isKnown = last?.newest !== undefined && (await store.audit(last.newest)).length > 0
  return lackOf(config, last, isKnown, (await newestIn(store)) === undefined)
}

/** Returns what a store lacks that this installation had; undefined if nothing. */
function lackOf(
  config: Config,
  last: Memory | undefined,
  isNewestKnown: boolean,
  isEmpty: boolean,
): string | undefined {
  const place = storePlace(config.STORE_URL)
  if (last?.newest !== undefined) {
    if (isNewestKnown) return undefined
    if (last.store === place) return `the store ${place} lacks bookings that it had when this installation used it last`
    return `the store ${place} lacks bookings of ${last.store}, which this installation used before: "transload store copy" takes them over`
  }
  const file = memoryFile(config)
  if (!last && isEmpty && textOf(file) !== undefined)
    return `${file}, which says which store this installation used, cannot be read, and the store ${place} has no bookings`
  const byDefault = storePlace(DEFAULT_STORE)
  if (!isEmpty || last?.store === place || byDefault === place || !hasRows(byDefault, 'claims')) return undefined
  return `the store ${place} is empty, and ${byDefault}, which this installation used before, has bookings: "transload store copy" takes them over`
}

async function newestIn(store: Store): Promise<string | undefined> {
  const [newest] = await store.listClaims({ limit: 1, newest: true })
  return newest?.handle
}

/**
 * Refuses a store that may lack bookings, unless an operator has said that it is meant, or has declared a doubt; then keeps what the
 * next start has to know, until it is closed.
 */
export async function keepStore(
  store: Store,
  config: Config,
  isMeant: boolean,
  onUnwritable: (error: unknown) => void,
) {
  const { STORE_URL } = config
  if (store.engine === 'memory') return store
  const last = readMemory(config)
  const place = storePlace(STORE_URL)
  if (isMeant) {
    // A doubt that an operator has declared stays: trust would end it.
    if ((await store.doubt()) === undefined && (await store.origin()).kind !== 'own') await store.trust()
    if ((await store.copiedFrom()) !== undefined) await store.endCopy(await store.turnDay(0))
  } else {
    const wrong = await wrongStore(store, config, last)
    if (wrong !== undefined) throw refused(wrong, last)
  }
  let known: Memory = { store: place, newest: last?.newest, declared: isMeant ? place : last?.declared }
  let onFailure = (error: unknown): void => {
    throw new ConfigErrors([noMemory(messageOf(error))])
  }
  function write() {
    try {
      known = { ...known, stamp: stampOf(STORE_URL) }
    } catch {
      // The next time, it may be readable.
    }
    try {
      writeMemory(config, known)
    } catch (error) {
      onFailure(error)
    }
  }
  async function keep() {
    // A store that is down has what it had.
    known = { ...known, newest: await newestIn(store).catch(() => known.newest) }
    write()
  }
  await keep()
  // Later on it is told once.
  onFailure = (error) => {
    onFailure = () => {}
    onUnwritable(error)
  }
  const keeping = setInterval(keep, KEEP_EVERY_MS).unref()
  return {
    /** Closes the store, too. */
    async close() {
      clearInterval(keeping)
      await keep()
      await store.close()
      // The store has stamped itself.
      write()
    },
  }
}

const REMEDIES =
  '"transload serve --new-store" starts with it as it is; after "transload store doubt --since TIME", bookings that it does not know become Unknown and are not sent'

/** Returns the text of a file; undefined if there is none, and an empty text if it cannot be read. */
function textOf(file: string | undefined): string | undefined {
  try {
    return file && readFileSync(file, 'utf8')
  } catch (error) {
    return errorCodeOf(error) === 'ENOENT' ? undefined : ''
  }
}

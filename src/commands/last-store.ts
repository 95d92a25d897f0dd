import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { originText } from '../bookings/doubts.ts'
import { type Config, DEFAULT_STORE } from '../config/config.ts'
import { ConfigErrors } from '../config/errors.ts'
import { MOVED } from '../store/copy.ts'
import { pathOf } from '../store/open.ts'
import { isBehind, readStamp } from '../store/sqlite/stamp.ts'
import type { Store } from '../store/store.ts'
import { engineOf } from './open-store.ts'

/*
 * A gateway that starts on another store than the one with its bookings would send them again. So an installation keeps a small file
 * beside the emergency log, which says what store it used last, and a start on an empty or older one is refused.
 */

const lastStore = z.object({
  /** The address without credentials. */
  store: z.string(),
  hasBookings: z.boolean(),
  /** Of the embedded store, as the file beside it has it. */
  stamp: z.object({ id: z.string(), commits: z.number() }).optional(),
})
type LastStore = z.infer<typeof lastStore>

const KEEP_EVERY_MS = 10_000

const fileOf = (emergencyLog: string) => `${emergencyLog}.store`

function readLast(file: string): LastStore | undefined {
  try {
    return lastStore.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data
  } catch {
    return undefined
  }
}

/** Returns the address of a store as an operator knows it, without what only a connection needs. */
export function placeOf(storeUrl: string): string {
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

async function hasBookings(store: Pick<Store, 'listClaims'>): Promise<boolean> {
  return (await store.listClaims({ limit: 1 })).length > 0
}

/** Tells if an embedded store that is not open has such rows; false where there is none. */
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

/**
 * Refuses an embedded store whose folder is an older one than that of the last time. This is seen before the store is opened, which
 * counts on.
 */
export function refuseOldFolder({ STORE_URL, EMERGENCY_LOG_FILE }: Config): void {
  const last = readLast(fileOf(EMERGENCY_LOG_FILE))
  if (!last?.stamp || engineOf(STORE_URL) !== 'file' || last.store !== placeOf(STORE_URL)) return
  const stamp = stampOf(STORE_URL)
  if (!stamp || (stamp.id === last.stamp.id && !isBehind(stamp.commits, last.stamp.commits))) return
  if (hasRows(last.store, `doubts WHERE until = 0 OR until > ${Date.now()}`)) return
  throw refused('the folder of the store is not the one that this installation used last, or an older copy of it')
}

const refused = (why: string) => new ConfigErrors([`${why}. ${REMEDIES}`])

/** Returns why a gateway must not start on a store; undefined if it may. */
async function wrongStore(store: Store, { STORE_URL, EMERGENCY_LOG_FILE }: Config): Promise<string | undefined> {
  const from = await store.copiedFrom()
  if (from?.startsWith(MOVED)) return `the store was copied to ${from.slice(MOVED.length)}, which is used in its place`
  if (from !== undefined) return `a copy of ${from} into the store has not ended; run it again`
  const copied = originText(await store.origin())
  if (copied !== undefined) return copied
  const place = placeOf(STORE_URL)
  const last = readLast(fileOf(EMERGENCY_LOG_FILE))
  if (await hasBookings(store)) return undefined
  const byDefault = placeOf(DEFAULT_STORE)
  const other = last?.hasBookings
    ? last.store
    : last?.store !== place && byDefault !== place && hasRows(byDefault, 'claims')
      ? byDefault
      : undefined
  if (other === undefined) return undefined
  return other === place
    ? `the store ${place} is empty, and had bookings when this installation used it last`
    : `the store ${place} is empty, and ${other}, which this installation used before, has bookings: "transload store copy" takes them over`
}

/** Keeps what the next start has to know of a store, until it is closed. */
interface KeptStore {
  /** Closes the store. */
  readonly close: () => Promise<void>
}

interface KeepOptions {
  /** True if an operator says that the store is the right one. */
  readonly isMeant: boolean
  readonly onUnwritable: (error: unknown) => void
}

/**
 * Refuses a store that may lack bookings, unless an operator has said that it is meant, or has declared a doubt; then keeps what the
 * next start has to know. A store that does not answer yet is looked at once it does.
 */
export async function keepStore(
  store: Store,
  config: Config,
  { isMeant, onUnwritable }: KeepOptions,
): Promise<KeptStore> {
  const { STORE_URL, EMERGENCY_LOG_FILE } = config
  if (store.engine === 'memory') return store
  while (!store.ready()) await delay(READY_EVERY_MS, undefined, { ref: false })
  // A doubt that an operator has declared stays: trust would end it.
  if ((await store.doubt()) === undefined) {
    const wrong = isMeant ? undefined : await wrongStore(store, config)
    if (wrong !== undefined) throw refused(wrong)
    if (isMeant && (await store.origin()).kind !== 'own') await store.trust()
    if (isMeant && (await store.copiedFrom()) !== undefined) await store.endCopy(await store.turnDay(0))
  }
  const file = fileOf(EMERGENCY_LOG_FILE)
  let isWritable = true
  const last = isMeant ? undefined : readLast(file)
  const place = placeOf(STORE_URL)
  let known: LastStore = { store: place, hasBookings: last?.store === place && last.hasBookings }
  function write() {
    known = { ...known, stamp: stampOf(STORE_URL) }
    const text = `${JSON.stringify(known)}\n`
    if (text === textOf(file)) return
    const next = `${file}.${process.pid}`
    try {
      writeFileSync(next, text, { mode: 0o600 })
      renameSync(next, file)
    } catch (error) {
      rmSync(next, { force: true })
      if (isWritable) onUnwritable(error)
      isWritable = false
    }
  }
  async function keep() {
    // A store that is down has what it had.
    if (!known.hasBookings) known = { ...known, hasBookings: await hasBookings(store).catch(() => false) }
    write()
  }
  await keep()
  const keeping = setInterval(keep, KEEP_EVERY_MS).unref()
  return {
    async close() {
      clearInterval(keeping)
      await keep()
      await store.close()
      // The store has stamped itself.
      write()
    },
  }
}

const READY_EVERY_MS = 100
const REMEDIES =
  '"transload serve --new-store" starts with it as it is; after "transload store doubt --since TIME" bookings that it does not know are Unknown, and not sent'

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

import { createBoundedCache } from '../collections/bounded-cache.ts'
import type { Logger } from '../observe/log.ts'
import type { Store } from '../store/store.ts'

/** A use is noted once in this time for each name. */
const NOTED_FOR_MS = 86_400_000
/** The most names whose use is remembered as noted. */
const MAX_NOTED = 10_000

/** Notes that old names and ids are still used. */
export type NoteUse = (tenant: string, at: number, names: () => readonly string[]) => void

/**
 * Notes the use of names and ids that are older than half of the time for which they are kept; the use of younger ones keeps
 * nothing. No call waits for it, and a note that is lost is made again at the next use after a restart or a day.
 */
export function createNoteUse(store: Pick<Store, 'noteUses' | 'now'>, keepMs: number, log: Logger): NoteUse {
  const noted = createBoundedCache<string, true>(MAX_NOTED, { ttl: NOTED_FOR_MS })
  return (tenant, at, names) => {
    if (store.now() - at < keepMs / 2) return
    const fresh = names().filter((name) => !noted.has(JSON.stringify([tenant, name])))
    if (fresh.length === 0) return
    for (const name of fresh) noted.set(JSON.stringify([tenant, name]), true)
    store
      .noteUses(tenant, fresh)
      .catch((err: unknown) => log.warn({ err }, 'the use of old numbers could not be noted'))
  }
}

import { createCache, thingKey } from '../cache.ts'
import type { Thing } from '../store.ts'

/** A payload of NOTIFY has fewer than 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7_900
/** The payload after which anything may have changed. */
export const ALL_CHANGED = '*'
const KEY_SEPARATOR = '\n'

/** Gets and sets one cache entry. */
export interface CacheEntry<T> {
  get(): T | undefined
  set(found: T): void
}

/** Creates a cache that change notifications keep consistent; one may arrive before the result of an older read. */
export function createNotifiedCache(bytes: number | undefined) {
  const cache = createCache(bytes)
  /** The latest running read of each key; a notification removes it, and its result is not cached. */
  const reading = new Map<string, symbol>()

  function drop(key: string): void {
    reading.delete(key)
    cache.drop(key)
  }

  function dropAll(): void {
    reading.clear()
    cache.clear()
  }

  return {
    drop,
    dropAll,
    lookups: cache.lookups,
    /** Drops the keys of a change notification. */
    notified(payload: string): void {
      if (payload === ALL_CHANGED) dropAll()
      else payload.split(KEY_SEPARATOR).forEach(drop)
    },
    async read<T>(key: string, { get, set }: CacheEntry<T>, ask: () => Promise<T>): Promise<T> {
      const found = get()
      if (found !== undefined) return found
      const mark = Symbol(key)
      reading.set(key, mark)
      try {
        const fresh = await ask()
        if (reading.get(key) === mark) set(fresh)
        return fresh
      } finally {
        if (reading.get(key) === mark) reading.delete(key)
      }
    },
    thingEntry: (tenant: string, id: string): CacheEntry<Thing | undefined> => ({
      get: () => cache.thing(tenant, id),
      set: (thing) => thing && cache.keepThing(thing),
    }),
  }
}

/** Returns the payloads of a write's change notifications: the written keys, in as few payloads as possible. */
export function notificationsOf(things: readonly Pick<Thing, 'tenant' | 'id'>[]): readonly string[] {
  const keys = new Set(things.map(({ tenant, id }) => thingKey(tenant, id)))
  const payloads: string[] = []
  let payload = ''
  for (const key of keys) {
    if (key.includes(KEY_SEPARATOR) || Buffer.byteLength(key) > MAX_PAYLOAD_BYTES) return [ALL_CHANGED]
    const longer = payload === '' ? key : payload + KEY_SEPARATOR + key
    if (Buffer.byteLength(longer) <= MAX_PAYLOAD_BYTES) payload = longer
    else {
      payloads.push(payload)
      payload = key
    }
  }
  return payload === '' ? payloads : [...payloads, payload]
}

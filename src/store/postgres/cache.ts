import { createCache, thingKey } from '../cache.ts'
import type { Thing } from '../store.ts'

/** A payload of NOTIFY has fewer than 8,000 bytes. */
const MOST_NEWS_BYTES = 7_900
/** Says that anything may have changed. */
export const ALL_NEWS = '*'
const NEWS_SEPARATOR = '\n'

/** How one kind of answer is found in the cache, and kept there. */
export interface Entry<T> {
  known(): T | undefined
  keep(found: T): void
}

/** A cache that is kept right by news of what was written, which may come before the answer to an older read. */
export function createNewsCache(bytes: number | undefined) {
  const cache = createCache(bytes)
  /** The latest read under way of each key; news of the key removes it, so that what it read is not kept. */
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
    /** Drops what news say was written. */
    hear(payload: string): void {
      if (payload === ALL_NEWS) dropAll()
      else payload.split(NEWS_SEPARATOR).forEach(drop)
    },
    async read<T>(key: string, { known, keep }: Entry<T>, ask: () => Promise<T>): Promise<T> {
      const found = known()
      if (found !== undefined) return found
      const mark = Symbol(key)
      reading.set(key, mark)
      try {
        const fresh = await ask()
        if (reading.get(key) === mark) keep(fresh)
        return fresh
      } finally {
        if (reading.get(key) === mark) reading.delete(key)
      }
    },
    thingEntry: (tenant: string, id: string): Entry<Thing | undefined> => ({
      known: () => cache.thing(tenant, id),
      keep: (thing) => thing && cache.keepThing(thing),
    }),
  }
}

/** What a write tells the other gateways: the keys of what it wrote, in as few notices as hold them. */
export function newsOf(things: readonly Thing[]): readonly string[] {
  const keys = new Set(things.map(({ tenant, id }) => thingKey(tenant, id)))
  const payloads: string[] = []
  let payload = ''
  for (const key of keys) {
    if (key.includes(NEWS_SEPARATOR) || Buffer.byteLength(key) > MOST_NEWS_BYTES) return [ALL_NEWS]
    const longer = payload === '' ? key : payload + NEWS_SEPARATOR + key
    if (Buffer.byteLength(longer) <= MOST_NEWS_BYTES) payload = longer
    else {
      payloads.push(payload)
      payload = key
    }
  }
  return payload === '' ? payloads : [...payloads, payload]
}

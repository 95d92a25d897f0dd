import { LRUCache } from 'lru-cache'

/**
 * Makes a cache of the most recently used entries. Its memory grows with them: with `max`, lru-cache would allocate the memory for all
 * entries at once.
 */
export function createBoundedCache<Key extends {}, Value extends {}>(
  entries: number,
  options: { readonly ttl?: number; readonly ttlResolution?: number; readonly noUpdateTTL?: boolean } = {},
): LRUCache<Key, Value> {
  return new LRUCache({ ...options, maxSize: entries, sizeCalculation: one })
}

const one = () => 1

/** An item of a list, and its current index. */
export interface ListItem<T> {
  readonly item: T
  place: number
}

/** A collection without an order. */
export interface UnorderedList<T> {
  readonly add: (item: T) => ListItem<T>
  /** Removes an item. Removing it again does nothing. */
  readonly take: (held: ListItem<T>) => void
  readonly size: () => number
  /** Returns a copy of the current items, so items may be removed while it is read. */
  readonly items: () => readonly T[]
}

const OUT = -1

/**
 * Makes a list for items that come and go with every call. A `Set` or a `Map` would leak for a while: V8 replaces its table every few dozen
 * changes, and each old table points to the next. Once one is in the old generation, it keeps all later tables and their items until the
 * next full collection: 40 MB of garbage per second under load (docs/architecture.md).
 */
export function createUnorderedList<T>(): UnorderedList<T> {
  const all: ListItem<T>[] = []
  return {
    add: (item) => {
      const held = { item, place: all.length }
      all.push(held)
      return held
    },
    take: (held) => {
      const { place } = held
      if (place === OUT) return
      held.place = OUT
      const last = all.pop()
      if (!last || last === held) return
      all[place] = last
      last.place = place
    },
    size: () => all.length,
    items: () => all.map(({ item }) => item),
  }
}

/** Runs work with the same key in sequence, and with different keys concurrently. */
type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>

/** Creates a mutex that forgets a key once its queue is empty. */
export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const run = (tails.get(key) ?? Promise.resolve()).then(work, work)
    tails.set(key, run)
    try {
      return await run
    } finally {
      if (tails.get(key) === run) tails.delete(key)
    }
  }
}

/** The longest wait for more items. */
const GATHER_MS = 5

/** Calls `then` once a turn of the event loop adds no item to a list, so that items that come together share one cost. */
export function afterGathering(items: { readonly length: number }, then: () => void): void {
  const until = performance.now() + GATHER_MS
  let gathered = 0
  const look = (): void => {
    if (items.length === gathered || performance.now() > until) then()
    else {
      gathered = items.length
      setImmediate(look)
    }
  }
  setImmediate(look)
}

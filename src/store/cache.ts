import { LRUCache } from 'lru-cache'
import type { CacheLookups, Link, Thing } from './store.ts'

/** The default size of a cache, in bytes. */
const DEFAULT_CACHE_BYTES = 16 * 1024 * 1024

/** The approximate size of an entry's map, list and objects besides their text, in bytes. */
const ENTRY_BYTES = 300
const RECORD_BYTES = 150

/**
 * Holds links and things that were read lately, never that something is absent. Its owner drops every written key before
 * the write is acknowledged.
 */
export interface Cache {
  /**
   * Returns an entry, if there is one. `isCurrent` is asked only then; false: it may be out of date, and is not returned.
   */
  links(tenant: string, name: string, isCurrent?: () => boolean): readonly Link[] | undefined
  keepLinks(tenant: string, name: string, links: readonly Link[]): void
  thing(tenant: string, id: string, isCurrent?: () => boolean): Thing | undefined
  keepThing(thing: Thing): void
  /** Drops the entry of a `linksKey` or `thingKey`. */
  drop(key: string): void
  clear(): void
  lookups(): CacheLookups
}

/** Creates a cache of this size; one of 0 bytes keeps nothing. */
export function createCache(bytes: number = DEFAULT_CACHE_BYTES): Cache {
  const sized = { maxSize: Math.max(1, bytes) }
  // One budget for both: their shares depend on what callers ask for.
  const entries = new LRUCache<string, readonly Link[] | Thing>(sized)
  const count = { hits: 0, misses: 0 }
  const counted = <T>(found: T | undefined, isCurrent: () => boolean): T | undefined => {
    const current = found !== undefined && isCurrent() ? found : undefined
    if (current === undefined) count.misses += 1
    else count.hits += 1
    return current
  }

  return {
    links(tenant, name, isCurrent = always) {
      const found = entries.get(linksKey(tenant, name))
      return counted(Array.isArray(found) ? found : undefined, isCurrent)
    },
    keepLinks(tenant, name, links) {
      if (links.length === 0) return
      const size = links.reduce((sum, link) => sum + RECORD_BYTES + textBytes(link), ENTRY_BYTES + name.length)
      entries.set(linksKey(tenant, name), links, { size })
    },
    thing(tenant, id, isCurrent = always) {
      const found = entries.get(thingKey(tenant, id))
      return counted(found && 'own' in found ? found : undefined, isCurrent)
    },
    keepThing(thing) {
      const facts = Object.entries(thing.facts ?? {})
      const factBytes = facts.reduce((sum, [name, value]) => sum + name.length + String(value).length + 32, 0)
      const size = ENTRY_BYTES + RECORD_BYTES + textBytes(thing) + factBytes
      entries.set(thingKey(thing.tenant, thing.id), thing, { size })
    },
    drop(key) {
      entries.delete(key)
    },
    clear() {
      entries.clear()
    },
    lookups: () => count,
  }
}

const always = () => true

/** Returns the cache key of a name. The tenant's length comes first, and two pairs of tenant and name never collide. */
export function linksKey(tenant: string, name: string): string {
  return `l${tenant.length}:${tenant}${name}`
}

/** Returns the cache key of a thing; its letter keeps it apart from a name's. */
export function thingKey(tenant: string, id: string): string {
  return `t${tenant.length}:${tenant}${id}`
}

function textBytes(record: object): number {
  return Object.values(record).reduce((sum, value) => sum + (typeof value === 'string' ? value.length + 16 : 8), 0)
}

import { LRUCache } from 'lru-cache'
import type { Link, Thing } from './store.ts'

/** How much memory a cache takes unless told, in bytes. */
const DEFAULT_CACHE_BYTES = 16 * 1024 * 1024

/** About what the map, the list and the objects of one entry weigh beside their text, in bytes. */
const ENTRY_BYTES = 300
const RECORD_BYTES = 150

/**
 * Links and things that were read lately. It holds only what the store has said, never that something is absent, and
 * must be told of every write: whoever owns it drops what was written before anybody hears that it was.
 */
export interface Cache {
  links(tenant: string, name: string): readonly Link[] | undefined
  keepLinks(tenant: string, name: string, links: readonly Link[]): void
  thing(tenant: string, id: string): Thing | undefined
  keepThing(thing: Thing): void
  /** Drops what a key of `linksKey` or `thingKey` stands for. */
  drop(key: string): void
  clear(): void
}

/** Makes a cache that holds so many bytes; with 0 it keeps nothing. */
export function createCache(bytes: number = DEFAULT_CACHE_BYTES): Cache {
  const sized = { maxSize: Math.max(1, bytes) }
  // One budget for both, since which of them is asked for more depends on the caller's habits.
  const entries = new LRUCache<string, readonly Link[] | Thing>(sized)

  return {
    links(tenant, name) {
      const found = entries.get(linksKey(tenant, name))
      return Array.isArray(found) ? found : undefined
    },
    keepLinks(tenant, name, links) {
      if (links.length === 0) return
      const size = links.reduce((sum, link) => sum + RECORD_BYTES + textBytes(link), ENTRY_BYTES + name.length)
      entries.set(linksKey(tenant, name), links, { size })
    },
    thing(tenant, id) {
      const found = entries.get(thingKey(tenant, id))
      return found && 'own' in found ? found : undefined
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
  }
}

/** The tenant's length stands first, so that no tenant and name run together into another's. */
export function linksKey(tenant: string, name: string): string {
  return `l${tenant.length}:${tenant}${name}`
}

/** The same for a thing; its letter keeps the two apart. */
export function thingKey(tenant: string, id: string): string {
  return `t${tenant.length}:${tenant}${id}`
}

function textBytes(record: object): number {
  return Object.values(record).reduce((sum, value) => sum + (typeof value === 'string' ? value.length + 16 : 8), 0)
}

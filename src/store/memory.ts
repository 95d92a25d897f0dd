import { isSameThing } from '../text/service-text.ts'
import { changed, claimReason, isFree, LIST_LIMIT, newlyClaimed, orphaning } from './claim.ts'
import { createMemoryDoubts } from './doubt.ts'
import { compareBytes, compareKeys } from './key-order.ts'
import { createLocks } from './locks.ts'
import { createMemoryEvents } from './memory-events.ts'
import { createMemoryPruning, newMemoryTables } from './memory-pruning.ts'
import { createMemoryScoreboard } from './memory-scoreboard.ts'
import type { StoreOptions } from './state.ts'
import { withTextChecks } from './storable-text.ts'
import {
  type AuditEntry,
  type Claim,
  type ClaimChange,
  type Link,
  type LinkKey,
  type LoadResult,
  type NewLink,
  type Store,
  StoreDown,
  type XrefWrite,
} from './store.ts'

/** The number of links in a page of a scan. */
const SCAN_PAGE = 1_000

export interface MemoryStoreOptions extends Pick<StoreOptions, 'now'> {
  /**
   * The clock of leases, in milliseconds.
   * @default performance.now
   */
  readonly monotonicNow?: () => number
}

/** Creates a store that ends with the process: for tests, and as the model of the other engines. */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const { now = Date.now, monotonicNow = () => performance.now() } = options
  const tables = newMemoryTables()
  const { linksOf, things, claims, byHandle, audits, renewals } = tables
  let open = true

  function checkOpen(): void {
    if (!open) throw new StoreDown('The store is closed.')
  }

  function linksAt(tenant: string, name: string): readonly Link[] {
    return linksOf.get(tenant)?.get(name) ?? []
  }

  function existing(link: LinkKey): Link | undefined {
    return linksAt(link.tenant, link.name).find((other) => sameKey(other, link))
  }

  /** Inserts a link before the others of its name that come later in the order of `links`. */
  function insert(link: Link): void {
    const others = linksAt(link.tenant, link.name).filter((other) => !sameKey(other, link))
    const next = others.findIndex((other) => compareBytes(link.givenBy, other.givenBy) < 0 || isNewer(link, other))
    const list = others.toSpliced(next === -1 ? others.length : next, 0, link)
    innerMap(linksOf, link.tenant).set(link.name, list)
  }

  function put({ links, thing }: XrefWrite): void {
    const at = now()
    for (const link of links) {
      const asked = link.at ?? at
      insert({ ...link, at: Math.max(asked, existing(link)?.at ?? asked) })
    }
    if (thing) innerMap(things, thing.tenant).set(thing.id, { ...thing, at })
  }

  function everyClaim(): Claim[] {
    return [...claims.values()].flatMap((ofTenant) => [...ofTenant.values()]).sort(byAge)
  }

  function record(claim: Claim, from: AuditEntry['from'], why: string): Claim {
    const before = claims.get(claim.tenant)?.get(claim.key)
    if (before) byHandle.delete(before.handle)
    byHandle.set(claim.handle, claim)
    innerMap(claims, claim.tenant).set(claim.key, claim)
    const entry = { at: claim.changedAt, from, to: claim.state, instance: claim.instance, why }
    audits.set(claim.handle, [...(audits.get(claim.handle) ?? []), entry])
    return claim
  }

  function apply(claim: Claim, change: ClaimChange): Claim {
    return record(changed(claim, change, now()), claim.state, change.why)
  }

  // One process alone has this store: its queue of work is the lock.
  const locks = createLocks({ takeLock: async () => true, dropLock: async () => {} }, 'this process')

  return withTextChecks({
    ...createMemoryScoreboard(checkOpen),
    engine: 'memory',
    ready: () => open,
    now,
    async close() {
      open = false
    },

    async put(write) {
      checkOpen()
      put(write)
    },
    async unlink(links) {
      checkOpen()
      let dropped = 0
      for (const link of links) {
        if (existing(link)?.id !== link.id) continue
        const others = linksAt(link.tenant, link.name).filter((other) => !sameKey(other, link))
        innerMap(linksOf, link.tenant).set(link.name, others)
        dropped += 1
      }
      return dropped
    },
    async links(tenant, name) {
      checkOpen()
      return linksAt(tenant, name)
    },
    async thing(tenant, id) {
      checkOpen()
      return things.get(tenant)?.get(id)
    },
    async forget(olderThanMs) {
      checkOpen()
      const until = now() - olderThanMs
      let dropped = 0
      for (const ofTenant of things.values()) {
        for (const [id, thing] of ofTenant) {
          if (thing.facts === null || thing.at >= until) continue
          ofTenant.set(id, { ...thing, facts: null })
          dropped += 1
        }
      }
      return dropped
    },
    async load(links, options): Promise<LoadResult> {
      checkOpen()
      const at = now()
      let written = 0
      let same = 0
      const conflicts: { asked: NewLink; found: Link }[] = []
      for (const asked of links) {
        const found = existing(asked)
        if (found?.id === asked.id) {
          same += 1
        } else if (found && !options.replace) {
          conflicts.push({ asked, found })
        } else {
          insert({ ...asked, at: asked.at ?? at })
          written += 1
        }
      }
      return { written, same, conflicts }
    },
    async *scan(options) {
      checkOpen()
      const { tenant, after } = options
      const tenants = tenant === undefined ? [...linksOf.keys()] : [tenant]
      const sorted = tenants
        .flatMap((one) => [...(linksOf.get(one)?.values() ?? [])].flat())
        .filter((link) => !after || compareKeys(link, after) > 0)
        .sort(compareKeys)
      for (let from = 0; from < sorted.length; from += SCAN_PAGE) yield sorted.slice(from, from + SCAN_PAGE)
    },

    async claim(wanted) {
      checkOpen()
      const at = now()
      const before = claims.get(wanted.tenant)?.get(wanted.key)
      if (before && !isFree(before, at)) return { won: false, claim: before }
      const holder = byHandle.get(wanted.handle)
      if (holder && holder !== before) throw new Error(`The handle ${wanted.handle} is taken.`)
      return {
        won: true,
        claim: record(newlyClaimed(wanted, before, at), before?.state ?? 'none', claimReason(wanted)),
      }
    },
    async change(claim, change, names) {
      checkOpen()
      if (names) put(names)
      const before = claims.get(claim.tenant)?.get(claim.key)
      return before?.version === claim.version ? apply(before, change) : undefined
    },
    async findClaim(tenant, key) {
      checkOpen()
      return claims.get(tenant)?.get(key)
    },
    async claimByHandle(handle) {
      checkOpen()
      return byHandle.get(handle)
    },
    async claimsOfShipment(tenant, shipment) {
      checkOpen()
      return everyClaim().filter((claim) => claim.tenant === tenant && isSameThing(claim.shipment, shipment))
    },
    async listClaims({ state, tenant, limit = LIST_LIMIT, newest = false }) {
      checkOpen()
      const fits = (claim: Claim) => (state ?? claim.state) === claim.state && (tenant ?? claim.tenant) === claim.tenant
      const found = everyClaim().filter(fits)
      return (newest ? found.reverse() : found).slice(0, limit)
    },
    async audit(handle) {
      checkOpen()
      return audits.get(handle) ?? []
    },
    async renewLease(instance, maxAgeMs) {
      checkOpen()
      const before = renewals.get(instance)
      renewals.set(instance, monotonicNow())
      return before !== undefined && monotonicNow() - before < maxAgeMs
    },
    async endLease(instance) {
      checkOpen()
      renewals.delete(instance)
    },
    async orphanClaims(silentForMs, by) {
      checkOpen()
      const alive = (instance: string) => {
        const renewed = renewals.get(instance)
        return renewed !== undefined && monotonicNow() - renewed < silentForMs
      }
      return everyClaim()
        .filter((claim) => claim.state === 'sending' && !alive(claim.instance))
        .map((claim) => apply(claim, orphaning(claim, by)))
    },
    async exclusive(key, waitMs, work) {
      checkOpen()
      return locks.exclusive(key, waitMs, work)
    },
    ...createMemoryDoubts(now, checkOpen),
    ...createMemoryEvents(now, checkOpen),
    ...createMemoryPruning(tables, { now, monotonicNow }, checkOpen),
  })
}

function innerMap<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const found = maps.get(key)
  if (found) return found
  const made = new Map<string, V>()
  maps.set(key, made)
  return made
}

const sameKey = (one: LinkKey, other: LinkKey) =>
  one.kind === other.kind && one.vin === other.vin && one.givenBy === other.givenBy

/** Tells if a link that is written now comes before one that exists. */
const isNewer = (written: Link, other: Link) => written.givenBy === other.givenBy && written.at >= other.at

const byAge = (one: Claim, other: Claim) => one.createdAt - other.createdAt || compareBytes(one.handle, other.handle)

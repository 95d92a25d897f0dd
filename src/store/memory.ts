import { CLAIMED, changed, isFree, LIST_LIMIT, newlyClaimed, orphaning } from './claim.ts'
import { compareBytes, compareKeys } from './key-order.ts'
import { withTextChecks } from './storable-text.ts'
import {
  type AuditEntry,
  type Claim,
  type ClaimChange,
  type Link,
  type LoadResult,
  type Store,
  StoreDown,
  type Thing,
} from './store.ts'

/** How many links a page of a scan has. */
const SCAN_PAGE = 1_000

/** Creates a store that ends with the process: for tests, and as the model of the other engines. */
export function createMemoryStore(): Store {
  const linksOf = new Map<string, Map<string, readonly Link[]>>()
  const things = new Map<string, Map<string, Thing>>()
  const claims = new Map<string, Map<string, Claim>>()
  const byHandle = new Map<string, Claim>()
  const audits = new Map<string, readonly AuditEntry[]>()
  const beats = new Map<string, number>()
  let open = true

  function checkOpen(): void {
    if (!open) throw new StoreDown('The store is closed.')
  }

  function linksAt(tenant: string, name: string): readonly Link[] {
    return linksOf.get(tenant)?.get(name) ?? []
  }

  /** Inserts a link before the others of its name that are as old or older. */
  function place(link: Link): void {
    const others = linksAt(link.tenant, link.name).filter((other) => !sameLink(other, link))
    const behind = others.findIndex((other) => other.at <= link.at)
    const list = others.toSpliced(behind === -1 ? others.length : behind, 0, { ...link })
    innerMap(linksOf, link.tenant).set(link.name, list)
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
    return record(changed(claim, change), claim.state, change.why)
  }

  return withTextChecks({
    engine: 'memory',
    ready: () => open,
    async close() {
      open = false
    },

    async put(write) {
      checkOpen()
      for (const link of write.links) {
        const stored = linksAt(link.tenant, link.name).find((other) => sameLink(other, link))
        place({ ...link, at: Math.max(link.at, stored?.at ?? link.at) })
      }
      if (write.thing) innerMap(things, write.thing.tenant).set(write.thing.id, { ...write.thing })
    },
    async links(tenant, name) {
      checkOpen()
      return linksAt(tenant, name)
    },
    async thing(tenant, id) {
      checkOpen()
      return things.get(tenant)?.get(id)
    },
    async forget(olderThan) {
      checkOpen()
      let dropped = 0
      for (const ofTenant of things.values()) {
        for (const [id, thing] of ofTenant) {
          if (thing.facts === null || thing.at >= olderThan) continue
          ofTenant.set(id, { ...thing, facts: null })
          dropped += 1
        }
      }
      return dropped
    },
    async load(links, options): Promise<LoadResult> {
      checkOpen()
      let written = 0
      let same = 0
      const conflicts: { asked: Link; found: Link }[] = []
      for (const asked of links) {
        const found = linksAt(asked.tenant, asked.name).find((other) => sameLink(other, asked))
        if (found?.id === asked.id) {
          same += 1
        } else if (found && !options.replace) {
          conflicts.push({ asked, found })
        } else {
          place(asked)
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
      const before = claims.get(wanted.tenant)?.get(wanted.key)
      if (before && !isFree(before, wanted.createdAt)) return { won: false, claim: before }
      const holder = byHandle.get(wanted.handle)
      if (holder && holder !== before) throw new Error(`The handle ${wanted.handle} is taken.`)
      return { won: true, claim: record(newlyClaimed(wanted, before), before?.state ?? 'none', CLAIMED) }
    },
    async change(claim, change) {
      checkOpen()
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
      return everyClaim().filter((claim) => claim.tenant === tenant && claim.shipment === shipment)
    },
    async listClaims({ state, tenant, limit = LIST_LIMIT }) {
      checkOpen()
      const fits = (claim: Claim) => (state ?? claim.state) === claim.state && (tenant ?? claim.tenant) === claim.tenant
      return everyClaim().filter(fits).slice(0, limit)
    },
    async audit(handle) {
      checkOpen()
      return audits.get(handle) ?? []
    },
    async beat(instance) {
      checkOpen()
      beats.set(instance, performance.now())
    },
    async leave(instance) {
      checkOpen()
      beats.delete(instance)
    },
    async orphan(silentForMs, by) {
      checkOpen()
      const alive = (instance: string) => {
        const beat = beats.get(instance)
        return beat !== undefined && performance.now() - beat < silentForMs
      }
      return everyClaim()
        .filter((claim) => claim.state === 'sending' && !alive(claim.instance))
        .map((claim) => apply(claim, orphaning(claim, by, Date.now())))
    },
  })
}

function innerMap<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const found = maps.get(key)
  if (found) return found
  const made = new Map<string, V>()
  maps.set(key, made)
  return made
}

function sameLink(one: Link, other: Link): boolean {
  return one.kind === other.kind && one.vin === other.vin
}

function byAge(one: Claim, other: Claim): number {
  return one.createdAt - other.createdAt || compareBytes(one.handle, other.handle)
}

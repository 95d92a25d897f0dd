import { isOpen, isPrunable } from './claim.ts'
import { staysThing } from './kept-things.ts'
import {
  INSTANCE_KEPT_MS,
  oldestOf,
  type PrunedTable,
  type PruneRound,
  type PruneStepEnd,
  type Pruning,
} from './pruning.ts'
import type { AuditEntry, Claim, Link, Thing } from './store.ts'

/** The content of the memory store, by tenant where nothing else is said. */
export interface MemoryTables {
  /** By name. */
  readonly linksOf: Map<string, Map<string, readonly Link[]>>
  /** By id. */
  readonly things: Map<string, Map<string, Thing>>
  /** By key. */
  readonly claims: Map<string, Map<string, Claim>>
  readonly byHandle: Map<string, Claim>
  /** By the handle of the claim. */
  readonly audits: Map<string, readonly AuditEntry[]>
  /** When each instance renewed its lease, in milliseconds of the clock of leases. */
  readonly renewals: Map<string, number>
}

/** Makes the tables of an empty store. */
export const newMemoryTables = (): MemoryTables => ({
  linksOf: new Map(),
  things: new Map(),
  claims: new Map(),
  byHandle: new Map(),
  audits: new Map(),
  renewals: new Map(),
})

/** The clocks of the memory store, in milliseconds. */
interface Clocks {
  readonly now: () => number
  readonly monotonicNow: () => number
}

/** A row that may go. */
interface Row {
  readonly at: number
  readonly stays: boolean
  readonly drop: () => void
}

/** Creates the pruning of the memory store, which looks at a whole table in one step. */
export function createMemoryPruning(
  tables: MemoryTables,
  { now, monotonicNow }: Clocks,
  checkOpen: () => void,
): Pruning {
  const { linksOf, things, claims, byHandle, audits, renewals } = tables
  const uses = new Map<string, readonly { readonly name: string; at: number }[]>()
  const ended = new Map<PrunedTable, PruneRound>()

  const claimsOf = (tenant: string) => [...(claims.get(tenant)?.values() ?? [])]

  function questions(before: number) {
    const stays = (claim: Claim | undefined) => claim !== undefined && !isPrunable(claim, before, now())
    return {
      stays,
      isUsed: (tenant: string, name: string) =>
        uses.get(tenant)?.some((use) => use.name === name && use.at >= before) === true,
      hasClaim: (tenant: string, id: string) =>
        claimsOf(tenant).some((claim) => claim.shipment === id && id !== '' && stays(claim)),
      isReferenceOpen: (tenant: string, name: string) =>
        claimsOf(tenant).some((claim) => isOpen(claim) && claim.reference === name),
      hasOldOpenClaim: (tenant: string) => claimsOf(tenant).some((claim) => isOpen(claim) && claim.createdAt < before),
    }
  }

  const rowsIn: Readonly<Record<PrunedTable, (before: number) => readonly Row[]>> = {
    claims: (before) =>
      [...claims].flatMap(([, ofTenant]) =>
        [...ofTenant.values()].map((claim) => ({
          at: claim.createdAt,
          stays: claim.createdAt >= before || questions(before).stays(claim),
          drop() {
            ofTenant.delete(claim.key)
            byHandle.delete(claim.handle)
            audits.delete(claim.handle)
          },
        })),
      ),
    audit: (before) =>
      [...audits].flatMap(([handle, entries]) =>
        entries.map((entry) => ({
          at: entry.at,
          stays: entry.at >= before || byHandle.has(handle),
          drop: () => replaceList(audits, handle, (one) => one !== entry),
        })),
      ),
    links(before) {
      const { isUsed, hasClaim, isReferenceOpen } = questions(before)
      const isKept = ({ tenant, name, id }: Link) =>
        isUsed(tenant, name) || hasClaim(tenant, id) || isReferenceOpen(tenant, name)
      return [...linksOf.values()].flatMap((ofTenant) =>
        [...ofTenant.values()].flat().map((link) => ({
          at: link.at,
          stays: link.at >= before || isKept(link),
          drop: () => replaceList(ofTenant, link.name, (one) => one !== link),
        })),
      )
    },
    things(before) {
      const { stays, isUsed, hasClaim, hasOldOpenClaim } = questions(before)
      return [...things].flatMap(([tenant, ofTenant]) => {
        const keepers = {
          isUsed: (name: string) => isUsed(tenant, name),
          hasClaim: (shipment: string) => hasClaim(tenant, shipment),
          isClaim: (handle: string) => stays(byHandle.get(handle)),
          isFresh: (id: string) => (ofTenant.get(id)?.at ?? Number.NEGATIVE_INFINITY) >= before,
          hasOldOpenClaim: () => hasOldOpenClaim(tenant),
        }
        return [...ofTenant.values()].map(({ id, at }) => ({
          at,
          stays: at >= before || staysThing(id, keepers),
          drop: () => void ofTenant.delete(id),
        }))
      })
    },
    uses: (before) =>
      [...uses].flatMap(([tenant, list]) =>
        list.map((use) => ({
          at: use.at,
          stays: use.at >= before,
          drop: () => replaceList(uses, tenant, (one) => one !== use),
        })),
      ),
    instances: () =>
      [...renewals].map(([instance, renewed]) => {
        const age = monotonicNow() - renewed
        return { at: now() - age, stays: age < INSTANCE_KEPT_MS, drop: () => void renewals.delete(instance) }
      }),
  }

  return {
    async noteUses(tenant, names) {
      checkOpen()
      for (const name of names) {
        const list = uses.get(tenant) ?? []
        const known = list.find((use) => use.name === name)
        if (known) known.at = Math.max(known.at, now())
        else uses.set(tenant, [...list, { name, at: now() }])
      }
    },
    async prune({ table, olderThanMs, dryRun }): Promise<PruneStepEnd> {
      checkOpen()
      const rows = rowsIn[table](now() - olderThanMs)
      const stay = rows.filter(({ stays }) => stays)
      if (!dryRun) for (const { stays, drop } of rows) if (!stays) drop()
      return { looked: rows.length, pruned: rows.length - stay.length, oldest: oldestOf(stay), next: undefined }
    },
    async endRound(round) {
      checkOpen()
      ended.set(round.table, { ...round, endedAt: now() })
    },
    async rounds() {
      checkOpen()
      return [...ended.values()]
    },
    async size() {
      checkOpen()
      const allOf = (maps: Map<string, Map<string, unknown>>) => [...maps.values()].flatMap((map) => [...map.values()])
      // A process does not know how much of its memory the store is.
      return {
        bytes: 0,
        freeBytes: 0,
        tables: [
          { table: 'claims', rows: byHandle.size, oldest: oldestOf([...byHandle.values()].map(created)) },
          { table: 'links', rows: allOf(linksOf).flat().length, oldest: undefined },
          { table: 'things', rows: allOf(things).length, oldest: undefined },
        ],
      }
    },
  }
}

const created = ({ createdAt: at }: Claim) => ({ at })

/** Keeps some entries of a list, and no empty list. */
function replaceList<T>(lists: Map<string, readonly T[]>, key: string, keep: (one: T) => boolean): void {
  const left = (lists.get(key) ?? []).filter(keep)
  if (left.length === 0) lists.delete(key)
  else lists.set(key, left)
}

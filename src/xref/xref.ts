import type { Facts, Kind, Link, Store, Thing, Xref as XrefStore } from '../store/store.ts'

/** A quote or shipment that a name stands for. */
export interface Known {
  readonly id: string
  readonly kind: Kind
  readonly vin: string
}

/** What is remembered of the thing behind an id. */
export interface Memory {
  /** The caller's own number for it. */
  readonly own: string | undefined
  /** The facts of a quote, as long as they are remembered. */
  readonly facts: Facts | undefined
}

/** What there is to keep of an answered call. */
export interface Keepsake {
  readonly kind: Kind
  readonly id: string
  readonly names: readonly string[]
  readonly vin: string
  readonly own: string | undefined
  readonly facts: Facts | undefined
}

/** The durable record from what callers call a thing to the service's id, as the gateway uses it. */
export interface Xref {
  /** What a name stands for, newest first. */
  readonly known: (tenant: string, name: string) => Promise<readonly Known[]>
  readonly memory: (tenant: string, id: string) => Promise<Memory>
  /** Resolves when it is durable: only then may a reply depend on it. */
  readonly keep: (tenant: string, keepsake: Keepsake) => Promise<void>
}

/** Puts the gateway's questions to a store. */
export function createXref(store: XrefStore & Pick<Store, 'ready'>, quoteMemoryMs: number, now: () => number): Xref {
  return {
    known: (tenant, name) => store.links(tenant, name),
    memory: async (tenant, id) => {
      const thing = await store.thing(tenant, id)
      if (!thing) return { own: undefined, facts: undefined }
      const fresh = thing.facts !== null && now() - thing.at <= quoteMemoryMs
      return { own: thing.own || undefined, facts: fresh ? (thing.facts ?? undefined) : undefined }
    },
    keep: (tenant, { kind, id, names, vin, own, facts }) => {
      const at = now()
      const links: Link[] = [...new Set(names)].map((name) => ({ tenant, kind, name, vin, id, at }))
      const thing: Thing = { tenant, id, own: own ?? '', facts: facts ?? null, at }
      return store.put({ links, ...((own !== undefined || facts !== undefined) && { thing }) })
    },
  }
}

/** A VIN as the cross-reference compares it. */
export function vinKey(vin: string | undefined): string {
  return (vin ?? '').replace(/\s+/g, '').toUpperCase()
}

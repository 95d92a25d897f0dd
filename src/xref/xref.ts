import type { Facts, Kind, Link, Store, Thing, Xref as XrefStore } from '../store/store.ts'

/** A quote or shipment that a name stands for. */
export type Known = Pick<Link, 'id' | 'kind' | 'vin' | 'at'>

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
  /**
   * Whether it is a shipment that was known before, and may now be called otherwise.
   * @default false
   */
  readonly isKnown?: boolean
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
  /** What it was called before goes on to mean it; which of several is the newest, and who has a name, stays as it is. */
  async function follow(tenant: string, { kind, id, names, vin }: Keepsake): Promise<void> {
    const links: Link[] = []
    for (const name of new Set(names)) {
      const known = (await store.links(tenant, name)).filter((one) => one.kind === kind)
      if (known.some((one) => one.vin === vin)) continue
      const at = known.find((one) => one.id === id)?.at ?? now()
      links.push({ tenant, kind, name, vin, id, at })
    }
    if (links.length > 0) await store.put({ links })
  }

  return {
    known: (tenant, name) => store.links(tenant, name),
    memory: async (tenant, id) => {
      const thing = await store.thing(tenant, id)
      if (!thing) return { own: undefined, facts: undefined }
      const fresh = thing.facts !== null && now() - thing.at <= quoteMemoryMs
      return { own: thing.own || undefined, facts: fresh ? (thing.facts ?? undefined) : undefined }
    },
    keep: async (tenant, keepsake) => {
      if (keepsake.isKnown) return follow(tenant, keepsake)
      const { kind, id, names, vin, own, facts } = keepsake
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

import type { Facts, Kind, Link, Thing, Xref as XrefStore } from '../store/store.ts'

/** A quote or shipment that a name stands for. */
export type Match = Pick<Link, 'id' | 'kind' | 'vin' | 'at'>

/** What the cross-reference knows of the thing behind an id. */
export interface Remembered {
  /** The caller's own number for it. */
  readonly own: string | undefined
  /** The facts of a quote; undefined once they are older than `QUOTE_MEMORY`. */
  readonly facts: Facts | undefined
}

/** How far the approval of a quote has come: on its way, with an outcome that may never be known, or made. */
export type Approval = 'sent' | 'approved'

/** What the cross-reference stores of an answered call. */
export interface XrefRecord {
  readonly kind: Kind
  readonly id: string
  readonly names: readonly string[]
  readonly vin: string
  readonly own: string | undefined
  readonly facts: Facts | undefined
  /**
   * True for a shipment that is on record and may have new names or another VIN: what it was called before still means
   * it, and it does not become the newest of several.
   * @default false
   */
  readonly isOnRecord?: boolean
}

/** The durable record from what callers call a thing to the service's id. */
export interface Xref {
  /** Returns what a name stands for, newest first. */
  readonly matches: (tenant: string, name: string) => Promise<readonly Match[]>
  readonly remembered: (tenant: string, id: string) => Promise<Remembered>
  /** Resolves when the record is durable: only then may an answer depend on it. */
  readonly write: (tenant: string, record: XrefRecord) => Promise<void>
  /** Returns how far the approval of a quote has come; undefined if none was sent. It is never forgotten. */
  readonly approval: (tenant: string, quote: string) => Promise<Approval | undefined>
  /** Resolves when it is durable. */
  readonly setApproval: (tenant: string, quote: string, approval: Approval | undefined) => Promise<void>
}

/** Makes the cross-reference on a store. */
export function createXref(store: XrefStore, quoteMemoryMs: number, now: () => number): Xref {
  /** Adds the names that nothing of this VIN has yet. */
  async function addNames(tenant: string, { kind, id, names, vin }: XrefRecord): Promise<void> {
    const links: Link[] = []
    for (const name of new Set(names)) {
      const existing = (await store.links(tenant, name)).filter((link) => link.kind === kind)
      if (existing.some((link) => link.vin === vin)) continue
      const at = existing.find((link) => link.id === id)?.at ?? now()
      links.push({ tenant, kind, name, vin, id, at })
    }
    if (links.length > 0) await store.put({ links })
  }

  return {
    matches: (tenant, name) => store.links(tenant, name),
    remembered: async (tenant, id) => {
      const thing = await store.thing(tenant, id)
      if (!thing) return NOTHING_REMEMBERED
      const isFresh = thing.facts !== null && now() - thing.at <= quoteMemoryMs
      return { own: thing.own || undefined, facts: isFresh ? (thing.facts ?? undefined) : undefined }
    },
    write: async (tenant, record) => {
      if (record.isOnRecord) return addNames(tenant, record)
      const { kind, id, names, vin, own, facts } = record
      const at = now()
      const links: Link[] = [...new Set(names)].map((name) => ({ tenant, kind, name, vin, id, at }))
      const thing: Thing = { tenant, id, own: own ?? '', facts: facts ?? null, at }
      return store.put({ links, ...((own !== undefined || facts !== undefined) && { thing }) })
    },
    approval: async (tenant, quote) => {
      const own = (await store.thing(tenant, approvalId(quote)))?.own
      return own === 'sent' || own === 'approved' ? own : undefined
    },
    setApproval: (tenant, quote, approval) =>
      store.put({ links: [], thing: { tenant, id: approvalId(quote), own: approval ?? '', facts: null, at: now() } }),
  }
}

/** An approval is a thing of its own, because the facts of the quote are forgotten after `QUOTE_MEMORY`. */
const approvalId = (quote: string) => `approval of ${quote}`

const NOTHING_REMEMBERED: Remembered = { own: undefined, facts: undefined }

/** Returns a VIN as the cross-reference compares it. */
export function vinKey(vin: string | undefined): string {
  return (vin ?? '').replace(/\s+/g, '').toUpperCase()
}

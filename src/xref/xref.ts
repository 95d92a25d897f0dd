import type { NoteUse } from '../pruning/pruning.ts'
import { APPROVAL_OF, IDS_IN_APPROVAL_OF } from '../store/pruning.ts'
import type { Facts, GivenBy, Kind, Link, Named, NewLink, Store, Xref as XrefStore, XrefWrite } from '../store/store.ts'
import { isNotKnown, isUuid, thingKey } from '../text/service-text.ts'

/** A quote or shipment that a name stands for. */
export interface Match extends Pick<Link, 'id' | 'kind' | 'vin' | 'givenBy' | 'at'> {
  readonly remembered: Remembered
}

/** The facts that the cross-reference has of an id. */
export interface Remembered {
  /** The caller's own number for it. */
  readonly own: string | undefined
  /** The facts of a quote; undefined once they are older than `QUOTE_MEMORY`. */
  readonly facts: Facts | undefined
}

/** An id, in the spelling of the service as far as the store knows it. */
interface KnownId {
  readonly id: string
  readonly isShipment: boolean
}

/** The state of a quote's approval: sent, perhaps with an outcome that is never known, or approved. */
export type Approval = 'sent' | 'approved'

/** The record of an answered call in the cross-reference. */
export interface XrefRecord {
  readonly kind: Kind
  readonly id: string
  /** The caller's own names. */
  readonly names: readonly string[]
  /**
   * Names that the service gave; the caller's own come before them.
   * @default none
   */
  readonly serviceNames?: readonly string[]
  readonly vin: string
  readonly own: string | undefined
  readonly facts: Facts | undefined
  /**
   * True for a shipment that is on record and may get new names or another VIN: its earlier names still mean it, and it
   * does not become the newest of several.
   * @default false
   */
  readonly isOnRecord?: boolean
}

/** The durable mapping from callers' names to the service's ids. */
export interface Xref {
  /** Returns what a name stands for, exactly or else in any case, newest first. A name of the service counts if the caller has no such name of the kind. */
  readonly matches: (tenant: string, name: string) => Promise<readonly Match[]>
  /** Returns the ids of the shipments that the service calls by a number. */
  readonly numbered: (tenant: string, number: string) => Promise<readonly string[]>
  readonly remembered: (tenant: string, id: string) => Promise<Remembered>
  /**
   * Returns an id as the store has it, whatever the case in which a caller spells a UUID, and if it is that of a booking's shipment.
   */
  readonly known: (tenant: string, id: string) => Promise<KnownId>
  /** Returns what `write` would write now. */
  readonly rowsOf: (tenant: string, record: XrefRecord) => Promise<XrefWrite>
  /** Resolves when the record is durable; only then may an answer depend on it. */
  readonly write: (tenant: string, record: XrefRecord) => Promise<void>
  /** Returns the state of a quote's approval; undefined if none was sent. It stays as long as the quote. */
  readonly approval: (tenant: string, quote: string) => Promise<Approval | undefined>
  /** Resolves when it is durable. */
  readonly setApproval: (tenant: string, quote: string, approval: Approval | undefined) => Promise<void>
  /** Returns the other ids that the reply to a quote's approval named. They stay as long as the approval. */
  readonly idsInApproval: (tenant: string, quote: string) => Promise<readonly string[]>
  /** Resolves when it is durable. */
  readonly setIdsInApproval: (tenant: string, quote: string, ids: readonly string[]) => Promise<void>
}

/** Makes the cross-reference on a store. */
export function createXref(
  store: XrefStore & Pick<Store, 'now' | 'claimsOfShipment'>,
  quoteMemoryMs: number,
  noteUse: NoteUse = () => {},
): Xref {
  /** Returns the names that this VIN does not have yet. */
  async function newNames(tenant: string, record: XrefRecord): Promise<XrefWrite> {
    const { kind, id, vin } = record
    const links: NewLink[] = []
    for (const [name, givenBy] of namesOf(record)) {
      const existing = (await store.links(tenant, name)).filter((link) => link.kind === kind)
      if (existing.some((link) => link.vin === vin && (link.givenBy === givenBy || link.id === id))) continue
      // The time of the same shipment under that name: this VIN does not make it the newest.
      const at = existing.find((link) => link.id === id)?.at
      links.push({ tenant, kind, name, vin, id, givenBy, at })
    }
    return { links }
  }

  async function addNames(tenant: string, record: XrefRecord): Promise<void> {
    const names = await newNames(tenant, record)
    if (names.links.length > 0) await store.put(names)
  }

  /** Returns the links of a name, also in another case if one thing alone is called so. */
  async function linksOf(tenant: string, name: string): Promise<readonly Named[]> {
    const links = await store.named(tenant, name)
    if (links.length < 2 || links[0]?.name === name) return links
    const isOne = (of: readonly Link[]) => new Set(of.map(({ id }) => id)).size <= 1
    const areOne = (['quote', 'shipment'] as const).every((kind) => isOne(links.filter((link) => link.kind === kind)))
    return areOne || new Set(links.map((link) => link.name)).size === 1 ? links : []
  }

  function rememberedOf(thing: Named['thing']): Remembered {
    if (!thing) return NOTHING_REMEMBERED
    const isFresh = thing.facts !== null && store.now() - thing.at <= quoteMemoryMs
    return { own: thing.own || undefined, facts: isFresh ? (thing.facts ?? undefined) : undefined }
  }

  return {
    matches: async (tenant, name) => {
      const links = await linksOf(tenant, name)
      if (links.length === 0) return []
      let oldest = Number.POSITIVE_INFINITY
      for (const { at, thing } of links) oldest = Math.min(oldest, at, thing?.at ?? at)
      noteUse(tenant, oldest, () => [
        ...new Set(links.map((link) => link.name)),
        ...links.flatMap(({ id }) => [id, thingKey(id)]),
      ])
      return preferCallers(links.map(({ thing, ...link }) => ({ ...link, remembered: rememberedOf(thing) })))
    },
    numbered: async (tenant, number) => {
      const links = await store.links(tenant, number)
      return links.flatMap(({ kind, givenBy, id }) => (kind === 'shipment' && givenBy === 'service' ? [id] : []))
    },
    remembered: async (tenant, id) => {
      const thing = await store.thing(tenant, id)
      if (thing) noteUse(tenant, thing.at, () => [id, thingKey(id)])
      return rememberedOf(thing)
    },
    known: async (tenant, value) => {
      if (!isUuid(value)) return { id: value, isShipment: false }
      const booked = (await store.claimsOfShipment(tenant, value)).at(-1)
      if (booked) return { id: booked.shipment, isShipment: true }
      const isRemembered = await store.thing(tenant, value)
      return { id: isRemembered ? value : thingKey(value), isShipment: false }
    },
    rowsOf: async (tenant, record) => (record.isOnRecord ? newNames(tenant, record) : allRows(tenant, record)),
    // Without a further promise, because every quote is recorded.
    write: (tenant, record) => (record.isOnRecord ? addNames(tenant, record) : store.put(allRows(tenant, record))),
    approval: async (tenant, quote) => {
      const own = (await store.thing(tenant, approvalId(quote)))?.own
      return own === 'sent' || own === 'approved' ? own : undefined
    },
    setApproval: (tenant, quote, approval) =>
      store.put({ links: [], thing: { tenant, id: approvalId(quote), own: approval ?? '', facts: null } }),
    idsInApproval: async (tenant, quote) =>
      JSON.parse((await store.thing(tenant, IDS_IN_APPROVAL_OF + thingKey(quote)))?.own || '[]'),
    setIdsInApproval: (tenant, quote, ids) =>
      store.put({
        links: [],
        thing: { tenant, id: IDS_IN_APPROVAL_OF + thingKey(quote), own: JSON.stringify(ids), facts: null },
      }),
  }
}

function allRows(tenant: string, record: XrefRecord): XrefWrite {
  const { kind, id, vin, own, facts } = record
  const links: NewLink[] = []
  for (const [name, givenBy] of namesOf(record)) links.push({ tenant, kind, name, vin, id, givenBy })
  const thing = { tenant, id, own: own ?? '', facts: facts ?? null }
  return { links, ...((own !== undefined || facts !== undefined) && { thing }) }
}

/** An approval has its own record, because the facts of the quote are deleted after `QUOTE_MEMORY`. */
const approvalId = (quote: string) => APPROVAL_OF + thingKey(quote)

const NOTHING_REMEMBERED: Remembered = { own: undefined, facts: undefined }

/** Drops the links of names that the service gave where the caller has given the same name to a thing of the kind. */
function preferCallers(links: readonly Match[]): readonly Match[] {
  if (links.length < 2) return links
  const ofCaller = new Set(links.flatMap(({ kind, givenBy }) => (givenBy === 'caller' ? [kind] : [])))
  return links.filter(({ kind, givenBy }) => givenBy === 'caller' || !ofCaller.has(kind))
}

/** Returns each name of a record once; the caller's own counts more. */
function namesOf({ names, serviceNames = [] }: XrefRecord): ReadonlyMap<string, GivenBy> {
  const givers = new Map<string, GivenBy>()
  for (const name of serviceNames) givers.set(name, 'service')
  for (const name of names) givers.set(name, 'caller')
  return givers
}

/** Returns a VIN as the cross-reference compares it. */
export function vinKey(vin: string | undefined): string {
  return vin === undefined || isNotKnown(vin) ? '' : vin.replace(/\s+/g, '').toUpperCase()
}

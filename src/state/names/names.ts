import { isSameThing, thingKey } from '../../language/text/service-text.ts'
import { updateLock } from '../../outside/store/locks.ts'
import { DAY_MS } from '../../outside/store/scoreboard.ts'
import {
  type Claim,
  type Facts,
  isStoredAsGone,
  type KnownVehicles,
  type NameWithBearer,
  type NewName,
  type NotedApproval,
  type Quote,
  type ShipmentState,
  type Store,
  type StoredShipment,
  type Vehicle,
} from '../../outside/store/store.ts'
import { createBoundedCache } from '../../runtime/collections.ts'
import type { Logger } from '../../runtime/log.ts'
import { isOpen } from '../bookings/protocol.ts'
import {
  type Known,
  type KnownName,
  type KnownQuote,
  type NotedShipment,
  type Question,
  type Reference,
  type Resolution,
  resolve,
  SENT_VIN,
  type SentName,
} from './resolve.ts'

/** A quote as far as the gateway remembers it. */
export interface RememberedQuote {
  readonly id: string
  /** The caller's own `ShipmentNumber` for it. */
  readonly own: string | undefined
  /** Every name that the caller has for it, including its id. */
  readonly names: readonly string[]
  /** Undefined once they are older than `QUOTE_MEMORY`. */
  readonly facts: Facts | undefined
  /** The price that the caller was given. */
  readonly price: string | undefined
  readonly approval: Quote['approval']
  /** Other ids that its approval's reply named; one of them may be its shipment's. */
  readonly idsInApproval: readonly string[]
}

/** A shipment as a read has shown it. */
export interface SeenShipment {
  readonly id: string
  /** Undefined if the service knows no such shipment. */
  readonly body: Readonly<Record<string, unknown>> | undefined
  readonly vehicles: readonly Vehicle[]
  readonly state: ShipmentState
}

/** The quote of a booking, what else its reference names, and the quote's other names. */
interface BesideQuote {
  readonly subject: { readonly quote: RememberedQuote | undefined }
  readonly bearers: readonly NameWithBearer[]
  readonly otherNames: readonly string[]
}

/** How a shipment was shown. */
export interface Showing {
  /** What the call found in the store before. */
  readonly stored?: StoredShipment | undefined
  /** True if no update can be under way that changes what was shown. @default false */
  readonly isFinal?: boolean
}

/** Asks the service. A failure rejects, because the missing reply might have disagreed. */
export interface Look {
  /** Returns the shipment that the service shows for a value; undefined if it shows none. */
  readonly ask: (value: string) => Promise<SeenShipment | undefined>
  /** `stored` is what is already known of the shipment. */
  readonly read: (id: string, stored?: StoredShipment) => Promise<SeenShipment>
}

/**
 * The meaning of a call, with what is stored of the shipment that it means, and the shipments that were read to find out, by the keys of
 * their ids.
 */
interface CallMeaning {
  readonly resolution: Resolution | Question
  readonly stored: StoredShipment | undefined
  readonly seen: ReadonlyMap<string, SeenShipment>
}

/** The durable record of what callers' numbers mean. */
export type Names = ReturnType<typeof openNames>

/** Opens the record on a store. */
export function openNames(store: Store, quoteMemoryMs: number, log?: Logger) {
  /** The names that shipments were last found to bear, because callers read the same shipments again and again. */
  const borne = createBoundedCache<string, string>(MOST_BORNE, { ttl: BORNE_FOR_MS, ttlResolution: 1_000 })
  const noted = createBoundedCache<string, true>(MOST_NOTED, { ttl: DAY_MS })

  /**
   * Notes once a day that names and ids are still used, which keeps their rows; `at` is when they were written. No call waits for the note.
   * If it is lost, it is made again at the next use after a restart or a day.
   */
  function noteUse(tenant: string, at: number, names: () => readonly string[]): void {
    // The row may be old although its time is in the future: the clock may have been ahead when it was written.
    if (Math.abs(store.now() - at) < DAY_MS) return
    const fresh = [...new Set(names())].filter((name) => !noted.has(JSON.stringify([tenant, name])))
    if (fresh.length === 0) return
    for (const name of fresh) noted.set(JSON.stringify([tenant, name]), true)
    store
      .noteUses(tenant, fresh)
      .catch((err: unknown) => log?.warn({ err }, 'the use of old numbers could not be recorded'))
  }

  /** Returns the bearers of a name. Another case of the name counts if only one thing is called that. */
  async function bearersOf(tenant: string, value: string): Promise<readonly NameWithBearer[]> {
    const rows = await store.named(tenant, value)
    if (rows.length === 0) return rows
    if (rows.length > 1 && !isOneMeaning(rows, value)) return []
    let oldest = Number.POSITIVE_INFINITY
    for (const { at, quote, shipment } of rows) oldest = Math.min(oldest, at, quote?.at ?? at, shipment?.at ?? at)
    noteUse(tenant, oldest, () => rows.flatMap(({ name, id }) => [name, id, thingKey(id)]))
    return rows
  }

  async function quoteOf(tenant: string, id: string, called?: readonly string[]): Promise<RememberedQuote> {
    const quote = await store.quote(tenant, id)
    if (quote) noteUse(tenant, quote.at, () => [quote.id, thingKey(id)])
    return rememberedQuote(quote?.id ?? id, quote, store.now() - quoteMemoryMs, called)
  }

  /** Returns the shipments that were booked or approved from a quote, newest first. */
  async function bookedFrom(tenant: string, quote: RememberedQuote): Promise<readonly StoredShipment[]> {
    const booked = await store.shipmentsOfQuote(tenant, quote.id)
    const all = [...booked, ...(await approvedFrom(tenant, quote, booked))]
    return all.toSorted((one, other) => other.at - one.at)
  }

  /** Returns the shipments of a quote's approval, besides those that are known. They may be a later quote's by now. */
  async function approvedFrom(
    tenant: string,
    { id, names, idsInApproval }: RememberedQuote,
    known: readonly StoredShipment[],
  ): Promise<readonly StoredShipment[]> {
    // A reply may have named the shipment of something else.
    const isNamed = async (one: string) =>
      (await Promise.all(names.map((name) => store.bears(tenant, name, one)))).includes(true)
    const approved: StoredShipment[] = []
    for (const one of [id, ...idsInApproval]) {
      if (known.some((other) => isSameThing(other.id, one))) continue
      const shipment = await store.shipment(tenant, one)
      if (shipment && (one === id || (await isNamed(one)))) approved.push(shipment)
    }
    return approved
  }

  /** `shownNames` are undefined if they are recorded. */
  async function noteNew(
    tenant: string,
    seen: SeenShipment,
    shownNames: readonly string[] | undefined,
    { stored, isFinal = false }: Showing,
  ): Promise<void> {
    const { id, state } = seen
    const names: NewName[] = []
    for (const name of new Set(shownNames))
      if (!(await store.bears(tenant, name, id))) names.push({ tenant, kind: 'shipment', name, id, givenBy: 'service' })
    if (shownNames && names.length === 0) borne.set(`${id}\n${tenant}`, shownNames.join('\n'))
    if (names.length === 0 && stored && !changeShown(stored, seen)) return
    // Another call may have written since.
    const before = await store.shipment(tenant, id)
    const mayChange = before?.state === 'in-doubt' && state === 'live' && !isFinal
    const isDoubtful = mayChange && (await store.isLocked(updateLock(tenant, id)))
    const change = changeShown(before, isDoubtful ? { ...seen, state: 'in-doubt' } : seen)
    if (names.length === 0 && !change) return
    await store.put({ names, shipment: { tenant, id: before?.id ?? id, ...change } })
  }

  async function meaningOf(reference: Reference, tenant: string, look?: Look): Promise<CallMeaning> {
    const seen = new Map<string, SeenShipment>()
    const names = new Map<string, KnownName>()
    const shipments: Map<string, NotedShipment> = new Map()
    const quotes = new Map<string, KnownQuote | undefined>()
    const openBookings = new Map<string, readonly Claim[]>()
    const asked = new Map<string, string | null>()
    const known: Known = { names, shipments, quotes, openBookings, asked }
    /** The named quotes, by the keys of their ids. */
    const named = new Map<string, NameWithBearer>()
    const spellings = new Map<string, string>()
    /** Returns an id in the spelling that this call compares: the first one. */
    const spelled = (id: string) => {
      const one = spellings.get(thingKey(id)) ?? id
      spellings.set(thingKey(id), one)
      return one
    }
    /** Adds a shipment, and returns its id. */
    const note = (given: string, stored: StoredShipment | undefined) => {
      const id = spelled(stored?.id ?? given)
      if (!shipments.has(id)) shipments.set(id, { id, vehicles: undefined, isGone: isStoredAsGone(stored), stored })
      return id
    }
    const noteSeen = async (one: SeenShipment) => {
      // The look has noted what it saw, so a VIN that the vehicle no longer has is already a former one.
      const stored = await store.shipment(tenant, one.id)
      const id = spelled(stored?.id ?? one.id)
      shipments.set(id, { id, vehicles: one.vehicles, isGone: one.state !== 'live', stored })
      seen.set(thingKey(one.id), one)
      return id
    }
    const quoteWithKey = async (key: string): Promise<KnownQuote | undefined> => {
      const bearer = named.get(key)
      const quote = bearer?.quote ?? (await store.quote(tenant, key))
      if (quote) noteUse(tenant, quote.at, () => [quote.id, key])
      const remembered = rememberedQuote(quote?.id ?? bearer?.id ?? key, quote)
      const booked = reference.kind === 'shipment' ? await bookedFrom(tenant, remembered) : []
      // An imported one has only names.
      if (!bearer && !quote && booked.length === 0) return undefined
      const { id, names: called, approval, idsInApproval } = remembered
      const ids = booked.map((one) => note(one.id, one))
      const isShown = booked.some((one) => isSameThing(one.id, key))
      const mayHaveMade = !isShown && (approval === 'sent' || idsInApproval.length === 0) ? approval : ''
      return { id: ids.length > 0 && !mayHaveMade ? id : spelled(id), names: called, shipments: ids, mayHaveMade }
    }

    for (const [, value] of reference.names) {
      if (names.has(value)) continue
      const rows = await bearersOf(tenant, value)
      const bearers = rows.map((row) => {
        const { kind, givenBy, name, id, shipment } = row
        if (kind === 'quote') named.set(thingKey(id), row)
        return { kind, givenBy, name, id: kind === 'quote' ? id : note(id, shipment) }
      })
      const isUnnamed = rows.length === 0 && reference.kind === 'shipment'
      const itself = isUnnamed ? await store.shipment(tenant, value) : undefined
      names.set(value, { bearers, itself: itself && note(itself.id, itself) })
    }
    for (;;) {
      const resolution = resolve(reference, known)
      if (resolution.is === 'recall') {
        for (const [part, key] of resolution.missing) {
          if (part === 'quotes' && !quotes.has(key)) quotes.set(key, await quoteWithKey(key))
          if (part === 'openBookings' && !openBookings.has(key))
            openBookings.set(key, (await store.claimsOfReference(tenant, key)).filter(isOpen))
        }
      } else if (look && resolution.is === 'look') {
        for (const id of resolution.ids) await noteSeen(await look.read(id, shipments.get(id)?.stored))
      } else if (look && resolution.is === 'ask') {
        for (const value of resolution.values) {
          const shown = await look.ask(value)
          asked.set(value, shown ? await noteSeen(shown) : null)
        }
      } else {
        const stored = resolution.is === 'shipment' ? shipments.get(resolution.id)?.stored : undefined
        return { resolution, stored, seen }
      }
    }
  }

  return {
    /** Returns what a call means. Without a look, the service is not asked, and the meaning may be a question to it. */
    resolve: meaningOf,
    /** Returns the quote with an id, and what is remembered of it; `called` are names by which it was found. */
    quote: quoteOf,
    /**
     * Returns the quote that a booking refers to with one of these values, the shipments without a quote that have such a name, and all
     * bearers of the values. Most of these shipments are booked; those of an import are not.
     */
    namedByBooking: async (tenant: string, values: readonly string[]) => {
      let quote: RememberedQuote | undefined
      const shipments: string[] = []
      const bearers: NameWithBearer[] = []
      for (const value of values) {
        const rows = await bearersOf(tenant, value)
        bearers.push(...rows)
        if (quote) continue
        for (const { kind, givenBy, name, id, shipment } of rows)
          if (kind === 'shipment' && givenBy === 'caller' && name === value && !shipment?.quote) shipments.push(id)
        const named = rows.find(({ kind }) => kind === 'quote')
        const stored = named ? named.quote : await store.quote(tenant, value)
        const id = named?.id ?? stored?.id
        if (id !== undefined) quote = rememberedQuote(id, stored, store.now() - quoteMemoryMs, [value])
      }
      return { quote, shipments, bearers }
    },
    bearersOf,
    shipment: store.shipment,
    /**
     * Returns those of a quote's other names that it got in the same call as that of these bearers, and its id, with the quote's shipments
     * under them and those of its approval. Others are no names of one trip: some services give one id to many quotes.
     */
    givenTogether: async (tenant: string, { subject: { quote }, bearers, otherNames }: BesideQuote) => {
      const names: string[] = []
      const shipments: StoredShipment[] = []
      if (!quote || otherNames.length === 0) return { names, shipments }
      const isOfQuote = (one: NameWithBearer) => one.kind === 'quote' && isSameThing(one.id, quote.id)
      const at = bearers.find(isOfQuote)?.at
      for (const name of otherNames.slice(0, MOST_NAMES)) {
        const rows = await store.named(tenant, name)
        const isTogether = rows.some((one) => isOfQuote(one) && (at === undefined || one.at === at))
        if (!isTogether && !isSameThing(name, quote.id)) continue
        names.push(name)
        for (const { shipment } of rows) if (shipment && isSameThing(shipment.quote, quote.id)) shipments.push(shipment)
      }
      return { names, shipments: [...shipments, ...(await approvedFrom(tenant, quote, shipments))] }
    },
    /** Returns the ids of the shipments with this name. Whoever gave it, the service may know them by it. */
    idsNamed: async (tenant: string, name: string) =>
      (await store.named(tenant, name)).flatMap(({ kind, id }) => (kind === 'shipment' ? [id] : [])),
    /**
     * Returns the approvals that were noted with one of these names and whose shipment the name may mean, and those of the quote itself. A
     * quote that has a number of its own, other than this one's, is not meant by its order's.
     */
    approvals: async (tenant: string, called: readonly string[], quote?: RememberedQuote) => {
      const { id: itself = '', own: number = '' } = quote ?? {}
      const noted = await store.approvals(tenant, [...called, number, thingKey(itself)])
      const ofName = new Set(noted.flatMap(({ name, quote: id }) => (called.includes(name) ? id : [])))
      return noted.filter(({ name, quote: id, own }) => {
        if (isSameThing(id, itself)) return true
        if (!called.includes(name)) return name === number && ofName.has(id)
        return own === '' || own === number || isSameThing(own, name)
      })
    },
    /** Returns the other quotes with one of these approvals, or with a shipment under a name of these bearers. */
    approvedBefore: async (
      tenant: string,
      quote: RememberedQuote,
      bearers: readonly NameWithBearer[],
      approvals: readonly NotedApproval[],
    ) => {
      const booked = bearers.flatMap(({ kind, givenBy, shipment }) =>
        kind === 'shipment' && givenBy === 'caller' && shipment?.quote ? thingKey(shipment.quote) : [],
      )
      const noted = approvals.map(({ quote: id }) => id)
      const others = [...new Set([...noted, ...booked])].filter((id) => !isSameThing(id, quote.id))
      const quotes = await Promise.all(others.slice(0, MOST_APPROVED).map((id) => quoteOf(tenant, id)))
      // A noted one counts although it may have been taken back since, because it may also have been sent again.
      return quotes.filter(({ id, approval }) => approval !== '' || noted.includes(thingKey(id)))
    },
    bookedFrom,
    /** Returns the shipments that were booked or approved from a quote, and then those under one of its names. */
    shipmentsOf: async (tenant: string, quote: RememberedQuote) => {
      const own = await store.shipmentsOfQuote(tenant, quote.id)
      const named = (await Promise.all(quote.names.map((name) => bearersOf(tenant, name))))
        .flat()
        .filter(({ kind, givenBy }) => kind === 'shipment' && givenBy === 'caller')
      return [...new Map([...own, ...named].map(({ id }) => [thingKey(id), id])).values()]
    },
    /** Resolves when the write is durable; only then may an answer depend on it. */
    write: store.put,
    /** Records what a read or a reply has shown of a shipment, if that is new. */
    noteShown: (tenant: string, seen: SeenShipment, shownNames: readonly string[], showing: Showing = {}) => {
      // Neither ids nor names contain line breaks.
      const isBorne = borne.get(`${seen.id}\n${tenant}`) === shownNames.join('\n')
      // Most reads show what is known.
      if (isBorne && showing.stored && !changeShown(showing.stored, seen)) return NOTHING_NEW
      return noteNew(tenant, seen, isBorne ? undefined : shownNames, showing)
    },
  }
}

const NOTHING_NEW = Promise.resolve()

/** Returns what is remembered of a quote, without facts that are older than `oldest`. An imported one has only the names in `called`. */
export function rememberedQuote(
  id: string,
  quote?: Quote,
  oldest = 0,
  called: readonly string[] = [],
): RememberedQuote {
  const { own = '', names = [], facts, price, approval = '', idsInApproval = [], at = 0 } = quote ?? {}
  return {
    id,
    own: own || undefined,
    names: [
      ...new Set([...names, ...(own === '' ? [] : [own]), ...called.filter((name) => !isSameThing(name, id)), id]),
    ],
    facts: facts && at >= oldest ? facts : undefined,
    price: price || undefined,
    approval,
    idsInApproval,
  }
}

/** A call reads the shipment of each, the newest first, before its time is up. */
const MOST_APPROVED = 30

/** A quote with more has its names from a service that gives one id to every quote. */
const MOST_NAMES = 8

/** How many names are remembered as noted. */
const MOST_NOTED = 10_000

const MOST_BORNE = 10_000
/** Much less than the time that names are kept. */
const BORNE_FOR_MS = 600_000

/** Reports whether a name's rows, in any case, mean at most one thing of each kind, or all have the same case. */
function isOneMeaning(rows: readonly NameWithBearer[], value: string): boolean {
  if (rows[0]?.name === value || new Set(rows.map(({ name }) => name)).size === 1) return true
  return (['quote', 'shipment'] as const).every((kind) => {
    const ids = rows.flatMap((row) => (row.kind === kind ? [thingKey(row.id)] : []))
    return new Set(ids).size <= 1
  })
}

/** Returns what a read changes in a stored shipment; undefined if it shows what is stored. */
function changeShown(
  before: StoredShipment | undefined,
  { body, vehicles, state }: Omit<SeenShipment, 'state'> & Pick<StoredShipment, 'state'>,
): Partial<StoredShipment> | undefined {
  const isNewState = state !== (before?.state ?? 'live')
  const isNewVehicles = body !== undefined && vehicles.length > 0 && !isSame(vehicles, before?.vehicles ?? [])
  if (before && !isNewState && !isNewVehicles) return undefined
  return {
    state,
    ...(isNewVehicles && { vehicles, formerVins: formerVinsAfter(before, vehicles) }),
  }
}

const isSame = (some: readonly Vehicle[], others: readonly Vehicle[]): boolean =>
  some.length === others.length &&
  some.every(({ vin, year, make, model }, index) => {
    const other = others[index]
    return vin === other?.vin && year === other.year && make === other.make && model === other.model
  })

/** Returns the former VINs of a shipment after its vehicles changed. If it has only one vehicle, it is known which vehicle had them. */
export function formerVinsAfter(
  before: KnownVehicles | undefined,
  vehicles: readonly Vehicle[],
): Readonly<Record<string, string>> {
  if (!before) return {}
  const former: Record<string, string> = { ...before.formerVins }
  const now = new Set(vehicles.map(({ vin }) => vin))
  const isOne = before.vehicles.length <= 1 && vehicles.length === 1
  const successor = (isOne && vehicles[0]?.vin) || ''
  for (const { vin } of before.vehicles) if (vin !== '' && !now.has(vin)) former[vin] = successor
  for (const [vin, heir] of Object.entries(former)) {
    if (now.has(vin)) delete former[vin]
    else if (heir !== SENT_VIN && !now.has(heir) && former[heir] === undefined) former[vin] = successor
  }
  // A VIN that was replaced before its vehicle lost the next one stays replaced.
  for (const [vin, heir] of Object.entries(former)) former[vin] = former[heir] || heir
  return former
}

/** Returns a shipment's names: those that its caller gave it, and the service's number. */
export function namesOfShipment(
  tenant: string,
  id: string,
  given: readonly string[],
  number: string | undefined,
): readonly NewName[] {
  const shared = { tenant, kind: 'shipment', id } as const
  return [
    ...given.map((name) => ({ ...shared, name, givenBy: 'caller' }) as const),
    ...(number === undefined ? [] : [{ ...shared, name: number, givenBy: 'service' } as const]),
  ]
}

/** Returns the values of the fields that name something. */
export const valuesOf = (names: readonly SentName[]): readonly string[] => names.map(([, value]) => value)

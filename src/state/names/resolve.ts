import { type Draft, valueAt } from '../../language/mapping/paths.ts'
import {
  isNotKnown,
  isPlainId,
  isSameThing,
  isUuid,
  plainVin,
  serviceId,
  thingKey,
} from '../../language/text/service-text.ts'
import type { Claim, Quote, StoredShipment, Vehicle } from '../../outside/store/store.ts'
import { requestOf } from '../bookings/bookings.ts'

/*
 * Decides what a version-1 call means by the names and the VIN that it sends. Pure: it decides from what is known, or returns a question. Its
 * caller answers that from the store or asks the service, and calls again. Reads, updates, cancellations, approvals, and the dry run of each
 * get their meaning here and nowhere else. The laws are in docs/wire.md, and test/names tries them in all small worlds.
 */

/** A field that names something, and its value. */
export type SentName = readonly [field: string, value: string]

/** A call's use of the thing that it names. */
export type NameUse = 'read' | 'update' | 'cancel'

/** The vehicle that a call is about. */
interface VehicleReference {
  /** Upper case, without blanks; empty if none was sent. */
  readonly vin: string
  readonly use: NameUse
  /** True if an update sends fields of a vehicle besides the VIN. */
  readonly changesVehicle: boolean
}

/** The part of a call that says what it is about. */
export interface Reference extends VehicleReference {
  /** `quote` for quote updates and approvals. */
  readonly kind: 'quote' | 'shipment'
  /** Never empty. */
  readonly names: readonly SentName[]
}

/* What is known */

/** Everything that is known for a call; a quote, booking or answer of the service that is absent has not been looked up. */
export interface Known {
  /** By the values that the call sends. */
  readonly names: ReadonlyMap<string, KnownName>
  /** By the keys of their ids; undefined for an id that no quote has. */
  readonly quotes: ReadonlyMap<string, KnownQuote | undefined>
  /** Those without an outcome, by their references in any case, oldest first. */
  readonly openBookings: ReadonlyMap<string, readonly Claim[]>
  /** By their ids, in the spelling that this call compares. */
  readonly shipments: ReadonlyMap<string, NotedShipment>
  /** The ids of the shipments that the service shows for values; null if it shows none. */
  readonly asked: ReadonlyMap<string, string | null>
}

/** What is known while it is decided. If something is missing, the decision is preliminary. */
interface KnownSoFar extends Known {
  readonly missing: MissingPart[]
}

/** The store's knowledge about a value. */
export interface KnownName {
  /** The caller's own names first, newest first. */
  readonly bearers: readonly Bearer[]
  /** The id of the shipment whose id the value is, if nothing bears it as a name. */
  readonly itself: string | undefined
}

/** A quote or shipment with a name. */
interface Bearer {
  readonly kind: 'quote' | 'shipment'
  readonly givenBy: 'caller' | 'service'
  readonly id: string
  /** In its own case. */
  readonly name: string
}

export interface KnownQuote {
  readonly id: string
  /** Every name that the caller has for it, including its id. */
  readonly names: readonly string[]
  /** The shipments that were booked or approved from it, newest first. */
  readonly shipments: readonly string[]
  /** The state of its approval, if that may have made a shipment with its id that no answer has shown. */
  readonly mayHaveMade: Quote['approval']
}

/** A shipment, as far as it is known. */
export interface KnownShipment {
  readonly id: string
  /** The vehicles that this call's read has shown, empty if it found nothing; undefined before a read. */
  readonly vehicles: readonly Vehicle[] | undefined
  /** True if the service last showed it as canceled, or did not know it. @default false */
  readonly isGone?: boolean
  readonly stored?: Partial<StoredShipment> | undefined
}

export interface NotedShipment extends KnownShipment {
  readonly stored: StoredShipment | undefined
}

/* What is meant */

/** The meaning of a call. */
export type Resolution =
  | ShipmentMeant
  | { readonly is: 'quote'; readonly id: string; readonly field: string; readonly ignored: readonly SentName[] }
  | { readonly is: 'in-doubt'; readonly booking: Claim }
  | { readonly is: 'conflict'; readonly meanings: readonly Meaning[] }
  | { readonly is: 'unknown' }
  | VinMismatch

/** A shipment is meant. */
export interface ShipmentMeant {
  readonly is: 'shipment'
  readonly id: string
  /** The field that named it; `namedBy` tells whose name that was. */
  readonly field: string
  readonly namedBy: NamedBy
  /** How many shipments bear the name. */
  readonly bearers: number
  /** The values that neither the gateway nor the service knows. */
  readonly ignored: readonly SentName[]
}

/** Whose name a value is: the caller's for the shipment or for its quote, or the service's. */
type NamedBy = 'caller' | 'quote' | 'service'

/** The meaning of a field. */
export interface Meaning {
  readonly field: string
  readonly value: string
  /** The things that it means. */
  readonly ids: readonly string[]
  /** These and the shipments that it would mean if none of these stood. */
  readonly bearers: readonly string[]
  readonly namedBy: NamedBy
  /** The id of the quote that it names. */
  readonly quote: string | undefined
}

/** The VIN, or a missing one, chooses no vehicle: `several` is a conflict, `no-such-vehicle` is about something that is not there. */
export interface VinMismatch {
  readonly is: 'several' | 'no-such-vehicle'
  readonly vins: readonly string[]
}

/** A question to the service: which shipments have these values as names, or what these shipments show. */
export type Question = { readonly is: 'ask'; readonly values: readonly string[] } | Look
interface Look {
  readonly is: 'look'
  readonly ids: readonly string[]
}

/** A question to the store. */
interface Recall {
  readonly is: 'recall'
  readonly missing: readonly MissingPart[]
}

/** A key that a part of `Known` has to have. */
type MissingPart = readonly [part: 'quotes' | 'openBookings', key: string]

/** The most shipments with one name that are read to choose among them. */
const MOST_LOOKS = 10
/** The most quotes of one name whose bookings are looked for. */
const MOST_QUOTES = 30

/** Returns the meaning of a call, or what has to be known for it. */
export function resolve(reference: Reference, known: Known): Resolution | Question | Recall {
  const missing: MissingPart[] = []
  const meaning = decide(reference, { ...known, missing })
  return missing.length > 0 ? { is: 'recall', missing } : meaning
}

function decide(reference: Reference, known: KnownSoFar): Resolution | Question {
  const things = thingsNamed(reference, known)
  if ('is' in things) return things
  const { ids, first, field, namedBy, ignored } = things
  if (reference.kind === 'quote') return { is: 'quote', id: first, field, ignored }
  const chosen = chooseShipment(reference, things, known)
  const isThere = 'is' in chosen ? chosen.is !== 'no-such-vehicle' : !isGone(chosen.id, known)
  if (reference.vin !== '' && !(isThere && ('is' in chosen || chosen.isCertain))) {
    // Besides the known shipments, a booking in doubt may have this VIN.
    const mayHaveIt = ({ vin }: Claim) => vin === reference.vin || (vin === '' && !isThere)
    const booking = openBookingOf(things.meanings, known, mayHaveIt)
    if (booking) return { is: 'in-doubt', booking }
  }
  return 'is' in chosen ? chosen : { is: 'shipment', id: chosen.id, field, namedBy, bearers: ids.length, ignored }
}

/** The things that all fields of a call mean, newest first. */
interface AgreedThings {
  readonly ids: readonly string[]
  readonly first: string
  readonly field: string
  readonly namedBy: NamedBy
  readonly ignored: readonly SentName[]
  readonly meanings: readonly Meaning[]
}

function thingsNamed(reference: Reference, known: KnownSoFar): AgreedThings | Resolution | Question {
  const meanings: Meaning[] = []
  const ignored: SentName[] = []
  const unasked: string[] = []
  const unseen: string[] = []
  let booking: Claim | undefined
  for (const name of reference.names) {
    const found = reference.kind === 'quote' ? quoteNamed(name, known) : shipmentsNamed(name, reference, known)
    if (found === 'unasked') unasked.push(name[1])
    else if (found && 'is' in found) unseen.push(...found.ids)
    else if (found && 'ids' in found) meanings.push(found)
    else {
      ignored.push(name)
      booking ??= found
    }
  }
  // The rest of the decision would ask for what it may not need.
  if (known.missing.length > 0) return { is: 'unknown' }
  if (unseen.length > 0) return { is: 'look', ids: [...new Set(unseen)] }
  const [one] = meanings
  let ids = idsInAll(meanings)
  if (one && ids.length === 0) ids = idsInAll(withOlderQuotes(meanings, reference, known))
  if (one && ids.length === 0) return { is: 'conflict', meanings }
  if (unasked.length > 0) return { is: 'ask', values: [...new Set(unasked)] }
  // The booking in doubt may be a shipment other than the one that another field means.
  if (booking) return { is: 'in-doubt', booking }
  const [first] = ids
  if (!one || first === undefined) return { is: 'unknown' }
  const { field, namedBy } = meanings.find((meaning) => meaning.namedBy === 'caller') ?? one
  return { ids, first, field, namedBy, ignored, meanings }
}

/** Returns what all meanings have in common. */
const idsInAll = ([first, ...others]: readonly Meaning[]): readonly string[] =>
  first?.ids.filter((id) => others.every(({ ids }) => ids.includes(id))) ?? []

/* What one name means */

function quoteNamed([field, value]: SentName, known: KnownSoFar): Meaning | undefined {
  const { bearers } = known.names.get(value) ?? UNNAMED
  const named = bearers.find(({ kind }) => kind === 'quote')
  const quote = named?.id ?? quoteWithId(value, known)?.id ?? (isUuid(value) ? value : undefined)
  if (quote === undefined) return undefined
  const ids = [thingKey(quote)]
  return { field, value, ids, bearers: ids, namedBy: 'quote', quote }
}

/**
 * Returns the shipments that a name means; else the booking in doubt that it may mean, `unasked` until the service is asked, or the look at
 * the shipment that an approval may have made.
 */
function shipmentsNamed(
  [field, value]: SentName,
  reference: Reference,
  known: KnownSoFar,
): Meaning | Claim | Look | 'unasked' | undefined {
  const { bearers, itself } = known.names.get(value) ?? UNNAMED
  const [newest] = bearers
  if (newest && newest.name !== value) {
    // A name in another case counts only if it means one thing, and a booking in doubt is one more thing.
    const other = openBookings(value, known).findLast((one) => one.reference !== newest.name)
    if (other) return other
  }
  /** If none of the shipments stands, the name may belong to a booking in doubt. */
  const unlessInDoubt = (namedBy: NamedBy, ids: readonly string[], quote?: KnownQuote) => {
    const all = ids.length === 0 && quote ? [quote.id] : [...new Set(ids)]
    const meaning = { field, value, ids: standing(all, known, reference), bearers: all, namedBy, quote: quote?.id }
    const isNone = ids.every((id) => isGone(id, known))
    const open = isNone ? openBookingOf([meaning], known) : undefined
    if (open || !quote?.mayHaveMade || ids.length === 0) return open ?? meaning
    // An approval may have made a shipment: with the id that the value is, or, if it has no answer, after those that are gone.
    if (!isSameThing(value, quote.id) && !(isNone && quote.mayHaveMade === 'sent')) return meaning
    if (!isSeen(quote.id, known)) return { is: 'look', ids: [quote.id] } as const
    return isGone(quote.id, known) ? meaning : { ...meaning, ids: [quote.id], bearers: [quote.id, ...all] }
  }

  const named = bearers.find(({ kind }) => kind === 'quote')
  const idsBy = (giver: Bearer['givenBy']) =>
    bearers.flatMap(({ kind, givenBy, id }) => (kind === 'shipment' && givenBy === giver ? [id] : []))
  // A caller's own name comes before one that the service happened to give.
  const booked = itself === undefined ? idsBy('caller') : [itself]
  if (booked.length > 0) {
    // The newest quote got the name after these bookings, so its shipment has the name, too.
    const isNewest = named !== undefined && named === newest
    // A VIN that these never had may choose another vehicle of the quote.
    const mayHaveIt = (id: string) => reference.vin !== '' && hadVin(known.shipments.get(id), reference.vin)
    const isElsewhere = named !== undefined && reference.vin !== '' && !booked.some(mayHaveIt)
    // The caller was shown the id of a quote that has no number of its own.
    const { own, quote: madeFrom } = known.shipments.get(itself ?? '')?.stored ?? {}
    const areGone = !own && booked.every((id) => isGone(id, known))
    const quote = isNewest || isElsewhere || areGone ? quoteWithId(named?.id ?? value, known) : undefined
    // A shipment without a quote may be one that there never was, although an event spoke of it.
    const isLater = (id: string, one: string) =>
      one === itself
        ? id !== one && (!madeFrom || since(id, known) >= since(one, known))
        : since(id, known) > since(one, known)
    // Not what was booked before they were gone: a repeated cancellation of them does not mean that.
    const bearsName = (id: string) =>
      isNewest || (isElsewhere && mayHaveIt(id)) || (areGone && booked.every((one) => isLater(id, one)))
    const ofQuote = (quote?.shipments ?? []).filter(bearsName)
    const namedBy = itself === undefined ? 'caller' : ofQuote.some((id) => !isGone(id, known)) ? 'quote' : 'service'
    return unlessInDoubt(namedBy, isNewest ? [...ofQuote, ...booked] : [...booked, ...ofQuote], quote)
  }
  const ofService = idsBy('service')
  const id = named?.id ?? (ofService.length === 0 ? value : undefined)
  const quote = id === undefined ? undefined : quoteWithId(id, known)
  if (quote) return unlessInDoubt('quote', quote.shipments, quote)
  const asked = known.asked.get(value)
  if (ofService.length === 0 && asked === undefined && isPlainId(value)) return 'unasked'
  if (ofService.length === 0 && !asked) return openBookings(value, known).at(-1)
  return unlessInDoubt('service', asked ? [asked] : ofService)
}

/** Adds to each quote's name the quotes that had it before the newest one, if another of the call's names leads to them. */
function withOlderQuotes(meanings: readonly Meaning[], reference: Reference, known: KnownSoFar): readonly Meaning[] {
  const booked = reference.kind === 'quote' ? [] : quotesOf([...known.shipments.keys()], known)
  const named = [...meanings.flatMap(({ quote }) => quote ?? []), ...booked]
  const quotes: KnownQuote[] = []
  for (const id of new Set(named.map(thingKey))) {
    const quote = quoteWithId(id, known)
    if (quote) quotes.push(quote)
  }
  return meanings.map((meaning) => {
    const { value, ids, namedBy, quote } = meaning
    if (quote === undefined || namedBy !== 'quote') return meaning
    const older = quotes.filter(({ id, names }) => names.includes(value) && !isSameThing(id, quote))
    const olderIds = older.flatMap(({ id, shipments }) => {
      if (reference.kind === 'quote') return [thingKey(id)]
      return shipments.length > 0 ? standing(shipments, known, reference) : [id]
    })
    return { ...meaning, ids: [...new Set([...ids, ...olderIds])] }
  })
}

/** Returns the shipments that bear a name. One that is gone does not while another one does; if all are, a VIN means the one that had it. */
function standing(ids: readonly string[], known: KnownSoFar, { vin }: VehicleReference): readonly string[] {
  const live = ids.filter((id) => !isGone(id, known))
  if (live.length > 0) return live
  const had = vin !== '' ? ids.filter((id) => hadVin(known.shipments.get(id), vin)) : []
  return (had.length > 0 ? had : ids).slice(0, 1)
}

/* What is known */

const UNNAMED: KnownName = { bearers: [], itself: undefined }

function quoteWithId(value: string, known: KnownSoFar): KnownQuote | undefined {
  const key = thingKey(value)
  if (!known.quotes.has(key)) known.missing.push(['quotes', key])
  return known.quotes.get(key)
}

/** Returns the bookings in doubt under a reference in any case, oldest first. */
function openBookings(value: string, known: KnownSoFar): readonly Claim[] {
  const found = known.openBookings.get(value)
  if (!found) known.missing.push(['openBookings', value])
  return found ?? []
}

/**
 * Returns the newest booking in doubt that `counts` under the first of these names that has one, as its reference; else one of its quotes,
 * under whichever of the quote's names.
 */
function openBookingOf(
  names: readonly Meaning[],
  known: KnownSoFar,
  counts = (_booking: Claim) => true,
): Claim | undefined {
  for (const { value, bearers, namedBy, quote } of names) {
    const open = openBookings(value, known).findLast(counts)
    if (open) return open
    // An id or a number from the service is a quote's only if it is its id.
    const quotes = [quote ?? value, ...(namedBy === 'service' ? [] : quotesOf(bearers, known))]
    for (const id of [...new Set(quotes)].slice(0, MOST_QUOTES)) {
      const { names: called = [] } = quoteWithId(id, known) ?? {}
      const isOfQuote = (one: Claim) => isSameThing(requestOf(one).quote ?? '', id) && counts(one)
      for (const name of called) {
        const ofQuote = openBookings(name, known).findLast(isOfQuote)
        if (ofQuote) return ofQuote
      }
    }
  }
  return undefined
}

const isGone = (id: string, { shipments }: Known): boolean => shipments.get(id)?.isGone === true

/** Reports whether this call has read a shipment. */
const isSeen = (id: string, { shipments }: Known): boolean => shipments.get(id)?.vehicles !== undefined

/** Returns when a shipment was booked or approved, or last began to be gone or to stand again. */
const since = (id: string, known: KnownSoFar): number =>
  // One that is not stored was found to be gone just now, or was named by an import.
  known.shipments.get(id)?.stored?.at ?? (isGone(id, known) ? Number.POSITIVE_INFINITY : 0)

/** Returns the quotes from which shipments were booked. */
const quotesOf = (ids: readonly string[], { shipments }: Known): readonly string[] =>
  ids.flatMap((id) => shipments.get(id)?.stored?.quote || [])

/** Reports whether a shipment had a VIN when it was last shown, or before. */
const hadVin = (shipment: KnownShipment | undefined, vin: string): boolean => {
  const { vehicles = [], formerVins = {} } = shipment?.stored ?? {}
  return vehicles.some((vehicle) => vehicle.vin === vin) || Object.hasOwn(formerVins, vin)
}

/* Which shipment, and which of its vehicles */

interface ChosenShipment {
  readonly id: string
  /** False if its vehicle is not known to have, or to have had, the call's VIN. */
  readonly isCertain: boolean
}

/** Chooses a call's shipment among those that its names mean, or returns those that it has to look at first. */
function chooseShipment(
  reference: Reference,
  { ids, first, meanings }: AgreedThings,
  known: KnownSoFar,
): ChosenShipment | VinMismatch | Look {
  const { vin, use } = reference
  const mayHave = (id: string) => hadVin(known.shipments.get(id), vin)
  const ofGone = meanings.flatMap(({ bearers }) => bearers.filter((id) => isGone(id, known) && mayHave(id)))
  // The VIN may be that of another one that is gone or in doubt.
  const isUnsure = () =>
    !mayHave(first) && (ofGone.length > 0 || openBookingOf(meanings, known, (one) => one.vin === vin) !== undefined)
  // An update of one shipment chooses the vehicle from its own read, under a lock, so that no other update can outdate the choice.
  if (ids.length === 1 && (vin === '' || (use === 'update' && !isUnsure()))) return { id: first, isCertain: true }
  // If there are many, those that may have the VIN come first.
  const inOrder = [...ids.filter(mayHave), ...ids.filter((id) => !mayHave(id))]
  const unseen = inOrder.slice(0, MOST_LOOKS).filter((id) => !isSeen(id, known))
  if (unseen.length > 0) return { is: 'look', ids: unseen }
  const candidates = ids.flatMap((id) => known.shipments.get(id) ?? [])
  const choice = chooseVehicle(reference, candidates)
  if ('is' in choice) return choice
  const { id } = choice.shipment
  const isCertain = (choice.vin !== 'new' && choice.vin !== 'changed') || mayHave(id)
  // A vehicle without a VIN is not that of a shipment that was canceled after it was booked: a repeated cancellation must not mean it. One
  // with a VIN is none of these.
  const isOther = (one: string) => choice.vin === 'changed' || (!isCertain && since(id, known) < since(one, known))
  return ofGone.some(isOther) ? mismatch(use, candidates) : { id, isCertain }
}

/** The vehicle that a call means. */
export interface VehicleChoice {
  readonly shipment: KnownShipment
  /** The index of the vehicle in the shipment. */
  readonly entry: number
  /**
   * How the sent VIN relates to the vehicle: its own, a former one that is not written back, a new one for a vehicle without a VIN, a
   * changed one for a vehicle with another VIN, or none sent.
   */
  readonly vin: 'own' | 'former' | 'new' | 'changed' | 'none'
}

/** Chooses a call's vehicle among the shipments that bear its name, newest first; never empty. */
export function chooseVehicle(
  { vin, use, changesVehicle }: VehicleReference,
  candidates: readonly KnownShipment[],
): VehicleChoice | VinMismatch {
  const [newest, ...others] = candidates
  if (!newest) return mismatch('read', candidates)
  if (vin === '') {
    const isAmbiguous = others.length > 0 || (use === 'update' && changesVehicle && vehiclesOf(newest).length > 1)
    return isAmbiguous && use !== 'read' ? mismatch(use, candidates) : { shipment: newest, entry: 0, vin: 'none' }
  }
  const [holder, ...more] = vehiclesWithVin(vin, candidates)
  if (holder) return canUse(use, holder, more) ? holder : mismatch(use, candidates)
  // If there are too many shipments to read them all, one that was not read may have the VIN.
  const blanks = candidates.every(({ vehicles }) => vehicles)
    ? candidates.flatMap((one) => blankChoices(one, vin, use))
    : []
  const [blank] = blanks
  const isOneShipment = new Set(blanks.map(({ shipment }) => shipment.id)).size === 1
  if (blank && isOneShipment) {
    const furtherBlanks = use === 'update' ? blanks.slice(1) : []
    return canUse(use, blank, furtherBlanks) ? blank : mismatch(use, candidates)
  }
  const hasOneVehicle = others.length === 0 && vehiclesOf(newest).length === 1
  if (use === 'update' && hasOneVehicle) return { shipment: newest, entry: 0, vin: 'changed' }
  return mismatch(use, candidates)
}

const mismatch = (use: NameUse, candidates: readonly KnownShipment[]): VinMismatch => ({
  is: use === 'read' ? 'no-such-vehicle' : 'several',
  vins: candidates.flatMap(vinsOf),
})

/** Reports whether a chosen vehicle can be used this way. Version 1 cannot cancel one of several vehicles. */
const canUse = (use: NameUse, { shipment }: VehicleChoice, others: readonly VehicleChoice[]): boolean =>
  use === 'read' || (others.length === 0 && (use !== 'cancel' || vehiclesOf(shipment).length < 2))

/** Stands for a vehicle's present VIN after an update has sent a new one that no read has shown yet. */
export const SENT_VIN = '?'

/** Returns the vehicles that have a VIN, or if there are none, those that had it. */
function vehiclesWithVin(vin: string, candidates: readonly KnownShipment[]): readonly VehicleChoice[] {
  const owners = candidates.flatMap((shipment): readonly VehicleChoice[] => {
    const entry = vehiclesOf(shipment).findIndex((vehicle) => vehicle.vin === vin)
    return entry < 0 ? [] : [{ shipment, entry, vin: 'own' }]
  })
  if (owners.length > 0) return owners
  return candidates.flatMap((shipment): readonly VehicleChoice[] => {
    const { [vin]: heir, ...others } = shipment.stored?.formerVins ?? {}
    if (heir === undefined || heir === SENT_VIN) return []
    // The one that replaced it may be lost.
    const now = others[heir] ?? heir
    const vehicles = vehiclesOf(shipment)
    // Without a successor, only a vehicle that has lost its VIN can be the one that had it, not one that was beside it.
    const entry = now !== '' || vehicles.length === 1 ? vehicles.findIndex((vehicle) => vehicle.vin === now) : -1
    return entry < 0 ? [] : [{ shipment, entry, vin: heir === '' ? 'new' : 'former' }]
  })
}

/** Returns the vehicles without a VIN. A shipment that shows no vehicles may have one, unless it last had other VINs. */
function blankChoices(shipment: KnownShipment, sent: string, use: NameUse): readonly VehicleChoice[] {
  const vehicles = vehiclesOf(shipment)
  const last = shipment.stored?.vehicles ?? []
  // A cancellation is sent even if the shipment seems to be gone.
  const isNowhere = shipment.isGone && use !== 'cancel'
  const mayHave = isNowhere || last.length === 0 || last.some(({ vin }) => vin === '') || hadVin(shipment, sent)
  if (vehicles.length === 0) return mayHave ? [{ shipment, entry: 0, vin: 'new' }] : []
  return vehicles.flatMap(({ vin }, entry) => (vin === '' ? [{ shipment, entry, vin: 'new' as const }] : []))
}

const vehiclesOf = ({ vehicles }: KnownShipment): readonly Vehicle[] => vehicles ?? []

const vinsOf = (shipment: KnownShipment): readonly string[] => {
  const shown = vehiclesOf(shipment)
  const known = shown.length > 0 ? shown : (shipment.stored?.vehicles ?? [])
  const vins = known.map(({ vin }) => vin || '(none)')
  return vins.length > 0 ? vins : ['(none)']
}

/** Returns a VIN in the form that is compared; empty for none. */
export function vinKey(vin: string | undefined): string {
  return vin === undefined || isNotKnown(vin) ? '' : plainVin(vin)
}

/** Returns a version-2 body's vehicles in the form that is compared. */
export function vehiclesIn(body: Readonly<Draft>): readonly Vehicle[] {
  const { vehicles } = body
  if (!Array.isArray(vehicles)) return []
  return vehicles.map((vehicle) => ({
    vin: vinKey(serviceId(valueAt(vehicle, ['vin']))),
    year: comparable(vehicle, 'year'),
    make: comparable(vehicle, 'make'),
    model: comparable(vehicle, 'model'),
  }))
}

const LONGEST_WORD = 64

/** Returns one of a vehicle's texts without differences in spelling: `E-450` and `e450` are the same. */
function comparable(vehicle: unknown, key: string): string {
  const text = (serviceId(valueAt(vehicle, [key])) ?? '').toUpperCase()
  return (/^[A-Z0-9]*$/.test(text) ? text : text.replace(/[^\p{L}\p{N}]+/gu, '')).slice(0, LONGEST_WORD)
}

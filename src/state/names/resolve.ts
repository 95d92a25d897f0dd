import { type Draft, valueAt } from '../../language/mapping/paths.ts'
import { isNotKnown, plainVin, serviceId } from '../../language/text/service-text.ts'
import type { Vehicle } from '../../outside/store/store.ts'

/*
 * Decides what a version-1 call means by the names and the VIN that it sends. Pure: it gets what is known, and returns `ask` or `look` for
 * what is still to be found out; the caller finds it out and calls again. Reads, updates, cancellations, approvals, and the dry run of each
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

/** The knowledge about one field's value. */
export interface KnownName {
  /** Ids of the shipments to which the caller gave this name, newest first. */
  readonly ofCaller: readonly string[]
  /** The newest quote with this name. */
  readonly quote: QuoteOfName | undefined
  /** Quotes that had the name before, because quotes share an order. Added only once names disagree. */
  readonly olderQuotes: readonly QuoteOfName[]
  /** Ids of the shipments to which the service gave this name, or whose id the value is. */
  readonly ofService: readonly string[]
  /** The id of the shipment that the service shows for this name, or null if it shows none; undefined until it is asked. */
  readonly asked: string | null | undefined
  /** True if the service may be asked for the value. */
  readonly mayAsk: boolean
  /** The booking under this reference whose outcome is not known yet, if no standing shipment has this name. */
  readonly openBooking: OpenBooking | undefined
}

/** A quote to which the caller gave this name. */
interface QuoteOfName {
  readonly id: string
  /** The shipments that were booked or approved from it, newest first. */
  readonly shipments: readonly string[]
}

/** A booking that is being sent, or whose outcome is not known. */
export interface OpenBooking {
  readonly handle: string
  readonly isSending: boolean
}

/** A shipment, as far as it is known. */
export interface KnownShipment {
  readonly id: string
  /** The vehicles that this call's read has shown, empty if it found nothing; undefined before a read. */
  readonly vehicles: readonly Vehicle[] | undefined
  readonly formerVins: Readonly<Record<string, string>>
  /**
   * The VINs that it had when it was last shown with vehicles.
   * @default none
   */
  readonly lastVins?: readonly string[]
  /** True if the service last showed it as canceled, or did not know it. */
  readonly isGone: boolean
  /**
   * When it was booked or approved, or last began to be gone or to stand again.
   * @default long ago
   */
  readonly at?: number
}

/** The meaning of a call. */
export type Resolution =
  | ShipmentMeant
  | { readonly is: 'quote'; readonly id: string; readonly field: string; readonly ignored: readonly SentName[] }
  /** The service has to be asked for these values. */
  | { readonly is: 'ask'; readonly values: readonly string[] }
  /** These shipments have to be read. */
  | { readonly is: 'look'; readonly ids: readonly string[] }
  /** A booking with this reference is in doubt, and nothing else has the name. */
  | { readonly is: 'in-doubt'; readonly booking: OpenBooking }
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
  readonly ids: readonly string[]
  /** The other things that the field means if another field means one of these alone. */
  readonly olderIds?: readonly string[]
  readonly namedBy: NamedBy
}

/** The VIN, or a missing one, chooses no vehicle: `several` is a conflict, `no-such-vehicle` is about something that is not there. */
export interface VinMismatch {
  readonly is: 'several' | 'no-such-vehicle'
  readonly vins: readonly string[]
}

/** The most shipments with one name that are read to choose among them. */
export const MOST_LOOKS = 10

/** Returns the meaning of a call. */
export function resolve(
  reference: Reference,
  known: ReadonlyMap<string, KnownName>,
  shipments: ReadonlyMap<string, KnownShipment>,
): Resolution {
  const meanings: Meaning[] = []
  const ignored: SentName[] = []
  const unasked: string[] = []
  let booking: OpenBooking | undefined
  for (const [field, value] of reference.names) {
    const name = known.get(value)
    const meaning = name && meaningOf(name, reference, shipments)
    if (meaning) meanings.push({ field, ...meaning })
    else if (reference.kind === 'shipment' && name?.mayAsk && name.asked === undefined) unasked.push(value)
    else {
      ignored.push([field, value])
      booking ??= name?.openBooking
    }
  }
  const [first, ...others] = meanings
  const common = first ? allOf(first).filter((id) => others.every((other) => allOf(other).includes(id))) : []
  if (first && common.length === 0) return { is: 'conflict', meanings }
  if (unasked.length > 0) return { is: 'ask', values: [...new Set(unasked)] }
  // The booking in doubt may be a shipment other than the one that another field means.
  if (booking && reference.kind === 'shipment') return { is: 'in-doubt', booking }
  const [id, ...more] = common
  if (!first || id === undefined) return { is: 'unknown' }
  const { field, namedBy } = meanings.find(({ namedBy: by }) => by === 'caller') ?? first
  if (reference.kind === 'quote') return { is: 'quote', id, field, ignored }

  const meant = (one: string): ShipmentMeant => ({
    is: 'shipment',
    id: one,
    field,
    namedBy,
    bearers: common.length,
    ignored,
  })
  const mayHave = (one: string) => hadVin(shipments.get(one), reference.vin)
  // Until a read shows its vehicles, a VIN may mean another one that is gone.
  const isUnsure =
    !shipments.get(id)?.vehicles &&
    !mayHave(id) &&
    shipments.values().some((one) => one.isGone && hadVin(one, reference.vin))
  // An update of one shipment chooses the vehicle from its own read, under a lock, so that no other update can outdate the choice.
  if (more.length === 0 && (reference.vin === '' || (reference.use === 'update' && !isUnsure))) return meant(id)
  // If there are many, those that may have the VIN come first.
  const inOrder = [...common.filter(mayHave), ...common.filter((one) => !mayHave(one))]
  const unseen = inOrder.slice(0, MOST_LOOKS).filter((one) => shipments.get(one)?.vehicles === undefined)
  if (unseen.length > 0) return { is: 'look', ids: unseen }
  const candidates = common.map((one) => shipments.get(one) ?? { ...NEVER_SEEN, id: one })
  const choice = chooseVehicle(reference, candidates)
  return 'is' in choice ? choice : meant(choice.shipment.id)
}

const NEVER_SEEN = { vehicles: undefined, formerVins: {}, isGone: false } as const

/** Reports whether a shipment had a VIN when it was last shown, or before. */
const hadVin = (shipment: KnownShipment | undefined, vin: string): boolean =>
  shipment !== undefined && (shipment.lastVins?.includes(vin) === true || Object.hasOwn(shipment.formerVins, vin))

/** Returns everything that a name may mean. */
const allOf = ({ ids, olderIds = [] }: Meaning): readonly string[] =>
  olderIds.length === 0 ? ids : [...new Set([...ids, ...olderIds])]

/** Returns the things that a name means, by its strongest meaning; undefined if it means nothing known. */
function meaningOf(
  { ofCaller, quote, olderQuotes, ofService, asked, openBooking }: KnownName,
  reference: Reference,
  shipments: ReadonlyMap<string, KnownShipment>,
): Omit<Meaning, 'field'> | undefined {
  if (reference.kind === 'quote')
    return quote && { ids: [quote.id], olderIds: olderQuotes.map(({ id }) => id), namedBy: 'quote' }
  // A caller's own name comes before one that the service happened to give.
  if (ofCaller.length > 0)
    return openBooking ? undefined : { ids: standing(ofCaller, shipments, reference), namedBy: 'caller' }
  if (quote) {
    if (openBooking) return undefined
    const ids = quote.shipments.length > 0 ? quote.shipments : [quote.id]
    const olderIds = olderQuotes.flatMap((one) => standing(one.shipments, shipments, reference))
    return { ids: standing(ids, shipments, reference), olderIds, namedBy: 'quote' }
  }
  if (ofService.length > 0)
    return openBooking ? undefined : { ids: standing(ofService, shipments, reference), namedBy: 'service' }
  if (typeof asked !== 'string' || (openBooking && shipments.get(asked)?.isGone)) return undefined
  return { ids: [asked], namedBy: 'service' }
}

/**
 * Returns the shipments that bear a name. One that is gone does not while another one does, but a VIN means the one that had it if all are
 * gone, or if those that stand never had it and were booked before that one was gone: a repeated cancellation is not one of them.
 */
function standing(
  ids: readonly string[],
  shipments: ReadonlyMap<string, KnownShipment>,
  { vin }: VehicleReference,
): readonly string[] {
  const live = [...new Set(ids.filter((id) => !shipments.get(id)?.isGone))]
  const had = vin !== '' ? ids.filter((id) => hadVin(shipments.get(id), vin)) : []
  const at = (id: string) => shipments.get(id)?.at ?? 0
  const isOther = (id: string) =>
    shipments.get(id)?.vehicles !== undefined && !had.includes(id) && had.some((one) => at(id) < at(one))
  if (live.length > 0 && !live.every(isOther)) return live
  return (had.length > 0 ? had : ids).slice(0, 1)
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
  const mismatch = (is: VinMismatch['is']): VinMismatch => ({ is, vins: candidates.flatMap(vinsOf) })
  const [newest, ...others] = candidates
  if (!newest) return mismatch('no-such-vehicle')
  if (vin === '') {
    const isAmbiguous = others.length > 0 || (use === 'update' && changesVehicle && vehiclesOf(newest).length > 1)
    return isAmbiguous && use !== 'read' ? mismatch('several') : { shipment: newest, entry: 0, vin: 'none' }
  }
  const [holder, ...more] = vehiclesWithVin(vin, candidates)
  if (holder) return canUse(use, holder, more) ? holder : mismatch('several')
  // If there are too many shipments to read them all, one that was not read may have the VIN.
  const blanks = candidates.every(({ vehicles }) => vehicles)
    ? candidates.flatMap((one) => blankChoices(one, vin, use))
    : []
  const [blank] = blanks
  const isOneShipment = new Set(blanks.map(({ shipment }) => shipment.id)).size === 1
  if (blank && isOneShipment) {
    const furtherBlanks = use === 'update' ? blanks.slice(1) : []
    return canUse(use, blank, furtherBlanks) ? blank : mismatch('several')
  }
  const hasOneVehicle = others.length === 0 && vehiclesOf(newest).length === 1
  if (use === 'update' && hasOneVehicle) return { shipment: newest, entry: 0, vin: 'changed' }
  return mismatch(use === 'read' ? 'no-such-vehicle' : 'several')
}

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
    const { [vin]: heir, ...others } = shipment.formerVins
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
  const { lastVins = [], isGone } = shipment
  // A cancellation is sent even if the shipment seems to be gone.
  const isNowhere = isGone && use !== 'cancel'
  const mayHave = isNowhere || lastVins.length === 0 || lastVins.includes('') || hadVin(shipment, sent)
  if (vehicles.length === 0) return mayHave ? [{ shipment, entry: 0, vin: 'new' }] : []
  return vehicles.flatMap(({ vin }, entry) => (vin === '' ? [{ shipment, entry, vin: 'new' as const }] : []))
}

const vehiclesOf = ({ vehicles }: KnownShipment): readonly Vehicle[] => vehicles ?? []

const vinsOf = (shipment: KnownShipment): readonly string[] => {
  const shown = vehiclesOf(shipment).map(({ vin }) => vin)
  const known = shown.length > 0 ? shown : (shipment.lastVins ?? [])
  const vins = known.map((vin) => vin || '(none)')
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

import { toGatewayError } from '../edge/answers.ts'
import { gatewayError, perhapsBooked, RETRY_SOON } from '../language/errors.ts'
import { withoutKnown } from '../language/mapping/overlay.ts'
import { assumedIn } from '../language/mapping/request.ts'
import { scalarText } from '../language/text/json.ts'
import { isSameThing } from '../language/text/service-text.ts'
import {
  foreignShipment,
  idAt,
  isCanceled,
  isGone,
  isNotWhole,
  type Shipment,
  shipmentWithId,
} from '../outside/service/proofs.ts'
import { isNotFound, type UpstreamReply } from '../outside/service/reply.ts'
import type { Sending } from '../outside/service/service.ts'
import { isOfOtherVehicle, toldBy } from '../outside/store/claim.ts'
import { type Claim, isStoredAsGone, type KnownVehicles, type NewName, type Vehicle } from '../outside/store/store.ts'
import { holdersOf } from '../state/bookings/bookings.ts'
import { isOpen, NotBooked } from '../state/bookings/protocol.ts'
import { formerVinsAfter, namesOfShipment, type RememberedQuote } from '../state/names/names.ts'
import { chooseVehicle, SENT_VIN } from '../state/names/resolve.ts'
import { bookingsOf, foreignPart } from './approve.ts'
import { accountOf, type Plan, planCall } from './plan.ts'
import { namesGivenIn } from './read-request.ts'
import { goneShipment, noteSeen, seenShipment, vinError, vinOf } from './subject.ts'
import { isNotMade, type MergedShipment, merge, setsVin, unlessMade, type VinUse, withSentVin } from './update.ts'
import type { CallRooms } from './verb.ts'

/** A quote that a booking refers to and whose approval was sent. The service may have made it a shipment with the same id. */
export interface ApprovedQuote {
  readonly quote: RememberedQuote
  /** The others with its name. The approval of one may have made the shipment, too. */
  readonly others: readonly RememberedQuote[]
  /** False if the approval's outcome is not known, or if the name has a newer quote. */
  readonly sendsQuoteId: boolean
}

/** Reports whether a booking of an approved quote is for a vehicle other than the one that it was approved for. */
export async function isFurtherVehicle(
  { quote, sendsQuoteId }: ApprovedQuote,
  tenant: string,
  { bookings, names }: CallRooms,
  besides?: string,
): Promise<boolean> {
  if (!sendsQuoteId) return true
  for (const id of await names.shipmentsOf(tenant, quote)) if (await bookings.isBooked(tenant, id, besides)) return true
  return false
}

/** The ids of shipments that a booking may be merged into, each with its approved quote, in the order in which they are tried. */
export type Mergeable = ReadonlyMap<string, RememberedQuote>
export const NONE_MERGEABLE: Mergeable = new Map()

/**
 * Returns the mergeable shipments of an approved quote: first the one that was shown with the booking's VIN, or that it was sent to. If the
 * shipment with the quote's own id is booked, other than by `besides`, there is no other one.
 */
export async function mergeableShipments(
  { quote: first, others }: ApprovedQuote,
  { tenant, vin }: { readonly tenant: string; readonly vin: string },
  { bookings, names }: CallRooms,
  besides?: string,
): Promise<Mergeable> {
  const isBooked = await bookings.isBooked(tenant, first.id, besides)
  const mergeable = new Map(isBooked ? [] : [[first.id, first]])
  const known = new Set([first.id])
  for (const quote of [first, ...others]) {
    // Its shipment is booked. An order of many vehicles has as many such quotes.
    if (known.has(quote.id) && !mergeable.has(quote.id)) continue
    const { idsInApproval } = await names.quote(tenant, quote.id)
    const approved = [quote.id, ...idsInApproval]
    for (const id of [...approved, ...(await names.shipmentsOf(tenant, quote))]) {
      if (known.has(id)) continue
      // It may have the quote's name only from another quote.
      const { quote: madeFrom = '' } = (await names.shipment(tenant, id)) ?? {}
      if (!approved.includes(id) && madeFrom !== '' && !isSameThing(madeFrom, quote.id)) continue
      known.add(id)
      if (!(await bookings.isBooked(tenant, id, besides))) mergeable.set(id, quote)
    }
  }
  const rest = isBooked ? NONE_MERGEABLE : mergeable
  const isShownWith = (one: KnownVehicles | undefined) =>
    vin !== '' && one && (one.vehicles.some((vehicle) => vehicle.vin === vin) || one.formerVins[vin] === SENT_VIN)
  for (const [id, quote] of mergeable)
    if (isShownWith(await names.shipment(tenant, id))) return new Map([[id, quote], ...rest])
  return rest
}

/** Plans a booking for a vehicle other than the one that the quote was approved for. */
export function withoutQuoteId({ request, subject, settings, own }: Plan): Plan {
  return { ...planCall(request, { ...subject, sendsQuoteId: false }, settings), own }
}

/** A shipment that a booking may be merged into. */
interface ApprovedShipment {
  readonly id: string
  /** The approved quote that led to it. */
  readonly quote: RememberedQuote
  /** False for the shipment of another quote with the same name, which may be for another vehicle. */
  readonly isFirst: boolean
}

/** A merge with the booking's plan, and the vehicles that the shipment had before. */
interface MergedBooking extends MergedShipment {
  readonly known: KnownVehicles | undefined
  readonly plan: Plan
}

/** The quote's shipment has the vehicle of another booking. */
export const OF_ANOTHER = 'of-another'

/**
 * Merges a booking into a shipment of its approved quote; returns undefined if there is none. After a failure here, a second attempt cannot
 * book twice.
 */
export async function mergeIntoApproved(
  plan: Plan,
  approved: ApprovedShipment,
  claim: Claim,
  sending: Sending,
  rooms: CallRooms,
): Promise<MergedBooking | typeof OF_ANOTHER | undefined> {
  const { quote_id: _, ...sent } = plan.body
  const { tenant } = claim
  const { id } = approved
  let madeFrom = approved.quote
  let body = sent
  const compiled = rooms.catalog.firstOf('update')
  if (!compiled) throw new NotBooked(new Error('The mappings declare no update of a shipment.'))
  const vin = vinOf(plan.request)
  let known: KnownVehicles | undefined
  let isOfAnother = false
  const merging = {
    id,
    sentTo: (shipment: Shipment, entry: number) => {
      body = withoutKnown(sent, keptBy(plan, madeFrom), shipment.body, entry)
      return body
    },
    textOf: plan.request.sent,
    problems: [],
    compiled,
    settings: plan.settings,
    verify: async (reply: UpstreamReply) => {
      const found = await shipmentToMerge(reply, approved, claim, rooms)
      isOfAnother = found === OF_ANOTHER
      if (found === OF_ANOTHER) return undefined
      known = found?.known
      madeFrom = found?.quote ?? approved.quote
      return found?.shipment
    },
    choose: async (shipment: Shipment) => {
      const seen = { ...seenShipment(shipment), stored: known }
      const choice = chooseVehicle({ vin, use: 'update', changesVehicle: true }, [seen])
      if (!('is' in choice)) return choice
      // It has several.
      const entry = entryOf(claim, seen.vehicles)
      if (entry === undefined) throw new NotBooked(vinError(choice, vin, 'update'))
      return { entry, vin: 'changed' as const }
    },
    around: async (send: () => Promise<UpstreamReply>, _: unknown, use: VinUse) => {
      // Before the change: if it has no answer, the booking's reference must not mean another vehicle's shipment alone.
      const given = namesOfShipment(tenant, id, namesGivenIn(plan.request), undefined)
      const isBorne = await Promise.all(given.map((name) => bearsAlready(name, rooms)))
      const names = given.filter((_name, nth) => !isBorne[nth])
      const isOfQuote = Boolean((await rooms.names.shipment(tenant, id))?.quote)
      await rooms.names.write({ names, shipment: { tenant, id, ...(!isOfQuote && { quote: madeFrom.id }) } })
      const change = () => (setsVin(use) ? withSentVin(vin, id, tenant, send, rooms) : send())
      // Otherwise, the next quote of this order would count as booked. Not retried later: by then, the booking may be made.
      return unlessMade(change, () => rooms.store.unlink(names).catch(() => undefined))
    },
    readError: (cause: unknown) =>
      cause instanceof NotBooked
        ? cause
        : new NotBooked(
            isNotWhole(cause)
              ? gatewayError('service-unavailable/approved-part', {}, { cause })
              : gatewayError('service-unavailable/approved', {}, { cause, ...RETRY_SOON }),
          ),
  }
  try {
    const merged = await merge(merging, tenant, sending, rooms)
    if (isOfAnother) return OF_ANOTHER
    if (merged?.after && isCanceled(merged.after))
      throw gatewayError('reply-doubtful/change', { fault: 'it is canceled' })
    return merged && { ...merged, known: known && withoutSentVins(known), plan: { ...plan, body } }
  } catch (error) {
    const reason = error instanceof NotBooked ? error.reason : updateError(error)
    // The quote's shipment may stand, whatever became of these fields: `No` would make the caller book again.
    throw new NotBooked(perhapsBooked(toGatewayError(reason)))
  }
}

/** Reports whether a caller gave a shipment this name before. */
async function bearsAlready({ tenant, name, id }: NewName, { store }: CallRooms): Promise<boolean> {
  const bearers = await store.named(tenant, name)
  const isThis = (one: NewName) => one.kind === 'shipment' && one.givenBy === 'caller' && isSameThing(one.id, id)
  return bearers.some((one) => one.name === name && isThis(one))
}

/** Leaves out the VINs of changes that this booking's read has shown not to be made. */
const withoutSentVins = ({ vehicles, formerVins }: KnownVehicles): KnownVehicles => ({
  vehicles,
  formerVins: Object.fromEntries(Object.entries(formerVins).filter(([, heir]) => heir !== SENT_VIN)),
})

/**
 * Decides which values a shipment keeps that was made of an approved quote: what it has was said when it was quoted, or since. Only the
 * booking itself says otherwise, or a later quote. A guess from the booking's fields replaces no more than an assumption.
 */
function keptBy(plan: Plan, quote: RememberedQuote): (path: string, has: string) => boolean {
  // Each place stands before its value.
  const said = new Set(plan.filled.filter((_, at) => at % 2 === 0))
  const origins = new Map(accountOf(plan).fields.map(({ to, origin }) => [to, origin]))
  const earlier = planOfEarlierQuote(plan, quote)
  const fromEarlier = (earlier ? accountOf(earlier).fields : []).filter((one) => one.origin === 'quote')
  const quoted = new Map(fromEarlier.map(({ to, after }) => [to, scalarText(after)]))
  const assumed = assumedIn(quote.facts)
  return (path, has) => {
    const origin = origins.get(path)
    if (said.has(path) || origin === undefined) return false
    const isLaterQuote = origin === 'quote' && earlier !== undefined
    // A guess has the origin of the fields that it is made from.
    if (assumed.includes(has) && (isLaterQuote || origin === 'caller')) return false
    return !(isLaterQuote && has === quoted.get(path))
  }
}

/** Returns the plan that the booking would have with the approved quote in place of a later one with its name. */
function planOfEarlierQuote({ request, subject, settings }: Plan, quote: RememberedQuote): Plan | undefined {
  if (!subject.quote || isSameThing(subject.quote.id, quote.id)) return undefined
  return planCall(request, { ...subject, quote }, settings)
}

/** What tells vehicles without a VIN apart. */
const TELLING = ['year', 'make', 'model'] as const

/**
 * Returns the place of a booking's vehicle among several of which no VIN is its own: the one that is shown with its year, make and model,
 * or else one without a VIN, preferably one of which nothing is shown, or nothing that differs.
 */
function entryOf(claim: Claim, vehicles: readonly Vehicle[]): number | undefined {
  const entries = vehicles.map((vehicle, at) => ({ ...vehicle, at }))
  const own = entries.filter((vehicle) => !isOfOtherVehicle(claim, { vehicles: [vehicle], formerVins: {} }))
  const told = toldBy(claim)
  const likeness = (one: Vehicle) => TELLING.filter((part) => one[part] !== '' && one[part] === told[part]).length
  const isShown = (one: Vehicle) => TELLING.some((part) => one[part] !== '')
  const isBlank = ({ vin }: Vehicle) => vin === ''
  const alike = own.filter((one) => likeness(one) > 0).sort((one, other) => likeness(other) - likeness(one))
  const blanks = own.filter(isBlank)
  const best = [
    alike.find(isBlank),
    alike.length === 1 ? alike[0] : undefined,
    blanks.find((one) => !isShown(one)),
    blanks[0],
    entries.find(isBlank),
  ].find((one) => one !== undefined)
  return best?.at
}

/**
 * Returns the shipment that a read shows, with its vehicles and its quote, if the booking may be merged into it; undefined if it is gone or
 * belongs to something else.
 */
async function shipmentToMerge(
  reply: UpstreamReply,
  { id, quote, isFirst }: ApprovedShipment,
  claim: Claim,
  rooms: CallRooms,
): Promise<
  | { readonly shipment: Shipment; readonly known: KnownVehicles; readonly quote: RememberedQuote }
  | typeof OF_ANOTHER
  | undefined
> {
  const { names, store } = rooms
  const { tenant, handle } = claim
  if (isGone(reply, id)) {
    const seen = isNotFound(reply) ? goneShipment(id) : seenShipment(shipmentWithId(reply, id))
    const before = await names.shipment(tenant, id)
    // It was gone before this booking, which counts as made when it was claimed.
    if ((before || seen.body) && !isStoredAsGone(before))
      await names.write({ shipment: { tenant, id, state: seen.state, at: claim.createdAt - 1 } })
    await noteSeen(tenant, seen, rooms)
    return undefined
  }
  const shipment = shipmentWithId(reply, id)
  const seen = seenShipment(shipment)
  const stored = await names.shipment(tenant, id)
  const known = { vehicles: seen.vehicles, formerVins: formerVinsAfter(stored, seen.vehicles) }
  const isNamed = id === quote.id || (await names.quote(tenant, quote.id)).idsInApproval.includes(id)
  // Another quote of this name made it, or an imported one has nothing of the quote but the name.
  const of = isNamed ? quote : stored?.quote ? { ...quote, id: stored.quote } : undefined
  // One that the approval of another quote named stays with its vehicle, even if it names that quote.
  const isDoubtful = !of || !(isFirst || isSameThing(id, of.id))
  if (isDoubtful && isOfOtherVehicle(claim, known)) return undefined
  const foreign = of && foreignPart(seen, of, claim, known.formerVins)
  if (foreign && !isFirst) return undefined
  // A booking with an unknown outcome may own this shipment.
  const others = (await bookingsOf(quote, tenant, store)).filter((one) => one.handle !== handle)
  const holders = (await holdersOf(tenant, id, store)).filter((one) => one.handle !== handle)
  // It may have been recorded as booked since the shipment counted as mergeable.
  const [other] = [...others.filter(isOpen), ...holders]
  if (other) throw new NotBooked(gatewayError('booking-under-way/quote', { key: other.handle }, RETRY_SOON))
  // One whose change had no answer is released, and the service may have made it.
  const wasSent = ({ vin, reference }: Claim) =>
    known.formerVins[vin] === SENT_VIN || idAt(shipment.body, 'external_id') === reference
  const isOfOther = (vehicles: KnownVehicles) =>
    isOfOtherVehicle(claim, vehicles) && others.some((one) => wasSent(one) && !isOfOtherVehicle(one, vehicles))
  // The read may show that another one's change was made, and this booking's was not.
  if (isOfOther(known) || isOfOther(withoutSentVins(known))) return OF_ANOTHER
  if (foreign) throw foreignShipment(foreign)
  // Before the change, so that a cancellation that comes meanwhile stands.
  if (stored && stored.state !== 'live') await names.write({ shipment: { tenant, id, state: 'live' } })
  const madeFrom = isNamed || !stored?.quote ? quote : await names.quote(tenant, stored.quote)
  return { shipment, known, quote: madeFrom }
}

/** Returns the error of a booking whose fields may or may not have reached the shipment of its approved quote. */
function updateError(cause: unknown): unknown {
  return isNotMade(cause) ? cause : gatewayError('outcome-unknown/approved', {}, { cause, ...RETRY_SOON })
}

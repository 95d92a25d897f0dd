import type { IncomingHttpHeaders } from 'node:http'
import { zipcode } from '../../mappings/codecs.ts'
import { toGatewayError } from '../edge/answers.ts'
import type { Caller } from '../edge/callers/caller.ts'
import type { Answer } from '../language/answer.ts'
import { gatewayError, perhapsBooked, RETRY_SOON } from '../language/errors.ts'
import { type Draft, valueAt } from '../language/mapping/paths.ts'
import { encoded } from '../language/mapping/reply.ts'
import { scalarText } from '../language/text/json.ts'
import { isSameThing } from '../language/text/service-text.ts'
import {
  bookedShipment,
  doubtful,
  idAt,
  isCanceled,
  type Shipment,
  shipmentIfRead,
  shipmentIn,
} from '../outside/service/proofs.ts'
import type { UpstreamReply } from '../outside/service/reply.ts'
import { type Sending, shipmentRead } from '../outside/service/service.ts'
import { isOfOtherVehicle, isOtherVehicle } from '../outside/store/claim.ts'
import {
  type BookedVehicle,
  type Claim,
  isStoredAsGone,
  type KnownVehicles,
  type NamesWrite,
  type NameWithBearer,
  type NotedApproval,
  type Store,
  type StoredShipment,
  type Vehicle,
} from '../outside/store/store.ts'
import {
  type Booking,
  type BookingIdentity,
  holdersOf,
  type MadeBooking,
  requestOf,
} from '../state/bookings/bookings.ts'
import { isOpen, NotBooked } from '../state/bookings/protocol.ts'
import { formerVinsAfter, namesOfShipment } from '../state/names/names.ts'
import { vehiclesIn } from '../state/names/resolve.ts'
import { mayBeUnderWay, openError, withQuoteLock } from './approve.ts'
import {
  type ApprovedQuote,
  isFurtherVehicle,
  type Mergeable,
  mergeableShipments,
  mergeIntoApproved,
  NONE_MERGEABLE,
  OF_ANOTHER,
  withoutQuoteId,
} from './book-approved.ts'
import { ACCEPTED, type Plan, type Prospect, planCall, plannedCall, readsOf, refused, sendNew } from './plan.ts'
import { namesGivenIn, namesIn, type Version1 } from './read-request.ts'
import { lookFor, NO_SUBJECT, type Subject, vinOf } from './subject.ts'
import type { CallInHand, CallRooms } from './verb.ts'
import { answerOf, assumedHeader } from './version1-answer.ts'

/**
 * Books once: claims the booking, sends it and records it, or returns the answer of the call that did. In a brownout it
 * sends nothing.
 */
export async function book(call: CallInHand, rooms: CallRooms): Promise<Answer> {
  const { request, caller, sending } = call
  const { tenant } = caller
  const trip = await quoteOfBooking(request, call.headers, caller, rooms)
  const { subject, approved } = trip
  const plan = plannedCall(call, subject)

  const look = lookFor(tenant, sending, rooms)
  const booking: Booking = {
    ...identityOf(plan, call.headers, tenant),
    credential: caller.credential,
    deadline: sending.deadline,
    refusal: call.brownout,
    request: {
      id: sending.requestId,
      route: routeOf(plan),
      quote: subject.quote?.id ?? '',
      headers: assumedHeader(plan),
    },
    replayCheckAfterMs: rooms.config.REPLAY_CHECK_AFTER,
    // A read that shows the shipment as gone frees the key.
    look: async (shipment) => {
      try {
        return (await look.read(shipment)).state
      } catch (cause) {
        // The booking stands even if the read fails: `No` would make the caller book again.
        throw perhapsBooked(toGatewayError(cause))
      }
    },
  }
  if (!approved || rooms.config.APPROVAL_BOOKS !== 'auto')
    return bookOnce(plan, booking, sending, { ...trip, approved: undefined }, rooms)
  // Awaited first, because one of them may wait for the quote's lock. No other lock is taken: to other bookings it would be an approval's.
  for (const other of approved.others)
    if (await mayBeUnderWay(other, tenant, rooms.store))
      await withQuoteLock(tenant, other.id, sending, rooms.store, () => Promise.resolve())
  // Under the lock, because the second of two bookings of one approved quote must see the first one's shipment.
  return withQuoteLock(tenant, approved.quote.id, sending, rooms.store, (isLocked) =>
    bookOnce(plan, booking, { ...sending, mayWrite: isLocked }, trip, rooms),
  )
}

/** Claims, sends and records, in this order. */
async function bookOnce(
  plan: Plan,
  booking: Booking,
  sending: Sending,
  trip: QuoteOfBooking,
  rooms: CallRooms,
): Promise<Answer> {
  const { bookings } = rooms
  const { approved } = trip
  const claimed = await bookings.claim(booking)
  if ('answer' in claimed) return claimed.answer
  const held = { ...sending, mayWrite: () => sending.mayWrite?.() !== false && claimed.isHeld() }
  let made: MadeBooking
  try {
    // Most bookings have no quote and meet no other, and need no second lookup.
    if (plan.subject.quote || claimed.isLate) await beforeSending(requireNoOtherApproval(trip, claimed.claim, rooms))
    const mergeable = approved
      ? await beforeSending(mergeableShipments(approved, claimed.claim, rooms))
      : NONE_MERGEABLE
    await beforeSending(requireOtherVehicle(trip, mergeable, claimed.claim, booking.look, rooms))
    made = approved
      ? await makeOfApproved(plan, approved, mergeable, claimed.claim, held, rooms)
      : await sendBooking(plan, claimed.claim, held, rooms)
  } catch (error) {
    throw await bookings.failed(claimed, error)
  }
  return bookings.made(claimed, made)
}

/**
 * Throws if another name of the booking's quote has a booking in doubt that may be of its vehicle, or if its reference is the number of a
 * live shipment that no booking of it made, and that may have its vehicle.
 */
async function requireOtherVehicle(
  trip: QuoteOfBooking,
  mergeable: Mergeable,
  claim: Claim,
  look: Booking['look'],
  rooms: CallRooms,
): Promise<void> {
  const beside = await rooms.names.givenTogether(claim.tenant, trip)
  const open = await openUnderOtherName(trip, beside.names, claim, rooms.store)
  if (open) throw openError(open)
  for (const id of await unbooked(trip, beside.shipments, mergeable, claim, rooms)) {
    if ((await look(id)) !== 'live') continue
    // As the look has shown it.
    const shipment = await rooms.names.shipment(claim.tenant, id)
    if (!isOfOtherVehicle(claim, shipment))
      throw gatewayError('booking-conflict/number', { id }, { mayHaveBooked: true })
  }
}

/** A booking as it is compared with others. */
type ComparedBooking = BookedVehicle & { readonly tenant: string; readonly reference: string }

/** Returns a booking under another name of the quote that has no outcome, and that may be of the wanted vehicle. */
async function openUnderOtherName(
  { subject: { quote } }: QuoteOfBooking,
  otherNames: readonly string[],
  wanted: ComparedBooking,
  store: Store,
): Promise<Claim | undefined> {
  const claims = await Promise.all(otherNames.map((name) => store.claimsOfReference(wanted.tenant, name)))
  const isOfQuote = (one: Claim) => isSameThing(requestOf(one).quote ?? '', quote?.id ?? '')
  return claims
    .flat()
    .filter(({ reference }) => reference !== wanted.reference)
    .find((one) => isOpen(one) && isOfQuote(one) && !isOtherVehicle(wanted, one, undefined))
}

/** Returns the shipments that no booking of this reference made or is merged into, unless they are known to be gone or of another vehicle. */
async function unbooked(
  { shipments }: QuoteOfBooking,
  ofOtherNames: readonly StoredShipment[],
  mergeable: Mergeable,
  wanted: ComparedBooking,
  { names, store, config }: CallRooms,
) {
  const ids: string[] = []
  const named = shipments.map(async (id) => ({ id, stored: await names.shipment(wanted.tenant, id), isNamed: true }))
  const ofQuote = ofOtherNames.map((stored) => ({ id: stored.id, stored, isNamed: false }))
  for (const { id, stored, isNamed } of [...(await Promise.all(named)), ...ofQuote]) {
    if (mergeable.keys().some((other) => isSameThing(id, other))) continue
    // An import knows one VIN alone, and the shipment may have more vehicles. What is the quote's was booked here, or shown.
    const isShown = stored?.vehicles.some(({ year, make, model }) => year !== '' || make !== '' || model !== '')
    const isOfOther = (isShown || !isNamed) && stored?.state === 'live' && isOfOtherVehicle(wanted, stored)
    if (isStoredAsGone(stored) || isOfOther) continue
    const holders = await holdersOf(wanted.tenant, id, store)
    // Without APPROVAL_BOOKS, what an approval made is no booking.
    const isConcerned = isNamed || holders.length > 0 || config.APPROVAL_BOOKS === 'auto'
    if (isConcerned && !holders.some(({ reference }) => reference === wanted.reference)) ids.push(id)
  }
  return ids
}

/** The quote that a booking refers to, if any, and what its names mean besides. */
interface QuoteOfBooking {
  readonly subject: Subject
  /** The approved quote behind its name. */
  readonly approved: ApprovedQuote | undefined
  /** The names under which approvals of its trip are noted. */
  readonly called: readonly string[]
  /** The approvals that were noted with them when the quote was looked up. */
  readonly noted: readonly NotedApproval[]
  /** The shipments that have its reference without a quote. */
  readonly shipments: readonly string[]
  /** All that its reference names. */
  readonly bearers: readonly NameWithBearer[]
  /** The other names of its quote, under which its vehicle may be booked, too. */
  readonly otherNames: readonly string[]
}

async function quoteOfBooking(
  request: Version1,
  headers: IncomingHttpHeaders,
  { tenant, profile }: Caller,
  { names }: CallRooms,
): Promise<QuoteOfBooking> {
  const values = namesIn(request, request.compiled.action.quoteNamedBy ?? []).map(([, value]) => value)
  const { quote, shipments, bearers } = await names.namedByBooking(tenant, values)
  const subject = { ...NO_SUBJECT, own: quote?.own, quote }
  if (!quote) return { subject, approved: undefined, called: values, noted: [], shipments, bearers, otherNames: [] }
  const sendsQuoteId = quote.approval === 'approved'
  // One of them may find the quote in another case.
  const called = [...values, ...bearers.map(({ name }) => name)]
  const noted = await names.approvals(tenant, called, quote)
  // It may have been approved since it was found.
  const isSent = quote.approval !== '' || noted.some((one) => isSameThing(one.quote, quote.id))
  const ofName = await names.approvedBefore(tenant, quote, bearers, noted)
  const [first, ...others] = isSent ? [quote, ...ofName] : ofName
  const approved = first && { quote: first, others, sendsQuoteId }
  // Its id is a name where it was shown as its number.
  const isNumber = quote.own === undefined || profile.settings.shipment_number === 'service'
  const isOther = (name: string) => !values.includes(name) && (isNumber || !isSameThing(name, quote.id))
  const otherNames = idempotencyKey(headers) === undefined ? quote.names.filter(isOther) : []
  return { subject: { ...subject, sendsQuoteId }, approved, called, noted, shipments, bearers, otherNames }
}

/** Throws if another approval of the booking's trip was sent since its quote was looked up, or is on its way. */
async function requireNoOtherApproval(
  { subject, approved, called, noted }: QuoteOfBooking,
  { tenant }: Claim,
  { names, config, store }: CallRooms,
): Promise<void> {
  if (config.APPROVAL_BOOKS !== 'auto') return
  const now = await names.approvals(tenant, called, subject.quote)
  let isOther = now.some(({ quote }) => !noted.some((one) => one.quote === quote))
  for (const { id } of approved?.others ?? [])
    isOther ||= await mayBeUnderWay(await names.quote(tenant, id), tenant, store)
  if (isOther) throw gatewayError('booking-under-way/approval', {}, PERHAPS_APPROVED)
}

/** The quote's approval may have made its shipment, so `No` would be a guess. */
const PERHAPS_APPROVED = { ...RETRY_SOON, mayHaveBooked: true } as const

/** Sends a booking, and returns what the service made. */
async function sendBooking(plan: Plan, claim: Claim, sending: Sending, rooms: CallRooms): Promise<MadeBooking> {
  const { mayWrite: _, ...reading } = sending
  const reply = await sendNew(plan, sending, rooms)
  const { id, body } = await shipmentMade(reply, (name) => rooms.service.send(shipmentRead(name), reading))
  rooms.inspect(plan.request.compiled.action.name, body)
  const shown = { vehicles: vehiclesIn(body), formerVins: {} }
  // A service that accepts a reference only once answers with the shipment that it already has. While the store fails, nothing is recorded
  // either.
  if (isOfOtherVehicle(claim, shown) && (await isOfAnother(id, shown, claim, rooms).catch(() => false)))
    throw doubtful('it shows the shipment of another booking')
  return madeBooking(plan, body, claim.tenant)
}

/** Reports whether another booking has this shipment, or may have it: one under the same reference without an outcome. */
async function isOfAnother(id: string, shown: KnownVehicles, own: Claim, { bookings, store }: CallRooms) {
  if (await bookings.isBooked(own.tenant, id, own.handle)) return true
  const claims = await store.claimsOfReference(own.tenant, own.reference)
  return claims.some((claim) => claim.handle !== own.handle && isOpen(claim) && !isOfOtherVehicle(claim, shown))
}

/** Returns the shipment in a booking's reply. A 202 is believed only after a read shows the shipment. */
export async function shipmentMade(
  reply: UpstreamReply,
  read: (id: string) => Promise<UpstreamReply>,
): Promise<Shipment> {
  if (reply.status !== ACCEPTED) return bookedShipment(reply)
  const { id } = shipmentIn(reply)
  const shown = shipmentIfRead(await read(id).catch(() => NO_REPLY), id)
  if (!shown || isCanceled(shown.body)) throw gatewayError('reply-doubtful/accepted', {})
  // The id that it was found by: the service may not know it in another spelling.
  return { id, body: { ...shown.body, id } }
}

const NO_REPLY = { status: 0, headers: {}, body: Buffer.alloc(0) }

/** Books an approved quote: merges the booking into the quote's shipment, if there is one that no other booking has. */
async function makeOfApproved(
  plan: Plan,
  approved: ApprovedQuote,
  mergeable: Mergeable,
  claim: Claim,
  sending: Sending,
  rooms: CallRooms,
): Promise<MadeBooking> {
  const { tenant } = claim
  if (mergeable.size === 0) return sendBooking(withoutQuoteId(plan), claim, sending, rooms)
  let isFurther = await beforeSending(isFurtherVehicle(approved, tenant, rooms))
  for (const [id, quote] of mergeable) {
    const merged = await mergeIntoApproved(
      plan,
      { id, quote, isFirst: quote === approved.quote },
      claim,
      sending,
      rooms,
    )
    isFurther ||= merged === OF_ANOTHER
    // Here, too, with the id that it was found by.
    if (merged && merged !== OF_ANOTHER)
      return madeBooking(merged.plan, { ...merged.before.body, ...merged.after, id }, tenant, merged.known)
  }
  return sendBooking(isFurther ? withoutQuoteId(plan) : plan, claim, sending, rooms)
}

/** Awaits work that comes before a claimed booking is sent, so a failure proves that nothing was sent. */
async function beforeSending<T>(known: Promise<T>): Promise<T> {
  try {
    return await known
  } catch (error) {
    throw new NotBooked(error)
  }
}

/** Returns what identifies a plan's booking: the values of its key, its vehicle, and the caller's fields in version-2 form. */
function identityOf({ request, body, filled }: Plan, headers: IncomingHttpHeaders, tenant: string): BookingIdentity {
  const { compiled } = request
  const [vehicle = NO_VEHICLE] = vehiclesIn(body)
  return {
    tenant,
    reference: request.sent(compiled.action.givesNames?.[0] ?? '') ?? '',
    vin: vinOf(request),
    vehicle,
    idempotencyKey: idempotencyKey(headers),
    body: filled,
  }
}

/** Returns the key that a caller's booking has instead of its reference and vehicle. */
function idempotencyKey({ 'idempotency-key': key }: IncomingHttpHeaders): string | undefined {
  return typeof key === 'string' && key !== '' ? key : undefined
}

/** Returns a booking's pickup and delivery, each as `Staten Island NY 10314`. */
const routeOf = ({ body }: Plan): readonly string[] =>
  ['pickup', 'delivery'].map((end) => {
    const at = (part: string) => valueAt(body, [end, part])
    const parts = [scalarText(at('city')), scalarText(at('state')), encoded(zipcode, at('zipcode'))]
    return parts.filter((part) => part !== undefined).join(' ')
  })

const NO_VEHICLE: Vehicle = { vin: '', year: '', make: '', model: '' }

/** Returns a booking that the service made: its answer, and what is recorded with it. */
function madeBooking(plan: Plan, shipment: Readonly<Draft>, tenant: string, before?: KnownVehicles): MadeBooking {
  const { request, own, subject } = plan
  const id = idAt(shipment, 'id')
  if (id === undefined) throw new Error('A verified reply to a booking has an id.')
  const number = idAt(shipment, 'number')
  const given = namesGivenIn(request)
  const record: NamesWrite = {
    names: namesOfShipment(tenant, id, given, number !== undefined && given.includes(number) ? undefined : number),
    shipment: {
      tenant,
      id,
      own: own ?? '',
      ...vehiclesOfBooking(vehiclesIn(shipment), vehiclesIn(plan.body), before),
      // Without a state: the shipment may have been canceled since, and a new row is live.
      quote: subject.quote?.id ?? '',
    },
  }
  return { answer: answerOf(plan, shipment), shipment: id, record }
}

/** Returns the vehicles that a reply shows. If there is only one, the booking fills in what the reply leaves out. */
function vehiclesOfBooking(
  shown: readonly Vehicle[],
  booked: readonly Vehicle[],
  before: KnownVehicles | undefined,
): KnownVehicles {
  const [one, ...others] = shown
  const [sent] = booked
  const told = one ? shown : booked
  if (!one || others.length > 0 || !sent) return { vehicles: told, formerVins: formerVinsAfter(before, told) }
  const vehicle = {
    vin: one.vin || sent.vin,
    year: one.year || sent.year,
    make: one.make || sent.make,
    model: one.model || sent.model,
  }
  return {
    vehicles: [vehicle],
    formerVins: formerVinsAfter({ vehicles: booked, formerVins: formerVinsAfter(before, booked) }, [vehicle]),
  }
}

/** Foresees a booking with its quote and, for a caller that the gateway verifies, the standing bookings that it meets. */
export async function foreseeBooking(
  request: Version1,
  headers: IncomingHttpHeaders,
  caller: Caller,
  isOwn: boolean,
  rooms: CallRooms,
): Promise<Prospect> {
  const { tenant, profile } = caller
  const trip = await quoteOfBooking(request, headers, caller, rooms)
  const { subject, approved } = trip
  const planned = planCall(request, subject, profile.settings)
  const asks = approved !== undefined && rooms.config.APPROVAL_BOOKS === 'auto'
  if (!isOwn)
    return {
      plan: planned,
      mayStand: asks,
      remarks: [STANDING_UNKNOWN, ...(asks ? [approvedFirst(', unless an earlier booking has it')] : [])],
    }
  if (planned.problems.length > 0) return { plan: planned }
  const booking = identityOf(planned, headers, tenant)
  const met = await rooms.bookings.foresee(booking)
  // If the earlier booking is sent again, its shipment is not booked any more.
  const earlier = met && 'claim' in met ? met.claim?.handle : undefined
  const mergeable = asks ? await mergeableShipments(approved, booking, rooms, earlier) : NONE_MERGEABLE
  const isWithoutQuoteId = asks && (mergeable.size === 0 || (await isFurtherVehicle(approved, tenant, rooms, earlier)))
  const plan = isWithoutQuoteId ? withoutQuoteId(planned) : planned
  if (met && met.is !== 'in-doubt') {
    const { claim, ageMs = 0 } = met
    const stored = claim && (await rooms.names.shipment(tenant, claim.shipment))
    const mayHaveChanged = stored !== undefined && stored.state !== 'live'
    const why = mayHaveChanged ? 'may have been canceled or changed' : 'is older than REPLAY_CHECK_AFTER'
    const first = `The earlier booking ${why}, so the live call first reads shipment ${claim?.shipment}. If it is canceled or gone, the booking is sent again.`
    const remarks = mayHaveChanged || ageMs >= rooms.config.REPLAY_CHECK_AFTER ? [first] : []
    if (met.is === 'error') return { ...refused(plan, met.error, 'ReferenceNumber'), remarks }
    const stands = `This booking was already made, as ${met.claim.handle}, so the live call repeats its response and sends nothing.`
    return { plan, answer: met.answer, remarks: [stands, ...remarks] }
  }
  const wanted = { ...booking, vehicle: JSON.stringify(booking.vehicle) }
  const beside = await rooms.names.givenTogether(tenant, trip)
  const open = await openUnderOtherName(trip, beside.names, wanted, rooms.store)
  if (open) return refused(plan, openError(open), 'ReferenceNumber')
  const standing = [
    ...(met ? [met.shipment] : []),
    ...(await unbooked(trip, beside.shipments, mergeable, wanted, rooms)),
  ]
  const remarks = standing.map(
    (id) =>
      `This vehicle may be booked already, as shipment ${id}, so the live call first reads that. If it has this vehicle, nothing is sent.`,
  )
  if (mergeable.size > 0) remarks.push(approvedFirst(` (${readsOf([...mergeable.keys()], rooms)})`))
  return { plan, mayStand: remarks.length > 0, remarks }
}

const approvedFirst = (reads: string) =>
  `The quote with this number was approved, so the live call first looks for its shipment${reads}. If there is one, these fields are merged into it with a PUT, and no other shipment is made; values from that quote, a guess or a default only fill what it lacks. If there is none, this request is sent. On any other reply, nothing is sent.`

const STANDING_UNKNOWN =
  'Earlier bookings were not consulted, because only the service can verify this credential. If the booking was already made, the live call repeats its response.'

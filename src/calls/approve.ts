import { toGatewayError } from '../edge/answers.ts'
import type { Answer } from '../language/answer.ts'
import { gatewayError } from '../language/errors.ts'
import type { Draft } from '../language/mapping/paths.ts'
import { isObject, scalarText } from '../language/text/json.ts'
import { isSameThing, shownText, thingKey } from '../language/text/service-text.ts'
import { NOT_SENT, refusesChange } from '../outside/service/failures.ts'
import {
  approvalOf,
  foreignShipment,
  idAt,
  idsNamedIn,
  isCanceled,
  isOfQuote,
  isSameId,
  type NamedQuote,
  shipmentInApproval,
} from '../outside/service/proofs.ts'
import { parsedOrNothing, type ReplyContent, type UpstreamReply } from '../outside/service/reply.ts'
import type { Sending } from '../outside/service/service.ts'
import { isOfOtherVehicle } from '../outside/store/claim.ts'
import {
  type BookedVehicle,
  type Claim,
  isStoredAsGone,
  type KnownVehicles,
  LockTimeout,
  type NamesWrite,
  type QuoteChange,
  type Store,
  StoreDown,
} from '../outside/store/store.ts'
import { bookingUnderWay, outcomeUnknown } from '../state/bookings/bookings.ts'
import { isOpen } from '../state/bookings/protocol.ts'
import {
  formerVinsAfter,
  type Names,
  namesOfShipment,
  type RememberedQuote,
  type SeenShipment,
} from '../state/names/names.ts'
import type { Reference } from '../state/names/resolve.ts'
import {
  ACCEPTED,
  type Plan,
  type Prospect,
  plannedCall,
  readsOf,
  refused,
  requireReference,
  sendChange,
} from './plan.ts'
import { ignoredSentence, lookFor, quoteNamedBy, seenShipment } from './subject.ts'
import type { CallInHand, CallRooms } from './verb.ts'
import { answerOf, type Version1Answer, withSentence } from './version1-answer.ts'

/**
 * Approves a quote. If one of its names is booked already, or an earlier approval made a shipment of it, the answer is about that shipment.
 * The approval is recorded before it is sent, so that a later call asks the service for the quote's shipment even if this call fails.
 */
export async function approve(call: CallInHand, rooms: CallRooms): Promise<Answer> {
  const { caller, sending } = call
  const { tenant } = caller
  const subject = await quoteNamedBy(requireReference(call), call, rooms)
  const plan = plannedCall(call, subject)
  const answer = await approving(tenant, subject.quote, sending.deadline, rooms, (approval) =>
    approveOnce(plan, approval, tenant, sending, rooms),
  )
  return { ...answer, body: JSON.stringify(withSentence(ignoredSentence(subject.ignored))(answer.reply)) }
}

async function approveOnce(plan: Plan, approval: RunningApproval, tenant: string, sending: Sending, rooms: CallRooms) {
  const { names, inspect, config } = rooms
  const { before, isHeld, takeBack } = approval
  const read = readingOnce(tenant, sending, rooms)
  const mayRead = config.APPROVAL_BOOKS !== 'no'
  const booked = await firstLive((await names.shipmentsOf(tenant, before)).slice(0, MAX_READS), read)
  if (booked) {
    await takeBack()
    return bookedAlready(plan, booked, before, tenant, names)
  }
  const earlier = before.approval !== '' && mayRead ? await shipmentOfApproval(before, read) : undefined
  if (earlier) {
    await recordApproval(before, earlier, tenant, rooms)
    return bookedAlready(plan, earlier, before, tenant, names)
  }
  for (const other of mayRead ? await approvedBefore(before, tenant, rooms) : []) {
    const find = async () => {
      // Read again: the approval that this one has waited for may have named ids.
      const quote = await names.quote(tenant, other.id)
      const readOwn: ReadLive = async (id) => {
        const shipment = await read(id)
        return shipment && foreignPart(shipment, quote) ? undefined : shipment
      }
      return { quote, made: await shipmentOfApproval(quote, readOwn) }
    }
    const mayRun = await mayBeUnderWay(other, tenant, rooms.store)
    // Two calls that wait for each other's lock would time out.
    if (mayRun && other.waits) throw new LockTimeout('A later approval is under way, and may wait for this one.')
    const { quote, made } = await (mayRun ? withQuoteLock(tenant, other.id, sending, rooms.store, find) : find())
    if (!made) continue
    await takeBack()
    await recordApproval(quote, made, tenant, rooms)
    return bookedAlready(plan, made, before, tenant, names)
  }
  approval.isSent = true
  const reply = await sendChange(plan, { ...sending, mayWrite: isHeld }, rooms)
  const quote = withIdsIn(reply, before)
  const body = await verified(reply, quote, tenant, rooms)
  inspect(plan.request.compiled.action.name, body)
  const shown = shownInApproval(body, quote, reply.status)
  await recordApproval(quote, shown, tenant, rooms)
  if (shown === CANCELED) throw canceledByApproval()
  if (shown || !mayRead) return approvalAnswer(plan, { ...shown?.body, ...body }, shown, reply.status)
  // The quote is approved, whatever this read shows. If it shows no shipment, a booking asks again.
  const readNow = await shipmentOfApproval(quote, read).catch(() => undefined)
  if (readNow) await recordApproval(quote, readNow, tenant, rooms)
  return approvalAnswer(plan, body, readNow, reply.status)
}

/** Returns the verified body of an approval's reply. The ids that it names are recorded even if the reply is not believed. */
async function verified(reply: UpstreamReply, quote: RememberedQuote, tenant: string, rooms: CallRooms) {
  try {
    return approvalOf(reply, quote)
  } catch (error) {
    const named = { tenant, id: quote.id, idsInApproval: quote.idsInApproval }
    // The caller must learn of this error, even if the store fails as well.
    await recordLater({ quote: named }, rooms).catch(() => undefined)
    throw error
  }
}

const canceledByApproval = () => gatewayError('service-refused/canceled', {}, { status: 409 })

const CANCELED = 'canceled'

/** Returns the shipment that an approval's reply itself shows, or `CANCELED` if that is canceled. */
const shownInApproval = (
  body: Readonly<Draft> | undefined,
  quote: NamedQuote,
  status: number,
): SeenShipment | typeof CANCELED | undefined => {
  const shipment = body && status !== ACCEPTED ? shipmentInApproval(body, quote) : undefined
  if ([body, shipment?.body].some((shown) => shown && isCanceled(shown))) return CANCELED
  return shipment && seenShipment(shipment)
}

/** Returns the answer to an approval, with its shipment if that is known. */
function approvalAnswer(
  plan: Plan,
  body: Readonly<Draft> | undefined,
  shown: SeenShipment | undefined,
  status: number,
): Version1Answer {
  if (shown) return answerOf(plan, { ...shown.body, ...body, price: body?.['price'], shipment_id: shown.id })
  const said = status === ACCEPTED ? ACCEPTED_ONLY : NOT_BOOKED
  // The caller books with this number.
  const named = { ...body, shipment_id: idAt(body, 'shipment_id') ?? plan.subject.id }
  return { ...answerOf(plan, named, (translated) => ({ ...translated, ...said })), headers: {} }
}

const NOT_BOOKED = {
  Message:
    'The quote is approved; the transportation is not booked yet. Send the booking to /createShipment.php, with this number as its ReferenceNumber.',
  TransportationBooked: 'No',
}

const ACCEPTED_ONLY = {
  Message:
    'The service accepted the approval but has not confirmed a shipment yet. Do not book elsewhere. Send the booking to /createShipment.php, or read this number again in a few minutes.',
  TransportationBooked: 'Unknown',
}

/** Answers from an approval's reply alone; `isFinal` is false if a read right after it may still show a shipment. */
export function answerToReply(
  plan: Plan,
  reply: UpstreamReply,
  quote: NamedQuote,
): { readonly answer: Version1Answer; readonly isFinal: boolean } {
  const body = approvalOf(reply, quote)
  const shown = shownInApproval(body, quote, reply.status)
  if (shown === CANCELED) throw canceledByApproval()
  return {
    answer: approvalAnswer(plan, { ...shown?.body, ...body }, shown, reply.status),
    isFinal: shown !== undefined,
  }
}

/** An approval that is noted and runs under its quote's lock. */
interface RunningApproval {
  /** The quote before this approval. */
  readonly before: RememberedQuote
  readonly isHeld: () => boolean
  /** Takes the note back after nothing was approved, unless it was there before or another approval may have come since. Never rejects. */
  readonly takeBack: () => Promise<void>
  /** Set before sending. After that, only some errors prove that nothing was approved. */
  isSent: boolean
}

/**
 * Runs a quote's approval while no other approval of it runs and no booking of it is open. The approval is noted first, so that from then
 * on a booking of the quote asks the service for its shipment, even if no reply comes. An error that proves that nothing was approved takes
 * the note back.
 */
export function approving<T>(
  tenant: string,
  { id, names: called }: NamedQuote,
  deadline: number,
  { names, bookings, store }: CallRooms,
  run: (approval: RunningApproval) => Promise<T>,
): Promise<T> {
  return withQuoteLock(tenant, id, { deadline }, store, async (isHeld) => {
    await bookings.changesRecorded(tenant)
    // Read from the store under the lock: another gateway may have approved the quote since it was found.
    const before = await names.quote(tenant, id, called)
    const isNew = before.approval === ''
    if (isNew) await store.noteApproval({ tenant, id }, before.names)
    // Not retried later: if the store fails, the quote counts as perhaps approved, which only costs its booking a read.
    const takeBack = async () => {
      if (isNew && isHeld()) await names.write({ quote: { tenant, id, approval: '' } }).catch(() => undefined)
    }
    const approval = { before, isHeld, takeBack, isSent: false }
    try {
      // After the note, so that this check sees any booking that did not see the note.
      const open = await openBookingError(before, tenant, store)
      if (open) throw open
      return await run(approval)
    } catch (error) {
      if (!approval.isSent || isRefused(error)) await takeBack()
      throw error
    }
  })
}

/**
 * Records that a quote is approved, and its shipment unless that is canceled. From then on, the caller's own number for the quote means the
 * shipment. The quote's other names lead to it only while they mean this quote, because the next quote may have the same order. Throws
 * while the store fails; then it is recorded later.
 */
async function recordApproval(
  approvedQuote: RememberedQuote,
  shown: ReturnType<typeof shownInApproval>,
  tenant: string,
  rooms: CallRooms,
): Promise<void> {
  const { id: quote, own, idsInApproval } = approvedQuote
  const given = namesOfItsShipment(approvedQuote)
  const approved = { tenant, id: quote, approval: 'approved', idsInApproval } as const
  if (!shown || shown === CANCELED) return recordLater({ quote: approved }, rooms)
  const { id, body, vehicles } = shown
  // If the store fails, the approval is recorded later, without them.
  const before = await rooms.names.shipment(tenant, id).catch(() => undefined)
  const formerVins = before && formerVinsAfter(before, vehicles)
  await recordLater(
    {
      names: namesOfShipment(tenant, id, given, body && idAt(body, 'number')),
      quote: approved,
      shipment: {
        tenant,
        id,
        own: own ?? '',
        quote,
        state: 'live',
        ...(vehicles.length > 0 && { vehicles, ...(formerVins && { formerVins }) }),
      },
    },
    rooms,
  )
}

/** Returns the names that the shipment of a quote's approval gets. */
const namesOfItsShipment = ({ id, own, names }: RememberedQuote): readonly string[] =>
  own !== undefined && !isSameThing(own, id) ? [own] : names.filter((name) => !isSameThing(name, id))

/**
 * Returns the other quotes with this one's names whose approval was sent: the trip may be booked already. Those that were noted after this
 * one wait for it.
 */
async function approvedBefore(quote: RememberedQuote, tenant: string, { names }: CallRooms) {
  const called = namesOfItsShipment(quote)
  const noted = await names.approvals(tenant, called, quote)
  const bearers = await Promise.all(called.map((name) => names.bearersOf(tenant, name)))
  const others = await names.approvedBefore(tenant, quote, bearers.flat(), noted)
  const key = thingKey(quote.id)
  const later = noted.flatMap(({ name, quote: id }, place) =>
    noted.slice(place + 1).some((one) => one.name === name && one.quote === key) ? id : [],
  )
  return others.map((other) => ({ ...other, waits: later.includes(thingKey(other.id)) }))
}

async function recordLater(
  record: NamesWrite & { readonly quote: QuoteChange },
  { names, bookings }: CallRooms,
): Promise<void> {
  const { tenant, id } = record.quote
  const isRecorded = await bookings.later(
    tenant,
    `approval of ${thingKey(id)}`,
    () => names.write(record),
    async () => ({ tenant, record }),
  )
  if (!isRecorded) throw new StoreDown('an approval is not recorded yet')
}

/** Returns the shipment that an approval of the quote made, if it is not canceled. */
async function shipmentOfApproval(quote: RememberedQuote, read: ReadLive): Promise<SeenShipment | undefined> {
  const shipment = await firstLive([quote.id, ...quote.idsInApproval], read)
  const foreign = shipment && foreignPart(shipment, quote)
  if (foreign) throw foreignShipment(foreign)
  return shipment
}

/** Returns what shows that a shipment that an approval's reply named belongs to something else; undefined if nothing does. */
export function foreignPart(
  shipment: SeenShipment,
  quote: RememberedQuote,
  booking?: BookedVehicle,
  formerVins: KnownVehicles['formerVins'] = {},
): 'reference' | 'VIN' | undefined {
  if (!shipment.body) return undefined
  // Whatever its vehicles are, the service says that it is the quote's.
  if ([shipment.id, idAt(shipment.body, 'quote_id') ?? ''].some((id) => isSameId(id, quote.id))) return undefined
  const reference = idAt(shipment.body, 'external_id')
  if (reference !== undefined && !isOfQuote(shipment.body, quote)) return 'reference'
  const { vehicles } = shipment
  if (!booking || booking.vin === '' || vehicles.every((one) => one.vin === '')) return undefined
  // A vehicle without a VIN may be the one, unless it is shown as another one.
  return isOfOtherVehicle(booking, { vehicles, formerVins }) ? 'VIN' : undefined
}

/** Returns the bookings that were ever sent under a name of the quote. */
export async function bookingsOf({ names }: RememberedQuote, tenant: string, store: Store): Promise<readonly Claim[]> {
  return (await Promise.all(names.map((name) => store.claimsOfReference(tenant, name)))).flat()
}

/** Returns the error of an approval while a booking under a name of the quote is under way or has an unknown outcome. */
async function openBookingError(quote: RememberedQuote, tenant: string, store: Store) {
  const open = (await bookingsOf(quote, tenant, store)).find(isOpen)
  return open && openError(open)
}

/** Returns the error of a call that a booking under way, or with an unknown outcome, keeps from being sent. */
export const openError = (open: Claim) =>
  open.state === 'sending' ? bookingUnderWay(open) : outcomeUnknown(open.handle)

/** Foresees an approval of a quote that the store knows. */
export async function foreseeApproval(
  plan: Plan,
  reference: Reference,
  quote: RememberedQuote,
  tenant: string,
  rooms: CallRooms,
): Promise<Prospect> {
  if (plan.problems.length > 0) return { plan }
  const { names, store, config } = rooms
  const error = await openBookingError(quote, tenant, store)
  if (error) return refused(plan, error, reference.names[0]?.[0])
  const own = quote.approval === '' ? [] : [quote]
  const approved = config.APPROVAL_BOOKS === 'no' ? [] : [...own, ...(await approvedBefore(quote, tenant, rooms))]
  const earlier = approved.flatMap(({ id, idsInApproval }) => [id, ...idsInApproval])
  const ids = [...new Set([...(await names.shipmentsOf(tenant, quote)), ...earlier])]
  if (ids.length === 0) return { plan }
  return {
    plan,
    mayStand: true,
    remarks: [
      `This quote may already have a shipment, so the live call first reads ${readsOf(ids, rooms)}. If there is one, the response is about that shipment, and no approval is sent.`,
    ],
  }
}

/** The most shipments that are read for one quote. */
const MAX_READS = 10

async function firstLive(ids: readonly string[], read: ReadLive): Promise<SeenShipment | undefined> {
  for (const id of ids) {
    const shipment = await read(id)
    if (shipment) return shipment
  }
  return undefined
}

/** Reads a shipment; returns undefined if there is none, or if it is canceled. */
type ReadLive = (id: string) => Promise<SeenShipment | undefined>

/** Returns a function that reads each live shipment only once: the quote's names and its approval may lead to the same one. */
function readingOnce(tenant: string, sending: Sending, rooms: CallRooms): ReadLive {
  const { read } = lookFor(tenant, sending, rooms)
  const live = new Map<string, SeenShipment>()
  return async (id) => {
    const known = live.get(thingKey(id))
    if (known) return known
    const seen = await read(id)
    if (seen.state !== 'live') return undefined
    live.set(thingKey(id), seen)
    return seen
  }
}

/**
 * Answers from a shipment that stands. From then on, the quote's names find it, and the quote's number means it, unless that means another
 * one that stands.
 */
async function bookedAlready(
  plan: Plan,
  { id, body = {} }: SeenShipment,
  quote: RememberedQuote,
  tenant: string,
  names: Names,
) {
  const number = idAt(body, 'number')
  const shown = shownText(scalarText(number) ?? id, SHOWN_CHARACTERS)
  const answer = answerOf(plan, { ...body, shipment_id: id }, (reply) => ({
    ...reply,
    Message: `The transportation is already booked, as shipment ${shown}, so the quote was not approved again.`,
  }))
  const { own: name = quote.id } = quote
  const { quote: before = '' } = (await names.shipment(tenant, id)) ?? {}
  // One with the id of its quote is found by that quote's names as well. One that was booked from another quote stays there.
  const isOfQuote = isSameThing(before, quote.id)
  const becomesOfQuote = !isOfQuote && (before === '' || isSameThing(before, id))
  const isFound = isOfQuote || becomesOfQuote || quote.idsInApproval.includes(id)
  // The quote may have several.
  const ofQuote = (await names.bookedFrom(tenant, quote)).filter((one) => !isStoredAsGone(one)).map((one) => one.id)
  const standing = [...new Set([...ofQuote, id])].slice(0, MAX_READS)
  const called = (await names.bearersOf(tenant, name)).flatMap((one) =>
    one.kind === 'shipment' && one.givenBy === 'caller' && !isStoredAsGone(one.shipment) ? one.id : [],
  )
  // If it means this one already, it was booked as such.
  const isFree = !called.includes(id) && called.every((one) => standing.includes(one))
  const given = isFree ? standing.filter((one) => !called.includes(one) && !isSameThing(one, name)) : []
  await names.write({
    names: given.toReversed().flatMap((one) => namesOfShipment(tenant, one, [name], undefined)),
    shipment: becomesOfQuote ? { tenant, id, quote: quote.id } : undefined,
    quote: isFound
      ? undefined
      : { tenant, id: quote.id, idsInApproval: [id, ...quote.idsInApproval].slice(0, MAX_IDS) },
  })
  return answer
}

/** The longest number that the message shows. */
const SHOWN_CHARACTERS = 128

/** Reports whether an error proves that the quote was not approved. */
function isRefused(error: unknown): boolean {
  const { code, serviceStatus = 0 } = toGatewayError(error)
  return NOT_SENT.has(code) || (code === 'service-refused' && refusesChange(serviceStatus))
}

/*
 * An approved quote's shipment has the quote's id. If the approval's reply names other ids, one of them may be the shipment's. They are
 * kept, and the service is asked for each before a second shipment can be made.
 */

/** The most ids that are kept for one quote. */
const MAX_IDS = 8

/** Returns the quote with the other ids that its approval's reply names. */
function withIdsIn(reply: ReplyContent, quote: RememberedQuote): RememberedQuote {
  const others = idsNamedIn(parsedOrNothing(reply)).filter((id) => !isSameId(id, quote.id))
  return { ...quote, idsInApproval: [...new Set([...others, ...quote.idsInApproval])].slice(0, MAX_IDS) }
}

/** Records what the successful reply to a version-2 approval shows: the ids that it names, or the shipment. */
export async function noteApprovalReply(
  reply: ReplyContent,
  before: RememberedQuote,
  tenant: string,
  rooms: CallRooms,
): Promise<void> {
  const quote = withIdsIn(reply, before)
  const body = parsedOrNothing(reply)
  const shown = isObject(body) ? shownInApproval(body, quote, reply.status) : undefined
  await recordApproval(quote, shown, tenant, rooms)
}

/** The lock under which the approvals of a quote, and the bookings of an approved one, run one at a time. */
const quoteLock = (tenant: string, quote: string): string => `quote ${tenant}\n${thingKey(quote)}`

/** Reports whether another call may be approving a quote. */
export const mayBeUnderWay = async ({ id, approval }: RememberedQuote, tenant: string, store: Store) =>
  approval === 'sent' && store.isLocked(quoteLock(tenant, id))

/** Runs a quote's approval, or the booking of an approved quote, while no other one runs for that quote. */
export function withQuoteLock<T>(
  tenant: string,
  quote: string,
  { deadline }: { readonly deadline: number },
  store: Store,
  work: (isHeld: () => boolean) => Promise<T>,
): Promise<T> {
  return store.exclusive(quoteLock(tenant, quote), deadline - performance.now(), work)
}

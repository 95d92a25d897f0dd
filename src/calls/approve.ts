import { toGatewayError } from '../edge/answers.ts'
import type { Answer } from '../language/answer.ts'
import { type ErrorCode, GatewayError, gatewayError } from '../language/errors.ts'
import type { Draft } from '../language/mapping/paths.ts'
import { isObject, scalarText } from '../language/text/json.ts'
import { isSameThing, shownText, thingKey } from '../language/text/service-text.ts'
import type { UpstreamReply } from '../outside/service/exchange.ts'
import {
  approvalOf,
  foreignShipment,
  idAt,
  idsNamedIn,
  isCanceled,
  isOfQuote,
  isSameId,
  NamedIds,
  type NamedQuote,
  parsedOrNothing,
  shipmentInApproval,
} from '../outside/service/proofs.ts'
import type { Sending } from '../outside/service/service.ts'
import type { Store } from '../outside/store/store.ts'
import { type Bookings, outcomeUnknown, underWayStill } from '../state/bookings/bookings.ts'
import { type Names, namesOfShipment, type RememberedQuote, type SeenShipment } from '../state/names/names.ts'
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
import type { CallInHand, CallRooms, ForeseeingRooms } from './verb.ts'
import { answerOf, type Version1Answer, withSentence } from './version1-answer.ts'

/**
 * Approves a quote, unless one of its names is booked already, or an earlier approval made a shipment of it: then the
 * answer is about that shipment. The approval is recorded before it is sent, so a later call asks the service for the quote's
 * shipment even if this one fails.
 */
export async function approve(call: CallInHand, rooms: CallRooms): Promise<Answer> {
  const { caller, sending } = call
  const { tenant } = caller
  const subject = await quoteNamedBy(requireReference(call), call, rooms)
  const plan = plannedCall(call, subject)
  const answer = await withQuoteLock(tenant, subject.id, sending, rooms.store, (isHeld) =>
    approveOnce(plan, subject.id, tenant, { ...sending, mayWrite: isHeld }, rooms),
  )
  return { ...answer, body: JSON.stringify(withSentence(ignoredSentence(subject.ignored))(answer.reply)) }
}

async function approveOnce(plan: Plan, id: string, tenant: string, sending: Sending, rooms: CallRooms) {
  const { names, inspect, config } = rooms
  const { mayWrite: _, ...reading } = sending
  const read = readingOnce(tenant, reading, rooms)
  // Read under the lock, from the store: another gateway may have approved it since it was found.
  const quote = await names.quote(tenant, id)
  const isNew = quote.approval === ''
  const record = (approval: RememberedQuote['approval']) => names.write({ names: [], quote: { tenant, id, approval } })
  if (isNew) await record('sent')
  let isSent = false
  try {
    // After the record: this check sees a booking that did not see the record.
    await requireNoneOpen(quote, tenant, rooms.bookings)
    const booked = await firstLive((await names.shipmentsOf(tenant, quote)).slice(0, MAX_READS), read)
    if (booked) {
      if (isNew) await record('')
      return bookedAlready(plan, booked)
    }
    const earlier =
      isNew || config.APPROVAL_BOOKS === 'no' ? undefined : await shipmentOfApproval(quote, tenant, read, names)
    if (earlier) {
      await recordShipment(quote, earlier, tenant, names)
      return bookedAlready(plan, earlier)
    }
    isSent = true
    const reply = await sendChange(plan, sending, rooms)
    const body = approvalOf(reply, quote)
    inspect(plan.request.compiled.action.name, body)
    await keepIds(body, id, tenant, names)
    if (body && isCanceled(body)) {
      await record('approved')
      throw canceledByApproval()
    }
    // Whatever a read says, the quote is approved: without a shipment in sight, a booking asks again.
    const mayRead = config.APPROVAL_BOOKS !== 'no'
    const shown =
      shownInApproval(body, quote, reply.status) ??
      (mayRead ? await shipmentOfApproval(quote, tenant, read, names).catch(() => undefined) : undefined)
    await (shown ? recordShipment(quote, shown, tenant, names) : record('approved'))
    return approvalAnswer(plan, body, shown, reply.status)
  } catch (error) {
    // The caller must learn of this error, even if the store fails as well.
    if (isSent) await keepIds(error, id, tenant, names).catch(() => undefined)
    // Where the store fails, the quote counts as perhaps approved, and a booking asks the service. Nothing clears that later: it could
    // undo an approval that came since.
    if (isNew && (!isSent || isRefused(error))) await record('').catch(() => undefined)
    throw error
  }
}

const canceledByApproval = () => gatewayError('service-refused/canceled', {}, { status: 409 })

/** Returns the shipment that the reply to an approval shows by itself. */
const shownInApproval = (
  body: Readonly<Draft> | undefined,
  quote: NamedQuote,
  status: number,
): SeenShipment | undefined => {
  const shipment = body && status !== ACCEPTED ? shipmentInApproval(body, quote) : undefined
  return shipment && seenShipment(shipment)
}

/** Returns the answer to an approval, whose shipment is known or not. */
function approvalAnswer(
  plan: Plan,
  body: Readonly<Draft> | undefined,
  shown: SeenShipment | undefined,
  status: number,
): Version1Answer {
  if (shown) return answerOf(plan, { ...shown.body, ...body, price: body?.['price'], shipment_id: shown.id })
  const said = status === ACCEPTED ? ACCEPTED_ONLY : NOT_BOOKED
  // The number to book with.
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

/** Answers what a reply to an approval says by itself; `isFinal` is false where a read right after it may show a shipment. */
export function answerToReply(
  plan: Plan,
  reply: UpstreamReply,
  quote: NamedQuote,
): { readonly answer: Version1Answer; readonly isFinal: boolean } {
  const body = approvalOf(reply, quote)
  if (body && isCanceled(body)) throw canceledByApproval()
  const shown = shownInApproval(body, quote, reply.status)
  return { answer: approvalAnswer(plan, body, shown, reply.status), isFinal: shown !== undefined }
}

/**
 * Records that a quote is approved, and its shipment, which the caller's number of the quote stands for from then on. The other names
 * find it as long as they mean this quote: the next one may have the same order.
 */
async function recordShipment(
  { id: quote, own, names: quoteNames }: RememberedQuote,
  { id, body, vehicles }: SeenShipment,
  tenant: string,
  names: Names,
): Promise<void> {
  const isOwn = own !== undefined && !isSameThing(own, quote)
  const given = isOwn ? [own] : quoteNames.filter((name) => !isSameThing(name, quote))
  await names.write({
    names: namesOfShipment(tenant, id, given, body && idAt(body, 'number')),
    quote: { tenant, id: quote, approval: 'approved' },
    shipment: { tenant, id, own: own ?? '', quote, state: 'live', ...(vehicles.length > 0 && { vehicles }) },
  })
}

/** Returns the shipment that an approval of the quote made, if it is not canceled. */
async function shipmentOfApproval(
  quote: RememberedQuote,
  tenant: string,
  read: ReadLive,
  names: Names,
): Promise<SeenShipment | undefined> {
  const { idsInApproval } = await names.quote(tenant, quote.id)
  const shipment = await firstLive([quote.id, ...idsInApproval], read)
  if (shipment) requireOfQuote(shipment, quote)
  return shipment
}

/** Throws if a shipment that the reply to an approval named is that of something else. */
export function requireOfQuote(shipment: SeenShipment, quote: RememberedQuote, vin = ''): void {
  if (!shipment.body || isSameId(shipment.id, quote.id)) return
  const reference = idAt(shipment.body, 'external_id')
  if (reference !== undefined && !isOfQuote(shipment.body, quote)) throw foreignShipment('reference')
  const vins = shipment.vehicles.flatMap((vehicle) => vehicle.vin || [])
  if (vin !== '' && vins.length > 0 && !vins.includes(vin)) throw foreignShipment('VIN')
}

/** Throws if a booking under a name of the quote is under way or has an unknown outcome. */
async function requireNoneOpen({ names }: RememberedQuote, tenant: string, bookings: Bookings): Promise<void> {
  for (const name of names) {
    for (const claim of await bookings.underReference(tenant, name)) {
      if (claim.state === 'sending') throw underWayStill(claim)
      if (claim.state === 'unknown') throw outcomeUnknown(claim.handle)
    }
  }
}

/** Foresees an approval of a quote that the store knows. */
export async function foreseeApproval(
  plan: Plan,
  reference: Reference,
  quote: RememberedQuote,
  tenant: string,
  { names, bookings, config }: ForeseeingRooms,
): Promise<Prospect> {
  try {
    await requireNoneOpen(quote, tenant, bookings)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return refused(plan, error, reference.names[0]?.[0])
  }
  const earlier = quote.approval === '' || config.APPROVAL_BOOKS === 'no' ? [] : [quote.id, ...quote.idsInApproval]
  const ids = [...new Set([...(await names.shipmentsOf(tenant, quote)), ...earlier])]
  if (ids.length === 0) return { plan }
  return {
    plan,
    remarks: [
      `This quote may have a shipment already: the live call first reads ${readsOf(ids)}. If one stands, the answer is about it, and no approval is sent.`,
    ],
  }
}

/** The most shipments of one name that are read. */
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

/** Returns a function that asks the service for each shipment that lives once: a name of the quote and its approval may have the same one. */
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

function bookedAlready(plan: Plan, { id, body = {} }: SeenShipment) {
  const number = idAt(body, 'number')
  const shown = shownText(scalarText(number) ?? id, SHOWN_CHARACTERS)
  return answerOf(plan, { ...body, shipment_id: id }, (reply) => ({
    ...reply,
    Message: `The transportation is booked already, as shipment ${shown}; the quote was not approved again.`,
  }))
}

/** The longest number that the message shows. */
const SHOWN_CHARACTERS = 128

/** Errors that prove that no approval was sent. */
const NOT_SENT: ReadonlySet<ErrorCode> = new Set([
  'service-unreachable',
  'circuit-open',
  'overloaded',
  'interrupted',
  'login-failed',
  'login-refused',
])

/** Refusals that may mean that the quote was approved earlier. */
const APPROVED_PERHAPS = new Set([408, 409])

/** Reports whether a status proves that the quote was not approved. */
export const refusesApproval = (status: number): boolean =>
  status >= 400 && status < 500 && !APPROVED_PERHAPS.has(status)

/** Reports whether an error proves that the quote was not approved. */
function isRefused(error: unknown): boolean {
  const { code, serviceStatus = 0 } = toGatewayError(error)
  return NOT_SENT.has(code) || (code === 'service-refused' && refusesApproval(serviceStatus))
}

/*
 * The shipment of an approved quote has the quote's id. Where the reply to an approval names other ids, one of them may be that
 * of the shipment: they are kept, and the service is asked for each before a second shipment can be made.
 */

/** The most ids of one reply that are kept. */
const MAX_IDS = 4

/** Keeps the ids in a reply to an approval, or in the reply behind an error, that are not the quote's own. */
async function keepIds(reply: unknown, quote: string, tenant: string, names: Names): Promise<void> {
  const cause = reply instanceof Error ? toGatewayError(reply).cause : undefined
  const named = cause instanceof NamedIds ? cause.ids : idsNamedIn(reply)
  const others = [...new Set(named.filter((id) => !isSameId(id, quote)))].slice(0, MAX_IDS)
  if (others.length > 0) await names.write({ names: [], quote: { tenant, id: quote, idsInApproval: others } })
}

/** Notes what the successful reply to an approval of version 2 shows: the ids that it names, or the shipment. */
export async function noteApprovalReply(
  { status, body }: Pick<UpstreamReply, 'status' | 'body'>,
  id: string,
  tenant: string,
  names: Names,
): Promise<void> {
  const reply = parsedOrNothing({ body })
  await keepIds(reply, id, tenant, names)
  if (!isObject(reply) || isCanceled(reply)) return
  const quote = await names.quote(tenant, id)
  const shown = shownInApproval(reply, quote, status)
  if (shown) await recordShipment(quote, shown, tenant, names)
}

/** Runs the approval of a quote, or a booking of an approved quote, while no other of the same quote runs. */
export function withQuoteLock<T>(
  tenant: string,
  quote: string,
  { deadline }: Sending,
  store: Store,
  work: (isHeld: () => boolean) => Promise<T>,
): Promise<T> {
  return store.exclusive(`quote ${tenant}\n${thingKey(quote)}`, deadline - performance.now(), work)
}

import type { IncomingHttpHeaders } from 'node:http'
import type { Answer } from '../answer.ts'
import type { Booked, Booking, Bookings, Made } from '../bookings/bookings.ts'
import { NotBooked } from '../bookings/protocol.ts'
import type { Caller } from '../callers/caller.ts'
import type { Config } from '../config/config.ts'
import { type ErrorCode, type GatewayError, gatewayError, perhapsBooked } from '../errors.ts'
import { toGatewayError } from '../http/answers.ts'
import type { Catalog } from '../mapping/catalog.ts'
import { isSuccess } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import { type Sending, type Service, shipmentRead } from '../service/service.ts'
import { type Match, vinKey, type Xref } from '../xref/xref.ts'
import { approvalUnderWay, type Exclusive, requireOfQuote, withQuoteLock } from './approve.ts'
import { type ApprovedQuote, namesIn, vinOf } from './find.ts'
import { answerOf, recordOf } from './legacy-answer.ts'
import { type Plan, planCall } from './plan.ts'
import type { Merge, Merged, SendPlan } from './send.ts'
import { isCanceled, isGone, shipmentWithId } from './verify.ts'

/** The dependencies of bookings. */
export interface BookDeps {
  readonly catalog: Catalog
  readonly bookings: Bookings
  readonly service: Pick<Service, 'send'>
  readonly send: SendPlan
  readonly merge: Merge
  readonly xref: Pick<Xref, 'approval' | 'idsInApproval' | 'matches'>
  readonly exclusive: Exclusive
  readonly approvalBooks: Config['APPROVAL_BOOKS']
}

/**
 * Books once: claims the booking, sends it and records it, or returns the answer of the call that did. In a brownout it
 * sends nothing.
 */
export async function book(
  planned: Plan,
  headers: IncomingHttpHeaders,
  caller: Caller,
  sending: Sending,
  deps: BookDeps,
  brownout?: GatewayError,
): Promise<Answer> {
  const { tenant } = caller
  const plan = await withFreeNumber(planned, tenant, deps)
  const { approved } = plan.found
  const booking = { ...bookingOf(plan, headers, caller, sending.deadline), refusal: brownout }
  // Under the lock, because the second of two bookings of one approved quote must see the first one's shipment.
  const { answer, requiresReadOf } = await (approved && deps.approvalBooks === 'auto'
    ? withQuoteLock(tenant, approved.id, sending, deps.exclusive, (isLocked) =>
        bookOnce(plan, booking, sending, deps, { approved, isLocked }),
      )
    : bookOnce(plan, booking, sending, deps))
  if (requiresReadOf !== undefined) await requireReadable(requiresReadOf, sending, deps)
  return answer
}

/** Claims, sends and records, in this order. */
async function bookOnce(
  plan: Plan,
  booking: Booking,
  sending: Sending,
  deps: BookDeps,
  locked?: { readonly approved: ApprovedQuote; readonly isLocked: () => boolean },
): Promise<Booked> {
  const { bookings } = deps
  const claimed = await bookings.claim(booking)
  if ('answer' in claimed) return claimed
  const { isHeld } = claimed
  let made: Made
  try {
    made = locked
      ? await makeOfApproved(
          plan,
          locked.approved,
          booking.tenant,
          { ...sending, mayWrite: () => locked.isLocked() && isHeld() },
          deps,
        )
      : await makeOfUnapproved(plan, booking.tenant, { ...sending, mayWrite: isHeld }, deps)
  } catch (error) {
    throw await bookings.failed(claimed, error)
  }
  return bookings.made(claimed, made)
}

/** Throws unless the caller may read the shipment of a booking that was made before. */
async function requireReadable(id: string, sending: Sending, { service }: Pick<BookDeps, 'service'>): Promise<void> {
  try {
    const reply = await service.send(shipmentRead(id), sending)
    if (!isSuccess(reply.status)) throw refusal(reply)
    shipmentWithId(reply, id)
  } catch (cause) {
    // The booking stands, whatever the read shows: `No` would send the caller to book again.
    throw perhapsBooked(toGatewayError(cause))
  }
}

/**
 * Omits the number of the booking's quote if another booking has that number and the same VIN: a reference means
 * the booking that was made with it.
 */
async function withFreeNumber(plan: Plan, tenant: string, { xref, bookings }: BookDeps): Promise<Plan> {
  const { own, request } = plan
  const { names: [reference] = [] } = request.compiled.action.xrefRecord ?? {}
  if (own === undefined || reference === undefined || own === request.sent(reference)) return plan
  const vin = vinKey(vinOf(request))
  for (const match of await xref.matches(tenant, own)) {
    const isSame = isOfCaller(match) && match.vin === vin
    if (isSame && (await bookings.isBooked(tenant, match.id))) return { ...plan, own: undefined }
  }
  return plan
}

/** Tells if a match is a shipment that the caller gave the name. */
const isOfCaller = ({ kind, givenBy }: Match) => kind === 'shipment' && givenBy === 'caller'

/** Books, unless an approval of the quote was sent since it was looked up. */
async function makeOfUnapproved(
  plan: Plan,
  tenant: string,
  sending: Sending,
  { send, xref, approvalBooks }: BookDeps,
): Promise<Made> {
  const { quote } = plan.found
  if (quote && approvalBooks === 'auto' && (await beforeSending(xref.approval(tenant, quote.id)))) {
    throw new NotBooked(approvalUnderWay())
  }
  return madeOf(plan, await send(plan, sending))
}

/**
 * Books an approved quote: merges the booking into the quote's shipment, if there is one that no other booking has.
 */
async function makeOfApproved(
  plan: Plan,
  approved: ApprovedQuote,
  tenant: string,
  sending: Sending,
  deps: BookDeps,
): Promise<Made> {
  if (await beforeSending(deps.bookings.isBooked(tenant, approved.id))) {
    const another = withoutQuoteId(plan)
    return madeOf(another, await deps.send(another, sending))
  }
  const others = await beforeSending(deps.xref.idsInApproval(tenant, approved.id))
  for (const id of [approved.id, ...others]) {
    if (id !== approved.id && (await beforeSending(deps.bookings.isBooked(tenant, id)))) continue
    const merged = await mergeIntoApproved(plan, id, approved, tenant, sending, deps)
    if (merged) return madeOf(plan, { ...merged.before.body, ...merged.after })
  }
  const anew = (await beforeSending(isOfOtherVehicle(plan, tenant, deps))) ? withoutQuoteId(plan) : plan
  return madeOf(anew, await deps.send(anew, sending))
}

/** Plans a booking of another vehicle than the one that the quote was approved for. */
function withoutQuoteId({ request, found, settings, own }: Plan): Plan {
  return { ...planCall(request, { ...found, approved: undefined }, settings), own }
}

/** Tells if another vehicle is booked under the names of a booking already. */
async function isOfOtherVehicle(
  { request, own }: Plan,
  tenant: string,
  { xref, bookings }: BookDeps,
): Promise<boolean> {
  const vin = vinKey(vinOf(request))
  for (const name of namesOf(request, own)) {
    for (const match of await xref.matches(tenant, name)) {
      const isOther = isOfCaller(match) && match.vin !== vin
      if (isOther && (await bookings.isBooked(tenant, match.id))) return true
    }
  }
  return false
}

/** Returns the names of a booking, and the caller's own number of its quote. */
function namesOf(request: Plan['request'], own: string | undefined): readonly string[] {
  const given = namesIn(request, request.compiled.action.xrefRecord?.names ?? []).map(([, name]) => name)
  return [...new Set(own === undefined ? given : [...given, own])]
}

/**
 * Merges a booking into a shipment of its approved quote; returns undefined if there is none. No failure here leaves
 * a booking that a second attempt would make again.
 */
async function mergeIntoApproved(
  { request, body: { quote_id: _, ...sent }, own, settings }: Plan,
  id: string,
  { id: quote }: ApprovedQuote,
  tenant: string,
  sending: Sending,
  { catalog, merge, xref }: BookDeps,
): Promise<Merged | undefined> {
  const update = [...catalog.actions.values()].find(({ action }) => action.service.mergeInto)
  if (!update) throw new NotBooked(new Error('The mappings declare no update of a shipment.'))
  const merging = {
    id,
    sent,
    vin: vinOf(request),
    asks: true,
    textOf: request.sent,
    problems: [],
    compiled: update,
    settings,
    verify: async (reply: Parameters<typeof isGone>[0]) => {
      if (isGone(reply, id)) return undefined
      const shipment = shipmentWithId(reply, id)
      await requireOfQuote(shipment, { quote, names: namesOf(request, own), vin: vinOf(request) }, tenant, xref)
      return shipment
    },
    readError: (cause: unknown) =>
      new NotBooked(gatewayError('service-unavailable/approved', {}, { cause, ...RETRY_LATER })),
  }
  try {
    const merged = await merge(merging, tenant, sending)
    if (merged?.after && isCanceled(merged.after))
      throw gatewayError('reply-doubtful/change', { fault: 'it is canceled' })
    return merged
  } catch (error) {
    throw error instanceof NotBooked ? error : new NotBooked(updateError(error))
  }
}

const RETRY_LATER = { headers: { 'Retry-After': '5' } } as const

/** Errors of an update that the service provably did not make. */
const NOT_MADE: ReadonlySet<ErrorCode> = new Set([
  'service-refused',
  'service-unavailable',
  'service-unreachable',
  'shipment-changed',
  'circuit-open',
  'overloaded',
  'interrupted',
  'login-failed',
  'login-refused',
])

/** Returns the error of a booking whose fields may or may not have reached the shipment of its approved quote. */
function updateError(cause: unknown): unknown {
  return NOT_MADE.has(toGatewayError(cause).code)
    ? cause
    : gatewayError('outcome-unknown/approved', {}, { cause, ...RETRY_LATER })
}

/** Awaits work that must precede a claimed booking; a failure proves that nothing was sent. */
async function beforeSending<T>(known: Promise<T>): Promise<T> {
  try {
    return await known
  } catch (error) {
    throw new NotBooked(error)
  }
}

/** Returns the booking of a plan, with the values of its key and its fields in the order of their rows. */
export function bookingOf(
  { request }: Plan,
  headers: IncomingHttpHeaders,
  { tenant, credential }: Pick<Caller, 'tenant' | 'credential'>,
  deadline: number,
): Booking {
  const { compiled, sent } = request
  const { xrefRecord } = compiled.action
  const key = headers['idempotency-key']
  return {
    tenant,
    credential,
    reference: (xrefRecord?.names[0] && sent(xrefRecord.names[0])) ?? '',
    vin: xrefRecord?.disambiguateBy ? vinKey(sent(xrefRecord.disambiguateBy)) : '',
    idempotencyKey: typeof key === 'string' && key !== '' ? key : undefined,
    fields: namesIn(request, compiled.written),
    deadline,
  }
}

/** Returns the answer to a booking that the service made, and its record. */
function madeOf(plan: Plan, reply: unknown): Made {
  const answer = answerOf(plan, reply)
  const record = recordOf(plan, reply)
  if (!record) throw new Error('A verified reply to a booking has an id.')
  return { answer, record }
}

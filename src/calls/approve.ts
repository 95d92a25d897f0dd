import type { Answer } from '../answer.ts'
import { type Bookings, outcomeUnknown, underWayStill } from '../bookings/bookings.ts'
import type { Config } from '../config/config.ts'
import { type ErrorCode, type GatewayError, gatewayError } from '../errors.ts'
import { toGatewayError } from '../http/answers.ts'
import { isSuccess } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import { type Sending, type Service, shipmentRead } from '../service/service.ts'
import { scalarText } from '../text/json.ts'
import { shownText, thingKey } from '../text/service-text.ts'
import { vinKey, type Xref } from '../xref/xref.ts'
import { namesIn } from './find.ts'
import { answerOf, recordOf } from './legacy-answer.ts'
import type { Plan } from './plan.ts'
import type { SendPlan } from './send.ts'
import {
  idAt,
  idsNamedIn,
  isCanceled,
  isGone,
  isSameId,
  NamedIds,
  type Shipment,
  shipmentWithId,
  showsShipment,
} from './verify.ts'

/** The dependencies of approvals. */
export interface ApproveDeps {
  readonly bookings: Pick<Bookings, 'pending'>
  readonly service: Pick<Service, 'send'>
  readonly send: SendPlan
  readonly xref: Xref
  readonly exclusive: Exclusive
  readonly approvalBooks: Config['APPROVAL_BOOKS']
}

/**
 * Approves a quote, unless one of its names is booked already, or an earlier approval made a shipment of it: then the
 * answer is about that shipment. The approval is recorded before it is sent, so a later call asks the service for the quote's
 * shipment even if this one fails.
 */
export function approve(plan: Plan, tenant: string, sending: Sending, deps: ApproveDeps): Promise<Answer> {
  const quote = plan.found.id ?? ''
  return withQuoteLock(tenant, quote, sending, deps.exclusive, async (isHeld) => {
    const { send, xref, approvalBooks } = deps
    const read = readingOnce(sending, deps.service)
    const before = await xref.approval(tenant, quote)
    if (!before) await xref.setApproval(tenant, quote, 'sent')
    let isSent = false
    try {
      // After the record: this check sees a booking that did not see the record.
      await requireNonePending(plan, tenant, deps)
      const booked = await liveShipment(plan, tenant, read, xref)
      if (booked) {
        if (!before) await xref.setApproval(tenant, quote, undefined)
        return bookedAlready(plan, booked)
      }
      const made = before && approvalBooks === 'auto' ? await madeBefore(plan, tenant, read, xref) : undefined
      if (made) {
        await recordApproval(plan, { ...made.body, shipment_id: made.id }, tenant, xref, made.id)
        return bookedAlready(plan, made)
      }
      isSent = true
      const reply = await send(plan, { ...sending, mayWrite: isHeld })
      await keepIds(reply, quote, tenant, xref)
      if (isCanceledReply(reply)) {
        await xref.setApproval(tenant, quote, 'approved')
        throw gatewayError('service-refused/canceled', {}, { status: 409 })
      }
      const isShown = showsShipment(reply)
      const shipment = isShown ? undefined : await madeNow(plan, tenant, sending, deps)
      if (shipment)
        await recordApproval(plan, { ...shipment.body, shipment_id: shipment.id }, tenant, xref, shipment.id)
      else if (isShown) await recordApproval(plan, reply, tenant, xref)
      else await xref.setApproval(tenant, quote, 'approved')
      return isShown || shipment || namesOther(reply, quote) ? answerOf(plan, reply) : notBooked(plan, reply)
    } catch (error) {
      // The caller must learn of this error, even if the store fails as well.
      if (isSent) await keepIds(error, quote, tenant, xref).catch(() => undefined)
      if (!before && (!isSent || isRefused(error))) await xref.setApproval(tenant, quote, undefined)
      throw error
    }
  })
}

/** Records that a quote is approved, and the shipment that the reply shows, by default one with the id of the quote. */
async function recordApproval(plan: Plan, reply: unknown, tenant: string, xref: Xref, id?: string): Promise<void> {
  await xref.setApproval(tenant, plan.found.id ?? '', 'approved')
  const record = recordOf(plan, reply)
  if (record) await xref.write(tenant, id === undefined ? record : { ...record, id })
}

/** Returns the shipment that an earlier approval of the quote made, if it is not canceled. */
async function madeBefore(plan: Plan, tenant: string, read: ReadLive, xref: Xref): Promise<Shipment | undefined> {
  const quote = plan.found.id ?? ''
  for (const id of [quote, ...(await xref.idsInApproval(tenant, quote))]) {
    const shipment = await read(id)
    if (!shipment) continue
    await requireOfQuote(shipment, { quote, names: namesOf(plan), vin: undefined }, tenant, xref)
    return shipment
  }
  return undefined
}

/** Returns the shipment that the approval has just made; undefined if the service shows none. */
async function madeNow(
  plan: Plan,
  tenant: string,
  sending: Sending,
  { service, xref, approvalBooks }: ApproveDeps,
): Promise<Shipment | undefined> {
  if (approvalBooks === 'no') return undefined
  // The quote is approved whatever a read says: without a shipment in sight, a booking asks again.
  return madeBefore(plan, tenant, (id) => readLive(id, sending, service), xref).catch(() => undefined)
}

/** Tells if a reply names another thing than the quote. */
const namesOther = (reply: unknown, quote: string) => idsNamedIn(reply).some((id) => !isSameId(id, quote))

function notBooked(plan: Plan, reply: unknown): Answer {
  const told = {
    Message:
      'The quote is approved; the transportation is not booked yet. Send the booking to /createShipment.php, with this number as its ReferenceNumber.',
    TransportationBooked: 'No',
  }
  return { ...answerOf(plan, reply, (translated) => ({ ...translated, ...told })), headers: {} }
}

/** Throws if a booking under a name of the quote is under way or has an unknown outcome. */
async function requireNonePending(plan: Plan, tenant: string, { bookings, xref }: ApproveDeps): Promise<void> {
  const names = namesOf(plan)
  for (const claim of await bookings.pending(tenant)) {
    const { reference, state, handle } = claim
    const isOfQuote =
      names.includes(reference) ||
      (await xref.matches(tenant, reference)).some(({ kind, id }) => kind === 'quote' && id === plan.found.id)
    if (isOfQuote) throw state === 'sending' ? underWayStill(claim) : outcomeUnknown(handle)
  }
}

/** The most shipments of one name that are read. */
const MAX_READS = 10

/** Returns the newest shipment under a name of the quote that is not canceled. */
async function liveShipment(plan: Plan, tenant: string, read: ReadLive, xref: Xref): Promise<Shipment | undefined> {
  const matches = await Promise.all(namesOf(plan).map((name) => xref.matches(tenant, name)))
  const ids = new Set(
    matches.flat().flatMap(({ kind, id, givenBy }) => (kind === 'shipment' && givenBy === 'caller' ? [id] : [])),
  )
  for (const id of [...ids].slice(0, MAX_READS)) {
    const shipment = await read(id)
    if (shipment) return shipment
  }
  return undefined
}

/** Reads a shipment; returns undefined if there is none, or if it is canceled. */
type ReadLive = (id: string) => Promise<Shipment | undefined>

/** Returns a function that asks the service for each shipment once: a name of the quote and its approval may have the same one. */
function readingOnce(sending: Sending, service: ApproveDeps['service']): ReadLive {
  const reads = new Map<string, ReturnType<ReadLive>>()
  return (id) => {
    const shipment = reads.get(thingKey(id)) ?? readLive(id, sending, service)
    reads.set(thingKey(id), shipment)
    return shipment
  }
}

async function readLive(id: string, sending: Sending, service: ApproveDeps['service']): Promise<Shipment | undefined> {
  const reply = await service.send(shipmentRead(id), sending)
  if (isGone(reply, id)) return undefined
  if (!isSuccess(reply.status)) throw refusal(reply)
  return shipmentWithId(reply, id)
}

/** Returns the names of a quote that the call gives it, and the caller's own number. */
function namesOf({ request, own }: Plan): readonly string[] {
  const given = namesIn(request, request.compiled.action.target?.namedBy ?? []).map(([, name]) => name)
  return own === undefined ? given : [...given, own]
}

function bookedAlready(plan: Plan, { id, body }: Shipment): Answer {
  const number = idAt(body, 'number')
  const shown = shownText(scalarText(number) ?? id, SHOWN_CHARACTERS)
  return answerOf(plan, { ...body, shipment_id: id }, (told) => ({
    ...told,
    Message: `The transportation is booked already, as shipment ${shown}; the quote was not approved again.`,
  }))
}

/** The longest number that the message shows. */
const SHOWN_CHARACTERS = 128

function isCanceledReply(reply: unknown): boolean {
  return typeof reply === 'object' && reply !== null && isCanceled({ ...reply })
}

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

/** Tells if a status proves that the quote was not approved. */
export const refusesApproval = (status: number): boolean =>
  status >= 400 && status < 500 && !APPROVED_PERHAPS.has(status)

/** Tells if an error proves that the quote was not approved. */
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
export async function keepIds(
  reply: unknown,
  quote: string,
  tenant: string,
  xref: Pick<Xref, 'setIdsInApproval'>,
): Promise<void> {
  const cause = reply instanceof Error ? toGatewayError(reply).cause : undefined
  const named = cause instanceof NamedIds ? cause.ids : idsNamedIn(reply)
  const others = [...new Set(named.filter((id) => !isSameId(id, quote)))].slice(0, MAX_IDS)
  if (others.length > 0) await xref.setIdsInApproval(tenant, quote, others)
}

/** The quote, and the names and the VIN by which a call knows it. */
export interface Asked {
  readonly quote: string
  readonly names: readonly string[]
  readonly vin: string | undefined
}

/**
 * Throws if a shipment that the reply to an approval named shows the reference or the VIN of something else: it must neither be
 * changed nor be told of as the quote's, and it proves that there is no other.
 */
export async function requireOfQuote(
  { id, body }: Shipment,
  { quote, names, vin }: Asked,
  tenant: string,
  xref: Pick<Xref, 'matches'>,
): Promise<void> {
  if (isSameId(id, quote)) return
  const reference = idAt(body, 'external_id')
  const isOurs =
    reference === undefined ||
    [...names, quote].includes(reference) ||
    (await xref.matches(tenant, reference)).some((match) => match.kind === 'quote' && match.id === quote)
  if (!isOurs) throw foreign('reference')
  const vehicles = Array.isArray(body['vehicles']) ? body['vehicles'] : []
  const vins = vehicles.flatMap((vehicle) => vinKey(idAt(vehicle, 'vin')) || [])
  if (vin !== undefined && vins.length > 0 && !vins.includes(vinKey(vin))) throw foreign('VIN')
}

const foreign = (what: string) =>
  gatewayError('reply-doubtful', { fault: `the approval named a shipment of another ${what}` })

/** Runs work while no other work of the same key runs. */
export type Exclusive = <T>(key: string, waitMs: number, work: (isHeld: () => boolean) => Promise<T>) => Promise<T>

/** Runs the approval of a quote, or a booking of an approved quote, while no other of the same quote runs. */
export function withQuoteLock<T>(
  tenant: string,
  quote: string,
  { deadline }: Pick<Sending, 'deadline'>,
  exclusive: Exclusive,
  work: (isHeld: () => boolean) => Promise<T>,
): Promise<T> {
  return exclusive(`quote ${tenant}\n${thingKey(quote)}`, deadline - performance.now(), work)
}

/** The error of a call that has to wait for the approval of its quote. */
export function approvalUnderWay(): GatewayError {
  return gatewayError('booking-under-way/approval', {}, { headers: { 'Retry-After': '5' } })
}

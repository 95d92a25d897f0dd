import type { IncomingMessage } from 'node:http'
import type { Caller } from '../edge/callers/caller.ts'
import { requireMethod } from '../edge/routing.ts'
import type { Answer } from '../language/answer.ts'
import { closureAt, type Deprecation } from '../language/deprecation.ts'
import { GatewayError, gatewayError } from '../language/errors.ts'
import type { Action } from '../language/mapping/action.ts'
import type { Endpoint } from '../language/mapping/catalog.ts'
import type { FlatBody } from '../language/mapping/fields.ts'
import { SUPPORT } from '../language/messages.ts'
import { NoReply, type UpstreamReply } from '../outside/service/exchange.ts'
import { unansweredError } from '../outside/service/failures.ts'
import { type Sending, shipmentRead, withoutCredential } from '../outside/service/service.ts'
import type { Call } from '../runtime/call.ts'
import { REPLAYED } from '../state/bookings/bookings.ts'
import { PRICE } from '../state/bookings/price.ts'
import { approve } from './approve.ts'
import { book } from './book.ts'
import { cancel } from './cancel.ts'
import { ignoredHeader, unchanged } from './legacy-answer.ts'
import { planVersion2, type Version2Plan } from './plan.ts'
import { quote } from './quote.ts'
import { read } from './read.ts'
import { classify, readRequest, type Version1 } from './read-request.ts'
import type { CallRooms, Verb } from './rooms.ts'
import { update } from './update.ts'
import { noteVersion2Reply } from './version2.ts'

/** Answers a legacy call. This file is its whole life, in order; the dry run shares the steps up to the plan. */
export async function legacyCall(
  incoming: IncomingMessage,
  endpoint: Endpoint,
  call: Call,
  rooms: CallRooms,
): Promise<Answer> {
  let body: FlatBody
  try {
    requireMethod(incoming.method, [endpoint.method])
    body = await readRequest(incoming, call, rooms.bodyLimitBytes)
  } catch (error) {
    if (isOverload(error)) throw error
    // Errors about wrong methods and unreadable bodies follow the caller's ERROR_STATUS, too.
    const verified = await rooms.credentials.verified(incoming, call.share).catch(() => undefined)
    noteCaller(call, verified)
    throw (verified && retirement(verified, rooms)) ?? error
  }
  call.share.enter()
  const caller = await rooms.credentials.identify(incoming, call.share)
  noteCaller(call, caller)
  caller.profile.limits?.enter(call.share)
  const deadline = performance.now() + rooms.timeoutMs
  const sending: Sending = { account: caller.account, requestId: call.id, deadline }
  const retired = retirement(caller, rooms)
  if (retired) {
    // A wrong credential is told so, as before, and only callers with a right one are counted.
    if (!caller.account.acceptance.isProven()) await rooms.prove(sending)
    throw retired
  }
  const request = classify(body, endpoint, call, rooms.catalog, caller.profile.synonyms)
  const answer =
    request.generation === 1
      ? await answerVersion1(request, incoming, call, caller, sending, rooms)
      : await answerVersion2(planVersion2(request, endpoint), caller, sending, rooms)
  call.replayed = REPLAYED in answer.headers
  call.price = answer.headers[PRICE]
  return request.generation === 1 ? { ...answer, headers: { ...answer.headers, ...ignoredHeader(request) } } : answer
}

/** Returns true for an overload error: then nothing more is done for the call, not even a check of its secret. */
function isOverload(error: unknown): boolean {
  return error instanceof GatewayError && (error.code === 'overloaded' || error.code === 'too-many-calls')
}

function noteCaller(call: Call, caller: Caller | undefined): void {
  call.use = 'version-1'
  call.tenant = caller?.tenant
  call.acceptance = caller?.account.acceptance
  call.errorStatus = caller?.profile.errorStatus
  call.support = caller?.profile.support
  call.legacyHeaders = caller?.profile.deprecation.headers
}

/** The verbs of version 1, each with its whole life in one file. */
const verbs: Readonly<Record<Action['verb'], Verb>> = { quote, approve, book, read, update, cancel }

/** Checks that the call may do what its action does, and does it. */
async function answerVersion1(
  request: Version1,
  { headers }: IncomingMessage,
  call: Call,
  caller: Caller,
  sending: Sending,
  rooms: CallRooms,
): Promise<Answer> {
  const { action } = request.compiled
  const { verb } = action
  const brownout = brownoutError(verb === 'book' || verb === 'approve', caller.profile.deprecation, rooms.now)
  // A booking that was made before is answered from its record, whenever it is repeated.
  if (brownout && verb !== 'book') throw brownout
  // Until the service has accepted a credential, nothing is looked up or claimed for it. A new quote proves it by itself.
  const isNewQuote = verb === 'quote' && !action.target
  if (!isNewQuote && !caller.account.acceptance.isProven()) await rooms.prove(sending)
  const noteTranslation = (notes: Call['notes']) => {
    call.notes = notes
  }
  return verbs[verb]({ request, headers, caller, sending, brownout, noteTranslation }, rooms)
}

/** Passes a version-2 body on, and the service's reply back; a canceled shipment frees the key of its booking. */
async function answerVersion2(
  { compiled, toService, id }: Version2Plan,
  { tenant, profile }: Caller,
  sending: Sending,
  rooms: CallRooms,
): Promise<Answer> {
  const { service, now } = rooms
  const { verb } = compiled.action
  const mayBook = verb === 'book'
  const brownout = brownoutError(mayBook || verb === 'approve', profile.deprecation, now)
  if (brownout) throw brownout
  const { method, path } = toService
  let reply: UpstreamReply
  try {
    reply = await service.send(toService, sending)
  } catch (cause) {
    throw cause instanceof NoReply ? unansweredError(cause, { method, path, mayBook }) : cause
  }
  if (id !== undefined)
    await noteVersion2Reply({ verb, id }, reply, (name) => service.send(shipmentRead(name), sending), tenant, rooms)
  return unchanged(withoutCredential(reply, sending.account))
}

/** Returns the error of all legacy calls of a caller for whom version 1 has ended. A booking may stand that was made before. */
function retirement({ profile: { deprecation } }: Caller, { now }: Pick<CallRooms, 'now'>): GatewayError | undefined {
  const closure = closureAt(deprecation, now())
  if (closure?.kind !== 'retired') return undefined
  return gatewayError(
    'retired',
    { since: dayOrMinuteOf(closure.since), guide: guideIn(deprecation) },
    { mayHaveBooked: true },
  )
}

/** Returns the error of a legacy call in a brownout; undefined outside of one, and for bookings that it spares. */
function brownoutError(mayBook: boolean, deprecation: Deprecation, now: () => number): GatewayError | undefined {
  const { coversBookings, sunset } = deprecation
  const closure = closureAt(deprecation, now())
  if (closure?.kind !== 'brownout' || (mayBook && !coversBookings)) return undefined
  const { end } = closure.window
  const seconds = Math.max(1, Math.ceil((end - now()) / 1000))
  return gatewayError(
    'brownout',
    { until: minuteOf(end), end: sunset ? ` It ends on ${dayOf(sunset)}.` : '', guide: guideIn(deprecation) },
    { headers: { 'Retry-After': String(seconds) } },
  )
}

const guideIn = ({ guide }: Deprecation) => (guide === undefined ? `ask ${SUPPORT} how` : `read ${guide}`)

const DATE_CHARACTERS = 10
const MINUTE_CHARACTERS = 16

const dayOf = (date: Date) => date.toISOString().slice(0, DATE_CHARACTERS)
const dayOrMinuteOf = (date: Date) =>
  date.toISOString().endsWith('T00:00:00.000Z') ? dayOf(date) : minuteOf(date.getTime())
const minuteOf = (moment: number) =>
  `${new Date(moment).toISOString().slice(0, MINUTE_CHARACTERS).replace('T', ' ')} UTC`

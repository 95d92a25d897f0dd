import type { IncomingMessage } from 'node:http'
import { type Caller, missingCredential } from '../edge/callers/caller.ts'
import { type Arrival, noteVerified } from '../edge/door.ts'
import type { Answer } from '../language/answer.ts'
import { GatewayError, gatewayError, retryAfter } from '../language/errors.ts'
import { closureAt, type Deprecation, minuteOf } from '../language/legacy-headers.ts'
import type { VerbName } from '../language/mapping/action.ts'
import type { Endpoint } from '../language/mapping/catalog.ts'
import type { FlatBody } from '../language/mapping/fields.ts'
import { SUPPORT } from '../language/messages.ts'
import type { Sending } from '../outside/service/service.ts'
import type { Call, CallOutcome } from '../runtime/call.ts'
import { PRICE_HEADER, REPLAYED_HEADER } from '../state/bookings/bookings.ts'
import { approve } from './approve.ts'
import { book } from './book.ts'
import { cancel } from './cancel.ts'
import { quote } from './quote.ts'
import { read } from './read.ts'
import { classify, type Version1 } from './read-request.ts'
import { update } from './update.ts'
import type { CallRooms, Verb } from './verb.ts'
import { ignoredHeader } from './version1-answer.ts'
import { passOnBody, planVersion2 } from './version2.ts'

/** Answers a legacy call that has arrived. This file is the whole call, in order; the dry run shares the steps up to the plan. */
export async function legacyCall(
  { body, caller }: Arrival<FlatBody, Caller>,
  { headers, url }: IncomingMessage,
  endpoint: Endpoint,
  { request: { id }, outcome }: Call,
  rooms: CallRooms,
): Promise<Answer> {
  const deadline = performance.now() + rooms.config.UPSTREAM_TIMEOUT_MS
  const sending: Sending = { account: caller.account, requestId: id, deadline }
  const retired = retirement(caller, rooms)
  if (retired) {
    // A wrong credential is still rejected as such, and only callers with a right one are counted.
    await rooms.prove(sending)
    throw retired
  }
  const request = classify(body, endpoint, rooms.catalog, caller.profile.synonyms, url)
  if (request.generation === 2) {
    const plan = planVersion2(request, endpoint)
    const brownout = brownoutError(plan.compiled.action.verb, caller, rooms)
    if (brownout) throw brownout
    return passOnBody(plan, caller.tenant, sending, rooms)
  }
  noteRequest(outcome, request)
  const { verb, target } = request.compiled.action
  const brownout = brownoutError(verb, caller, rooms)
  // In a brownout, too, a repeated booking is answered from its record.
  if (brownout && verb !== 'book') throw brownout
  // Nothing is looked up or claimed for a credential that the service has not accepted. A new quote proves it by itself.
  const proof = verb === 'quote' && !target ? undefined : rooms.prove(sending)
  if (proof) await proof
  const answer = await verbs[verb]({ request, headers, caller, sending, brownout, outcome }, rooms)
  outcome.replayed = REPLAYED_HEADER in answer.headers
  outcome.price = answer.headers[PRICE_HEADER]
  return { ...answer, headers: { ...answer.headers, ...ignoredHeader(request) } }
}

/** Notes what a call asks for, for its log line and the counts. */
export function noteRequest(outcome: CallOutcome, request: Version1): void {
  outcome.action = request.compiled.action.name
  outcome.sorted = request
}

/** Returns the error of a call that is refused for its method or its body. It, too, follows the caller's ERROR_STATUS. */
export async function legacyRefusal(
  error: unknown,
  incoming: IncomingMessage,
  call: Call,
  rooms: CallRooms,
): Promise<unknown> {
  // Under overload, nothing more is done for a call, not even a check of its secret.
  if (error instanceof GatewayError && (error.code === 'overloaded' || error.code === 'too-many-calls')) return error
  const { callers } = rooms
  const isOfBody = error instanceof GatewayError && OF_BODY.has(error.status)
  if (isOfBody && callers.mode === 'client' && !incoming.headers.authorization) return missingCredential(incoming)
  const caller = await noteVerified(callers, incoming, call).catch(() => undefined)
  return (caller && retirement(caller, rooms)) ?? error
}

/** The statuses of a body that cannot be read. A missing credential is answered first. */
const OF_BODY: ReadonlySet<number> = new Set([400, 422])

/** The verbs of version 1, one file each. */
const verbs: Readonly<Record<VerbName, Verb>> = { quote, approve, book, read, update, cancel }

/** Returns the error of every legacy call of a caller for whom version 1 has ended. An earlier booking may stand. */
function retirement({ profile: { deprecation } }: Caller, { store }: CallRooms): GatewayError | undefined {
  const closure = closureAt(deprecation, store.now())
  if (closure?.kind !== 'retired') return undefined
  return gatewayError(
    'retired',
    { since: dayOrMinuteOf(closure.since), guide: guideIn(deprecation) },
    { mayHaveBooked: true },
  )
}

/** Returns the error of a legacy call in a brownout; undefined outside of one, and for bookings if it spares them. */
function brownoutError(
  verb: VerbName,
  { profile: { deprecation } }: Caller,
  { store }: CallRooms,
): GatewayError | undefined {
  const { coversBookings, sunset } = deprecation
  const mayBook = verb === 'book' || verb === 'approve'
  const now = store.now()
  const closure = closureAt(deprecation, now)
  if (closure?.kind !== 'brownout' || (mayBook && !coversBookings)) return undefined
  const { end } = closure.window
  const seconds = Math.max(1, Math.ceil((end - now) / 1000))
  return gatewayError(
    'brownout',
    { until: minuteOf(end), end: sunset ? ` It ends on ${dayOf(sunset)}.` : '', guide: guideIn(deprecation) },
    retryAfter(seconds),
  )
}

const guideIn = ({ guide }: Deprecation) => (guide === undefined ? `ask ${SUPPORT} how` : `read ${guide}`)

const DATE_CHARACTERS = 10

const dayOf = (date: Date) => date.toISOString().slice(0, DATE_CHARACTERS)
const dayOrMinuteOf = (date: Date) =>
  date.toISOString().endsWith('T00:00:00.000Z') ? dayOf(date) : minuteOf(date.getTime())

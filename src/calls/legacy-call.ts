import type { IncomingMessage } from 'node:http'
import type { Answer } from '../answer.ts'
import type { FlatBody } from '../body/read.ts'
import { REPLAYED } from '../bookings/bookings.ts'
import { PRICE } from '../bookings/price.ts'
import type { Caller } from '../callers/caller.ts'
import { GatewayError, gatewayError } from '../errors.ts'
import { requireMethod } from '../http/routing.ts'
import type { Action } from '../mapping/action.ts'
import type { Endpoint } from '../mapping/catalog.ts'
import { SUPPORT } from '../messages.ts'
import { type Deprecation, windowAt } from '../migration/deprecation.ts'
import type { Call } from '../observe/call.ts'
import { NoReply, type UpstreamReply } from '../service/exchange.ts'
import { unansweredError } from '../service/failures.ts'
import { type Sending, shipmentRead, withoutCredential } from '../service/service.ts'
import { approve } from './approve.ts'
import { book } from './book.ts'
import { cancel } from './cancel.ts'
import { unchanged } from './legacy-answer.ts'
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
    noteCaller(call, await rooms.credentials.verified(incoming, call.share).catch(() => undefined))
    throw error
  }
  call.share.enter()
  const caller = await rooms.credentials.identify(incoming, call.share)
  noteCaller(call, caller)
  caller.profile.limits?.enter(call.share)
  const request = classify(body, endpoint, call, rooms.catalog, caller.profile.synonyms)
  const deadline = performance.now() + rooms.timeoutMs
  const sending: Sending = { account: caller.account, requestId: call.id, deadline }
  const answer =
    request.generation === 1
      ? await answerVersion1(request, incoming, call, caller, sending, rooms)
      : await answerVersion2(planVersion2(request, endpoint), caller, sending, rooms)
  call.replayed = REPLAYED in answer.headers
  call.price = answer.headers[PRICE]
  return answer
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

/** Returns the error of a legacy call in a brownout; undefined outside of one, and for bookings that it spares. */
function brownoutError(
  mayBook: boolean,
  { windows, coversBookings, sunset, guide }: Deprecation,
  now: () => number,
): GatewayError | undefined {
  if (windows.length === 0) return undefined
  const window = windowAt(windows, now())
  if (!window || (mayBook && !coversBookings)) return undefined
  const seconds = Math.max(1, Math.ceil((window.end - now()) / 1000))
  return gatewayError(
    'brownout',
    {
      until: minuteOf(window.end),
      end: sunset ? ` It ends on ${dayOf(sunset)}.` : '',
      guide: guide === undefined ? `ask ${SUPPORT} how` : `read ${guide}`,
    },
    { headers: { 'Retry-After': String(seconds) } },
  )
}

const DATE_CHARACTERS = 10
const MINUTE_CHARACTERS = 16

const dayOf = (date: Date) => date.toISOString().slice(0, DATE_CHARACTERS)
const minuteOf = (moment: number) =>
  `${new Date(moment).toISOString().slice(0, MINUTE_CHARACTERS).replace('T', ' ')} UTC`

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Answer } from '../answer.ts'
import type { FlatBody } from '../body/read.ts'
import { type Bookings, REPLAYED } from '../bookings/bookings.ts'
import type { Caller, Credentials } from '../callers/caller.ts'
import type { Prove } from '../callers/prove.ts'
import { asksForNothing, GatewayError, gatewayError, untranslatable } from '../errors.ts'
import { requireMethod } from '../http/routing.ts'
import type { Catalog, Endpoint } from '../mapping/catalog.ts'
import type { Problem } from '../mapping/fields.ts'
import { SUPPORT } from '../messages.ts'
import { type Deprecation, windowAt } from '../migration/deprecation.ts'
import type { Call } from '../observe/call.ts'
import { isSuccess, NoReply, type UpstreamReply } from '../service/exchange.ts'
import { unansweredError } from '../service/failures.ts'
import { type Sending, type Service, shipmentRead, withoutCredential } from '../service/service.ts'
import type { Xref } from '../xref/xref.ts'
import { type ApproveDeps, approve } from './approve.ts'
import { type BookDeps, book } from './book.ts'
import { freeCanceled, isShownAsGone } from './canceled.ts'
import { findTarget, NOTHING_FOUND, namesIn } from './find.ts'
import { answerOf, ignoredHeader, recordOf, unchanged } from './legacy-answer.ts'
import { planCall, planVersion2, type Version2Plan } from './plan.ts'
import { classify, readRequest, type Version1 } from './read-request.ts'
import { type SendPlan, update } from './send.ts'
import { idAt } from './verify.ts'

/** The dependencies of legacy calls, the same for every call. */
export interface LegacyCallDeps extends ApproveDeps, BookDeps {
  readonly catalog: Catalog
  readonly bodyLimitBytes: number
  readonly credentials: Credentials
  readonly prove: Prove
  readonly service: Service
  readonly send: SendPlan
  readonly xref: Xref
  readonly bookings: Bookings
  readonly timeoutMs: number
  /** Returns the time by the store's clock, in milliseconds since 1970. */
  readonly now: () => number
}

/** Answers a legacy call. This file is its whole life, in order; the dry run shares the steps up to the plan. */
export async function legacyCall(
  incoming: IncomingMessage,
  endpoint: Endpoint,
  call: Call,
  deps: LegacyCallDeps,
): Promise<Answer> {
  let body: FlatBody
  try {
    requireMethod(incoming.method, [endpoint.method])
    body = await readRequest(incoming, call, deps.bodyLimitBytes)
  } catch (error) {
    if (isOverload(error)) throw error
    // Errors about wrong methods and unreadable bodies follow the caller's ERROR_STATUS, too.
    noteCaller(call, await deps.credentials.verified(incoming, call.share).catch(() => undefined))
    throw error
  }
  call.share.enter()
  const caller = await deps.credentials.identify(incoming, call.share)
  noteCaller(call, caller)
  caller.profile.limits?.enter(call.share)
  const request = classify(body, endpoint, call, deps.catalog, caller.profile.synonyms)
  const deadline = performance.now() + deps.timeoutMs
  const sending: Sending = { account: caller.account, requestId: call.id, deadline }
  const answer =
    request.generation === 1
      ? await answerVersion1(request, incoming.headers, call, caller, sending, deps)
      : await answerVersion2(planVersion2(request, endpoint), caller, sending, deps)
  call.replayed = REPLAYED in answer.headers
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

/** Finds what the call names, plans it, and carries the plan out. */
async function answerVersion1(
  request: Version1,
  headers: IncomingHttpHeaders,
  call: Call,
  caller: Caller,
  sending: Sending,
  deps: LegacyCallDeps,
): Promise<Answer> {
  const { tenant, profile } = caller
  const { action, isApproval } = request.compiled
  const { notIdempotent = false, doneWhenStatus, mergeInto } = action.service
  const brownout = brownoutError(notIdempotent || isApproval, profile.deprecation, deps.now)
  // A booking that was made before is answered from its record, whenever it is repeated.
  if (brownout && !notIdempotent) throw brownout
  // Until the service has accepted a credential, nothing is looked up or claimed for it. A new quote proves it by itself.
  const namesSomething = action.target ?? action.quoteNamedBy
  if ((namesSomething || notIdempotent) && !caller.account.acceptance.isProven()) await deps.prove(sending)
  const found = namesSomething ? await findTarget(request, tenant, sending, deps) : NOTHING_FOUND
  const plan = planCall(request, found, profile.settings)
  call.notes = plan.notes
  // What cannot be translated may be what a read of the shipment shows.
  const mayStand = mergeInto && found.id !== undefined
  const isFinal = (problem: Problem) =>
    !mayStand || asksForNothing(problem) || request.textOf(problem.field) === undefined
  if (plan.problems.some(isFinal)) throw untranslatable(plan.problems)
  if (notIdempotent) return book(plan, headers, caller, sending, deps, brownout)
  if (isApproval) return approve(plan, tenant, sending, deps)

  const updated = mergeInto && (await update(plan, tenant, sending, deps.merge))
  const reply = updated ? updated.body : await deps.send(plan, sending)
  const answer = answerOf(plan, reply, updated?.tell)
  const record = recordOf(plan, reply)
  const { xrefRecord, target } = action
  if (!record && xrefRecord && !target && namesIn(request, xrefRecord.names).length === 0) {
    // Nothing could ever name this quote.
    throw gatewayError('service-unreadable/places', { places: xrefRecord.id })
  }
  // A number in the answer must resolve as soon as the caller has it.
  if (record) await deps.xref.write(tenant, record)
  if (doneWhenStatus) {
    const ids = [found.id, idAt(reply, 'id')].filter((id) => id !== undefined)
    const read = (id: string) => deps.service.send(shipmentRead(id), sending)
    // The cancellation of this very id is proven.
    await deps.bookings.free(tenant, ids, async (id) => id === found.id || isShownAsGone(id, read))
  }
  return answer
}

/** Passes a version-2 body on, and the service's reply back; a canceled shipment frees the key of its booking. */
async function answerVersion2(
  { compiled, toService, id }: Version2Plan,
  { tenant, profile }: Caller,
  sending: Sending,
  { service, bookings, xref, now }: LegacyCallDeps,
): Promise<Answer> {
  const { doneWhenStatus, notIdempotent: mayBook = false } = compiled.action.service
  const brownout = brownoutError(mayBook || compiled.isApproval, profile.deprecation, now)
  if (brownout) throw brownout
  const { method, path } = toService
  let reply: UpstreamReply
  try {
    reply = await service.send(toService, sending)
  } catch (cause) {
    throw cause instanceof NoReply ? unansweredError(cause, { method, path, mayBook }) : cause
  }
  if (isSuccess(reply.status) && doneWhenStatus && id !== undefined) {
    const read = (name: string) => service.send(shipmentRead(name), sending)
    await freeCanceled(id, reply, read, tenant, { bookings, xref })
  }
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

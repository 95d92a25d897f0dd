import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { PassThrough } from '../edge/callers/caller.ts'
import type { Arrival } from '../edge/door.ts'
import { version2Call } from '../edge/routing.ts'
import { HOP_BY_HOP } from '../language/answer.ts'
import { GatewayError } from '../language/errors.ts'
import { serviceId } from '../language/text/service-text.ts'
import type { AuthorizedReply } from '../outside/service/account.ts'
import { type CredentialMask, createCredentialMask } from '../outside/service/credential.ts'
import { NoReply } from '../outside/service/exchange.ts'
import { MAKES_NOTHING, refusesChange, SAFE_METHODS, unansweredError } from '../outside/service/failures.ts'
import { isSuccess } from '../outside/service/reply.ts'
import { shipmentRead } from '../outside/service/service.ts'
import { HungUp, type StreamedReply, type StreamedRequest, stream } from '../outside/service/stream.ts'
import { LockTimeout, StoreDown } from '../outside/store/store.ts'
import type { Call } from '../runtime/call.ts'
import type { Bookings } from '../state/bookings/bookings.ts'
import { type RememberedQuote, rememberedQuote } from '../state/names/names.ts'
import { approving, noteApprovalReply } from './approve.ts'
import { noteInDoubt } from './subject.ts'
import { isNotMade } from './update.ts'
import type { CallRooms } from './verb.ts'
import { noteVersion2Reply, provesNotCanceled } from './version2.ts'

/**
 * Streams a version-2 call to the service and the reply back, unparsed and unchanged. What an approval or a cancellation means for bookings
 * is recorded before the caller has its reply, because it may book at once.
 */
export async function passThrough(
  arrival: Arrival<Buffer | Readable | null, PassThrough>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  call: Call,
  rooms: CallRooms,
): Promise<void> {
  const { service, bookings } = rooms
  const { method = 'GET', url = '' } = incoming
  const account = arrival.caller
  const { tenant, acceptance, reader } = account
  const { id: requestId } = call.request
  const deadline = performance.now() + rooms.config.UPSTREAM_TIMEOUT_MS
  const meaning = version2Call(method, url)
  const cancels = meaning?.verb === 'cancel'
  const passing = createPassing(arrival, incoming, outgoing, { requestId, deadline }, rooms)
  let ended: Awaited<ReturnType<typeof noteInDoubt>> | undefined
  try {
    if ((cancels || meaning?.verb === 'update') && tenant !== undefined && acceptance.isProven())
      ended = await noteInDoubt(tenant, meaning.id, rooms)
    const reply =
      meaning?.verb === 'approve' && tenant !== undefined
        ? await passApproval(meaning.id, tenant, account, deadline, passing.send, rooms)
        : await passing.send()
    const used =
      meaning && meaning.verb !== 'create' && meaning.verb !== 'approve' && tenant !== undefined && reader
        ? { ...meaning, tenant, reader }
        : undefined
    if (
      used &&
      ((cancels && isSuccess(reply.status)) || (await mayFree(used, reply, acceptance.isProven(), bookings)))
    ) {
      const read = (name: string) => service.send(shipmentRead(name), { account: used.reader, requestId, deadline })
      const shown = { status: reply.status, headers: {}, body: (await reply.whole()) ?? EMPTY }
      await ended?.(async (own) => cancels && provesNotCanceled(shown, own, read, used.tenant, rooms))
      // A reply that breaks off on its way to the caller says no more about it.
      ended = undefined
      await noteVersion2Reply(used, shown, read, used.tenant, rooms)
    }
    const mask = passing.maskFor(reply)
    outgoing.writeHead(reply.status, linesOfAllHops(reply.lines, false, ['X-Request-Id', requestId], mask))
    await reply.toReader(mask)
  } catch (cause) {
    passing.drop()
    await ended?.(async () => cancels && isNotMade(cause))
    if (outgoing.headersSent || cause instanceof HungUp) return void outgoing.destroy()
    if (cause instanceof GatewayError || cause instanceof StoreDown || cause instanceof LockTimeout) throw cause
    const mayBook = meaning !== undefined && meaning.verb !== 'read' && meaning.verb !== 'update'
    throw unansweredError(cause, { method, path: url, mayBook })
  }
}

/** Sends a call on as often as its credential needs; only the last reply goes to the caller. */
function createPassing(
  { body, caller: account }: Arrival<Buffer | Readable | null, PassThrough>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { requestId, deadline }: { readonly requestId: string; readonly deadline: number },
  { upstream, config, readerTimeoutMs }: CallRooms,
) {
  const { method = 'GET', url = '' } = incoming
  const { authorized, authorization: own, prefix } = account
  const timeoutMs = config.UPSTREAM_TIMEOUT_MS
  const isSafe = SAFE_METHODS.has(method)
  // The service may be closing a kept connection just then, and nobody would know whether it made the change.
  const isChange = !isSafe && !MAKES_NOTHING.test(url)
  let last: StreamedReply | undefined
  let sent: string | undefined

  async function attempt(authorization: string | undefined, mayWrite: () => boolean): Promise<AuthorizedReply> {
    last?.drop()
    sent = authorization
    const request: StreamedRequest = {
      // Every method passes; undici's type lists only the common ones.
      method: method as 'GET',
      path: prefix + url,
      headers: linesOfAllHops(incoming.rawHeaders, true, [
        'x-request-id',
        requestId,
        ...(authorization === undefined ? [] : ['authorization', authorization]),
      ]),
      body,
      bodyTimeout: timeoutMs,
    }
    const patience = { deadline, timeoutMs, readerTimeoutMs, mayWrite }
    try {
      last = await stream(upstream.line(account, isChange), request, outgoing, patience)
    } catch (error) {
      // If a kept connection closes before the reply, a safe request is sent again over a new one.
      if (body !== null || !isSafe || !isClosed(error)) throw error
      last = await stream(upstream.line(account, true), request, outgoing, patience)
    }
    return { status: last.status, headers: last.status === UNAUTHORIZED ? challengesIn(last) : NO_CHALLENGES }
  }

  return {
    /** Makes only one attempt if the body is streamed or the credential is the caller's own. */
    async send(mayWrite = () => true): Promise<StreamedReply> {
      if (authorized && !(body instanceof Readable)) {
        await authorized(deadline, (authorization) => attempt(authorization, mayWrite))
      } else {
        const authorization = typeof own === 'function' ? await own(deadline) : own
        const answer = await attempt(authorization, mayWrite)
        if (authorization !== undefined) account.learn?.(authorization, answer, incoming)
      }
      if (!last) throw new Error('A call that is passed through is sent at least once.')
      return last
    },
    /** The caller knows its own credential, so only the gateway's is masked. */
    maskFor: ({ status }: StreamedReply): CredentialMask | undefined =>
      authorized && sent !== undefined ? createCredentialMask(sent, isSuccess(status)) : undefined,
    drop: () => last?.drop(),
  }
}

const EMPTY = Buffer.alloc(0)

/** Reports whether a call may free a booking's key, so that its reply has to be read. A stranger's reply frees nothing. */
async function mayFree(
  { id, tenant }: { readonly id: string; readonly tenant: string },
  { status }: StreamedReply,
  isProven: boolean,
  bookings: Bookings,
): Promise<boolean> {
  if (!isProven) return false
  try {
    return await bookings.isBooked(tenant, id)
  } catch {
    // A success is recorded once the store is back. A reply that finds nothing may be about anything.
    return isSuccess(status)
  }
}

/** The codes of a connection that closed before the reply. */
const CLOSED = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

function isClosed(failure: unknown): boolean {
  // The request had not begun.
  const error = failure instanceof NoReply && failure.silence === 'unsent' ? failure.cause : failure
  return error instanceof Error && 'code' in error && CLOSED.has(String(error.code))
}

/**
 * Other header names are dropped: some servers read `Content_Length` and `Content.Length` as the length of the body, and `X_Forwarded_For`
 * as a trusted proxy's header.
 */
const PLAIN_NAME = /^[a-z\d-]+$/

/** How a header is treated, by its name. */
interface Treatment {
  /** The name in lower case. */
  readonly key: string
  readonly isPlain: boolean
  readonly isOfOneHop: boolean
}

/** Treatments by header name as sent; most calls send the same few dozen. */
const treatments = new Map<string, Treatment>()
/** The most names that are kept, and the longest one: callers choose them. */
const MAX_TREATMENTS = 1_000
const MAX_NAME_CHARACTERS = 64

function newTreatment(name: string): Treatment {
  const key = name.toLowerCase()
  const made = { key, isPlain: PLAIN_NAME.test(key), isOfOneHop: HOP_BY_HOP.has(key) || key === 'x-request-id' }
  if (name.length > MAX_NAME_CHARACTERS) return made
  if (treatments.size >= MAX_TREATMENTS) treatments.clear()
  treatments.set(name, made)
  return made
}

/**
 * Returns the header lines to pass on, then `more`: those of a call without the caller's credential, or those of a reply with a mask over
 * their values.
 */
function linesOfAllHops(
  lines: readonly string[],
  isRequest: boolean,
  more: readonly string[],
  mask?: CredentialMask,
): string[] {
  const kept: string[] = []
  /** The headers that `Connection` names apply to this hop only, too. */
  let named: string[] | undefined
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] ?? ''
    const value = lines[i + 1] ?? ''
    const { key, isPlain, isOfOneHop } = treatments.get(name) ?? newTreatment(name)
    if (isOfOneHop) {
      if (key !== 'connection' || value === 'keep-alive' || value === 'close') continue
      named ??= []
      for (const one of value.split(',')) named.push(one.trim().toLowerCase())
    } else if (!isRequest || (isPlain && key !== 'authorization')) kept.push(name, mask ? mask.text(value) : value)
  }
  const passed = named ? kept.filter((_line, i) => !named.includes((kept[i - (i % 2)] ?? '').toLowerCase())) : kept
  passed.push(...more)
  return passed
}

const UNAUTHORIZED = 401
const NO_CHALLENGES = {}

/** Returns a reply's challenges as one header. */
function challengesIn({ lines }: { readonly lines: readonly string[] }) {
  const values = lines.filter((_line, i) => i % 2 === 1 && lines[i - 1]?.toLowerCase() === 'www-authenticate')
  return values.length > 0 ? { 'www-authenticate': values.join(', ') } : NO_CHALLENGES
}

/**
 * Passes an approval on like one of version 1: it is noted first, and sent only while no booking of the quote is under way. If the store
 * fails, what the reply shows is recorded later, because the call has its answer.
 */
async function passApproval(
  id: string,
  tenant: string,
  { acceptance }: PassThrough,
  deadline: number,
  pass: (isHeld?: () => boolean) => Promise<StreamedReply>,
  rooms: CallRooms,
): Promise<StreamedReply> {
  const { names, store } = rooms
  const noteReply = async (reply: StreamedReply, before?: RememberedQuote): Promise<StreamedReply> => {
    if (!isSuccess(reply.status) || !acceptance.isProven() || serviceId(id) === undefined) return reply
    const shown = { status: reply.status, body: (await reply.whole()) ?? EMPTY }
    // A failing store does not fail the call: the reply is recorded later.
    const quote = before ?? (await names.quote(tenant, id).catch(() => rememberedQuote(id)))
    if (!before) await store.noteApproval({ tenant, id }, quote.names).catch(() => undefined)
    await noteApprovalReply(shown, quote, tenant, rooms).catch(() => undefined)
    return reply
  }
  // Nothing is noted for a credential that the service has not accepted.
  if (!acceptance.isProven() || serviceId(id) === undefined) return noteReply(await pass())
  return approving(tenant, rememberedQuote(id), deadline, rooms, async (approval) => {
    approval.isSent = true
    const reply = await pass(approval.isHeld)
    if (refusesChange(reply.status)) await approval.takeBack()
    return noteReply(reply, approval.before)
  })
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { readBytes } from '../body/bytes.ts'
import { streamedBody } from '../body/streamed-body.ts'
import type { Bookings } from '../bookings/bookings.ts'
import type { Credentials, PassThrough } from '../callers/caller.ts'
import type { Config } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import type { Call, Share } from '../observe/call.ts'
import { NoReply, type UpstreamReply } from '../service/exchange.ts'
import { unansweredError } from '../service/failures.ts'
import { createMask } from '../service/mask.ts'
import { BASE_HEADERS } from '../service/outgoing.ts'
import { isSuccess } from '../service/service.ts'
import { HungUp, type StreamedReply, type StreamedRequest, stream } from '../service/streamed.ts'
import type { Upstream } from '../service/upstream.ts'
import type { Xref } from '../xref/xref.ts'
import { freeCanceled } from './canceled.ts'
import { challengesIn, replyLines, requestLines } from './pass-through-headers.ts'
import { keepIdsOf, recordingApproval } from './passed-approval.ts'
import { version2Call } from './version-2-call.ts'

/** The dependencies of calls that are passed through. */
export interface PassThroughDeps {
  readonly config: Pick<Config, 'UPSTREAM_TIMEOUT_MS'>
  readonly credentials: Credentials
  readonly upstream: Upstream
  readonly bookings: Bookings
  readonly xref: Xref
  /** The time that a caller has to read what is ready for it, in milliseconds. */
  readonly readerTimeoutMs: number
}

/** Passes a version-2 call to the service and the reply back, as streams, unparsed and unchanged. */
export async function passThrough(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  call: Call,
  deps: PassThroughDeps,
): Promise<void> {
  const deadline = performance.now() + deps.config.UPSTREAM_TIMEOUT_MS
  const body = isSmall(incoming)
    ? await readBytes(incoming, SMALL_BYTES, call.share)
    : streamedBodyOf(incoming, call.share)
  try {
    call.share.enter()
    await passOn(body, deadline, incoming, outgoing, call, deps)
  } finally {
    // A body without a reader must not go on buffering.
    if (body instanceof Readable) body.destroy()
  }
}

async function passOn(
  body: Body,
  deadline: number,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  call: Call,
  deps: PassThroughDeps,
): Promise<void> {
  const { config, credentials, upstream, readerTimeoutMs } = deps
  const { method = 'GET', url = '' } = incoming
  const found = credentials.passThrough(incoming, body instanceof Readable)
  const account = found instanceof Promise ? await found : found
  call.tenant = account.tenant
  call.acceptance = account.acceptance
  const meaning = version2Call(method, url)
  const leave = account.limits.enter()
  try {
    const patience = { deadline, timeoutMs: config.UPSTREAM_TIMEOUT_MS, readerTimeoutMs }
    const isSafe = body === null && SAFE_METHODS.has(method)
    let sent: string | undefined
    const attempt = (authorization: string | undefined): Promise<StreamedReply> => {
      sent = authorization
      const request: StreamedRequest = {
        // Every method passes; undici's type lists the common ones only.
        method: method as 'GET',
        path: account.prefix + url,
        headers: requestLines(incoming.rawHeaders, call.id, authorization),
        body,
        bodyTimeout: config.UPSTREAM_TIMEOUT_MS,
      }
      const first = stream(upstream.line(account.origin, account.pool()), request, outgoing, patience)
      if (!isSafe) return first
      // A safe request is sent again, over a new connection, if a kept one closes before the reply.
      return first.catch((error: unknown) => {
        if (!isClosed(error)) throw error
        return stream(upstream.line(account.origin, account.pool(), true), request, outgoing, patience)
      })
    }
    const ask = () =>
      account.authorized && isRepeatable(body)
        ? answerOf(account.authorized, deadline, attempt)
        : singleAnswer(account, incoming, deadline, attempt)
    const { tenant } = account
    const approved = meaning?.verb === 'approve' ? meaning.id : undefined
    const reply = await (tenant === undefined || approved === undefined
      ? ask()
      : recordingApproval(approved, { tenant, isProven: account.acceptance?.isProven() ?? false }, deps.xref, ask))
    // Before the reply: the caller may book at once.
    if (approved !== undefined && tenant !== undefined && isSuccess(reply.status))
      await keepIdsOf(await reply.whole(), approved, tenant, deps.xref)
    // Likewise.
    if (meaning?.verb === 'cancel' && isSuccess(reply.status) && tenant !== undefined) {
      const { id, collection } = meaning
      const read = (name: string) =>
        readShipment(`${collection}/${encodeURIComponent(name)}`, account, sent, { call, deadline, upstream })
      const body = await reply.whole()
      await freeCanceled(id, body && { status: reply.status, headers: {}, body }, read, tenant, deps)
    }
    // A credential of the caller's own is nothing new to it.
    const isOwn = account.authorized !== undefined && sent !== undefined
    const mask = isOwn ? createMask(sent ?? '', isSuccess(reply.status)) : undefined
    outgoing.writeHead(reply.status, replyLines(reply.lines, call.id, mask))
    await reply.toReader(mask)
  } catch (cause) {
    if (outgoing.headersSent || cause instanceof HungUp) outgoing.destroy()
    else
      throw cause instanceof GatewayError
        ? cause
        : unansweredError(cause, {
            method,
            path: url,
            mayBook: meaning?.verb === 'approve' || meaning?.verb === 'create',
          })
  } finally {
    leave()
  }
}

/** Reads a shipment, with the credential that the call was sent with. */
function readShipment(
  path: string,
  { origin, prefix, pool }: PassThrough,
  authorization: string | undefined,
  { call, deadline, upstream }: { readonly call: Call; readonly deadline: number; readonly upstream: Upstream },
): Promise<UpstreamReply> {
  const headers = {
    ...BASE_HEADERS,
    'x-request-id': call.id,
    ...(authorization !== undefined && { authorization }),
  }
  return upstream.call({ method: 'GET', origin, path: prefix + path, headers, body: undefined, pool: pool(), deadline })
}

const SAFE_METHODS = new Set(['GET', 'HEAD'])

/** The codes of a connection that closed before the reply. */
const CLOSED = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

function isClosed(failure: unknown): boolean {
  // The request had not begun.
  const error = failure instanceof NoReply && failure.silence === 'unsent' ? failure.cause : failure
  return error instanceof Error && 'code' in error && CLOSED.has(String(error.code))
}

/** Null for a request without a body. */
type Body = Buffer | Readable | null

/** A body up to this size is buffered: that costs less than a stream, and it can be sent again with a new token. */
const SMALL_BYTES = 64 * 1024

const isRepeatable = (body: Body) => body === null || Buffer.isBuffer(body)

/** Makes as many attempts as the credential needs. */
async function answerOf(
  authorized: NonNullable<PassThrough['authorized']>,
  deadline: number,
  attempt: (authorization: string) => Promise<StreamedReply>,
): Promise<StreamedReply> {
  let last: StreamedReply | undefined
  try {
    await authorized(deadline, async (right) => {
      // Only the last reply goes to the caller.
      last?.drop()
      last = await attempt(right)
      return { status: last.status, headers: challengesIn(last) }
    })
  } catch (error) {
    last?.drop()
    throw error
  }
  if (!last) throw new Error('A credential that is repeatable is sent at least once.')
  return last
}

/** Makes the one attempt with a body that can be read only once, or with the caller's own credential. */
async function singleAnswer(
  { authorization, learn }: PassThrough,
  incoming: IncomingMessage,
  deadline: number,
  attempt: (authorization: string | undefined) => Promise<StreamedReply>,
): Promise<StreamedReply> {
  const given = authorization?.(deadline)
  const sent = given instanceof Promise ? await given : given
  const reply = await attempt(sent)
  if (sent !== undefined) learn?.(sent, { status: reply.status, headers: challengesIn(reply) }, incoming)
  return reply
}

function isSmall({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return (
    headers['content-encoding'] === undefined &&
    length !== undefined &&
    Number(length) <= SMALL_BYTES &&
    Number(length) > 0
  )
}

/** Returns a body that is not small as a stream; null if there is none. */
function streamedBodyOf(incoming: IncomingMessage, share: Share): Readable | null {
  const { 'transfer-encoding': coding, 'content-length': length } = incoming.headers
  if (coding === undefined && Number(length ?? 0) === 0) return null
  share.streamBody(length === undefined ? Number.POSITIVE_INFINITY : Number(length))
  return streamedBody(incoming)
}

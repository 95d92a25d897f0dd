import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { currentWaits, type RequestTrace, type TracedRequest } from '../../runtime/call.ts'
import type { ListItem } from '../../runtime/collections.ts'
import type { createDeadlines, Waiting } from '../../runtime/deadlines.ts'
import type { Histogram } from '../../runtime/metrics.ts'
import { inflate, type UpstreamReply } from './reply.ts'

/** A request to the service, complete before it is sent. */
interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /**
   * The name of the operation, for the metrics.
   * @default other
   */
  readonly operation?: string
  /** With the prefix of the service's address. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** The deadline, in milliseconds of `performance.now()`. */
  readonly deadline: number
  /**
   * Checked when the connection is open and the request is about to be written. If it returns false, nothing is written.
   * @default always
   */
  readonly mayWrite?: (() => boolean) | undefined
}

/** The reason why there is no whole reply. */
export type Silence =
  /** The request was not sent: no connection was made. */
  | 'unsent'
  /** The request was not sent, because the gateway had no free connection, socket or thread. */
  | 'busy'
  /** The request was not written, because the gateway may have lost its claim or lock meanwhile. */
  | 'withdrawn'
  /** The request was sent, and no whole reply came in time. */
  | 'late'
  /** The request was sent, and the connection broke or carried something that is not HTTP. */
  | 'lost'
  /** The request was sent, and the reply is larger than the limit. */
  | 'too-large'

/** The error of a call without a whole reply. */
export class NoReply extends Error {
  override readonly name = 'NoReply'
  readonly silence: Silence
  /** True if the gateway itself lacked a resource, which proves nothing about the service. */
  readonly isOurs: boolean

  constructor(
    silence: Silence,
    {
      isOurs = silence === 'busy' || silence === 'withdrawn',
      ...options
    }: ErrorOptions & { readonly isOurs?: boolean } = {},
  ) {
    super(`no reply from the service: ${reasonOf(silence, options.cause)}`, options)
    this.silence = silence
    this.isOurs = isOurs
  }
}

/** Says why there is no reply; for a request that was not sent, this names the address that was tried. */
function reasonOf(silence: Silence, cause: unknown): string {
  if (silence !== 'unsent') return silence
  const failure: { code?: unknown; address?: unknown; port?: unknown; hostname?: unknown; errors?: unknown } =
    typeof cause === 'object' && cause !== null ? cause : {}
  // There is one error for each address of a name.
  if (Array.isArray(failure.errors) && failure.errors.length > 0) return reasonOf(silence, failure.errors.at(-1))
  const { code, address = 'its address', port } = failure
  const place = port === undefined ? address : `${String(address).includes(':') ? `[${address}]` : address}:${port}`
  switch (code) {
    case undefined:
      return 'no connection in time'
    case 'ECONNREFUSED':
      return `connection refused at ${place}`
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `no route to ${place}`
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return 'no connection in time'
    case 'ENOTFOUND':
      return `the name ${failure.hostname} has no address`
    case 'EAI_AGAIN':
      return `no name server answers for ${failure.hostname}`
    default:
      return `no connection (${code})`
  }
}

/** The connections that a request may use, and the deadlines that it is held to. */
export interface Line {
  readonly origin: string
  readonly dispatcher: Dispatcher
  readonly deadlines: ReturnType<typeof createDeadlines>
  /** Reports whether a call waits because the gateway has no free connection. */
  readonly isBusy: () => boolean
  /** Counts requests by operation and status class. */
  readonly seconds: Histogram
}

/** Error codes for exhausted sockets, ports or memory of the gateway or its machine. */
const OUR_LACKS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAGAIN', 'EADDRNOTAVAIL'])
/** Error codes for a resolver that did not answer. */
const OUR_RESOLVER = new Set(['EAI_AGAIN', 'EAI_MEMORY', 'EAI_SYSTEM'])

/** The error of a call for which no connection could be made. */
export function notConnected(cause: unknown): NoReply {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return OUR_LACKS.has(code)
    ? new NoReply('busy', { cause })
    : new NoReply('unsent', { cause, isOurs: OUR_RESOLVER.has(code) })
}

/** If a missed deadline is noticed this late, the process itself was suspended. */
const STANDSTILL_MS = 1_000

/** The error of a call that got no connection in time. */
function noConnectionInTime({ isBusy }: Line, deadline: number): NoReply {
  return new NoReply(isBusy() || stoodStill(deadline) ? 'busy' : 'unsent')
}

const stoodStill = (deadline: number) => performance.now() - deadline > STANDSTILL_MS

const REPLY_LIMIT_BYTES = 8 * 1024 * 1024

/** Inflates a compressed reply: some services compress even when asked not to. */
async function inflated(reply: UpstreamReply, coding: string): Promise<UpstreamReply> {
  const { 'content-encoding': _, 'content-length': __, ...headers } = reply.headers
  try {
    const body = await inflate(reply.body, coding, REPLY_LIMIT_BYTES)
    return body ? { ...reply, headers, body } : reply
  } catch (cause) {
    throw new NoReply('too-large', { cause })
  }
}

/**
 * A request on its way to the service, over undici's lowest-level call, because undici's own promises and streams cost a quarter more. It
 * ends once, with a whole reply or with an error, and reports to its call, its span and the metrics.
 */
export abstract class Sent implements Waiting {
  deadline: number
  /** The request's span; undefined without an OpenTelemetry SDK. */
  readonly trace: RequestTrace | undefined
  /** The waits of the call that needs the reply; undefined for the gateway's own work. */
  readonly call = currentWaits()
  protected readonly line: Line
  protected controller: Dispatcher.DispatchController | undefined
  protected isOver = false
  /** Undefined while the clock is stopped. */
  #waiting: ListItem<Waiting> | undefined
  readonly #operation: string
  readonly #startedAt: number

  constructor(line: Line, request: TracedRequest, operation: string, startedAt: number, deadline: number) {
    this.trace = this.call?.trace?.beginRequest(request, line.origin)
    this.line = line
    this.#operation = operation
    this.#startedAt = startedAt
    this.deadline = deadline
    this.#waiting = line.deadlines.add(this)
  }

  late(): void {
    const { controller, line, deadline } = this
    this.fail(controller ? new NoReply('late', { isOurs: stoodStill(deadline) }) : noConnectionInTime(line, deadline))
  }

  /** Stops the clock. */
  protected stopWaiting(): void {
    if (this.#waiting) this.line.deadlines.take(this.#waiting)
    this.#waiting = undefined
  }

  /** Starts the clock again. */
  protected wait(): void {
    this.stopWaiting()
    this.#waiting = this.line.deadlines.add(this)
  }

  protected fail(error: Error): void {
    if (!this.leave(undefined)) return
    this.failed(error)
    this.controller?.abort(error)
  }

  protected abstract failed(error: Error): void

  /** Ends the request, with the status of a whole reply; returns false if it has ended already. */
  protected leave(status: number | undefined): boolean {
    if (this.isOver) return false
    this.isOver = true
    this.stopWaiting()
    const { call } = this
    const ms = performance.now() - this.#startedAt
    const hundreds = Math.floor((status ?? 0) / HUNDRED)
    this.line.seconds.observeMs(ms, this.#operation, hundreds > 0 ? `${hundreds}xx` : 'none')
    if (call) {
      call.serviceMs += ms
      call.tries += 1
      if (status !== undefined) call.serviceStatus = status
    }
    this.trace?.end(status)
    return true
  }
}

const HUNDRED = 100

/** Sends one request and reads its whole reply. */
export function exchange(line: Line, request: UpstreamRequest): Promise<UpstreamReply> {
  const now = performance.now()
  // A call after its deadline is not sent.
  if (request.deadline <= now) return Promise.reject(new NoReply('unsent'))
  const { method, path, body = null } = request
  const sent = new Exchange(line, request, now)
  const { trace, call } = sent
  const traceHeaders = trace?.headers ?? call?.traceHeaders
  const headers = traceHeaders ? { ...request.headers, ...traceHeaders } : request.headers
  const options = { method, path, headers, body }
  if (trace) trace.dispatch(() => void line.dispatcher.dispatch(options, sent))
  else line.dispatcher.dispatch(options, sent)
  return sent.reply.promise
}

/** Collects undici's events of a request into a whole reply or an error. */
class Exchange extends Sent implements Dispatcher.DispatchHandler {
  readonly reply = Promise.withResolvers<UpstreamReply>()
  readonly #mayWrite: UpstreamRequest['mayWrite']
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #size = 0
  readonly #chunks: Buffer[] = []

  constructor(line: Line, request: UpstreamRequest, startedAt: number) {
    super(line, request, request.operation ?? OTHER, startedAt, request.deadline)
    this.#mayWrite = request.mayWrite
  }

  /** Called when the connection is open and the request is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.isOver) controller.abort(new NoReply('unsent'))
    else if (this.#mayWrite?.() === false) this.fail(new NoReply('withdrawn'))
  }

  /** An informational status is not the answer (RFC 9110, 15.2). */
  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size > REPLY_LIMIT_BYTES) this.fail(new NoReply('too-large'))
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    if (!this.leave(this.#status)) return
    const [only] = this.#chunks
    const body = only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#size)
    const reply = { status: this.#status, headers: this.#headers, body }
    const coding = this.#headers['content-encoding']
    this.reply.resolve(coding === undefined || body.length === 0 ? reply : inflated(reply, coding))
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(this.controller ? new NoReply('lost', { cause: error }) : notConnected(error))
  }

  protected failed(error: Error): void {
    this.reply.reject(error)
  }
}

const OF_QUOTE = /^\/v2\/quote(\/[^/?]+)?(\/approve)?(?:\?|$)/
const OF_SHIPMENT = /^\/v2\/shipments?(\/[^/?]+)?(?:\?|$)/

const OF_VERSION_1 = /\.php(?:\?|$)/i

/** Returns the name of a version-2 operation without ids: `PUT /v2/shipments/{id}`. Callers cannot create new names. */
export function operationOf(method: string, path: string): string {
  const quote = OF_QUOTE.exec(path)
  if (quote) return `${method} /v2/quote${quote[1] ? '/{id}' : ''}${quote[2] ?? ''}`
  const shipment = OF_SHIPMENT.exec(path)
  if (shipment) return `${method} /v2/shipments${shipment[1] ? '/{id}' : ''}`
  if (OF_VERSION_1.test(path) && (method === 'GET' || method === 'POST')) return `${method} *.php`
  return OTHER
}

/** The operation of requests that no declaration makes. */
const OTHER = 'other'

import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { gatewayError } from '../../language/errors.ts'
import { type Inflate, inflaters, replyText } from '../../language/text/decode.ts'
import { parseJson } from '../../language/text/json.ts'
import { currentCall, type RequestTrace, type TracedRequest, withTraceHeaders } from '../../runtime/call.ts'
import { createUnorderedList, type ListItem } from '../../runtime/collections.ts'
import type { Histogram } from '../../runtime/metrics.ts'
import type { CredentialMask } from './credential.ts'

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

/** A whole reply from the service. */
export interface UpstreamReply extends ReplyContent {
  readonly headers: IncomingHttpHeaders
}

/** A reply without its headers. */
export interface ReplyContent {
  readonly status: number
  readonly body: Buffer
  /** The body's value, if it has been parsed already. */
  readonly json?: unknown
  /** True if the reply is a page with 404 of something in front of the service, whose own 404 is none. */
  readonly isForeign?: boolean
  /** True if it may be the service's own page all the same, for a name that is no UUID. */
  readonly mayLackPath?: boolean
}

/**
 * Parses the body of a successful reply, keeping all digits; undefined if it is empty, as some are. For a reply to a change, the error says
 * that the change may have been made.
 */
export function readJson({ body, json }: ReplyContent, isOfChange = false): unknown {
  if (json !== undefined) return json
  if (body.length === 0) return undefined
  try {
    return parseJson(replyText(body))
  } catch (cause) {
    throw gatewayError(isOfChange ? 'service-unreadable/json-change' : 'service-unreadable/json', {}, { cause })
  }
}

/** Returns a reply's parsed body; undefined if it is not JSON. */
export function parsedOrNothing(reply: ReplyContent): unknown {
  try {
    return readJson(reply)
  } catch {
    return undefined
  }
}

/** Reports whether a status is 2xx. */
export const isSuccess = (status: number) => status >= 200 && status < 300

/** Reports whether a reply is a page in HTML or XML. */
export const isPage = ({ body }: UpstreamReply): boolean =>
  replyText(body.subarray(0, MOST_BLANK)).trimStart().startsWith('<')

/** A page begins in less. */
const MOST_BLANK = 256

/** Reports whether the service says that it does not find what a request names by its id. */
export const isNotFound = ({ status, isForeign }: ReplyContent): boolean => LOOKED_FOR.has(status) && !isForeign

/** Returns true if a reply shows that the service accepts the credential. */
export function accepts(method: string, path: string, status: number): boolean {
  return isSuccess(status) || (LOOKED_FOR.has(status) && method === 'GET' && READ_OF_SHIPMENT.test(path))
}

/** Statuses of a read of a shipment after which the service has looked for it, so it accepted the credential. */
const LOOKED_FOR = new Set([404, 410])
const READ_OF_SHIPMENT = /^\/v2\/shipments?\/[^/]+$/

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
function notConnected(cause: unknown): NoReply {
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
abstract class Sent implements Waiting {
  deadline: number
  /** The request's span; undefined without an OpenTelemetry SDK. */
  readonly trace: RequestTrace | undefined
  /** The call that waits for the reply; undefined for the gateway's own work. */
  readonly call = currentCall()
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
    if (this.#waiting) this.line.deadlines.take(this.#waiting)
    const { call } = this
    const ms = performance.now() - this.#startedAt
    const hundreds = Math.floor((status ?? 0) / HUNDRED)
    this.line.seconds.observe(ms / MS_PER_SECOND, this.#operation, hundreds > 0 ? `${hundreds}xx` : 'none')
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
const MS_PER_SECOND = 1000

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

/** A reply from the service that is passed on as it arrives. */
export interface StreamedReply {
  readonly status: number
  /** Alternating names and values, as received, one character per byte. */
  readonly lines: readonly string[]
  /** Returns the whole body before it is passed on; undefined if it is large or incomplete. Rejects if it is late. */
  readonly whole: () => Promise<Buffer | undefined>
  /** Writes the body, through a mask, as fast as the reader takes it; resolves when all of it is written. */
  readonly toReader: (mask?: CredentialMask) => Promise<void>
  /** Discards a reply that will not be read. */
  readonly drop: () => void
}

/** The call that a reply is streamed for. */
export interface StreamedRequest extends Dispatcher.DispatchOptions {
  /** Alternating names and values. */
  readonly headers: string[]
}

/** Thrown if the caller has hung up, so that there is no reader. */
export class HungUp extends Error {
  override readonly name = 'HungUp'
}

/** How much of a reply is buffered while its head is examined; most replies are shorter. */
const HELD_BYTES = 64 * 1024

/** The operation of all requests that are passed through, in the metrics. */
const PASSED_THROUGH = 'passed through'

/** How long the service and the reader may take, and whether the request is still wanted. */
interface Patience {
  /**
   * The service's deadline, in milliseconds of `performance.now()`, for the head of its reply, and for the whole reply if it is buffered.
   * If the request's body streams, the service has `timeoutMs` from its end instead.
   */
  readonly deadline: number
  readonly timeoutMs: number
  readonly readerTimeoutMs: number
  /** Checked as for a request that is not streamed. */
  readonly mayWrite: () => boolean
}

/**
 * Sends a request and streams the reply to a reader. The call ends with the reader. A reader that makes no progress for too long is
 * dropped.
 */
export function stream(
  line: Line,
  request: StreamedRequest,
  reader: ServerResponse,
  patience: Patience,
): Promise<StreamedReply> {
  if (reader.destroyed) return Promise.reject(new HungUp())
  const streamed = new Streamed(line, request, reader, patience)
  const { trace } = streamed
  if (trace) {
    const traced = { ...request, headers: withTraceHeaders(request.headers, trace.headers) }
    trace.dispatch(() => void line.dispatcher.dispatch(traced, streamed))
  } else line.dispatcher.dispatch(request, streamed)
  return streamed.started.promise
}

/** Passes undici's events of a reply on to a reader. */
class Streamed extends Sent implements Dispatcher.DispatchHandler, StreamedReply {
  readonly started = Promise.withResolvers<StreamedReply>()
  status = 0
  lines: readonly string[] = []
  readonly #body: unknown
  readonly #reader: ServerResponse
  readonly #patience: Patience
  readonly #onClose = () => this.fail(new HungUp())
  readonly #onDrain = () => this.#goOn()
  /** The body so far; undefined once there is a reader. */
  #held: Buffer[] | undefined = []
  #heldBytes = 0
  #whole: PromiseWithResolvers<Buffer | undefined> | undefined
  #mask: CredentialMask | undefined
  #failure: Error | undefined
  #stalled: NodeJS.Timeout | undefined
  readonly #handedOver = Promise.withResolvers<void>()

  constructor(line: Line, { method, path, body }: StreamedRequest, reader: ServerResponse, patience: Patience) {
    super(line, { method, path }, PASSED_THROUGH, performance.now(), patience.deadline)
    this.#body = body
    this.#reader = reader
    this.#patience = patience
    reader.on('close', this.#onClose)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.#failure) controller.abort(this.#failure)
    else if (!this.#patience.mayWrite()) this.fail(new NoReply('withdrawn'))
    else if (this.#body instanceof Readable) {
      this.stopWaiting()
      this.#body.once('end', () => {
        if (this.isOver || this.status > 0) return
        this.deadline = performance.now() + this.#patience.timeoutMs
        this.wait()
      })
    }
  }

  /** An informational status is not the answer (RFC 9110, 15.2). */
  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    this.status = status
    this.stopWaiting()
    const lines: string[] = []
    // undici's parser returns buffers, alternating names and values.
    for (const line of controller.rawHeaders as Buffer[]) lines.push(line.toString('latin1'))
    this.lines = lines
    this.started.resolve(this)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#held) {
      this.#write(chunk)
      return
    }
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes <= HELD_BYTES) return
    controller.pause()
    this.#whole?.resolve(undefined)
  }

  onResponseEnd(): void {
    this.leave(this.status)
    if (this.#held) this.#whole?.resolve(Buffer.concat(this.#held))
    else {
      this.#reader.end(this.#mask ? masked(this.#mask, undefined) : undefined)
      this.#handedOver.resolve()
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(this.controller ? error : notConnected(error))
  }

  async whole(): Promise<Buffer | undefined> {
    if (this.#failure || this.#heldBytes > HELD_BYTES) return undefined
    if (this.isOver) return Buffer.concat(this.#held ?? [])
    this.wait()
    this.#whole = Promise.withResolvers()
    try {
      return await this.#whole.promise
    } finally {
      this.stopWaiting()
    }
  }

  toReader(mask?: CredentialMask): Promise<void> {
    this.#mask = mask
    const held = this.#held ?? []
    this.#held = undefined
    if (this.#failure) this.#handedOver.reject(this.#failure)
    else if (this.isOver) {
      // The complete reply leaves with the other answers of this turn of the event loop (docs/architecture.md).
      const last = held.length > 1 ? Buffer.concat(held) : held[0]
      setImmediate(() => {
        this.#reader.end(mask ? masked(mask, last) : last)
        this.#handedOver.resolve()
      })
    } else {
      this.#reader.on('drain', this.#onDrain)
      for (const chunk of held) this.#write(chunk)
      if (!this.#stalled) this.controller?.resume()
    }
    return this.#handedOver.promise
  }

  drop(): void {
    if (this.leave(undefined)) this.controller?.abort(new HungUp())
  }

  #write(arrived: Buffer): void {
    const chunk = this.#mask ? this.#mask.bytes(arrived) : arrived
    if (chunk.length === 0 || this.#reader.write(chunk)) return
    this.controller?.pause()
    this.#stalled ??= setTimeout(() => this.#lose(), this.#patience.readerTimeoutMs)
  }

  /** Drops a reader that makes no progress, unless an earlier answer on its connection is still being written. */
  #lose(): void {
    if (this.#reader.socket) this.#reader.destroy()
    else this.#stalled = setTimeout(() => this.#lose(), this.#patience.readerTimeoutMs)
  }

  #goOn(): void {
    clearTimeout(this.#stalled)
    this.#stalled = undefined
    this.controller?.resume()
  }

  protected failed(error: Error): void {
    this.#failure = error
    if (error instanceof NoReply) this.#whole?.reject(error)
    else this.#whole?.resolve(undefined)
    this.started.reject(error)
    if (!this.#held) this.#handedOver.reject(error)
  }

  protected override leave(status: number | undefined): boolean {
    if (!super.leave(status)) return false
    clearTimeout(this.#stalled)
    this.#reader.off('close', this.#onClose).off('drain', this.#onDrain)
    return true
  }
}

/** Returns the end of a body through its mask. */
function masked(mask: CredentialMask, last: Buffer | undefined): Buffer | undefined {
  const shown = last && mask.bytes(last)
  const rest = mask.rest()
  return shown && rest.length > 0 ? Buffer.concat([shown, rest]) : (shown ?? rest)
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

const INFLATERS = new Map<string, Inflate>([...inflaters, ['br', promisify(brotliDecompress)]])

/** Inflates a body by its `Content-Encoding`; undefined if it is not compressed that way. Rejects with a `RangeError` above the limit. */
export async function inflate(bytes: Buffer, coding: string, limitBytes: number): Promise<Buffer | undefined> {
  const inflater = INFLATERS.get(coding.trim().toLowerCase())
  try {
    return await inflater?.(bytes, { maxOutputLength: limitBytes })
  } catch (error) {
    if (error instanceof RangeError) throw error
    return undefined
  }
}

/** Work with a deadline, in milliseconds of `performance.now()`. */
interface Waiting {
  readonly deadline: number
  /** Called once, soon after the deadline, unless the work was removed before. */
  readonly late: () => void
}

/** Watches the deadlines of all calls with one timer, because a timer for each would cost every call, and almost none would fire. */
export function createDeadlines() {
  const all = createUnorderedList<Waiting>()
  let timer: NodeJS.Timeout | undefined
  /** When the timer fires: at the earliest deadline known when it was set, or added since. */
  let lookAt = Number.POSITIVE_INFINITY

  function setTimer(at: number): void {
    clearTimeout(timer)
    lookAt = at
    // The work's connection keeps the process alive, so the timer need not.
    timer = setTimeout(look, Math.ceil(Math.max(0, at - performance.now()))).unref()
  }

  function look(): void {
    const now = performance.now()
    let earliest = Number.POSITIVE_INFINITY
    for (const waiting of all.items()) {
      if (waiting.deadline <= now) waiting.late()
      else earliest = Math.min(earliest, waiting.deadline)
    }
    lookAt = earliest
    if (earliest < Number.POSITIVE_INFINITY) setTimer(earliest)
  }

  return {
    add: (waiting: Waiting): ListItem<Waiting> => {
      if (waiting.deadline < lookAt) setTimer(waiting.deadline)
      return all.add(waiting)
    },
    take: all.take,
  }
}

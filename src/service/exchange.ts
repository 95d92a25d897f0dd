import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Held } from '../collections/unordered-list.ts'
import type { Meters } from '../observe/meters.ts'
import { RequestAccount } from '../observe/request-account.ts'
import type { Deadlines, Waiting } from './deadlines.ts'
import { inflate } from './inflate.ts'
import { OTHER } from './operation.ts'

/** A request to the service, complete before it is sent. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /**
   * The name of the operation, for the metrics.
   * @default other
   */
  readonly operation?: string
  readonly origin: string
  /** With the prefix of the service's address. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /**
   * Separates the connections and TLS sessions of one credential from those of another; undefined: a connection for this
   * request alone.
   */
  readonly pool: string | undefined
  /**
   * True for a connection for this request alone: the service may be closing a pooled one right now, and then it is unknown
   * if it read the request.
   * @default false
   */
  readonly usesOwn?: boolean
  /** The deadline, in milliseconds of `performance.now()`. */
  readonly deadline: number
  /**
   * Asked when the connection stands and the request is about to be written; if it returns false, nothing is written.
   * @default always
   */
  readonly mayWrite?: (() => boolean) | undefined
}

/** A whole reply of the service. */
export interface UpstreamReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** The reason why there is no whole reply. */
export type Silence =
  /** The request did not leave: no connection was made. */
  | 'unsent'
  /** The request did not leave, because the gateway had no free connection, socket or thread. */
  | 'busy'
  /** The request was not written, because the gateway may have lost its claim or lock meanwhile. */
  | 'withdrawn'
  /** The request left, and no whole reply came in time. */
  | 'late'
  /** The request left, and the connection broke or carried something that is not HTTP. */
  | 'lost'
  /** The request left, and the reply is larger than the limit. */
  | 'too-large'

export interface NoReplyOptions extends ErrorOptions {
  /**
   * True if the gateway itself lacked a resource, which proves nothing about the service.
   * @default `busy` and `withdrawn` alone
   */
  readonly isOurs?: boolean
}

/** The error of a call without a whole reply. */
export class NoReply extends Error {
  override readonly name = 'NoReply'
  readonly silence: Silence
  readonly isOurs: boolean

  constructor(
    silence: Silence,
    { isOurs = silence === 'busy' || silence === 'withdrawn', ...options }: NoReplyOptions = {},
  ) {
    super(`no reply of the service: ${silence}`, options)
    this.silence = silence
    this.isOurs = isOurs
  }
}

/** The connections of a credential at an address, and the check of the wait for one. */
export interface Line {
  readonly origin: string
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>
  readonly deadlines: Deadlines
  /** Returns true if a call waits because the gateway has no free connection. */
  readonly isBusy: () => boolean
  readonly countRequest: Meters['countRequest']
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

/** A deadline that is noticed this late was missed because the process itself was suspended. */
const STANDSTILL_MS = 1_000

/** The error of a call that got no connection in time. */
export function noConnectionInTime({ isBusy }: Line, deadline: number): NoReply {
  return new NoReply(isBusy() || stoodStill(deadline) ? 'busy' : 'unsent')
}

const stoodStill = (deadline: number) => performance.now() - deadline > STANDSTILL_MS

const REPLY_LIMIT_BYTES = 8 * 1024 * 1024

/** Inflates a compressed reply: some services compress although they are asked not to. */
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
 * Sends one request and reads its whole reply, over undici's lowest-level call: promises and streams cost a quarter
 * more.
 */
export function exchange(line: Line, request: UpstreamRequest): Promise<UpstreamReply> {
  return new Promise((resolve, reject) => {
    const now = performance.now()
    // A call after its deadline is not sent.
    if (request.deadline <= now) return reject(new NoReply('unsent'))
    const { method, path, operation = OTHER, body = null } = request
    const account = new RequestAccount(request, operation, now, line.countRequest)
    const { headers: trace } = account
    const headers = trace ? { ...request.headers, ...trace } : request.headers
    const handler = new Exchange(request, account, line, resolve, reject)
    account.dispatch(() => void line.dispatcher.dispatch({ method, path, headers, body }, handler))
  })
}

/** Collects undici's events of a request into a whole reply or an error. */
class Exchange implements Dispatcher.DispatchHandler, Waiting {
  readonly deadline: number
  readonly #mayWrite: (() => boolean) | undefined
  readonly #account: RequestAccount
  readonly #line: Line
  readonly #resolve: (reply: UpstreamReply | Promise<UpstreamReply>) => void
  readonly #reject: (error: NoReply) => void
  #controller: Dispatcher.DispatchController | undefined
  #over = false
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #size = 0
  readonly #held: Held<Waiting>
  readonly #chunks: Buffer[] = []

  constructor(
    { deadline, mayWrite }: UpstreamRequest,
    account: RequestAccount,
    line: Line,
    resolve: (reply: UpstreamReply | Promise<UpstreamReply>) => void,
    reject: (error: NoReply) => void,
  ) {
    this.deadline = deadline
    this.#mayWrite = mayWrite
    this.#account = account
    this.#line = line
    this.#resolve = resolve
    this.#reject = reject
    this.#held = line.deadlines.add(this)
  }

  late(): void {
    const sent = this.#controller !== undefined
    const late = { isOurs: stoodStill(this.deadline) }
    this.#fail(sent ? new NoReply('late', late) : noConnectionInTime(this.#line, this.deadline))
  }

  /** Called when the connection is open and the request is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) controller.abort(new NoReply('unsent'))
    else if (this.#mayWrite?.() === false) this.#fail(new NoReply('withdrawn'))
  }

  /** An informational status is not the answer (RFC 9110, 15.2). */
  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size > REPLY_LIMIT_BYTES) this.#fail(new NoReply('too-large'))
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    if (!this.#ends(this.#status)) return
    const [only] = this.#chunks
    const body = only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#size)
    const reply = { status: this.#status, headers: this.#headers, body }
    const coding = this.#headers['content-encoding']
    this.#resolve(coding === undefined || body.length === 0 ? reply : inflated(reply, coding))
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#controller ? new NoReply('lost', { cause: error }) : notConnected(error))
  }

  #fail(error: NoReply): void {
    if (!this.#ends()) return
    this.#reject(error)
    this.#controller?.abort(error)
  }

  /** Ends the exchange, with the status of a whole reply; returns false if it has ended already. */
  #ends(status?: number): boolean {
    if (this.#over) return false
    this.#over = true
    this.#line.deadlines.take(this.#held)
    this.#account.end(status)
    return true
  }
}

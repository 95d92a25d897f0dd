import type { IncomingHttpHeaders } from 'node:http'
import type { LookupFunction } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { Dispatcher } from 'undici'
import Client from 'undici/lib/dispatcher/client.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import type { Held } from '../bag.ts'
import { createDeadlines, type Deadlines, type Waiting } from './deadlines.ts'
import { inflate } from './inflate.ts'

/** A request to the service, built before anything is promised to anybody. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly origin: string
  /** With the prefix of the service's address. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Keeps the connections of one credential apart from those of another. */
  readonly pool: string
  /**
   * Uses a connection of its own: a pooled one that the service is just closing fails requests that were never read,
   * and nobody can tell.
   * @default false
   */
  readonly alone?: boolean
  /** When the call has to be over, in milliseconds of `performance.now()`. */
  readonly deadline: number
}

/** A whole reply of the service. */
export interface UpstreamReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Why there is no whole reply. */
export type Silence =
  /** The request provably never left: no connection was made. */
  | 'unsent'
  /** It left, and there was no whole reply in time. */
  | 'late'
  /** It left, and the connection broke or spoke something else than HTTP. */
  | 'lost'
  /** It left, and the reply is larger than anything the service has to say. */
  | 'too-large'

/** There is no whole reply. */
export class NoReply extends Error {
  override readonly name = 'NoReply'
  readonly silence: Silence

  constructor(silence: Silence, options?: ErrorOptions) {
    super(`no reply of the service: ${silence}`, options)
    this.silence = silence
  }
}

/** The connections to the service. */
export interface Upstream {
  readonly call: (request: UpstreamRequest) => Promise<UpstreamReply>
  /** The pool of a credential at an address, for calls that stream. */
  readonly pool: (origin: string, name: string) => Dispatcher
  readonly close: () => Promise<void>
}

export interface UpstreamOptions {
  readonly connections: number
  readonly timeoutMs: number
  /** @default what Node trusts, and no certificate of our own */
  readonly tls?: UpstreamTls
  /**
   * How long a connection is used, so that a name that means another address is followed.
   * @default 60000
   */
  readonly connectionAgeMs?: number
  /** @default as the system does it */
  readonly lookup?: LookupFunction
}

/** Whom to trust at the service's end, and what to show there. */
export interface UpstreamTls {
  readonly ca?: string[]
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** The connections of one credential, which are used until they are too old together. */
interface AgeingPool {
  readonly pool: Pool
  /** In milliseconds of `performance.now()`. */
  readonly usedUntil: number
}

const REPLY_LIMIT_BYTES = 8 * 1024 * 1024
const POOLS_KEPT = 1000
const CONNECTION_AGE_MS = 60_000

/** Opens the way to the service; no connection is made before the first call. */
export function createUpstream({
  connections,
  timeoutMs,
  tls = {},
  connectionAgeMs = CONNECTION_AGE_MS,
  lookup,
}: UpstreamOptions): Upstream {
  // Deadlines are kept per call below: undici's own time-outs begin anew with every byte.
  const options: Client.Options = {
    connect: { timeout: timeoutMs, ...tls, ...(lookup && { lookup }) },
    headersTimeout: 0,
    bodyTimeout: 0,
    // HTTP/2 may send a request again by itself; over HTTP/1.1 it goes out once.
    allowH2: false,
  }
  const pools = new LRUCache<string, AgeingPool>({
    max: POOLS_KEPT,
    // Lets what is under way end.
    dispose: ({ pool }) => void pool.close().catch(() => undefined),
  })

  const deadlines = createDeadlines()
  const pool = (origin: string, name: string): Pool => {
    const id = `${origin} ${name}`
    const known = pools.get(id)
    const now = performance.now()
    if (known && now < known.usedUntil) return known.pool
    // Not undici's `clientTtl`: with that, every call looks at the clock once or twice for each connection that is busy.
    const made = new Pool(origin, { ...options, connections })
    pools.set(id, { pool: made, usedUntil: now + connectionAgeMs })
    return made
  }
  const alone = async (request: UpstreamRequest): Promise<UpstreamReply> => {
    const client = new Client(request.origin, options)
    try {
      return await exchange(client, request, deadlines)
    } finally {
      client.destroy().catch(() => undefined)
    }
  }

  return {
    pool,
    call: (request) =>
      request.alone ? alone(request) : exchange(pool(request.origin, request.pool), request, deadlines),
    close: async () => {
      // Whoever still waits for an answer here has hung up, and bookings have connections of their own.
      await Promise.all([...pools.values()].map(({ pool: made }) => made.destroy()))
    },
  }
}

/** A reply without its `Content-Encoding`: some compress although they are asked not to. */
async function inflated(reply: UpstreamReply, coding: string): Promise<UpstreamReply> {
  const { 'content-encoding': _, 'content-length': __, ...headers } = reply.headers
  try {
    const body = await inflate(reply.body, coding, REPLY_LIMIT_BYTES)
    return body ? { ...reply, headers, body } : reply
  } catch (cause) {
    throw new NoReply('too-large', { cause })
  }
}

/** One request and its whole reply, over undici's lowest call: promises and streams would cost a quarter more. */
function exchange(dispatcher: Dispatcher, request: UpstreamRequest, deadlines: Deadlines): Promise<UpstreamReply> {
  return new Promise((resolve, reject) => {
    // What can get no answer any more is better not sent.
    if (request.deadline <= performance.now()) return reject(new NoReply('unsent'))
    const { method, path, headers, body = null } = request
    dispatcher.dispatch({ method, path, headers, body }, new Exchange(request.deadline, deadlines, resolve, reject))
  })
}

/** What undici tells of a request, up to the whole reply or to why there is none. */
class Exchange implements Dispatcher.DispatchHandler, Waiting {
  readonly deadline: number
  readonly #deadlines: Deadlines
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
    deadline: number,
    deadlines: Deadlines,
    resolve: (reply: UpstreamReply | Promise<UpstreamReply>) => void,
    reject: (error: NoReply) => void,
  ) {
    this.deadline = deadline
    this.#deadlines = deadlines
    this.#resolve = resolve
    this.#reject = reject
    this.#held = deadlines.add(this)
  }

  late(): void {
    this.#fail(this.#controller ? 'late' : 'unsent')
  }

  /** Called when a connection stands and the request is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) controller.abort(new NoReply('unsent'))
  }

  /** An informational status is not the answer (RFC 9110, 15.2). */
  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length
    if (this.#size > REPLY_LIMIT_BYTES) this.#fail('too-large')
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    if (!this.#ends()) return
    const [only] = this.#chunks
    const body = only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#size)
    const reply = { status: this.#status, headers: this.#headers, body }
    const coding = this.#headers['content-encoding']
    this.#resolve(coding === undefined || body.length === 0 ? reply : inflated(reply, coding))
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#controller ? 'lost' : 'unsent', error)
  }

  #fail(silence: Silence, cause?: unknown): void {
    if (!this.#ends()) return
    const error = new NoReply(silence, { cause })
    this.#reject(error)
    this.#controller?.abort(error)
  }

  /** Whether this is the end, rather than something that comes after it. */
  #ends(): boolean {
    if (this.#over) return false
    this.#over = true
    this.#deadlines.take(this.#held)
    return true
  }
}

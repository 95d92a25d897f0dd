import type { Held, UnorderedList } from '../collections/unordered-list.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Share } from '../observe/call.ts'
import { type Quota, type Shortage, shortage } from './fair-share.ts'
import type { Source } from './source-address.ts'
import type { Usage } from './usage.ts'

/** The part of a response that shows if work for it remains. */
export interface Reply {
  readonly writableEnded: boolean
  readonly writableNeedDrain: boolean
  readonly destroyed: boolean
  /** Emitted when the reader has the whole response, or has disconnected. */
  readonly once: (event: 'close', listener: () => void) => unknown
}

/** The limits and counts that all requests share. */
export interface SharedLimits {
  readonly connections: Quota
  readonly calls: Quota
  readonly bodyBytes: Quota
  /** The usage of all sources together. */
  readonly total: Usage
  readonly underWay: UnorderedList<RequestShare>
}

/**
 * The memory of a body that is passed on while it arrives: buffers of the request, its socket and the socket to the
 * service.
 */
const STREAM_BYTES = 256 * 1024

/** Tracks the resources that one request takes, until it ends. */
export class RequestShare implements Share {
  readonly #shared: SharedLimits
  readonly #source: Source
  readonly #usage: Usage
  readonly #reply: Reply
  #isOver = false
  #bodyBytes = 0
  #underWay: Held<RequestShare> | undefined

  constructor(shared: SharedLimits, source: Source, usage: Usage, reply: Reply) {
    this.#shared = shared
    this.#source = source
    this.#usage = usage
    this.#reply = reply
    usage.requests += 1
    shared.total.requests += 1
  }

  admit(): void {
    const { perSource } = this.#shared.connections
    if (this.#source.isBehindProxy && this.#usage.requests > perSource) throw tooMuch('source')
    const lacking = this.#lackingCall()
    if (lacking) throw tooMuch(lacking)
  }

  expectBody(bytes: number): void {
    const { bodyBytes, total } = this.#shared
    const lacking = shortage(this.#allowed(bodyBytes), total.bodyBytes, this.#usage.bodyBytes, bytes)
    if (lacking) throw tooMuch(lacking)
  }

  takeBody(bytes: number): void {
    this.expectBody(bytes)
    if (!this.#isOver) this.#addBytes(bytes)
  }

  returnBody(bytes: number): void {
    this.#addBytes(-Math.min(bytes, this.#bodyBytes))
  }

  streamBody(lengthBytes: number): void {
    this.takeBody(Math.min(lengthBytes, STREAM_BYTES, this.#shared.bodyBytes.perSource))
  }

  enter(): void {
    const lacking = this.#lackingCall()
    if (lacking) throw tooMuch(lacking)
    if (this.#underWay || this.#isOver) return
    this.#underWay = this.#shared.underWay.add(this)
    this.#shared.total.calls += 1
    this.#usage.calls += 1
  }

  holdAnswer(bytes: number): void {
    this.expectBody(bytes)
    if (this.#reply.destroyed) return
    this.#shared.total.bodyBytes += bytes
    this.#usage.bodyBytes += bytes
    this.#reply.once('close', () => {
      this.#shared.total.bodyBytes -= bytes
      this.#usage.bodyBytes -= bytes
    })
  }

  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#addBytes(-this.#bodyBytes)
    this.#usage.requests -= 1
    this.#shared.total.requests -= 1
    if (!this.#underWay) return
    this.#shared.underWay.take(this.#underWay)
    this.#shared.total.calls -= 1
    this.#usage.calls -= 1
  }

  #addBytes(bytes: number): void {
    this.#bodyBytes += bytes
    this.#usage.bodyBytes += bytes
    this.#shared.total.bodyBytes += bytes
  }

  #lackingCall(): Shortage | undefined {
    const { total, underWay } = this.#shared
    const calls = this.#allowed(this.#shared.calls)
    if (!shortage(calls, total.calls, this.#usage.calls, 1)) return undefined
    // A reply that only waits for its reader is no work and must not block other calls. Rarely checked.
    const working = underWay.items().filter((share) => share.#isWork())
    const own = working.filter((share) => share.#usage === this.#usage)
    return shortage(calls, working.length, own.length, 1)
  }

  #isWork(): boolean {
    return !this.#reply.writableEnded && !this.#reply.writableNeedDrain
  }

  /** A source that stands for many callers may use the whole limit. */
  #allowed(quota: Quota): Quota {
    return this.#source.isEverybody ? { ...quota, perSource: quota.limit } : quota
  }
}

/** The rest of a refused body is not read; the caller's next call uses another connection. */
const HEADERS = { 'Retry-After': '1', Connection: 'close' }

function tooMuch(lacking: Shortage): GatewayError {
  return gatewayError(lacking === 'all' ? 'overloaded' : 'too-many-calls/source', {}, { headers: HEADERS })
}

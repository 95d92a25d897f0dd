import type { ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Held } from '../collections/unordered-list.ts'
import { RequestAccount } from '../observe/request-account.ts'
import { withTraceHeaders } from '../observe/trace.ts'
import type { Waiting } from './deadlines.ts'
import { type Line, noConnectionInTime, notConnected } from './exchange.ts'
import type { Mask } from './mask.ts'

/** A reply of the service that is passed on while it arrives. */
export interface StreamedReply {
  readonly status: number
  /** Names and values in turn, as received, one character per byte. */
  readonly lines: readonly string[]
  /** Returns the whole body, before it is passed on; undefined if it is large or breaks off. */
  readonly whole: () => Promise<Buffer | undefined>
  /** Writes the body, through a mask, as fast as the reader takes it; resolves when all of it is written. */
  readonly toReader: (mask?: Mask) => Promise<void>
  /** Discards a reply that will not be read. */
  readonly drop: () => void
}

/** The call that a reply is streamed for. */
export interface StreamedRequest extends Dispatcher.DispatchOptions {
  /** Names and values in turn. */
  readonly headers: string[]
}

/** The caller has hung up, so there is no reader. */
export class HungUp extends Error {
  override readonly name = 'HungUp'
}

/** The most of a reply that is buffered while its head is examined; most replies are shorter. */
const HELD_BYTES = 64 * 1024

/** The operation of every request that is passed through, in the metrics. */
const PASSED_THROUGH = 'passed through'

/** The longest time without progress. */
export interface Patience {
  /** The deadline for a connection to the service, in milliseconds of `performance.now()`. */
  readonly deadline: number
  readonly readerTimeoutMs: number
}

/**
 * Sends a request and streams the reply to a reader. It uses undici's lowest-level call, because undici's streams
 * would double the cost of a call. The call ends with the reader, and a reader that makes no progress for too long is
 * dropped.
 */
export function stream(
  line: Line,
  request: StreamedRequest,
  reader: ServerResponse,
  patience: Patience,
): Promise<StreamedReply> {
  return new Promise((resolve, reject) => {
    if (reader.destroyed) return reject(new HungUp())
    const traced = { method: request.method, origin: line.origin, path: request.path }
    const account = new RequestAccount(traced, PASSED_THROUGH, performance.now(), line.countRequest)
    const streamed = new Streamed(line, account, reader, patience, resolve, reject)
    const { ownHeaders } = account
    const sent = ownHeaders ? { ...request, headers: withTraceHeaders(request.headers, ownHeaders) } : request
    account.dispatch(() => void line.dispatcher.dispatch(sent, streamed))
  })
}

class Streamed implements Dispatcher.DispatchHandler, StreamedReply, Waiting {
  readonly deadline: number
  status = 0
  lines: readonly string[] = []
  readonly #line: Line
  readonly #reader: ServerResponse
  readonly #readerTimeoutMs: number
  readonly #resolve: (reply: StreamedReply) => void
  readonly #reject: (error: Error) => void
  readonly #onClose = () => this.#abort(new HungUp())
  readonly #onDrain = () => this.#goOn()
  readonly #account: RequestAccount
  #controller: Dispatcher.DispatchController | undefined
  /** The body so far, until there is a reader; undefined afterwards. */
  #held: Buffer[] | undefined = []
  #heldBytes = 0
  #onWhole: ((body: Buffer | undefined) => void) | undefined
  #mask: Mask | undefined
  #isOver = false
  #failure: Error | undefined
  #patience: NodeJS.Timeout | undefined
  readonly #waiting: Held<Waiting>
  readonly #handedOver = Promise.withResolvers<void>()

  constructor(
    line: Line,
    account: RequestAccount,
    reader: ServerResponse,
    { deadline, readerTimeoutMs }: Patience,
    resolve: (reply: StreamedReply) => void,
    reject: (error: Error) => void,
  ) {
    this.deadline = deadline
    this.#line = line
    this.#account = account
    this.#reader = reader
    this.#readerTimeoutMs = readerTimeoutMs
    this.#resolve = resolve
    this.#reject = reject
    reader.on('close', this.#onClose)
    this.#waiting = line.deadlines.add(this)
  }

  /** No connection was free in time. */
  late(): void {
    this.#fail(noConnectionInTime(this.#line, this.deadline))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#line.deadlines.take(this.#waiting)
    if (this.#failure) controller.abort(this.#failure)
  }

  /** An informational status is not the answer (RFC 9110, 15.2). */
  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    this.status = status
    // undici's parser gives buffers, names and values in turn.
    this.lines = (controller.rawHeaders as Buffer[]).map((line) => line.toString('latin1'))
    this.#resolve(this)
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
    this.#onWhole?.(undefined)
  }

  onResponseEnd(): void {
    this.#leave(this.status)
    if (this.#held) this.#onWhole?.(Buffer.concat(this.#held))
    else this.#finish()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#controller ? error : notConnected(error))
  }

  whole(): Promise<Buffer | undefined> {
    return new Promise((resolve) => {
      if (this.#failure || this.#heldBytes > HELD_BYTES) resolve(undefined)
      else if (this.#isOver) resolve(Buffer.concat(this.#held ?? []))
      else this.#onWhole = resolve
    })
  }

  toReader(mask?: Mask): Promise<void> {
    this.#mask = mask
    const held = this.#held ?? []
    this.#held = undefined
    if (this.#failure) this.#handedOver.reject(this.#failure)
    else if (this.#isOver) {
      // The reply is complete: it leaves with the other answers of this turn of the event loop (docs/decisions/0013).
      setImmediate(() => this.#finish(held.length > 1 ? Buffer.concat(held) : held[0]))
    } else {
      this.#reader.on('drain', this.#onDrain)
      for (const chunk of held) this.#write(chunk)
      if (!this.#patience) this.#controller?.resume()
    }
    return this.#handedOver.promise
  }

  drop(): void {
    if (this.#isOver) return
    this.#leave()
    this.#controller?.abort(new HungUp())
  }

  #write(arrived: Buffer): void {
    const chunk = this.#mask ? this.#mask.bytes(arrived) : arrived
    if (chunk.length === 0 || this.#reader.write(chunk)) return
    this.#controller?.pause()
    this.#patience ??= setTimeout(() => this.#lose(), this.#readerTimeoutMs)
  }

  /** Drops a reader that makes no progress, unless an earlier answer on its connection is still being written. */
  #lose(): void {
    if (this.#reader.socket) this.#reader.destroy()
    else this.#patience = setTimeout(() => this.#lose(), this.#readerTimeoutMs)
  }

  #goOn(): void {
    clearTimeout(this.#patience)
    this.#patience = undefined
    this.#controller?.resume()
  }

  #finish(last?: Buffer): void {
    this.#reader.end(this.#mask ? masked(this.#mask, last) : last)
    this.#handedOver.resolve()
  }

  #abort(error: Error): void {
    this.#fail(error)
    this.#controller?.abort(error)
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#leave()
    this.#failure = error
    this.#onWhole?.(undefined)
    this.#reject(error)
    if (!this.#held) this.#handedOver.reject(error)
  }

  /** The service sends no more; the status is that of a whole reply. */
  #leave(status?: number): void {
    this.#isOver = true
    this.#account.end(status)
    this.#line.deadlines.take(this.#waiting)
    clearTimeout(this.#patience)
    this.#reader.off('close', this.#onClose).off('drain', this.#onDrain)
  }
}

/** Returns the end of a body through its mask. */
function masked(mask: Mask, last: Buffer | undefined): Buffer | undefined {
  const shown = last && mask.bytes(last)
  const rest = mask.rest()
  return shown && rest.length > 0 ? Buffer.concat([shown, rest]) : (shown ?? rest)
}

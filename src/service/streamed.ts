import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Held } from '../collections/unordered-list.ts'
import { RequestAccount } from '../observe/request-account.ts'
import { withTraceHeaders } from '../observe/trace.ts'
import type { Waiting } from './deadlines.ts'
import { type Line, NoReply, noConnectionInTime, notConnected } from './exchange.ts'
import type { Mask } from './mask.ts'

/** A reply of the service that is passed on while it arrives. */
export interface StreamedReply {
  readonly status: number
  /** Names and values in turn, as received, one character per byte. */
  readonly lines: readonly string[]
  /** Returns the whole body, before it is passed on; undefined if it is large or breaks off. Rejects if it is late. */
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

/** The times that the service and the reader have. */
export interface Patience {
  /**
   * The deadline of the service, in milliseconds of `performance.now()`: for the head of its reply, and for the whole reply if
   * it is buffered. A request whose body streams has `timeoutMs` from its end instead.
   */
  readonly deadline: number
  readonly timeoutMs: number
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
    const { body } = request
    const streamed = new Streamed(
      line,
      account,
      reader,
      patience,
      body instanceof Readable ? body : undefined,
      resolve,
      reject,
    )
    const { ownHeaders } = account
    const sent = ownHeaders ? { ...request, headers: withTraceHeaders(request.headers, ownHeaders) } : request
    account.dispatch(() => void line.dispatcher.dispatch(sent, streamed))
  })
}

class Streamed implements Dispatcher.DispatchHandler, StreamedReply, Waiting {
  deadline: number
  status = 0
  lines: readonly string[] = []
  readonly #line: Line
  readonly #reader: ServerResponse
  readonly #readerTimeoutMs: number
  readonly #timeoutMs: number
  readonly #streams: Readable | undefined
  readonly #resolve: (reply: StreamedReply) => void
  readonly #reject: (error: Error) => void
  readonly #onClose = () => this.#abort(new HungUp())
  readonly #onDrain = () => this.#goOn()
  readonly #account: RequestAccount
  #controller: Dispatcher.DispatchController | undefined
  /** The body so far, until there is a reader; undefined afterwards. */
  #held: Buffer[] | undefined = []
  #heldBytes = 0
  #whole: PromiseWithResolvers<Buffer | undefined> | undefined
  #mask: Mask | undefined
  #isOver = false
  #failure: Error | undefined
  #patience: NodeJS.Timeout | undefined
  #waiting: Held<Waiting>
  readonly #handedOver = Promise.withResolvers<void>()

  constructor(
    line: Line,
    account: RequestAccount,
    reader: ServerResponse,
    { deadline, timeoutMs, readerTimeoutMs }: Patience,
    streams: Readable | undefined,
    resolve: (reply: StreamedReply) => void,
    reject: (error: Error) => void,
  ) {
    this.deadline = deadline
    this.#line = line
    this.#account = account
    this.#reader = reader
    this.#readerTimeoutMs = readerTimeoutMs
    this.#timeoutMs = timeoutMs
    this.#streams = streams
    this.#resolve = resolve
    this.#reject = reject
    reader.on('close', this.#onClose)
    this.#waiting = line.deadlines.add(this)
  }

  late(): void {
    if (this.#controller) this.#abort(new NoReply('late'))
    else this.#fail(noConnectionInTime(this.#line, this.deadline))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#failure) controller.abort(this.#failure)
    else if (this.#streams) {
      this.#line.deadlines.take(this.#waiting)
      this.#streams.once('end', () => {
        if (this.#isOver || this.status > 0) return
        this.deadline = performance.now() + this.#timeoutMs
        this.#wait()
      })
    }
  }

  #wait(): void {
    this.#line.deadlines.take(this.#waiting)
    this.#waiting = this.#line.deadlines.add(this)
  }

  /** An informational status is not the answer (RFC 9110, 15.2). */
  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return
    this.status = status
    this.#line.deadlines.take(this.#waiting)
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
    this.#whole?.resolve(undefined)
  }

  onResponseEnd(): void {
    this.#leave(this.status)
    if (this.#held) this.#whole?.resolve(Buffer.concat(this.#held))
    else this.#finish()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#controller ? error : notConnected(error))
  }

  async whole(): Promise<Buffer | undefined> {
    if (this.#failure || this.#heldBytes > HELD_BYTES) return undefined
    if (this.#isOver) return Buffer.concat(this.#held ?? [])
    this.#wait()
    this.#whole = Promise.withResolvers()
    try {
      return await this.#whole.promise
    } finally {
      this.#line.deadlines.take(this.#waiting)
    }
  }

  toReader(mask?: Mask): Promise<void> {
    this.#mask = mask
    const held = this.#held ?? []
    this.#held = undefined
    if (this.#failure) this.#handedOver.reject(this.#failure)
    else if (this.#isOver) {
      // The reply is complete: it leaves with the other answers of this turn of the event loop (docs/architecture.md).
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
    if (error instanceof NoReply) this.#whole?.reject(error)
    else this.#whole?.resolve(undefined)
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

import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { withTraceHeaders } from '../../runtime/call.ts'
import type { CredentialMask } from './credential.ts'
import { type Line, NoReply, notConnected, Sent } from './exchange.ts'

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

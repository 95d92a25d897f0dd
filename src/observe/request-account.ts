import { type Call, noteRequest } from './call.ts'
import { currentCall } from './current-call.ts'
import type { Meters } from './meters.ts'
import type { RequestTrace, TracedRequest, TraceHeaders } from './trace.ts'

/** Accounts for one request to the service: in the times of its call, in its trace and in the metrics. */
export class RequestAccount {
  readonly #call: Call | undefined = currentCall()
  readonly #trace: RequestTrace | undefined
  readonly #operation: string
  readonly #startedAt: number
  readonly #count: Meters['countRequest']

  /** Begins the account of a request that starts now. */
  constructor(request: TracedRequest, operation: string, now: number, count: Meters['countRequest']) {
    this.#trace = this.#call?.trace?.beginRequest(request)
    this.#operation = operation
    this.#startedAt = now
    this.#count = count
  }

  /** The trace headers of the gateway's own span; undefined without tracing. */
  get ownHeaders(): TraceHeaders | undefined {
    return this.#trace?.headers
  }

  /** The trace headers of a request that has none of its caller's headers. */
  get headers(): TraceHeaders | undefined {
    return this.#trace?.headers ?? this.#call?.traceHeaders
  }

  /** Dispatches the request. */
  dispatch(work: () => void): void {
    if (this.#trace) this.#trace.dispatch(work)
    else work()
  }

  /** Ends the account, with the status of a whole reply; called once. */
  end(status: number | undefined): void {
    const ms = performance.now() - this.#startedAt
    this.#count(this.#operation, status, ms)
    if (this.#call) noteRequest(this.#call, status, ms)
    this.#trace?.end(status)
  }
}

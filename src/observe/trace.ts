import type { IncomingHttpHeaders } from 'node:http'

/*
 * The trace of a call. Without an SDK of OpenTelemetry, it is no more than the caller's own headers, which go on to the
 * service unchanged; `tracing.ts` does the rest.
 */

/** The headers that tell the service which trace a request belongs to. */
export type TraceHeaders = Readonly<Record<string, string>>

/** Makes the spans of one call. */
export interface CallTrace {
  /** Begins the span of a store operation, and returns the function that ends it. */
  readonly beginStore: (operation: string) => (error?: unknown) => void
  /** Begins the span of a request to the service. */
  readonly beginRequest: (request: TracedRequest) => RequestTrace
}

/** A request to the service, as its span describes it. */
export interface TracedRequest {
  readonly method: string
  readonly origin: string
  readonly path: string
  /** The name of the operation; undefined for requests that are passed through. */
  readonly operation?: string | undefined
}

/** The span of one request to the service. */
export interface RequestTrace {
  /** Replace those of the caller. */
  readonly headers: TraceHeaders
  /** Dispatches the request while instrumented HTTP clients neither trace it again nor add headers. */
  readonly dispatch: (work: () => void) => void
  /** Ends the span; the status is that of a whole reply. */
  readonly end: (status: number | undefined) => void
}

/** W3C Trace Context, 3.2: later versions may be longer. */
const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}(-[\w-]{1,256})?$/
const TRACESTATE_LIMIT_CHARACTERS = 2_048

/** Returns the caller's own trace headers; undefined if it sent none that can be read. */
export function traceHeadersOf({ traceparent, tracestate }: IncomingHttpHeaders): TraceHeaders | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined
  const isState = typeof tracestate === 'string' && tracestate.length <= TRACESTATE_LIMIT_CHARACTERS
  return isState ? { traceparent, tracestate } : { traceparent }
}

/** Names of headers that an SDK or a caller sends for traces. */
const TRACE_NAMES = new Set(['traceparent', 'tracestate'])

/** Returns header lines, names and values in turn, with these trace headers instead of those of the caller. */
export function withTraceHeaders(lines: readonly string[], headers: TraceHeaders): string[] {
  const replaced = new Set([...TRACE_NAMES, ...Object.keys(headers)])
  const kept = lines.filter((_line, i) => !replaced.has((lines[i - (i % 2)] ?? '').toLowerCase()))
  return [...kept, ...Object.entries(headers).flat()]
}

import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Answer } from '../language/answer.ts'
import type { Config } from '../language/config/config.ts'
import type { GatewayError } from '../language/errors.ts'
import type { CompiledAction } from '../language/mapping/compile.ts'
import type { Fields } from '../language/mapping/fields.ts'
import type { Note } from '../language/mapping/request.ts'
import type { Recording } from './recorder.ts'

/** The resources that a request holds; `limits/shares.ts` limits them. */
export interface Share {
  readonly source: Source
  /** Throws if there would be no room for the request once it is complete. */
  readonly admit: () => void
  /** Throws if there is no room for this many bytes of a body now. */
  readonly expectBody: (bytes: number) => void
  /** Reserves more bytes of a body; throws if there is no room. */
  readonly takeBody: (bytes: number) => void
  readonly returnBody: (bytes: number) => void
  /** Reserves memory for a body that is passed on as it arrives. */
  readonly streamBody: (lengthBytes: number) => void
  /** Counts the call as under way from now on; throws if there are too many. */
  readonly enter: () => void
  /** Reserves memory for a long answer until its reader has it or disconnects. */
  readonly holdAnswer: (bytes: number) => void
  /** Calls the function when the call ends. */
  readonly hold: (giveBack: () => void) => void
  /** Releases everything that the request holds, except its answer. */
  readonly leave: () => void
}

/** The origin of a call. */
export interface Source {
  readonly address: string
  /** An IPv4 address, or an IPv6 network. */
  readonly name: string
  /** True for a caller behind a trusted proxy, which owns the connections. */
  readonly isBehindProxy: boolean
  /** True for a trusted proxy that does not name its caller: it may stand for many. */
  readonly isEverybody: boolean
}

/** A share without limits. */
export const unlimitedShare: Share = {
  source: { address: '', name: '', isBehindProxy: false, isEverybody: false },
  admit: () => {},
  expectBody: () => {},
  takeBody: () => {},
  returnBody: () => {},
  streamBody: () => {},
  enter: () => {},
  holdAnswer: () => {},
  hold: () => {},
  leave: () => {},
}

/** A call, in parts. Each part has one owner, and only the owner writes it. The end of the call reads them all. */
export interface Call {
  readonly request: CallRequest
  readonly waits: CallWaits
  /** Written by the callers' room, once the caller is known. */
  caller: CallerFacts
  readonly outcome: CallOutcome
}

/** The interface that a call uses. */
export type Use = 'version-1' | 'version-2' | 'dry-run'

/** The request. The door writes it. */
interface CallRequest {
  readonly id: string
  /** In milliseconds of `performance.now()`. */
  readonly startedAt: number
  /** The route as the gateway names it, never the path as it was sent. */
  route: string
  /** Undefined for the gateway's own pages. */
  use: Use | undefined
  share: Share
  /** The record of the call; undefined unless it was chosen for RECORD_FILE. */
  recording: Recording | undefined
}

/** How long a call waited for the service and the store, which write these, and its trace. */
interface CallWaits {
  /** The caller's own trace headers. */
  readonly traceHeaders: TraceHeaders | undefined
  /** Makes the call's spans, if an OpenTelemetry SDK is loaded. */
  trace: CallTrace | undefined
  /** The time at the service, in milliseconds. */
  serviceMs: number
  /** How many requests were sent to the service, including retries. */
  tries: number
  /** The status of the service's last whole reply. */
  serviceStatus: number | undefined
  /** The time in the store, in milliseconds. */
  storeMs: number
}

/** The facts about a caller that decide what is counted and the shape of errors. */
export interface CallerFacts {
  readonly tenant: string | undefined
  /** The service's verdict on the caller's credential. */
  readonly acceptance?: { readonly isProven: () => boolean } | undefined
  /** Decides whether errors are answered with status 200. */
  readonly errorStatus?: Config['ERROR_STATUS'] | undefined
  /** The contact for the caller; undefined if none is set. */
  readonly support?: string | undefined
  /** The extra headers of answers on legacy paths. */
  readonly legacyHeaders?: Answer['headers'] | undefined
}

/** A caller that is unknown, or not known yet. */
const NOBODY: CallerFacts = { tenant: undefined }

/** The outcome. The call's handler writes it. */
export interface CallOutcome {
  /** The caller's own `ShipmentNumber`, which an error on a quote path repeats. */
  own: string
  /** The action, once it is known. */
  action: string | undefined
  /** The sorted fields of a version-1 call, once its action is known. */
  sorted: { readonly compiled: CompiledAction; readonly fields: Fields } | undefined
  /** The notes on the translation. */
  notes: readonly Note[]
  /** True for a body of version 2 on a legacy path, whose errors are problem details. */
  isVersion2: boolean
  /** True if the answer repeats that of an earlier booking. */
  replayed: boolean
  /** The header of a booking whose price differs from its quote's. */
  price: string | undefined
  /** The code of the error that the call ended with. */
  error: string | undefined
  /** True if the credential was missing or refused, even if the answer has another status. */
  unauthorized: boolean
  /** The thrown value, if the gateway itself failed. */
  cause: unknown
}

const NO_NOTES: readonly Note[] = []
const HARMLESS_ID = /^[A-Za-z0-9._-]{1,64}$/

/** Returns a request's id: the caller's own if that is safe. */
export function requestId(headers: IncomingMessage['headers'] | undefined): string {
  const sent = headers?.['x-request-id']
  return typeof sent === 'string' && HARMLESS_ID.test(sent) ? sent : crypto.randomUUID()
}

/** Begins a call, without limits or a route yet. */
export function beginCall({ headers }: IncomingMessage): Call {
  return {
    request: {
      id: requestId(headers),
      startedAt: performance.now(),
      route: '',
      use: undefined,
      share: unlimitedShare,
      recording: undefined,
    },
    waits: {
      traceHeaders: headers['traceparent'] === undefined ? undefined : traceHeadersOf(headers),
      trace: undefined,
      serviceMs: 0,
      tries: 0,
      serviceStatus: undefined,
      storeMs: 0,
    },
    caller: NOBODY,
    outcome: {
      own: '',
      isVersion2: false,
      action: undefined,
      sorted: undefined,
      notes: NO_NOTES,
      replayed: false,
      price: undefined,
      error: undefined,
      unauthorized: false,
      cause: undefined,
    },
  }
}

const UNAUTHORIZED = 401

/** Records the error that a call ends with. */
export function recordError({ outcome }: Call, { code, status, cause }: GatewayError): void {
  outcome.error = code
  outcome.unauthorized = status === UNAUTHORIZED
  // Any other error's code describes its cause.
  outcome.cause = code === 'gateway-failed' ? cause : undefined
}

/*
 * A call's trace. Without an OpenTelemetry SDK, it is only the caller's own headers, which go to the service unchanged; `tracing.ts` does
 * the rest.
 */

/** The headers that tell the service which trace a request belongs to. */
type TraceHeaders = Readonly<Record<string, string>>

/** Makes the spans of one call. */
export interface CallTrace {
  /** Begins the span of a store operation, and returns the function that ends it. */
  readonly beginStore: (operation: string) => (error?: unknown) => void
  /** Begins the span of a request to the service. */
  readonly beginRequest: (request: TracedRequest, origin: string) => RequestTrace
}

/** A request to the service, as its span describes it. */
export interface TracedRequest {
  readonly method: string
  readonly path: string
  /** The name of the operation; undefined for requests that are passed through. */
  readonly operation?: string | undefined
}

/** The span of one request to the service. */
export interface RequestTrace {
  /** Replace the caller's own. */
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
function traceHeadersOf({ traceparent, tracestate }: IncomingHttpHeaders): TraceHeaders | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined
  const isState = typeof tracestate === 'string' && tracestate.length <= TRACESTATE_LIMIT_CHARACTERS
  return isState ? { traceparent, tracestate } : { traceparent }
}

/** Names of headers that an SDK or a caller sends for traces. */
const TRACE_NAMES = new Set(['traceparent', 'tracestate'])

/** Returns header lines, alternating names and values, with these trace headers instead of the caller's. */
export function withTraceHeaders(lines: readonly string[], headers: TraceHeaders): string[] {
  const replaced = new Set([...TRACE_NAMES, ...Object.keys(headers)])
  const kept = lines.filter((_line, i) => !replaced.has((lines[i - (i % 2)] ?? '').toLowerCase()))
  return [...kept, ...Object.entries(headers).flat()]
}

/*
 * The call that the running code works for. It accounts for time only, never for behavior: the store and the service's client add the time
 * that they took to the call that waited for them, without a parameter through every layer in between.
 */

const calls = new AsyncLocalStorage<CallWaits>()

/** Runs the work of a call. */
export const runCall: typeof calls.run = calls.run.bind(calls)

/** Returns the waits of the call that the running code works for; undefined for the gateway's own work. */
export const currentWaits: typeof calls.getStore = calls.getStore.bind(calls)

/** Reports an answered call once: its log line, its metrics, its use, and its span. */
export type EndCall = (call: Call, incoming: IncomingMessage, status: number) => void

import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import type { Attributes, Context, Span } from '@opentelemetry/api'
import type { Config } from '../language/config/config.ts'
import type { Call, CallTrace, TracedRequest } from './call.ts'

/** Traces calls with the OpenTelemetry SDK that the operator has loaded. */
export interface Tracing {
  /** Runs a call's work in its span, which `end` ends. */
  readonly run: <T>(call: Call, incoming: IncomingMessage, work: () => T) => T
  readonly end: (call: Call, status: number) => void
}

/** Where version 1 of the API keeps what an SDK registers; empty without an SDK. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')
const NAME = 'transload'
/** The context key under which SDKs and instrumentations of all versions look up whether to stay silent. */
const SUPPRESS_KEY = 'OpenTelemetry SDK Context Key SUPPRESS_TRACING'

/** Opens tracing. Without an SDK it returns undefined and does not even load the API. */
export async function openTracing(config: Config, engine: string): Promise<Tracing | undefined> {
  if (!(REGISTERED in globalThis)) return undefined
  const api = await import('@opentelemetry/api')
  const { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api
  const provider = trace.getTracerProvider()
  if (provider instanceof api.ProxyTracerProvider && !provider.getDelegateTracer(NAME)) return undefined
  const tracer = trace.getTracer(NAME)
  const suppressed = api.createContextKey(SUPPRESS_KEY)
  const spans = new WeakMap<Call, Span>()
  keepOneTraceparent()

  function fail(span: Span, type: string): void {
    span.setAttribute('error.type', type)
    span.setStatus({ code: SpanStatusCode.ERROR })
  }

  function traceIn(parent: Context): CallTrace {
    return {
      beginStore: (operation) => {
        const attributes = {
          'db.system.name': SYSTEMS[engine] ?? engine,
          'db.operation.name': operation,
        }
        const span = tracer.startSpan(operation, { kind: SpanKind.CLIENT, attributes }, parent)
        return (error) => {
          if (error !== undefined) fail(span, error instanceof Error ? error.name : 'error')
          span.end()
        }
      },
      beginRequest: (request, origin) => {
        const name = request.operation ?? request.method
        const span = tracer.startSpan(
          name,
          { kind: SpanKind.CLIENT, attributes: attributesOf(request, origin) },
          parent,
        )
        const own = trace.setSpan(parent, span)
        const headers: Record<string, string> = {}
        propagation.inject(own, headers)
        return {
          headers,
          dispatch: (work) => context.with(own.setValue(suppressed, true), work),
          end: (status) => {
            if (status === undefined) fail(span, 'no-reply')
            else {
              span.setAttribute('http.response.status_code', status)
              if (status >= FIRST_ERROR_OF_CLIENTS) fail(span, String(status))
            }
            span.end()
          },
        }
      },
    }
  }

  function beginSpan(call: Call, incoming: IncomingMessage): Context {
    // An instrumentation of Node's server may have begun its own span.
    const active = context.active()
    const isTraced = trace.getSpan(active) !== undefined
    const parent = isTraced ? active : propagation.extract(ROOT_CONTEXT, incoming.headers)
    const kind = isTraced ? SpanKind.INTERNAL : SpanKind.SERVER
    const attributes = serverAttributes(call, incoming, config)
    const method = attributes['http.request.method']
    const span = tracer.startSpan(
      `${method === OTHER_METHOD ? 'HTTP' : method} ${call.request.route}`,
      { kind, attributes },
      parent,
    )
    const own = trace.setSpan(parent, span)
    spans.set(call, span)
    call.waits.trace = traceIn(own)
    return own
  }

  return {
    run: (call, incoming, work) => {
      let own: Context
      try {
        own = beginSpan(call, incoming)
      } catch {
        // If the SDK fails, as in an operator's sampler, the call continues without a span.
        return work()
      }
      return context.with(own, work)
    },
    end: (call, status) => {
      const span = spans.get(call)
      if (!span) return
      const { action, error } = call.outcome
      span.setAttribute('http.response.status_code', status)
      if (action !== undefined) span.setAttribute('transload.action', action)
      if (status >= FIRST_ERROR_OF_SERVERS) fail(span, error ?? String(status))
      else if (error !== undefined) span.setAttribute('error.type', error)
      span.end()
    },
  }
}

const FIRST_ERROR_OF_CLIENTS = 400
const FIRST_ERROR_OF_SERVERS = 500

/** OpenTelemetry's names for the engines. */
const SYSTEMS: Readonly<Record<string, string>> = { postgres: 'postgresql' }

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
const OTHER_METHOD = '_OTHER'

/** Returns a call's attributes by the semantic conventions for HTTP, without the query. */
function serverAttributes({ request }: Call, incoming: IncomingMessage, config: Config): Attributes {
  const { method = '', httpVersion, headers, socket } = incoming
  return {
    'http.request.method': METHODS.has(method) ? method : OTHER_METHOD,
    'http.route': request.route,
    'url.scheme': 'encrypted' in socket ? 'https' : 'http',
    // Any other path may hold a secret.
    'url.path': KNOWN_PATHS.test(request.route) ? (incoming.url ?? '').split('?', 1)[0] : request.route,
    'network.protocol.version': httpVersion,
    ...(config.LOG_ADDRESSES === 'all' && { 'client.address': request.share.source.address }),
    'user_agent.original': headers['user-agent'],
  }
}

const KNOWN_PATHS = /^\/(legacy|dry-run)\/|^\/service$/

/** Returns the attributes of a request to the service. */
function attributesOf({ method, path }: TracedRequest, origin: string): Attributes {
  const { hostname, port, protocol } = new URL(origin)
  return {
    'http.request.method': METHODS.has(method) ? method : OTHER_METHOD,
    'url.full': origin + path.split('?', 1)[0],
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
  }
}

/** Where undici announces each request that it has made; instrumentations add headers to it. */
const CREATED = 'undici:request:create'

let isKept = false

/**
 * Removes every `traceparent` but the first from undici's requests. The gateway adds the first one. An instrumentation may add another to a
 * request that undici had queued and makes outside of its call.
 */
function keepOneTraceparent(): void {
  if (isKept) return
  isKept = true
  subscribe(CREATED, (message) => {
    const { headers } = Object(Object(message).request)
    // Alternating names and values.
    if (Array.isArray(headers)) removeRepeated(headers)
  })
}

/** Removes any `traceparent` or `tracestate` after the first one. */
function removeRepeated(headers: unknown[]): void {
  const seen = new Set<string>()
  for (let i = 0; i < headers.length; ) {
    const name = String(headers[i]).toLowerCase()
    const isOfTrace = name === 'traceparent' || name === 'tracestate'
    if (isOfTrace && seen.has(name)) headers.splice(i, 2)
    else i += 2
    seen.add(name)
  }
}

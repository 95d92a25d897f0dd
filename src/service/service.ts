import type { Config } from '../config/config.ts'
import { gatewayError } from '../errors.ts'
import type { Draft } from '../mapping/paths.ts'
import { createMeters, type Meters } from '../observe/meters.ts'
import { forEachMember, parseJson, scalarText } from '../text/json.ts'
import type { Account } from './account.ts'
import { operationOf, type UpstreamReply } from './exchange.ts'
import { replyText } from './failures.ts'
import { type Circuit, createCircuit, createRetry, type Retry } from './retries.ts'
import type { Upstream } from './upstream.ts'

/** A request to version 2, in its declared spelling. */
export interface ServiceRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The declared path with its id filled in. */
  readonly path: string
  readonly namesAnId: boolean
  /** A body that was translated, or one that was version 2 already. */
  readonly body?: Draft | string
  /** `If-Match`, for an update that must not overwrite another. */
  readonly ifMatch?: string | undefined
}

/** The deadline and the account of a request. */
export interface Sending {
  readonly account: Account
  readonly requestId: string
  /** In milliseconds of `performance.now()`. */
  readonly deadline: number
  /**
   * Asked right before the request is written; if it returns false, nothing is sent.
   * @default always
   */
  readonly mayWrite?: () => boolean
}

/** The bytes of a request, without its credential. */
export interface Outgoing {
  readonly method: ServiceRequest['method']
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** The client of the version-2 service. */
export interface Service {
  /** Sends a request. Returns any reply of the service, and throws `NoReply` without one. */
  readonly send: (request: ServiceRequest, sending: Sending) => Promise<UpstreamReply>
  /** Returns the request that `send` would send now. */
  readonly outgoing: (request: ServiceRequest, address: Address) => Outgoing
  /** Returns each address of the service that was called, and if its circuit is open. */
  readonly circuits: () => readonly (readonly [address: string, isOpen: boolean])[]
}

/** The address of the service. */
export type Address = Pick<Account, 'origin' | 'prefix' | 'scheme'>

/** The learned state of a service address. */
interface LearnedState {
  readonly retry: Retry
  /** For unproven credentials: their retries use none of the budget of the others. */
  readonly retryUnproven: Retry
  readonly circuit: Circuit
  isCircuitOpen: boolean
  /** When the service last accepted a credential, in milliseconds of `performance.now()`. */
  acceptedAt: number
  readonly quotes: Spelling<QuoteMethod>
  readonly shipments: Spelling<ShipmentPath>
}

/** Makes the client, which uses the spelling that the service understands. */
export function createService(
  config: Config,
  upstream: Upstream,
  { countRetry }: Pick<Meters, 'countRetry'> = createMeters(false),
): Service {
  const { V2_QUOTE_METHOD: quoteMethod, V2_SHIPMENT_PATH: shipmentPath } = config
  const known = new Map<string, LearnedState>()
  const learned = ({ origin, prefix }: Address): LearnedState => {
    const found = known.get(origin + prefix)
    if (found) return found
    const made: LearnedState = {
      retry: createRetry(countRetry),
      retryUnproven: createRetry(countRetry),
      circuit: createCircuit((isOpen) => {
        made.isCircuitOpen = isOpen
      }),
      isCircuitOpen: false,
      acceptedAt: Number.NEGATIVE_INFINITY,
      quotes: quoteMethod === 'auto' ? autoSpelling('POST', 'GET') : fixedSpelling(quoteMethod),
      shipments: shipmentPath === 'auto' ? autoSpelling('/v2/shipments', '/v2/shipment') : fixedSpelling(shipmentPath),
    }
    known.set(origin + prefix, made)
    return made
  }

  const call = async ({ method, path, headers, body }: Outgoing, sending: Sending) => {
    const { account, requestId, deadline, mayWrite } = sending
    const { origin, prefix, authorized, acceptance } = account
    const state = learned(account)
    const isSafeToRepeat = isRepeatable(method, path)
    // The service may be closing a kept connection, so updates, bookings and retries use a new one.
    let usesKept = isSafeToRepeat
    const operation = operationOf(method, path)
    const attempt = (authorization: string) => {
      const usesOwn = !usesKept
      usesKept = false
      return upstream.call({
        method,
        operation,
        origin,
        path: prefix + path,
        headers: { ...headers, authorization, 'x-request-id': requestId },
        body,
        pool: account.pool(),
        usesOwn,
        deadline,
        mayWrite,
      })
    }
    const isProven = acceptance.isProven()
    // Calls that are likely to be refused count only if there are no others.
    const counts = isProven || performance.now() - state.acceptedAt > ACCEPTED_LATELY_MS
    const once = () => state.circuit(() => authorized(deadline, attempt), counts)
    const again = isProven
      ? state.retry
      : (attempt: typeof once) =>
          state.retryUnproven(attempt, Math.min(deadline, performance.now() + UNPROVEN_RETRIES_MS))
    const reply = await (isSafeToRepeat ? again(once, deadline) : once())
    if (accepts(method, path, reply.status)) {
      state.acceptedAt = performance.now()
      acceptance.accepted()
    } else if (reply.status === UNAUTHORIZED) acceptance.refused()
    // A refusal may quote the credential, which in fixed and tenants mode the caller has never seen.
    return isSuccess(reply.status) ? reply : withoutCredential(reply, account)
  }

  return {
    send: (request, sending) => {
      const { quotes, shipments } = learned(sending.account)
      if (asksForQuote(request)) return quotes.send(false, (method) => call(quoteSpelled(request, method), sending))
      if (isAboutShipments(request)) {
        return shipments.send(request.namesAnId, (path) => call(shipmentSpelled(request, path), sending))
      }
      return call(plain(request), sending)
    },
    outgoing: (request, address) => {
      const { quotes, shipments } = learned(address)
      if (asksForQuote(request)) return quoteSpelled(request, quotes.current())
      return isAboutShipments(request) ? shipmentSpelled(request, shipments.current()) : plain(request)
    },
    circuits: () => [...known].map(([address, { isCircuitOpen }]) => [address, isCircuitOpen]),
  }
}

/** After an accepted call, calls of unproven credentials do not count for the circuit for this time. */
const ACCEPTED_LATELY_MS = 60_000
/** A call of an unproven credential is not retried after this time, because it may hold one of few connections. */
const UNPROVEN_RETRIES_MS = 2_000
const UNAUTHORIZED = 401
/** These statuses answer a read of a shipment: the service looked for it, so it accepted the credential. */
const LOOKED_FOR = new Set([404, 410])
const READ_OF_SHIPMENT = /^\/v2\/shipments?\/[^/]+$/

/** Returns true if a reply shows that the service accepts the credential. */
export function accepts(method: string, path: string, status: number): boolean {
  return isSuccess(status) || (LOOKED_FOR.has(status) && method === 'GET' && READ_OF_SHIPMENT.test(path))
}

/** Reads, quotes and cancels are idempotent; updates and bookings are not. */
const isRepeatable = (method: string, path: string) => method === 'GET' || method === 'DELETE' || path === '/v2/quote'

/**
 * Parses the body of a successful reply, keeping all digits; undefined if it is empty, as some are. The error of a reply to a
 * change says that it may have been made.
 */
export function readJson(reply: Pick<UpstreamReply, 'body'>, isOfChange = false): unknown {
  if (reply.body.length === 0) return undefined
  try {
    return parseJson(replyText(reply.body))
  } catch (cause) {
    throw gatewayError(isOfChange ? 'service-unreadable/json-change' : 'service-unreadable/json', {}, { cause })
  }
}

/** Returns a reply without its body and headers that repeat the credential. */
export function withoutCredential(reply: UpstreamReply, account: Pick<Account, 'isRepeatedIn'>): UpstreamReply {
  const headers = Object.entries(reply.headers)
  const clean = headers.filter(([, value]) => !account.isRepeatedIn(String(value)))
  const body = account.isRepeatedIn(reply.body.toString('latin1')) ? Buffer.alloc(0) : reply.body
  return { ...reply, headers: clean.length < headers.length ? Object.fromEntries(clean) : reply.headers, body }
}

/** Returns true for 2xx. */
export const isSuccess = (status: number) => status >= 200 && status < 300

/** The spellings of a request for a quote. */
type QuoteMethod = 'POST' | 'GET'
/** The spellings of a path of shipments. */
type ShipmentPath = '/v2/shipments' | '/v2/shipment'

/** Returns true for a request with two spellings of its method. */
export const asksForQuote = ({ method, path }: ServiceRequest) => method === 'POST' && path === '/v2/quote'

/** Returns true for a request with two spellings of its path. */
export const isAboutShipments = ({ path }: ServiceRequest) => /^\/v2\/shipments(\/|$)/.test(path)

/** The headers of every request that the gateway writes itself. */
export const BASE_HEADERS = {
  accept: 'application/json',
  // On a short connection, compression only costs time, and a small reply could inflate to a huge one.
  'accept-encoding': 'identity',
  'user-agent': 'transload',
} as const

/** Writes a request in its declared spelling. */
export function plain({ method, path, body, ifMatch }: ServiceRequest): Outgoing {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  return {
    method,
    path,
    headers: {
      ...BASE_HEADERS,
      ...(text !== undefined && { 'content-type': 'application/json' }),
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    },
    body: text,
  }
}

/** Writes a request for a quote, with its facts in the query of a `GET`. */
export function quoteSpelled(request: ServiceRequest, method: QuoteMethod): Outgoing {
  if (method === 'POST') return plain(request)
  const { body, ...rest } = request
  const query = new URLSearchParams()
  const add = (name: string, value: unknown) => {
    const text = scalarText(value)
    // Of two members with one name, the last counts.
    if (text === undefined) query.delete(name)
    else query.set(name, text)
  }
  // Not parsed as a whole: a body may nest deeper than that reads, and a query takes only its single values.
  if (typeof body === 'string') forEachMember(body, add)
  else for (const [name, value] of Object.entries(body ?? {})) add(name, value)
  return plain({ ...rest, method, path: `${request.path}?${query}` })
}

/** Writes a request about shipments. */
export function shipmentSpelled(request: ServiceRequest, path: ShipmentPath): Outgoing {
  return plain({ ...request, path: path + request.path.slice('/v2/shipments'.length) })
}

/** Chooses between two documented spellings of a request. */
interface Spelling<T> {
  /**
   * Tries the current spelling, and the other one if the service does not know it. A 404 to a request with an id means
   * an unknown id, unless no spelling has been confirmed yet.
   */
  readonly send: <R extends { readonly status: number }>(
    namesAnId: boolean,
    attempt: (spelling: T) => Promise<R>,
  ) => Promise<R>
  /** The spelling in use. */
  readonly current: () => T
}

/** Starts with the first spelling, and switches when the service knows only the other. */
function autoSpelling<T>(first: T, second: T): Spelling<T> {
  let current = first
  let confirmed = false
  return {
    current: () => current,
    send: async (namesAnId, attempt) => {
      const tried = current
      const reply = await attempt(tried)
      if (!unknownPath(reply.status)) {
        confirmed ||= proves(reply.status)
        return reply
      }
      if (namesAnId && confirmed) return reply
      const other = tried === first ? second : first
      const secondReply = await attempt(other)
      if (unknownPath(secondReply.status)) return reply
      if (proves(secondReply.status)) {
        current = other
        confirmed = true
      }
      return secondReply
    },
  }
}

/** Always uses the spelling that the operator chose. */
function fixedSpelling<T>(only: T): Spelling<T> {
  return { current: () => only, send: (_namesAnId, attempt) => attempt(only) }
}

const unknownPath = (status: number) => status === 404 || status === 405

/** Any other refusal may come from a layer before the path, such as a login or a rate limit. */
const proves = (status: number) =>
  (status >= 200 && status < 300) || status === 400 || status === 409 || status === 412 || status === 422

import type { Config } from '../../language/config/config.ts'
import { gatewayError, retryAfter } from '../../language/errors.ts'
import type { Action } from '../../language/mapping/action.ts'
import type { Draft } from '../../language/mapping/paths.ts'
import { isObject, parseJson, scalarText } from '../../language/text/json.ts'
import { isUuid } from '../../language/text/service-text.ts'
import { type Counter, createMeters, labelledGauge } from '../../runtime/metrics.ts'
import type { Account, Scheme } from './account.ts'
import { createCredentialMask } from './credential.ts'
import { exchange, NoReply, operationOf } from './exchange.ts'
import { accepts, isNotFound, isPage, isSuccess, parsedOrNothing, type UpstreamReply } from './reply.ts'
import { createRetry, FAILURES } from './retries.ts'
import { openUpstream, type Upstream } from './upstream.ts'

/** A request to version 2, in its declared spelling. */
export interface ServiceRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The declared path with its id filled in. */
  readonly path: string
  readonly namesAnId: boolean
  /** A translated body, or one that was already version 2. */
  readonly body?: Draft | string | undefined
  /** `If-Match`, for an update that must not overwrite another. */
  readonly ifMatch?: string | undefined
}

/** A request's account and deadline. */
export interface Sending {
  readonly account: Account
  readonly requestId: string
  /** In milliseconds of `performance.now()`. */
  readonly deadline: number
  /**
   * Checked right before the request is written. If it returns false, nothing is sent.
   * @default always
   */
  readonly mayWrite?: () => boolean
}

/** Returns the account and deadline for one of the gateway's own requests, which belongs to no call. */
export const sendingOf = (account: Account, timeoutMs: number): Sending => ({
  account,
  requestId: crypto.randomUUID(),
  deadline: performance.now() + timeoutMs,
})

/** The bytes of a request, without its credential. */
type Outgoing = ReturnType<typeof written>

/** Sends requests to the version-2 service. */
export interface Sender {
  /** Returns any reply from the service; throws `NoReply` without one. */
  readonly send: (request: ServiceRequest, sending: Sending) => Promise<UpstreamReply>
}

/** The client of the version-2 service. */
export type Service = ReturnType<typeof createService>

/** The service's address. */
export interface Address {
  readonly origin: string
  readonly prefix: string
  readonly scheme: Scheme
}

/** What the gateway learns about a service address. */
type LearnedState = ReturnType<typeof newlyLearned>

function newlyLearned(
  { V2_QUOTE_METHOD: quoteMethod, V2_SHIPMENT_PATH: shipmentPath }: Config,
  countRetry: () => void,
) {
  return {
    retry: createRetry(countRetry),
    /** For unproven credentials, whose retries must not use up the others' budget. */
    retryUnproven: createRetry(countRetry),
    circuit: createCircuit(),
    /** For unproven credentials while no credential is accepted: their failures must not lock out the others. */
    circuitUnproven: createCircuit(),
    /** When the service last accepted a credential, in milliseconds of `performance.now()`. */
    acceptedAt: Number.NEGATIVE_INFINITY,
    /** Until then, in milliseconds of `performance.now()`, a page with 404 is none of the service's own. */
    noPageUntil: Number.NEGATIVE_INFINITY,
    /** The same for a name that is no UUID. */
    noPageOfNameUntil: Number.NEGATIVE_INFINITY,
    quotes: spelling<DocumentedSpelling>(quoteMethod, ['POST', 'GET']),
    shipments: spelling<DocumentedSpelling>(shipmentPath, [SHIPMENTS, '/v2/shipment']),
  }
}

/**
 * Opens the configured client of the service with its connections, and the service's address for callers without their own. The first call
 * makes the first connection.
 */
export function openService(config: Config, meters = createMeters()) {
  const upstream = openUpstream(config, meters)
  const service = createService(config, upstream, meters.retries)
  const address: Address = { ...config.V2_BASE_URL, scheme: config.V2_TOKEN }
  return { service, upstream, address }
}

/** Makes the client, which uses the spelling that the service knows. */
export function createService(config: Config, upstream: Upstream, retries?: Counter) {
  const known = new Map<string, LearnedState>()

  /** Returns the learned state of an address. */
  function stateOf({ origin, prefix }: Address): LearnedState {
    const address = origin + prefix
    let state = known.get(address)
    if (!state) {
      state = newlyLearned(config, () => retries?.add(1))
      known.set(address, state)
    }
    return state
  }

  /**
   * Sends a request in one spelling, from the connection to the reply: with the right credential, over a safe connection, with retries
   * where they are harmless and may help, and not at all while the circuit is open.
   */
  async function call(
    { method, path, headers, body }: Outgoing,
    { account, requestId, deadline, mayWrite }: Sending,
    state: LearnedState,
  ): Promise<UpstreamReply> {
    const { prefix, acceptance } = account
    const isRepeatable = isSafeToRepeat(method, path)
    // The service may be closing a kept connection, so updates, bookings and retries use a new one.
    let usesKept = isRepeatable
    const operation = operationOf(method, path)
    const ask = (authorization: string) => {
      const line = upstream.line(account, !usesKept)
      usesKept = false
      return exchange(line, {
        method,
        operation,
        path: prefix + path,
        headers: { ...headers, authorization, 'x-request-id': requestId },
        body,
        deadline,
        mayWrite,
      })
    }
    const isProven = acceptance.isProven()
    const circuit = isProven ? state.circuit : state.circuitUnproven
    // Calls that are likely to be refused count only if there are no others.
    const counts = isProven || performance.now() - state.acceptedAt > ACCEPTED_LATELY_MS
    const attempt = async () => {
      if (!isProven) state.circuit.admit(false)
      const isProbe = counts && circuit.admit(true)
      try {
        const reply = await account.authorized(deadline, ask)
        if (counts) circuit.note(reply, isProbe)
        return reply
      } catch (error) {
        if (counts && error instanceof NoReply) circuit.note(error, isProbe)
        throw error
      }
    }
    const received = await (!isRepeatable
      ? attempt()
      : isProven
        ? state.retry(attempt, deadline)
        : state.retryUnproven(attempt, Math.min(deadline, performance.now() + UNPROVEN_RETRIES_MS)))
    const reply = isNotFound(received)
      ? judgedNotFound(received, path, accepts(method, path, received.status), state)
      : received
    const isDone = isSuccess(reply.status)
    if ((isDone && isProven) || showsAcceptance(method, path, reply)) {
      if (!isProven) state.circuit.note(reply, state.circuit.isOpen())
      if (state.circuitUnproven.isOpen()) state.circuitUnproven.note(reply, true)
      state.acceptedAt = performance.now()
      acceptance.accepted()
    } else if (reply.status === UNAUTHORIZED) acceptance.refused()
    // A refusal may quote the credential, which the caller has never seen in fixed and tenants mode.
    return isDone ? reply : withoutCredential(reply, account)
  }

  return {
    /**
     * Sends a request in the known spelling, or finds that out. A 404 to a request with an id means an unknown id, unless no spelling is
     * confirmed yet.
     */
    send: async (request: ServiceRequest, sending: Sending): Promise<UpstreamReply> => {
      const state = stateOf(sending.account)
      const spelled = spellingOf(request, state)
      if (!spelled) return call(written(request), sending, state)
      const { current, other } = spelled
      const reply = await call(written(request, current), sending, state)
      if (!other) return reply
      if (!UNKNOWN_PATH.has(reply.status)) {
        noteAnswer(spelled, reply)
        return reply
      }
      if (request.namesAnId && spelled.isConfirmed) return reply
      // A single 404 soon after a success does not mean another spelling, but perhaps a bad deployment of the service.
      if (spelled.current === current && performance.now() < spelled.trustedUntil) {
        spelled.trustedUntil = Number.NEGATIVE_INFINITY
        return reply
      }
      const second = await call(written(request, other), sending, state)
      if (UNKNOWN_PATH.has(second.status)) return weightOf(second) > weightOf(reply) ? second : reply
      // One that the service knows gives way to a success of the other, and to no refusal.
      if (proves(second) && (isSuccess(second.status) || !spelled.isConfirmed)) {
        Object.assign(spelled, { current: other, other: current })
        noteAnswer(spelled, second)
      }
      return second
    },
    /** Returns the request that `send` would send now. */
    outgoing: (request: ServiceRequest, address: Address) =>
      written(request, spellingOf(request, stateOf(address))?.current),
    /** Returns the path of a shipment in the spelling in use, to be shown. */
    shipmentPath: (name: string, address: Address) =>
      `${stateOf(address).shipments.current}/${encodeURIComponent(name)}`,
    /** Reports for each called service address whether its circuit is open. */
    metric: labelledGauge('transload_circuit_open', 'Whether calls are refused because the service fails.', () =>
      [...known].map(([service, { circuit, circuitUnproven }]) => ({
        labels: { service },
        value: circuit.isOpen() || circuitUnproven.isOpen() ? 1 : 0,
      })),
    ),
  }
}

/**
 * Marks a page as foreign if the service has lately said without one that it knows no such shipment. Of a name that is no UUID, a page may be
 * its own until it has said that of such a name: many services have no path for them.
 */
function judgedNotFound(reply: UpstreamReply, path: string, isOfShipment: boolean, state: LearnedState): UpstreamReply {
  const now = performance.now()
  const mayLackPath = now >= state.noPageOfNameUntil
  if (isPage(reply)) return now < state.noPageUntil ? { ...reply, isForeign: true, mayLackPath } : reply
  if (isOfShipment) state.noPageUntil = now + TRUSTED_MS
  if (isOfShipment && !path.split('/').some(isUuid)) state.noPageOfNameUntil = now + TRUSTED_MS
  return reply
}

/** Reports whether a request may be sent twice: reads, quotes and cancellations may, updates and bookings never. */
const isSafeToRepeat = (method: string, path: string): boolean =>
  method === 'GET' || method === 'DELETE' || path === '/v2/quote'

/** For this long after an accepted call, calls with unproven credentials do not count for their circuit. */
const ACCEPTED_LATELY_MS = 60_000
/** A call with an unproven credential is not retried after this time, because it may hold one of few connections. */
const UNPROVEN_RETRIES_MS = 2_000
const UNAUTHORIZED = 401

/** Reports whether a reply shows that the service accepts the credential. */
export function showsAcceptance(method: Outgoing['method'], path: string, reply: UpstreamReply): boolean {
  if (!isSuccess(reply.status)) return accepts(method, path, reply.status) && !reply.isForeign
  return reply.body.length === 0 ? method !== 'GET' : showsObject(reply)
}

/** Anything else is none of the service, but of something in between, such as a portal. */
const showsObject = (reply: UpstreamReply): boolean => isObject(parsedOrNothing(reply))

/** Returns a reply with asterisks in the place of the credential, and, unless it is a success, of the secret in it. */
export function withoutCredential(reply: UpstreamReply, account: Account): UpstreamReply {
  let { headers, body } = reply
  for (const authorization of account.authorizations()) {
    const mask = createCredentialMask(authorization, isSuccess(reply.status))
    body = Buffer.concat([mask.bytes(body), mask.rest()])
    const shown = Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? mask.text(value) : value?.map((line) => mask.text(line)),
    ])
    headers = Object.fromEntries(shown)
  }
  return { ...reply, headers, body }
}

/** The documented spellings of a request: the method of a quote request, or the path of a shipment request. */
type DocumentedSpelling = 'POST' | 'GET' | '/v2/shipments' | '/v2/shipment'

/** The spelling in use, and the other documented one, unless the operator chose. */
export interface Spelling<T> {
  current: T
  other: T | undefined
  /** True once the service has shown that it knows the current one. */
  isConfirmed: boolean
  /** Until this time, in milliseconds of `performance.now()`, a single 404 does not change the spelling. */
  trustedUntil: number
}

/** How long a success counts for a spelling. */
const TRUSTED_MS = 3_600_000

/** Notes a reply to the current spelling that is not 404 or 405. */
function noteAnswer(spelled: Spelling<DocumentedSpelling>, reply: UpstreamReply): void {
  spelled.isConfirmed ||= proves(reply)
  if (spelled.isConfirmed && isSuccess(reply.status)) spelled.trustedUntil = performance.now() + TRUSTED_MS
}

export function spelling<T>(chosen: T | 'auto', [current, other]: readonly [T, T]): Spelling<T> {
  return chosen === 'auto'
    ? { current, other, isConfirmed: false, trustedUntil: Number.NEGATIVE_INFINITY }
    : { current: chosen, other: undefined, isConfirmed: true, trustedUntil: Number.NEGATIVE_INFINITY }
}

/** Returns a request's spelling; undefined if only one is documented. */
function spellingOf(
  { method, path }: ServiceRequest,
  { quotes, shipments }: LearnedState,
): Spelling<DocumentedSpelling> | undefined {
  if (method === 'POST' && path === '/v2/quote') return quotes
  return OF_SHIPMENTS.test(path) ? shipments : undefined
}

const SHIPMENTS = '/v2/shipments'
const OF_SHIPMENTS = /^\/v2\/shipments(\/|$)/

/** The headers of every request that the gateway writes itself. */
const BASE_HEADERS = {
  accept: 'application/json',
  // On a short connection, compression only costs time, and a small reply could inflate to a huge one.
  'accept-encoding': 'identity',
  'user-agent': 'transload',
} as const

/** Writes a request in a spelling. A quote's `GET` has the body's values in the query. */
export function written(request: ServiceRequest, spelled?: DocumentedSpelling) {
  let { method, path, body } = request
  if (spelled === 'GET') {
    method = 'GET'
    path = `${path}?${queryOf(body)}`
    body = undefined
  } else if (spelled === '/v2/shipment') path = spelled + path.slice(SHIPMENTS.length)
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  return {
    method,
    path,
    headers: {
      ...BASE_HEADERS,
      ...(text !== undefined && { 'content-type': 'application/json' }),
      ...(request.ifMatch !== undefined && { 'if-match': request.ifMatch }),
    },
    body: text,
  }
}

/** Returns a body's single values as a query. */
function queryOf(body: ServiceRequest['body']): URLSearchParams {
  const query = new URLSearchParams()
  const add = (name: string, value: unknown) => {
    const text = scalarText(value)
    // If two members have the same name, the last one counts.
    if (text === undefined) query.delete(name)
    else query.set(name, text)
  }
  // Not parsed as a whole, because a body may nest deeper than that can read.
  if (typeof body === 'string') parseJson(body, add)
  else for (const [name, value] of Object.entries(body ?? {})) add(name, value)
  return query
}

const METHOD_WRONG = 405
/** The statuses for a path that the service does not serve, or for an unknown id in it. */
const UNKNOWN_PATH: ReadonlySet<number> = new Set([404, METHOD_WRONG])

/**
 * Returns how much one of these says of what a request names. 404 says more than 405, and without a page more than with one; but a 405 that
 * tells what the path is for comes from the service, and then a 404 at the other path may only mean that path.
 */
function weightOf(reply: UpstreamReply): number {
  if (reply.status === METHOD_WRONG) return reply.headers.allow ? 3 : 0
  return isPage(reply) ? 1 : 2
}

/** Any other refusal may come from a layer before the path, such as a login or a rate limit. */
const proves = (reply: UpstreamReply) =>
  (isSuccess(reply.status) || READ.has(reply.status)) && (reply.body.length === 0 || showsObject(reply))

/** The statuses of a refusal after the service has read the request. */
const READ: ReadonlySet<number> = new Set([400, 409, 412, 422])

/** Builds an action's request to the service; the id fills the parameter in its path. */
export function serviceRequest({ service }: Action, body: Draft | string, id: string | undefined): ServiceRequest {
  const { method } = service
  const path = id === undefined ? service.path : service.path.replace(PARAMETER, () => pathSegment(id))
  const namesAnId = id !== undefined || (typeof body === 'object' && body['quote_id'] !== undefined)
  return method === 'POST' || method === 'PUT' ? { method, path, namesAnId, body } : { method, path, namesAnId }
}

/** Returns a request that is not sent, with a placeholder for its unknown id. */
export function withPlaceholder(request: ServiceRequest, placeholder: string): ServiceRequest {
  return { ...request, path: request.path.replace(PARAMETER, () => placeholder) }
}

/** Builds the read of a shipment by its id, or by the service's number. */
export function shipmentRead(id: string): ServiceRequest {
  return { method: 'GET', path: `/v2/shipments/${pathSegment(id)}`, namesAnId: true }
}

/** The `{shipment_id}` in a path. */
const PARAMETER = /\{\w+\}/

/** Encodes an id as one path segment. Dots alone are refused, because `../..` climbs even when encoded. */
function pathSegment(id: string): string {
  if (/^\.+$/.test(id)) throw gatewayError('number-unknown/no-id', {})
  return encodeURIComponent(id)
}

const WINDOW_MS = 10_000
/** Fewer calls in a window prove nothing. */
const LEAST_CALLS = 20
const FAILED_SHARE = 0.5
const OPEN_MS = 5_000
const LEAST_WAIT_MS = 1_000

/**
 * Makes the circuit breaker for one service address. It opens after sustained failure, keeps calls away from the service, and sends a probe
 * now and then.
 */
function createCircuit() {
  let windowAt = performance.now()
  let calls = 0
  let failures = 0
  /** When the open circuit lets a probe through; undefined while it is closed. */
  let probeAt: number | undefined

  return {
    isOpen: () => probeAt !== undefined,
    /**
     * Reports whether a call is the probe of the open circuit; throws if the call may not be made. A stranger's call is never a probe for
     * the others' circuit, because its failure would lock them out.
     */
    admit: (mayProbe: boolean): boolean => {
      if (probeAt === undefined) return false
      const now = performance.now()
      if (now < probeAt) throw open(Math.max(probeAt - now, LEAST_WAIT_MS))
      if (!mayProbe) return false
      // If the probe never reports back, another one is sent later.
      probeAt = now + OPEN_MS
      return true
    },
    /** Notes a call's outcome. A resource that the gateway itself lacks proves nothing about the service. */
    note: (outcome: UpstreamReply | NoReply, isProbe: boolean): void => {
      if (outcome instanceof NoReply && outcome.isOurs) return
      // Calls that were under way when the circuit opened prove nothing new.
      if (probeAt !== undefined && !isProbe) return
      const failed = outcome instanceof NoReply || FAILURES.has(outcome.status)
      const now = performance.now()
      if (isProbe || now - windowAt > WINDOW_MS) {
        calls = 0
        failures = 0
        windowAt = now
      }
      if (isProbe) {
        probeAt = failed ? now + OPEN_MS : undefined
        return
      }
      calls += 1
      if (failed) failures += 1
      if (calls >= LEAST_CALLS && failures / calls >= FAILED_SHARE) probeAt = now + OPEN_MS
    },
  }
}

const open = (leftMs: number) => gatewayError('circuit-open', {}, retryAfter(Math.ceil(leftMs / 1000)))

import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import type { Answer } from '../language/answer.ts'
import type { Config } from '../language/config/config.ts'
import { anchorOf, GatewayError, gatewayError, RETRY_SOON, titleOf } from '../language/errors.ts'
import type { Catalog, Endpoint } from '../language/mapping/catalog.ts'
import { SUPPORT } from '../language/messages.ts'
import { oneLine } from '../language/text/service-text.ts'
import { NoReply } from '../outside/service/exchange.ts'
import { noReplyError } from '../outside/service/failures.ts'
import { LockTimeout, StoreDown } from '../outside/store/store.ts'
import type { CallerFacts } from '../runtime/call.ts'
import { deprecationFor } from './callers/caller.ts'
import type { Env } from './door.ts'
import { writeExplanation } from './explanation.ts'
import type { AnswerRefusal, RequestRefusal } from './refusals.ts'
import { BELOW_VERSION_2, methodWrong, type Router, UNREADABLE, WEBHOOK_ROUTE } from './routing.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'

/** These statuses have no body, and so no length (RFC 9110, 8.6). */
const BODILESS = new Set([204, 304])

/** Writes an answer; its own headers win over `more`. An empty body is not JSON and keeps only its own type, if it has one. */
export function reply(c: Context<Env>, { status, headers, body }: Answer, more?: Answer['headers']): Response {
  const { outgoing, call } = c.env
  const { recording, id } = call.request
  if (recording) recording.reply = body
  const bytes = Buffer.byteLength(body)
  outgoing
    .writeHead(status, {
      ...(bytes > 0 && { 'Content-Type': JSON_TYPE }),
      ...((bytes > 0 || !BODILESS.has(status)) && { 'Content-Length': bytes }),
      'X-Request-Id': id,
      ...more,
      ...headers,
    })
    .end(body)
  return RESPONSE_ALREADY_SENT
}

/** Writes an explanation, which may be long, to a reader that may be slow. */
export function replyExplanation(c: Context<Env>, explanation: object): Response {
  const body = writeExplanation(explanation)
  c.env.call.request.share.holdAnswer(Buffer.byteLength(body))
  return reply(c, { status: 200, headers: {}, body })
}

/** Converts anything thrown into an error that can be answered; an unexpected one is the gateway's fault. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  if (thrown instanceof NoReply) return noReplyError(thrown)
  const soon = { cause: thrown, ...RETRY_SOON }
  if (thrown instanceof StoreDown) return gatewayError('store-down', {}, soon)
  // The call may have waited for a booking.
  if (thrown instanceof LockTimeout)
    return gatewayError('shipment-changed/under-way', {}, { ...soon, mayHaveBooked: true })
  return gatewayError('gateway-failed', {}, { cause: thrown })
}

/** The facts about a call that decide the shape of its error, as far as they are known. */
interface ErrorPlace {
  readonly route: string
  /** The request target as it was sent. */
  readonly target: string
  /** The caller's own `ShipmentNumber`. */
  readonly own: string
  /** True for a body of version 2 on a legacy path. */
  readonly isVersion2?: boolean
  readonly caller?: CallerFacts
}

/**
 * Returns an error in the shape that its reader knows: the version-1 one for a version-1 body and on unknown paths, problem details for a
 * version-2 body or path.
 */
export type AnswerError = (error: GatewayError | RequestRefusal, place: ErrorPlace) => Answer

/** Makes the answers to all errors of the public listener. */
export function createErrorAnswers(config: Config, catalog: Catalog): AnswerError {
  const endpoints = new Map([...catalog.endpoints.values()].map((one) => [`/legacy${one.path}`, one]))
  const { headers: deprecation } = deprecationFor(config)
  const answerError: AnswerError = (thrown, { route, target, own, isVersion2, caller }) => {
    const endpoint = endpoints.get(route)
    const isOfMethod = endpoint && !(thrown instanceof GatewayError) && thrown.status === METHOD_NOT_ALLOWED
    const error = isOfMethod ? methodWrong(endpoint.method) : thrown
    const { errorStatus = config.ERROR_STATUS, support, legacyHeaders = deprecation } = caller ?? {}
    const contact = support ?? config.SUPPORT_CONTACT
    if (endpoint) {
      const isProblem = isVersion2 && error instanceof GatewayError
      const answer = isProblem ? problemDetails(error, contact) : legacyError(error, errorShape(endpoint), own, contact)
      return {
        ...answer,
        status: errorStatus === 'ok' ? OK : answer.status,
        headers: { ...legacyHeaders, ...answer.headers },
      }
    }
    // An unreadable path may be one that cancels.
    if (!isOwn(error, route, target))
      return legacyError(error, route === UNREADABLE ? 'shipment' : 'booking', '', contact)
    return error instanceof GatewayError ? problemDetails(error, contact) : refusalDetails(error)
  }
  if (config.WORKBENCH === 'off') return answerError
  return (error, place) => withHelp(answerError(error, place), error)
}

/**
 * Adds a link to the error's explanation in the reference. The link is relative, because a gateway does not know the name that callers use
 * for it.
 */
function withHelp({ headers, ...answer }: Answer, error: GatewayError | RequestRefusal): Answer {
  if (!(error instanceof GatewayError)) return { ...answer, headers }
  const help = `</reference#${anchorOf(error.about)}>; rel="help"`
  return { ...answer, headers: { ...headers, Link: headers['Link'] ? `${headers['Link']}, ${help}` : help } }
}

/** Returns an error's page for a browser; undefined for a program, and for a path that is not a page. */
export type ErrorPage = (incoming: IncomingMessage, error: GatewayError) => Promise<Answer> | undefined

const OK = 200
const METHOD_NOT_ALLOWED = 405

/** Makes the answers to the requests that the public listener refuses before they are routed. */
export function createRefusalAnswers(answerError: AnswerError, route: Router): AnswerRefusal {
  return (refused, sent = '') => {
    const target = sent.replace(ORIGIN, '').replaceAll('\\', '/')
    return answerError(refused, { route: target.startsWith('/') ? route(target) : UNREADABLE, target, own: '' })
  }
}

/** The scheme and host before a path, as they are sent to a proxy. */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/**
 * Reports whether an error is answered with problem details: an error of a dry run, of new code, of an event, or of a version-2 path. Any
 * other path may be a version-1 caller's mistake.
 */
function isOwn(error: GatewayError | RequestRefusal, route: string, target: string): boolean {
  if (route === WEBHOOK_ROUTE) return !(error instanceof GatewayError && error.code === 'path-unknown')
  return OWN.test(target) || route === '/service' || route === '/token' || BELOW_VERSION_2.test(target)
}

const OWN = /^\/(?:(?:dry-run|check)(?:\/|$)|my(?:\/numbers\.csv)?(?:\?|$))/

/** The kinds of paths, by the shape of their errors: quotes, bookings, and calls about a shipment that exists. */
type ErrorShape = 'quote' | 'booking' | 'shipment'

/** Returns the shape of a path's errors. */
const errorShape = ({ family, actions }: Endpoint): ErrorShape =>
  family === 'shipment' && actions.some(({ action }) => action.verb === 'book') ? 'booking' : family

/** Returns an error in the shape that version-1 callers of a path read; `own` is the caller's own number. */
export function legacyError(
  error: GatewayError | RequestRefusal,
  shape: ErrorShape,
  own: string,
  support: string = SUPPORT,
): Answer {
  const { status, code, headers = {}, mayHaveBooked = false }: Partial<GatewayError> & RequestRefusal = error
  const message = oneLine(error.message.replace(SUPPORT, () => support))
  // Without the service's answer, an existing shipment may be booked or canceled; an unknown number is neither.
  const isUnknown = mayHaveBooked || (shape === 'shipment' && code !== 'number-unknown')
  const body =
    shape === 'quote'
      ? { Cost: '', ShipmentNumber: own, Message: message }
      : { Message: message, TransportationBooked: isUnknown ? 'Unknown' : 'No' }
  return { status, headers, body: JSON.stringify(body) }
}

const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** Returns an error as RFC 9457 problem details, the format of the gateway's own endpoints. */
export function problemDetails(error: GatewayError, support: string = SUPPORT): Answer {
  const body = {
    type: `urn:transload:error:${error.code}`,
    title: titleOf(error),
    status: error.status,
    detail: oneLine(error.message.replace(SUPPORT, () => support)),
    ...(error.problems.length > 0 && { problems: error.problems }),
  }
  return {
    status: error.status,
    headers: { 'Content-Type': PROBLEM_TYPE, ...error.headers },
    body: JSON.stringify(body),
  }
}

/** Returns a listener's refusal in the same format; its status says it all (RFC 9457, 4.2.1). */
export function refusalDetails({ status, message }: RequestRefusal): Answer {
  const body = { type: 'about:blank', title: STATUS_CODES[status], status, detail: message }
  return { status, headers: { 'Content-Type': PROBLEM_TYPE }, body: JSON.stringify(body) }
}

/** The answer of `/healthz`: the process runs. */
export const alive: Answer = { status: 200, headers: {}, body: JSON.stringify({ status: 'alive' }) }

/** Returns the answer of `/readyz`, which tells load balancers whether to send calls here. */
export function readiness(ready: boolean): Answer {
  return { status: ready ? 200 : 503, headers: {}, body: JSON.stringify({ status: ready ? 'ready' : 'not ready' }) }
}

/** The answer of `/` where the pages for visitors are turned off. */
export const welcome: Answer = {
  status: 200,
  headers: { 'Content-Type': TEXT_TYPE },
  body: `Transload answers version-1 calls of a vehicle-transport service by calling its version 2.
Point your old integration at this host, or put /dry-run before a path to try a call. API description: /openapi.json
`,
}

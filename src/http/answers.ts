import type { Config } from '../config/config.ts'
import { errorTable, GatewayError, oneLine } from '../errors.ts'
import type { Endpoint } from '../mapping/catalog.ts'
import type { Call, Unwelcome } from '../observe/call.ts'
import { NoReply } from '../service/exchange.ts'
import { noReplyError } from '../service/failures.ts'
import { LockTimeout, StoreDown } from '../store/store.ts'

/** An answer before it is written. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/** When the version-1 interface was retired: 1 January 2026, in seconds since 1970 (RFC 9745). */
const DEPRECATED_AT = '@1767225600'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const TEXT_TYPE = 'text/plain; charset=utf-8'
const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

const RETRY_AFTER_SECONDS = 5

/** The headers that every reply on a legacy path carries. */
export function legacyHeaders(
  config: Pick<Config, 'SUNSET' | 'MIGRATION_GUIDE_URL'>,
): Readonly<Record<string, string>> {
  const guide = config.MIGRATION_GUIDE_URL?.href
  return {
    Deprecation: DEPRECATED_AT,
    // RFC 8594
    ...(config.SUNSET && { Sunset: config.SUNSET.toUTCString() }),
    ...(guide && { Link: `<${guide}>; rel="deprecation"; type="text/html"` }),
  }
}

/** Any error as one that can be answered; what is no `GatewayError` is a fault of the gateway and says nothing. */
export function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (error instanceof NoReply) return noReplyError(error)
  if (error instanceof StoreDown) {
    return new GatewayError('store-down', 'The gateway cannot reach its store now. Try again in a few seconds.', {
      cause: error,
      headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
    })
  }
  if (error instanceof LockTimeout) {
    return new GatewayError(
      'shipment-changed',
      'Other updates of this shipment are under way. Send the update again.',
      {
        cause: error,
        headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
      },
    )
  }
  return new GatewayError('gateway-failed', 'The gateway failed on this call. Give the X-Request-Id to its operator.', {
    cause: error,
  })
}

/** The error of a call that comes at a bad time. */
export function notNow(unwelcome: Unwelcome): GatewayError {
  const [message, retryAfter] = BAD_TIMES[unwelcome]
  // The body is not worth reading, and the next call had better come over another connection.
  return new GatewayError(unwelcome, message, { headers: { 'Retry-After': retryAfter, Connection: 'close' } })
}

const BAD_TIMES = {
  overloaded: ['The gateway is overloaded. Try again in a second.', '1'],
  draining: ['The gateway is shutting down. Try again in a few seconds.', '5'],
} as const

/** An error in the shape that a version-1 caller of this path reads. */
export function legacyError(error: GatewayError, family: Endpoint['family'], own: string): Answer {
  const message = oneLine(error.message)
  const body =
    family === 'quote'
      ? { Cost: '', ShipmentNumber: own, Message: message }
      : { Message: message, TransportationBooked: error.code === 'outcome-unknown' ? 'Unknown' : 'No' }
  return { status: error.status, headers: error.headers, body: JSON.stringify(body) }
}

/** What a version-1 caller of this path is told of anything that was thrown; the call takes note of it. */
export function answerOfError(
  thrown: unknown,
  family: Endpoint['family'],
  call: Call,
  errorStatus: Config['ERROR_STATUS'],
): Answer {
  const error = asGatewayError(thrown)
  noteError(call, error)
  const answer = legacyError(error, family, call.own)
  return (call.errorStatus ?? errorStatus) === 'ok' ? { ...answer, status: 200 } : answer
}

/** Writes down what the log line is to say of an error. */
export function noteError(call: Call, error: GatewayError): void {
  call.error = error.code
  call.cause = error.code === 'gateway-failed' ? error.cause : undefined
}

/** An error as RFC 9457 problem details, for the gateway's own endpoints. */
export function problemDetails(error: GatewayError): Answer {
  const body = {
    type: `urn:transload:error:${error.code}`,
    title: errorTable[error.code].title,
    status: error.status,
    detail: oneLine(error.message),
    ...(error.problems.length > 0 && { problems: error.problems }),
  }
  return {
    status: error.status,
    headers: { 'Content-Type': PROBLEM_TYPE, ...error.headers },
    body: JSON.stringify(body),
  }
}

/** The answer to whoever asks whether the process lives. */
export const alive: Answer = { status: 200, headers: {}, body: JSON.stringify({ status: 'alive' }) }

/** The answer to whoever asks whether calls are welcome. */
export function readiness(ready: boolean): Answer {
  return { status: ready ? 200 : 503, headers: {}, body: JSON.stringify({ status: ready ? 'ready' : 'not ready' }) }
}

import { CHALLENGE, type GatewayError, gatewayError } from '../errors.ts'
import { type MessageName, serviceSays } from '../messages.ts'
import { serviceMessage } from './error-message.ts'
import { NoReply, type Silence, type UpstreamReply } from './exchange.ts'
import { timeAsked } from './retries.ts'

/** Returns the error of a call without a whole reply. */
export function noReplyError(error: NoReply): GatewayError {
  switch (error.silence) {
    case 'unsent':
      return gatewayError('service-unreachable', {}, { cause: error })
    case 'busy':
      return gatewayError('overloaded/connections', {}, { cause: error, headers: { 'Retry-After': '1' } })
    case 'withdrawn':
      return gatewayError('interrupted', {}, { cause: error, headers: { 'Retry-After': '1' } })
    case 'late':
      return gatewayError('service-silent', {}, { cause: error })
    case 'lost':
      return gatewayError('service-failed/lost', {}, { cause: error })
    case 'too-large':
      return gatewayError('service-unreadable/size', {}, { cause: error })
    default:
      return error.silence satisfies never
  }
}

/**
 * Awaits the reply to a change that may be sent again. Without a whole reply, the error says that it may have been made: the
 * caller must not take it for one that was not.
 */
export async function replyToChange(sent: Promise<UpstreamReply>): Promise<UpstreamReply> {
  try {
    return await sent
  } catch (cause) {
    if (!(cause instanceof NoReply)) throw cause
    switch (cause.silence) {
      case 'late':
        throw gatewayError('service-silent/change', {}, { cause })
      case 'lost':
        throw gatewayError('service-failed/change', {}, { cause })
      case 'too-large':
        throw gatewayError('service-unreadable/size-change', {}, { cause })
      default:
        throw noReplyError(cause)
    }
  }
}

/** A version-2 call as the caller wrote it. */
interface Version2Call {
  readonly method: string
  readonly path: string
  /** True if it creates a shipment. */
  readonly mayBook: boolean
}

/** Returns the error of such a call without a whole reply: nothing prevents that it is sent a second time. */
export function unansweredError(cause: unknown, { method, path, mayBook }: Version2Call): GatewayError {
  const silence = cause instanceof NoReply ? cause.silence : 'lost'
  const name = SAFE_METHODS.has(method) || MAKES_NOTHING.test(path) ? undefined : PERHAPS_DONE.get(silence)
  // A cancellation may be sent again, unless it would be answered in the same way.
  if (name === undefined || (method === 'DELETE' && silence !== 'too-large')) {
    return noReplyError(cause instanceof NoReply ? cause : new NoReply(silence, { cause }))
  }
  return gatewayError(name, {}, { cause, mayHaveBooked: mayBook })
}

const SAFE_METHODS = new Set(['GET', 'HEAD'])
/** The messages of requests that left. */
const PERHAPS_DONE: ReadonlyMap<Silence, PerhapsDone> = new Map([
  ['late', 'service-silent/perhaps-done'],
  ['lost', 'service-failed/perhaps-done'],
  ['too-large', 'service-unreadable/size-perhaps-done'],
])
type PerhapsDone = Extract<MessageName, `${string}perhaps-done`>
/** A new quote, or a token. */
const MAKES_NOTHING = /^\/(v2\/quote|oauth2\/token)\/?(\?|$)/

/** Returns the error of an unsuccessful reply, with the service's own message, if any, in the caller's fields. */
export function refusal({ status, headers, body }: UpstreamReply, nameFields?: (text: string) => string): GatewayError {
  const said = serviceSays(serviceMessage(body, nameFields))
  const asked = timeAsked(headers)
  const later = asked === undefined ? {} : { 'Retry-After': asked }
  if (status === 503) {
    const retry = { 'Retry-After': String(RETRY_AFTER_SECONDS), ...later }
    return gatewayError('service-unavailable', { serviceSays: said }, { serviceStatus: status, headers: retry })
  }
  if (status >= 400 && status < 500) {
    const challenged = status === 401 ? { 'WWW-Authenticate': CHALLENGE, ...later } : later
    return gatewayError(
      refusalName(status),
      { serviceSays: said },
      { status, serviceStatus: status, headers: challenged },
    )
  }
  if (status >= 300 && status < 400) {
    return gatewayError('service-failed/redirect', { status }, { serviceStatus: status })
  }
  return gatewayError('service-failed', { status, serviceSays: said }, { serviceStatus: status })
}

/** Returns the error of a call with a credential that the service has just refused to another call. */
export function credentialRefused(): GatewayError {
  return refusal({ status: 401, headers: {}, body: Buffer.alloc(0) })
}

const RETRY_AFTER_SECONDS = 5

/** Returns the name of the message for a status with which the service refuses a call. */
function refusalName(status: number) {
  switch (status) {
    case 401:
      return 'service-refused/401'
    case 403:
      return 'service-refused/403'
    case 404:
      return 'service-refused/404'
    case 429:
      return 'service-refused/429'
    default:
      return 'service-refused'
  }
}

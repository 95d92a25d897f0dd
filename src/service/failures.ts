import { CHALLENGE, GatewayError, gatewayError } from '../errors.ts'
import { serviceMessage } from './error-message.ts'
import type { NoReply, UpstreamReply } from './exchange.ts'
import { timeAsked } from './retries.ts'

/** The error of a call that got no whole reply. */
export function noReplyError(error: NoReply): GatewayError {
  switch (error.silence) {
    case 'unsent':
      return new GatewayError(
        'service-unreachable',
        'The service cannot be reached; nothing was sent to it. Try again later.',
        { cause: error },
      )
    case 'busy':
      return new GatewayError(
        'overloaded',
        'The gateway has no free connection to the service; nothing was sent. Try again in a second.',
        { cause: error, headers: { 'Retry-After': '1' } },
      )
    case 'withdrawn':
      return gatewayError('interrupted', {}, { cause: error, headers: { 'Retry-After': '1' } })
    case 'late':
      return new GatewayError('service-silent', 'The service did not answer in time. Try again later.', {
        cause: error,
      })
    case 'lost':
      return new GatewayError('service-failed', 'The connection to the service broke before it answered. Try again.', {
        cause: error,
      })
    case 'too-large':
      return new GatewayError(
        'service-unreadable',
        'The reply of the service is too large to be read. Tell the operator of the gateway.',
        {
          cause: error,
        },
      )
    default:
      return error.silence satisfies never
  }
}

/** The error of a reply that is no success, with the service's own message, if it has one, in the caller's fields. */
export function refusal({ status, headers, body }: UpstreamReply, nameFields?: (text: string) => string): GatewayError {
  const words = serviceMessage(body, nameFields)
  const asked = timeAsked(headers)
  const later = asked === undefined ? {} : { 'Retry-After': asked }
  if (status === 503) {
    return new GatewayError('service-unavailable', said('The service is not available now; try again later', words), {
      serviceStatus: status,
      headers: { 'Retry-After': String(RETRY_AFTER_SECONDS), ...later },
    })
  }
  if (status >= 400 && status < 500) {
    const headers = status === 401 ? { 'WWW-Authenticate': CHALLENGE, ...later } : later
    return new GatewayError('service-refused', said(REFUSALS.get(status) ?? 'The service refused the call', words), {
      status,
      serviceStatus: status,
      headers,
    })
  }
  if (status >= 300 && status < 400) {
    return new GatewayError(
      'service-failed',
      `The service answered with a redirect (${status}), which is not followed.`,
      { serviceStatus: status },
    )
  }
  return new GatewayError('service-failed', said(`The service failed with status ${status}; try again later`, words), {
    serviceStatus: status,
  })
}

/** The error of a call with a credential that the service has just refused to another call. */
export function credentialRefused(): GatewayError {
  return refusal({ status: 401, headers: {}, body: Buffer.alloc(0) })
}

const RETRY_AFTER_SECONDS = 5

const REFUSALS = new Map([
  [401, 'The service does not accept the credential; check the Client ID and the Client Secret'],
  [403, 'The service does not permit this with the credential that was sent'],
  [404, 'The service does not know it; check the number'],
  [429, 'The service is asked too often; try again later'],
])

function said(sentence: string, words: string | undefined): string {
  return words === undefined ? `${sentence}.` : `${sentence}. The service says: ${words}`
}

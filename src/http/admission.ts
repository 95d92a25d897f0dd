import type { IncomingMessage } from 'node:http'
import type { MiddlewareHandler } from 'hono'
import { GatewayError } from '../errors.ts'
import type { Env, Unavailable } from './env.ts'

/** Lets a call in, or throws: the listener takes none for now, or the source of this one makes too many. */
export function admission(limitSource: (incoming: IncomingMessage) => void): MiddlewareHandler<Env> {
  return (c, next) => {
    const { incoming, unavailable } = c.env
    if (unavailable) throw unavailableError(unavailable)
    limitSource(incoming)
    return next()
  }
}

function unavailableError(unavailable: Unavailable): GatewayError {
  const { message, retryAfter } = UNAVAILABLE[unavailable]
  // The body is not read, and the next call may find more room over another connection.
  return new GatewayError(unavailable, message, { headers: { 'Retry-After': retryAfter, Connection: 'close' } })
}

const UNAVAILABLE = {
  overloaded: { message: 'The gateway is overloaded. Try again in a second.', retryAfter: '1' },
  draining: { message: 'The gateway is shutting down. Try again in a few seconds.', retryAfter: '5' },
} as const

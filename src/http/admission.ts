import type { IncomingMessage } from 'node:http'
import type { MiddlewareHandler } from 'hono'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Env, Unavailable } from './env.ts'

/** Admits a call, or throws: the gateway is shutting down or overloaded, or the source makes too many calls. */
export function admission(limitSource: (incoming: IncomingMessage) => void): MiddlewareHandler<Env> {
  return (c, next) => {
    const { incoming, unavailable } = c.env
    if (unavailable) throw unavailableError(unavailable)
    c.get('call').share.admit()
    limitSource(incoming)
    return next()
  }
}

function unavailableError(unavailable: Unavailable): GatewayError {
  // The body is not read.
  return gatewayError(unavailable, {}, { headers: { 'Retry-After': '5', Connection: 'close' } })
}

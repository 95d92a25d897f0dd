import type { IncomingMessage } from 'node:http'
import type { Context, Handler } from 'hono'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Env, Unavailable } from './env.ts'

/** Puts admission before a handler: while the gateway shuts down or is overloaded, or the source makes too many calls, it throws. */
export type Admitted = (handler: Handler<Env>) => Handler<Env>

/** Makes the admission of a listener. A middleware would cost every call a promise and a closure more. */
export function admission(limitSource: (incoming: IncomingMessage) => void): Admitted {
  return (handler) => (c: Context<Env>, next) => {
    const { incoming, unavailable } = c.env
    if (unavailable) throw unavailableError(unavailable)
    c.get('call').share.admit()
    limitSource(incoming)
    return handler(c, next)
  }
}

function unavailableError(unavailable: Unavailable): GatewayError {
  // The body is not read.
  return gatewayError(unavailable, {}, { headers: { 'Retry-After': '5', Connection: 'close' } })
}

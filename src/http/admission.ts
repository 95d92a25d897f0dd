import type { IncomingMessage } from 'node:http'
import type { Handler } from 'hono'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Env, Unavailable } from './env.ts'

/** Puts a check before a handler. A middleware would cost every call two promises and a closure more. */
export type Checked = (handler: Handler<Env>) => Handler<Env>

/** Makes the admission of a listener: while the gateway shuts down or is overloaded, or the source makes too many calls, it throws. */
export function admission(limitSource: (incoming: IncomingMessage) => void): Checked {
  return (handler) => (c, next) => {
    const { incoming, unavailable, call } = c.env
    if (unavailable) throw unavailableError(unavailable)
    call.share.admit()
    limitSource(incoming)
    return handler(c, next)
  }
}

function unavailableError(unavailable: Unavailable): GatewayError {
  // The body is not read.
  return gatewayError(unavailable, {}, { headers: { 'Retry-After': '5', Connection: 'close' } })
}

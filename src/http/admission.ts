import type { IncomingMessage } from 'node:http'
import type { Handler } from 'hono'
import type { BrowserChecks } from '../callers/browsers.ts'
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

/** Refuses requests of other sites' pages, and those under an unknown host name. */
export function refuseForeignPages({ demandOwnOrigin, demandOwnHost }: BrowserChecks): Checked {
  return (handler) => (c, next) => {
    demandOwnOrigin(c.env.incoming)
    demandOwnHost(c.env.incoming)
    return handler(c, next)
  }
}

/** Refuses requests of other sites' pages. Health checks are answered under any host name. */
export function refuseForeignOrigins({ demandOwnOrigin }: Pick<BrowserChecks, 'demandOwnOrigin'>): Checked {
  return (handler) => (c, next) => {
    demandOwnOrigin(c.env.incoming)
    return handler(c, next)
  }
}

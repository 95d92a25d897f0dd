import type { MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import { beginCall } from '../observe/call.ts'
import type { LogCall } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Env } from './env.ts'

/** Where calls are recorded. */
export interface Observers {
  readonly logCall: LogCall
  readonly metrics: Pick<Metrics, 'countCall'>
}

/** Gives every call a request id and a clock, and records it in the log and the metrics once it is answered. */
export function observeCalls({ logCall, metrics }: Observers): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { incoming, outgoing } = c.env
    // The pattern of the last route that matches, because a path itself may contain anything.
    const call = beginCall(incoming, routePath(c, -1))
    c.set('call', call)
    await next()
    logCall(call, incoming, outgoing.statusCode)
    metrics.countCall(call, outgoing.statusCode)
  }
}

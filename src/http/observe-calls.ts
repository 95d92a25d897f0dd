import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import { beginCall, type Share } from '../observe/call.ts'
import { runCall } from '../observe/current-call.ts'
import type { LogCall } from '../observe/log.ts'
import type { Meters } from '../observe/meters.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { CountUse } from '../observe/use-counts.ts'
import type { Env } from './env.ts'

/** The records of calls, and the limits that they share. */
export interface Observers {
  readonly openShare: (incoming: IncomingMessage, outgoing: ServerResponse) => Share
  readonly logCall: LogCall
  readonly countCall: Meters['countCall']
  readonly countUse: CountUse
  /** Undefined without an SDK of OpenTelemetry. */
  readonly tracing: Tracing | undefined
}

/** Gives every call a request id, a start time and its share of the limits. Logs and counts it when it is answered. */
export function observeCalls({ openShare, logCall, countCall, countUse, tracing }: Observers): MiddlewareHandler<Env> {
  return async (c, next) => {
    const { incoming, outgoing } = c.env
    const { path } = c.req
    // The gateway's own pages are known by their pattern, because such a path may contain anything.
    const route = path.startsWith('/own') ? routePath(c, -1) : path
    const call = beginCall(incoming, route, openShare(incoming, outgoing))
    c.set('call', call)
    try {
      await (tracing ? tracing.run(call, incoming, () => runCall(call, next)) : runCall(call, next))
    } finally {
      call.share.leave()
    }
    logCall(call, incoming, outgoing.statusCode)
    countCall(call, outgoing.statusCode)
    countUse(call, incoming, outgoing.statusCode)
    tracing?.end(call, outgoing.statusCode)
    call.afterwards?.()
  }
}

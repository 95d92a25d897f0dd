import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context, Handler } from 'hono'
import type { Share } from '../observe/call.ts'
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

/** Puts the observation of calls around the handler of a route. */
export type Observed = (route: string, handler: Handler<Env>) => Handler<Env>

/**
 * Gives every call its route and its share of the limits. Answers what its handler throws, and logs and counts the call
 * when it is answered. Hono gets its response at once: each promise in a row costs every call.
 */
export function observeCalls(
  { openShare, logCall, countCall, countUse, tracing }: Observers,
  answerError: (c: Context<Env>, error: unknown) => void,
): Observed {
  async function run(c: Context<Env>, handler: Handler<Env>): Promise<void> {
    const { incoming, outgoing, call } = c.env
    try {
      await (tracing
        ? tracing.run(call, incoming, () => runCall(call, handler, c, next))
        : runCall(call, handler, c, next))
    } catch (error) {
      answer(c, error)
    } finally {
      call.share.leave()
    }
    logCall(call, incoming, outgoing.statusCode)
    countCall(call, outgoing.statusCode)
    countUse(call, incoming, outgoing.statusCode)
    tracing?.end(call, outgoing.statusCode)
  }

  function answer(c: Context<Env>, error: unknown): void {
    try {
      answerError(c, error)
    } catch {
      // If even the error reply fails, the connection closes.
      c.env.outgoing.destroy()
    }
  }

  return (route, handler) => (c) => {
    const { incoming, outgoing, call } = c.env
    call.route = route
    call.share = openShare(incoming, outgoing)
    void run(c, handler)
    return RESPONSE_ALREADY_SENT
  }
}

/** A handler that answers is the last one. */
const next = async () => {}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context, Handler } from 'hono'
import type { BrowserChecks } from '../callers/browsers.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import { type Call, runCall, type Share } from '../observe/call.ts'
import type { LogCall } from '../observe/log.ts'
import type { Meters } from '../observe/meters.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { CountUse } from '../observe/use-counts.ts'

/** The reason why a listener refuses new calls. */
export type Unavailable = 'draining'

/** The values that Hono carries with a request. Its variables would cost every call a map. */
export interface Env {
  Bindings: {
    readonly incoming: IncomingMessage
    readonly outgoing: ServerResponse
    readonly unavailable: Unavailable | undefined
    readonly call: Call
  }
}

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
type Observed = (route: string, handler: Handler<Env>) => Handler<Env>

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

/** Puts a check before a handler. A middleware would cost every call two promises and a closure more. */
export type Checked = (handler: Handler<Env>) => Handler<Env>

/** Admits a call; while the gateway shuts down or is overloaded, it throws. */
export const admitted: Checked = (handler) => (c, next) => {
  const { unavailable, call } = c.env
  if (unavailable) throw unavailableError(unavailable)
  call.share.admit()
  return handler(c, next)
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

let endOfThisTurn: Promise<void> | undefined

/**
 * Resolves at the end of this turn of the event loop. Answers that are written there leave right after each other,
 * because most of the cost of a write is to wake the receiving process (docs/architecture.md).
 */
export function endOfTurn(): Promise<void> {
  endOfThisTurn ??= new Promise((resolve) => {
    setImmediate(() => {
      endOfThisTurn = undefined
      resolve()
    })
  })
  return endOfThisTurn
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context, Handler } from 'hono'
import type { BrowserChecks } from '../callers/browsers.ts'
import type { Shares } from '../callers/limits.ts'
import { gatewayError } from '../errors.ts'
import { type Call, runCall } from '../observe/call.ts'
import type { EndCall } from '../observe/end-of-call.ts'
import type { Tracing } from '../observe/tracing.ts'
import { requireMethod } from './routing.ts'

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

/** The steps that a call of a route passes before its handler. */
export interface Entrance {
  /** @default any method; a `HEAD` is answered like a `GET` */
  readonly methods?: readonly string[]
  /**
   * Who may call where callers need no credential: the gateway's own pages, under its own names, or under any host name.
   * @default pages under its own names
   */
  readonly from?: 'own pages' | 'any host' | 'anywhere'
  /** True for calls that are refused while there are too many. Health checks and the gateway's own pages never are. */
  readonly isAdmitted?: boolean
}

/** Answers a call: it writes to `c.env.outgoing`. */
export type Work = (c: Context<Env>) => unknown

/** The parts that all calls share. */
export interface CallsDeps {
  readonly shares: Pick<Shares, 'open'>
  readonly endCall: EndCall
  /** Undefined without an SDK of OpenTelemetry. */
  readonly tracing: Tracing | undefined
}

/**
 * Makes the handlers of routes: each call gets its route and its share of the limits, is refused or handled, and ends, whatever
 * happens. Hono gets its response at once: each promise in a row, and each middleware, costs every call.
 */
export function createCalls(
  { shares, endCall, tracing }: CallsDeps,
  /** Undefined where every caller needs a credential. */
  browserChecks: BrowserChecks | undefined,
  answerError: (c: Context<Env>, error: unknown) => void,
): (route: string, entrance: Entrance, answer: Work) => Handler<Env> {
  return (route, { methods, from = 'own pages', isAdmitted = false }, answer) => {
    const run = async (c: Context<Env>): Promise<void> => {
      const { incoming, outgoing, unavailable, call } = c.env
      try {
        if (browserChecks && from !== 'anywhere') {
          browserChecks.demandOwnOrigin(incoming)
          if (from === 'own pages') browserChecks.demandOwnHost(incoming)
        }
        if (methods) requireMethod(incoming.method, methods)
        if (isAdmitted) {
          // The body is not read.
          if (unavailable) throw gatewayError(unavailable, {}, { headers: { 'Retry-After': '5', Connection: 'close' } })
          call.share.admit()
        }
        await answer(c)
      } catch (error) {
        try {
          answerError(c, error)
        } catch {
          // If even the error reply fails, the connection closes.
          outgoing.destroy()
        }
      } finally {
        call.share.leave()
      }
      endCall(call, incoming, outgoing.statusCode)
    }
    return (c) => {
      const { incoming, outgoing, call } = c.env
      call.route = route
      call.share = shares.open(incoming, outgoing)
      if (tracing) void tracing.run(call, incoming, () => runCall(call, run, c))
      else void runCall(call, run, c)
      return RESPONSE_ALREADY_SENT
    }
  }
}

let endOfThisTurn: Promise<void> | undefined

/**
 * Resolves at the end of this turn of the event loop. Answers that are written there leave right after each other,
 * because most of the cost of a write is to wake the receiving process (docs/architecture.md).
 */
export function endOfTurn(): Promise<void> {
  if (endOfThisTurn) return endOfThisTurn
  const { promise, resolve } = Promise.withResolvers<void>()
  endOfThisTurn = promise
  setImmediate(() => {
    endOfThisTurn = undefined
    resolve()
  })
  return promise
}

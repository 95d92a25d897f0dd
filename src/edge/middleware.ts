import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context, Handler } from 'hono'
import { gatewayError } from '../language/errors.ts'
import type { EndCall } from '../runtime/call.ts'
import { type Call, runCall, type Share } from '../runtime/call.ts'
import type { Tracing } from '../runtime/tracing.ts'
import { readBytes } from './body/bytes.ts'
import type { BrowserChecks } from './callers/browsers.ts'
import type { Shares } from './callers/limits.ts'
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

/** The demands of a route on its calls. Each route states all of them, so that none stands open because something was forgotten. */
export interface Demands {
  /** A `HEAD` is answered like a `GET`. */
  readonly methods: readonly string[] | 'any'
  /** Who may call where callers need no credential: the gateway's own pages, under its own names, or under any host name. */
  readonly from: 'own pages' | 'any host' | 'anywhere'
  /** Refused while too many calls are under way, or never: for answers that cost nothing. */
  readonly admission: 'counted' | 'exempt'
  /**
   * The largest body that the route explains to anybody who sends it: the door reads it, and reserves the memory that an
   * explanation may take. 0 for routes that explain nothing.
   */
  readonly explainsBytes: number
}

/** Answers a call: it writes to `c.env.outgoing`. The body is there only for routes that explain it. */
export type Work = (c: Context<Env>, body: Buffer) => unknown

/** The memory of an explanation, as a multiple of what it explains. */
const EXPLANATION_FACTOR = 8
const NO_BODY = Buffer.alloc(0)

/** The parts that all calls share. */
export interface CallsDeps {
  readonly shares: Pick<Shares, 'open' | 'largestBodyBytes'>
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
): (route: string, demands: Demands, answer: Work) => Handler<Env> {
  const mostBytes = Math.floor(shares.largestBodyBytes / EXPLANATION_FACTOR)
  return (route, { methods, from, admission, explainsBytes }, answer) => {
    const bodyBytes = Math.min(explainsBytes, mostBytes)
    const run = async (c: Context<Env>): Promise<void> => {
      const { incoming, outgoing, unavailable, call } = c.env
      try {
        if (browserChecks && from !== 'anywhere') {
          browserChecks.demandOwnOrigin(incoming)
          if (from === 'own pages') browserChecks.demandOwnHost(incoming)
        }
        if (methods !== 'any') requireMethod(incoming.method, methods)
        if (admission === 'counted') {
          // The body is not read.
          if (unavailable) throw gatewayError(unavailable, {}, { headers: { 'Retry-After': '5', Connection: 'close' } })
          call.share.admit()
        }
        await answer(c, bodyBytes === 0 ? NO_BODY : await explainedBody(incoming, bodyBytes, call.share))
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

/** Reads a body that is explained; the call counts as under way then. */
async function explainedBody(incoming: IncomingMessage, limitBytes: number, share: Share): Promise<Buffer> {
  const bytes = await readBytes(incoming, limitBytes, share)
  share.enter()
  share.takeBody((EXPLANATION_FACTOR - 1) * bytes.length)
  // One in a turn of the event loop: calls go on between explanations, however many wait.
  lastExplanation = lastExplanation.then(() => new Promise(setImmediate))
  await lastExplanation
  return bytes
}

let lastExplanation = Promise.resolve()

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

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context, Handler } from 'hono'
import { gatewayError } from '../language/errors.ts'
import { type Call, type CallerFacts, type EndCall, runCall, type Share, type Use } from '../runtime/call.ts'
import type { Tracing } from '../runtime/tracing.ts'
import { type BodyDemand, makeRoomToRead, untouched } from './body/receive.ts'
import type { BrowserChecks } from './callers/browsers.ts'
import type { Caller, Credentials, PassThrough } from './callers/caller.ts'
import type { Shares } from './callers/shares.ts'
import { requireMethod } from './routing.ts'

/*
 * The one door of the public listener. Every call arrives here, in one order: the page that sends it, the room for it, its method,
 * its body, its share of what is under way, its caller. The demands of its route say what each step asks.
 */

/** The values that Hono carries with a request. Its variables would cost every call a map. */
export interface Env {
  Bindings: {
    readonly incoming: IncomingMessage
    readonly outgoing: ServerResponse
    /** The listener takes no new calls. */
    readonly isDraining: boolean
    readonly call: Call
  }
}

/** The demands of a route on its calls. Each route states all of them, so that none stands open because something was forgotten. */
export interface Demands<Body, Caller> {
  /** The interface that is used, for the counts of calls; undefined for the gateway's own pages. */
  readonly use: Use | undefined
  /** The callers allowed where no credential is needed: the gateway's own pages, under its own names, or under any host name. */
  readonly from: 'own pages' | 'any host' | 'anywhere'
  /** Refused while too many calls are under way, and one of them; or never, for answers that cost nothing. */
  readonly admission: 'counted' | 'exempt'
  /** A `HEAD` is answered like a `GET`. */
  readonly methods: readonly string[] | 'any'
  /** How large a body, what it says, and what its work costs. */
  readonly body: BodyDemand<Body>
  readonly who: Who<Body, Caller>
  /** Returns the error of a call that is refused for its method or its body: some are answered as their caller wants. */
  readonly refused: (error: unknown, incoming: IncomingMessage, call: Call) => unknown
}

/**
 * Finds out who calls. What the path tells is asked before the body arrives; a credential after it, because its check may wait for a
 * turn, which the sender of an incomplete body could hold for as long as it wants.
 */
export type Who<Body, Caller> = (incoming: IncomingMessage, call: Call) => (body: Body) => Caller | Promise<Caller>

/** Anybody may call, and nobody asks who it is. */
const anybody: Who<unknown, undefined> = () => () => undefined

/* Who calls, for each interface. Only these write the caller of a call, and let it take its part of the caller's limits. */

/** The caller of a version-1 call. */
export const legacyCaller =
  (credentials: Credentials): Who<unknown, Caller> =>
  (incoming, call) =>
  async () => {
    const { share } = call.request
    const caller = await credentials.identify(incoming, share)
    call.caller = factsOf(caller)
    caller.profile.limits?.enter(share)
    return caller
  }

/** The caller whose numbers an explanation may show: one that the gateway itself verifies. */
export const verifiedCaller =
  (credentials: Credentials): Who<unknown, Caller | undefined> =>
  (incoming, call) =>
  () =>
    noteVerified(credentials, incoming, call)

/** The account of a call that is passed through. */
export const passedCaller =
  (credentials: Credentials): Who<Buffer | Readable | null, PassThrough> =>
  (incoming, call) =>
  async (body) => {
    const { share } = call.request
    const account = await credentials.passThrough(incoming, body instanceof Readable, share)
    const { tenant, acceptance, authorization, limits } = account
    call.caller = { tenant, acceptance: authorization === undefined ? undefined : acceptance }
    limits?.enter(share)
    return account
  }

/** Notes the caller of a call, if the gateway itself verifies it: also of a refused one, whose error has the shape that it wants. */
export async function noteVerified(
  credentials: Credentials,
  incoming: IncomingMessage,
  call: Call,
): Promise<Caller | undefined> {
  const caller = await credentials.verified(incoming, call.request.share)
  if (caller) call.caller = factsOf(caller)
  return caller
}

function factsOf({ tenant, account, profile }: Caller): CallerFacts {
  const { errorStatus, support, deprecation } = profile
  return { tenant, acceptance: account.acceptance, errorStatus, support, legacyHeaders: deprecation.headers }
}

const asItIs = (error: unknown) => error

/** The demands of a page, which anybody may see. */
export const PAGE = {
  use: undefined,
  from: 'own pages',
  admission: 'counted',
  methods: ['GET'],
  // A page takes milliseconds to make, like an explanation.
  body: { ...untouched, isExplained: true },
  who: anybody,
  refused: asItIs,
} as const satisfies Demands<undefined, undefined>

/** Those of an answer that is made before it is asked for. */
export const READY_MADE = { ...PAGE, admission: 'exempt', methods: 'any', body: untouched } as const

/** A call that has arrived. */
export interface Arrival<Body, Caller> {
  readonly caller: Caller
  readonly body: Body
  readonly share: Share
}

/** Answers a call that has arrived: it writes to `c.env.outgoing`. */
export type RouteWork<Body, Caller> = (c: Context<Env>, arrival: Arrival<Body, Caller>) => unknown

/** Makes the handler of a route. */
type Door = <Body, Caller>(
  route: string,
  demands: Demands<Body, Caller>,
  answer: RouteWork<Body, Caller>,
) => Handler<Env>

/**
 * Makes the door. Each call gets its route and its share of the limits, arrives and is answered, or is refused, and ends, whatever
 * happens. Hono gets its response at once: each promise in a row, and each middleware, costs every call.
 */
export function createDoor({
  shares,
  browserChecks,
  endCall,
  tracing,
  answerError,
}: {
  readonly shares: Shares
  /** Undefined where every caller needs a credential. */
  readonly browserChecks: BrowserChecks | undefined
  readonly endCall: EndCall
  /** Undefined without an SDK of OpenTelemetry. */
  readonly tracing: Tracing | undefined
  readonly answerError: (c: Context<Env>, error: unknown) => Promise<unknown>
}): Door {
  async function arrive<Body, Caller>(
    { incoming, isDraining, call }: Env['Bindings'],
    { from, admission, methods, body: wanted, who, refused }: Demands<Body, Caller>,
  ): Promise<Arrival<Body, Caller>> {
    const { share } = call.request
    const isCounted = admission === 'counted'
    if (browserChecks && from !== 'anywhere') {
      browserChecks.demandOwnOrigin(incoming)
      if (from === 'own pages') browserChecks.demandOwnHost(incoming)
    }
    if (isCounted) {
      // The body is not read.
      if (isDraining) throw gatewayError('draining', {}, { headers: { 'Retry-After': '5', Connection: 'close' } })
      share.admit()
    }
    const identify = who(incoming, call)
    let body: Body
    try {
      if (methods !== 'any') requireMethod(incoming.method, methods)
      const { lengthBytes, read } = await wanted.receive(incoming, share)
      if (isCounted) share.enter()
      const turn = makeRoomToRead(share, lengthBytes, wanted.isExplained)
      if (turn) await turn
      body = read(call)
    } catch (error) {
      throw await refused(error, incoming, call)
    }
    return { caller: await identify(body), body, share }
  }

  return (route, demands, answer) => {
    const run = async (c: Context<Env>): Promise<void> => {
      const { incoming, outgoing, call } = c.env
      try {
        await answer(c, await arrive(c.env, demands))
      } catch (error) {
        try {
          await answerError(c, error)
        } catch {
          // If even the error reply fails, the connection closes.
          outgoing.destroy()
        }
      } finally {
        call.request.share.leave()
      }
      endCall(call, incoming, outgoing.statusCode)
    }
    return (c) => {
      const { incoming, outgoing, call } = c.env
      const { request, waits } = call
      request.route = route
      request.use = demands.use
      request.share = shares.open(incoming, outgoing)
      if (tracing) void tracing.run(call, incoming, () => runCall(waits, run, c))
      else void runCall(waits, run, c)
      return RESPONSE_ALREADY_SENT
    }
  }
}

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
import type { Shares } from './limits/shares.ts'
import { requireMethod } from './routing.ts'

/*
 * The one door of the public listener. Every call arrives here, and the steps have one order: the page that sends it, the room for it, its
 * method, its body, its share of the calls under way, its caller. Its route's demands say what each step checks.
 */

/** The values that Hono carries with a request. Its variables would cost every call a map. */
export interface Env {
  Bindings: {
    readonly incoming: IncomingMessage
    readonly outgoing: ServerResponse
    /** The listener accepts no new calls. */
    readonly isDraining: boolean
    readonly call: Call
  }
}

/** A route's demands on its calls. Each route states all of them, so that none is left open because something was forgotten. */
export interface Demands<Body, Caller> {
  /** The interface that the call uses, for the counts of calls; undefined for the gateway's own pages. */
  readonly use: Use | undefined
  /**
   * The callers allowed if no credential is needed: the gateway's own pages under its own names, the same under any host name, or anyone.
   */
  readonly from: 'own pages' | 'any host' | 'anywhere'
  /** `counted` calls are refused while too many are under way, and count as under way; `exempt` is for answers that cost nothing. */
  readonly admission: 'counted' | 'exempt'
  /** A `HEAD` is answered like a `GET`. */
  readonly methods: readonly string[] | 'any'
  /** How large the body may be, how it is read, and what work it makes. */
  readonly body: BodyDemand<Body>
  readonly who: Who<Body, Caller>
  /** Returns the error of a call that is refused for its method or its body: some callers want it in their own form. */
  readonly refused: (error: unknown, incoming: IncomingMessage, call: Call) => unknown
}

/**
 * Finds out who calls. What the path tells is checked before the body arrives. A credential is checked after it, because its check may wait
 * for a turn, which the sender of an incomplete body could hold for as long as it wants.
 */
export type Who<Body, Caller> = (incoming: IncomingMessage, call: Call) => (body: Body) => Caller | Promise<Caller>

/** Anyone may call without being identified. */
const anybody: Who<unknown, undefined> = () => () => undefined

/* The caller, for each interface. Only these record a call's caller and count the call against the caller's limits. */

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

/** The caller whose numbers an explanation may show, if the gateway itself verifies it. */
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

/** Notes a call's caller if the gateway itself verifies it, even for a refused call, because the caller decides the shape of the error. */
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

/** The demands of a page, which anyone may see. */
export const PAGE = {
  use: undefined,
  from: 'own pages',
  admission: 'counted',
  methods: ['GET'],
  // Like an explanation, a page takes milliseconds to make.
  body: { ...untouched, isExplained: true },
  who: anybody,
  refused: asItIs,
} as const satisfies Demands<undefined, undefined>

/** The demands of an answer that is made in advance. */
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
 * Makes the door. Whatever happens, each call gets its route and its share of the limits, arrives and is answered or refused, and ends.
 * Hono gets its response at once, because each chained promise and each middleware costs every call.
 */
export function createDoor({
  shares,
  browserChecks,
  endCall,
  tracing,
  replyError,
}: {
  readonly shares: Shares
  /** Undefined if every caller needs a credential. */
  readonly browserChecks: BrowserChecks | undefined
  readonly endCall: EndCall
  /** Undefined without an OpenTelemetry SDK. */
  readonly tracing: Tracing | undefined
  readonly replyError: (c: Context<Env>, error: unknown) => Promise<unknown>
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
      // The connection closes, because the body is not read.
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
          await replyError(c, error)
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

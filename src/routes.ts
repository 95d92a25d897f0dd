import { type Context, Hono, type NotFoundHandler } from 'hono'
import { createChecks } from './calls/check.ts'
import { dryRun } from './calls/dry-run.ts'
import { dryRunEvent } from './calls/explain-event.ts'
import { dryRunReply } from './calls/explain-reply.ts'
import { legacyCall, legacyRefusal } from './calls/legacy-call.ts'
import { passThrough } from './calls/pass-through.ts'
import { noteGeneration, readFields } from './calls/read-request.ts'
import type { CallRooms } from './calls/verb.ts'
import { alive, type ErrorPage, readiness, reply, replyExplanation, toGatewayError } from './edge/answers.ts'
import { explained, streamed, whole } from './edge/body/receive.ts'
import type { BrowserChecks } from './edge/callers/browsers.ts'
import { deprecationFor } from './edge/callers/caller.ts'
import type { Callers } from './edge/callers/open.ts'
import {
  createDoor,
  type Demands,
  type Env,
  legacyCaller,
  PAGE,
  passedCaller,
  READY_MADE,
  type RouteWork,
  verifiedCaller,
} from './edge/door.ts'
import type { Shares } from './edge/limits/shares.ts'
import { type Router, UNREADABLE, WEBHOOK_ROUTE } from './edge/routing.ts'
import type { Answer } from './language/answer.ts'
import { gatewayError } from './language/errors.ts'
import { type EndCall, recordError } from './runtime/call.ts'
import type { Metrics } from './runtime/metrics.ts'
import type { CallRecorder } from './runtime/recorder.ts'
import type { Reloads } from './runtime/reloads.ts'
import { endOfTurn } from './runtime/time.ts'
import type { Tracing } from './runtime/tracing.ts'
import type { ServiceEvents } from './state/events/events.ts'
import { EVENT_LIMIT_BYTES } from './state/events/receive.ts'
import type { UseCounts } from './state/uses/counts.ts'

/** The open rooms of a gateway, for its routes and pages. */
export interface GatewayRooms extends CallRooms {
  readonly callers: Callers
  readonly shares: Shares
  readonly browserChecks: BrowserChecks
  readonly events: ServiceEvents
  readonly metrics: Metrics
  readonly reloads: Reloads
  readonly uses: UseCounts
  /** Decides the route of a request, on its decoded path. */
  readonly route: Router
  readonly ready: () => boolean
  readonly endCall: EndCall
  /** Undefined without an OpenTelemetry SDK. */
  readonly tracing: Tracing | undefined
  /** Undefined without RECORD_FILE. */
  readonly recorder: CallRecorder | undefined
  /** The largest body that is explained. */
  readonly mostExplainedBytes: number
}

/** The pages of both listeners. */
export interface Pages {
  readonly public: readonly PageRoute[]
  readonly admin: readonly AdminRoute[]
  readonly publicError: ErrorPage
  readonly adminError: ErrorPage
  readonly close: () => void
}

/** A page of the public listener. The bytes are the body's, for a page that takes one. */
interface PageRoute {
  readonly path: string
  readonly demands: Demands<Buffer | undefined, undefined>
  /** Returns undefined if it has answered by itself. */
  readonly answer: (
    request: Env['Bindings']['incoming'],
    bytes: Buffer | undefined,
    env: Env['Bindings'],
  ) => Answer | undefined | Promise<Answer | undefined>
}

/** A route of the admin listener, which only reads. The parameter is the last part of a path such as `/bookings/:name`. */
export interface AdminRoute {
  readonly path: string
  readonly answer: (request: Env['Bindings']['incoming'], parameter: string | undefined) => Answer | Promise<Answer>
}

/**
 * Builds the app of the public listener: the table of its routes with their demands. Handlers read `c.env.incoming` and write to
 * `c.env.outgoing`.
 */
export function createApp(rooms: GatewayRooms, pages: Pages): Hono<Env> {
  const { config, catalog, callers, route, ready, recorder } = rooms
  const { reception } = rooms.events
  const app = new Hono<Env>({ getPath: (_request, options) => route(options?.env?.incoming.url ?? '/') })

  // If callers need no credential, web pages of other sites are refused.
  const browserChecks = callers.mode === 'fixed' ? rooms.browserChecks : undefined
  const door = createDoor({ ...rooms, browserChecks, replyError })
  // Only one handler may match a call, because Hono chains several.
  const all = <Body, Caller>(path: string, demands: Demands<Body, Caller>, answer: RouteWork<Body, Caller>) =>
    app.all(path, door(path, demands, answer))

  // Version-1 calls.
  const readRecorded: typeof readFields = (bytes, incoming, call) => {
    call.request.recording = recorder?.begin()
    const body = readFields(bytes, incoming, call)
    noteGeneration(body, call.outcome, catalog)
    return body
  }
  const { headers: deprecation } = deprecationFor(config)
  for (const endpoint of catalog.endpoints.values()) {
    const demands = {
      use: 'version-1',
      from: 'own pages',
      admission: 'counted',
      methods: [endpoint.method],
      body: whole(Math.min(config.BODY_LIMIT_BYTES, rooms.shares.largestBodyBytes), readRecorded),
      who: legacyCaller(callers),
      refused: (error, incoming, call) => legacyRefusal(error, incoming, call, rooms),
    } as const satisfies Demands<unknown, unknown>
    all(`/legacy${endpoint.path}`, demands, async (c, arrival) => {
      const { incoming, call } = c.env
      const answer = await legacyCall(arrival, incoming, endpoint, call, rooms)
      await endOfTurn()
      return reply(c, answer, call.caller.legacyHeaders ?? deprecation)
    })
  }

  // The same calls, explained and not sent.
  const checks = createChecks(rooms)
  const explains = { ...PAGE, body: explained(rooms.mostExplainedBytes, (bytes) => bytes) }
  for (const endpoint of catalog.endpoints.values()) {
    const demands = {
      ...explains,
      use: 'dry-run',
      methods: endpoint.method === 'GET' ? ['GET', 'POST'] : ['POST'],
      body: explained(rooms.mostExplainedBytes, readFields),
      who: verifiedCaller(callers),
    } as const
    all(`/dry-run${endpoint.path}`, demands, async (c, arrival) => {
      const { incoming, call } = c.env
      const explanation = await dryRun(arrival, incoming, endpoint, call, rooms)
      checks.remember(incoming, call, explanation)
      return replyExplanation(c, explanation)
    })
  }
  // Requests of new code, compared with these.
  all('/own/check/*', { ...explains, methods: 'any' }, async (c, { body }) => {
    const { incoming, call } = c.env
    const path = c.req.path.slice('/own/check'.length)
    return reply(
      c,
      /^\/last\/?$/.test(path) ? await checks.last(incoming, call) : await checks.check(incoming, path, body, call),
    )
  })
  all('/own/dry-run/reply/:action', { ...explains, methods: ['POST'] }, (c, { body }) => {
    const compiled = catalog.actions.get(c.req.param('action') ?? '')
    if (!compiled) {
      throw gatewayError('path-unknown/action', { actions: [...catalog.actions.keys()].join(', ') })
    }
    c.env.call.outcome.action = compiled.action.name
    return replyExplanation(c, dryRunReply(body, compiled, rooms))
  })
  all('/own/dry-run/webhook/:event', { ...explains, methods: ['GET', 'POST'] }, (c, { body }) =>
    replyExplanation(c, dryRunEvent(body, c.req.param('event') ?? '', rooms)),
  )

  // Version-2 calls: everything below /v2/, and the service's token endpoint.
  const passed = {
    ...PAGE,
    use: 'version-2',
    methods: 'any',
    body: streamed,
    who: passedCaller(callers),
  } as const
  const passOn = ({ env }: Context<Env>, arrival: Parameters<typeof passThrough>[0]) =>
    passThrough(arrival, env.incoming, env.outgoing, env.call, rooms)
  all('/service', passed, passOn)
  const noTokens = () => () => {
    throw gatewayError('token-not-given', {})
  }
  // Nobody gets a token for one of the gateway's own credentials.
  const whoGetsTokens = callers.mode === 'client' ? passed.who : noTokens
  all('/token', { ...passed, use: undefined, methods: ['POST'], who: whoGetsTokens }, passOn)

  // The service's events, on a path with a secret that no page knows. A wrong secret is answered like an unknown path.
  const event = {
    use: undefined,
    from: 'anywhere',
    admission: 'counted',
    methods: 'any',
    body: whole(Math.min(EVENT_LIMIT_BYTES, rooms.shares.largestBodyBytes), (bytes) => bytes),
    who: (incoming, call) => {
      const recipient = reception.recipient(incoming, call)
      if (!recipient) throw unknownPath()
      return () => recipient
    },
    refused: reception.refused,
  } as const satisfies Demands<unknown, unknown>
  const receive = door(WEBHOOK_ROUTE, event, async (c, arrival) =>
    reply(c, await reception.take(arrival, c.env.incoming)),
  )
  app.post(WEBHOOK_ROUTE, receive)

  // Pages and probes.
  for (const { path, demands, answer } of pages.public)
    all(`/own${path}`, demands, async (c, { body }) => {
      const answered = await answer(c.env.incoming, body, c.env)
      return answered && reply(c, answered)
    })
  const probe = { ...READY_MADE, from: 'any host' } as const
  app.get(
    '/own/healthz',
    door('/own/healthz', probe, (c) => reply(c, alive)),
  )
  app.get(
    '/own/readyz',
    door('/own/readyz', probe, (c) => reply(c, readiness(ready()))),
  )

  // Unknown and refused paths.
  const paths = config.LEGACY_BASE_PATHS.flatMap((base) =>
    [...catalog.endpoints.values()].map(({ path }) => base + path),
  ).join(', ')
  const unknownPath = () => gatewayError('path-unknown', { paths })
  all(UNREADABLE, READY_MADE, (c) => replyError(c, gatewayError('path-unreadable', {})))
  app.notFound(door('/*', READY_MADE, (c) => replyError(c, unknownPath())) as NotFoundHandler<Env>)
  return app

  async function replyError(c: Context<Env>, thrown: unknown): Promise<Response> {
    const { incoming, call } = c.env
    const error = toGatewayError(thrown)
    recordError(call, error)
    const { request, outcome, caller } = call
    const page = pages.publicError(incoming, error)
    if (page) return reply(c, await page)
    return reply(
      c,
      rooms.answerError(error, {
        route: request.route,
        target: incoming.url ?? '',
        own: outcome.own,
        isVersion2: outcome.isVersion2,
        caller,
      }),
    )
  }
}

import type { IncomingMessage } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, type Handler, Hono } from 'hono'
import type { BrowserChecks } from './callers/browsers.ts'
import { commonDeprecation } from './callers/caller.ts'
import { type DryRunDeps, dryRun } from './calls/dry-run.ts'
import { dryRunEvent } from './calls/dry-run-event.ts'
import { dryRunReply } from './calls/dry-run-reply.ts'
import { type LegacyCallDeps, legacyCall } from './calls/legacy-call.ts'
import { type PassThroughDeps, passThrough } from './calls/pass-through.ts'
import type { Config } from './config/config.ts'
import { type GatewayError, gatewayError } from './errors.ts'
import { admission } from './http/admission.ts'
import { endOfTurn } from './http/end-of-turn.ts'
import type { Env } from './http/env.ts'
import { refuseForeignPages } from './http/foreign-pages.ts'
import { toGatewayError } from './http/gateway-error.ts'
import { legacyError } from './http/legacy-answers.ts'
import { type Observers, observeCalls } from './http/observe-calls.ts'
import { problemDetails } from './http/problem-details.ts'
import { reply, replyReadably } from './http/reply.ts'
import { type Router, WEBHOOK_ROUTE } from './http/routing.ts'
import { type Call, recordError } from './observe/call.ts'
import { alive, readiness } from './pages/health.ts'
import { openApiAnswer } from './pages/open-api.ts'
import { welcome } from './pages/welcome.ts'
import type { ReceiveEvent } from './webhooks/receive.ts'

/** The dependencies of the public app. */
export interface AppDeps extends LegacyCallDeps, DryRunDeps, PassThroughDeps, Observers {
  readonly config: Config
  /** Decides the route of a request, on its decoded path. */
  readonly route: Router
  readonly browserChecks: BrowserChecks
  /** Throws if a source address makes too many calls. */
  readonly limitSource: (incoming: IncomingMessage) => void
  readonly ready: () => boolean
  readonly receiveEvent: ReceiveEvent
}

/**
 * Builds the app of the public listener: every route and middleware, in the order in which they apply. Handlers read
 * `c.env.incoming` and write to `c.env.outgoing`.
 */
export function createApp(deps: AppDeps): Hono<Env> {
  const { config, catalog, credentials, browserChecks, route, limitSource, ready } = deps
  const app = new Hono<Env>({ getPath: (_request, options) => route(options?.env?.incoming.url ?? '/') })

  // The request id, the clock, the log line and the metrics of every call.
  app.use(observeCalls(deps))

  // Refuses calls that web pages of other sites send, where callers need no credential.
  if (credentials.mode === 'fixed') app.use(refuseForeignPages(browserChecks, ['/own/healthz', '/own/readyz']))

  // Refuses calls while there are too many. Health checks and the gateway's own pages are always answered.
  const admitted = admission(limitSource)

  // Version-1 calls.
  const legacyRoutes = new Map([...catalog.endpoints.values()].map((endpoint) => [`/legacy${endpoint.path}`, endpoint]))
  const { headers: deprecation } = commonDeprecation(config)
  for (const [path, endpoint] of legacyRoutes) {
    const answerLegacyCall = admitted(async (c) => {
      const answer = await legacyCall(c.env.incoming, endpoint, c.get('call'), deps)
      await endOfTurn()
      return reply(c, answer, c.get('call').legacyHeaders ?? deprecation)
    })
    app.on(endpoint.method, path, answerLegacyCall)
    app.all(path, methodNotAllowed(endpoint.method))
  }

  // The same calls, explained and not sent.
  for (const endpoint of catalog.endpoints.values()) {
    const path = `/dry-run${endpoint.path}`
    const methods = endpoint.method === 'GET' ? ['GET', 'POST'] : ['POST']
    const explain = admitted(async (c) => replyReadably(c, await dryRun(c.env.incoming, endpoint, c.get('call'), deps)))
    app.on(methods, path, explain)
    app.all(path, methodNotAllowed(methods.join(', ')))
  }
  const explainReply = admitted(async (c) => {
    const compiled = catalog.actions.get(c.req.param('action') ?? '')
    if (!compiled) {
      throw gatewayError('path-unknown/action', { actions: [...catalog.actions.keys()].join(', ') })
    }
    c.get('call').action = compiled.action.name
    return replyReadably(c, await dryRunReply(c.env.incoming, compiled, c.get('call'), deps))
  })
  app.post('/own/dry-run/reply/:action', explainReply)
  app.all('/own/dry-run/reply/:action', methodNotAllowed('POST'))
  const explainEvent = admitted(async (c) =>
    replyReadably(c, await dryRunEvent(c.env.incoming, c.req.param('event') ?? '', c.get('call'), deps)),
  )
  app.on(['GET', 'POST'], '/own/dry-run/webhook/:event', explainEvent)
  app.all('/own/dry-run/webhook/:event', methodNotAllowed('GET, POST'))

  // Version-2 calls: everything below /v2/, and the service's token endpoint.
  const passOn = (use: Call['use']) =>
    admitted(async (c) => {
      const call = c.get('call')
      call.use = use
      await passThrough(c.env.incoming, c.env.outgoing, call, deps)
      return RESPONSE_ALREADY_SENT
    })
  app.all('/service', passOn('version-2'))
  app.post('/token', passOn(undefined))
  app.all('/token', methodNotAllowed('POST'))

  // Events of the service. A wrong secret is answered like any other unknown path.
  const receive = admitted(async (c) => {
    const answer = await deps.receiveEvent(c.env.incoming, c.get('call'))
    return answer ? reply(c, answer) : c.notFound()
  })
  app.post(WEBHOOK_ROUTE, receive)

  // The gateway's own pages.
  const description = openApiAnswer(catalog, config.LEGACY_BASE_PATHS)
  app.get('/own/', (c) => reply(c, welcome))
  app.get('/own/openapi.json', (c) => reply(c, description(c.req.header('accept-encoding'))))
  app.get('/own/healthz', (c) => reply(c, alive))
  app.get('/own/readyz', (c) => reply(c, readiness(ready())))

  // Unknown and refused paths.
  app.all('/unreadable', (c) => replyError(c, gatewayError('path-unreadable', {})))
  const paths = config.LEGACY_BASE_PATHS.flatMap((base) =>
    [...catalog.endpoints.values()].map(({ path }) => base + path),
  ).join(', ')
  app.notFound((c) => replyError(c, gatewayError('path-unknown', { paths })))

  app.onError((error, c) => replyError(c, error))
  return app

  /** Answers with an error: on legacy paths, and on unknown ones, in the shape that version-1 callers read. */
  function replyError(c: Context<Env>, thrown: Error): Response {
    const call = c.get('call')
    const error = toGatewayError(thrown)
    recordError(call, error)
    const endpoint = legacyRoutes.get(c.req.path)
    if (endpoint) {
      const answer = legacyError(error, endpoint.family, call.own)
      const hidesStatus = (call.errorStatus ?? config.ERROR_STATUS) === 'ok'
      return reply(c, hidesStatus ? { ...answer, status: 200 } : answer, call.legacyHeaders ?? deprecation)
    }
    return reply(c, isOwn(c, error) ? problemDetails(error) : legacyError(error, 'shipment', ''))
  }
}

/**
 * Tells if an error is answered with problem details: one of a dry run, or of an event. Any other path may be a version-1
 * caller's mistake.
 */
function isOwn(c: Context<Env>, { code }: GatewayError): boolean {
  if (c.req.path === WEBHOOK_ROUTE) return code !== 'path-unknown'
  return DRY_RUN.test(c.env.incoming.url ?? '')
}

const DRY_RUN = /^\/dry-run(\/|$)/

function methodNotAllowed(allowed: string): Handler<Env> {
  return () => {
    throw gatewayError('method-wrong', { methods: allowed }, { headers: { Allow: allowed } })
  }
}

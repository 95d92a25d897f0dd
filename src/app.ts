import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, type Handler, Hono, type NotFoundHandler } from 'hono'
import type { Answer } from './answer.ts'
import type { BrowserChecks } from './callers/browsers.ts'
import { commonDeprecation } from './callers/caller.ts'
import { type DryRunDeps, dryRun } from './calls/dry-run.ts'
import { dryRunEvent } from './calls/dry-run-event.ts'
import { dryRunReply } from './calls/dry-run-reply.ts'
import { type LegacyCallDeps, legacyCall } from './calls/legacy-call.ts'
import { type PassThroughDeps, passThrough } from './calls/pass-through.ts'
import type { Config } from './config/config.ts'
import { gatewayError } from './errors.ts'
import { type AnswerError, reply, replyReadably, toGatewayError } from './http/answers.ts'
import {
  admitted,
  type Checked,
  type Env,
  endOfTurn,
  type Observers,
  observeCalls,
  refuseForeignOrigins,
  refuseForeignPages,
} from './http/middleware.ts'
import { type Router, requireMethod, WEBHOOK_ROUTE } from './http/routing.ts'
import { type Call, recordError } from './observe/call.ts'
import { alive, readiness, welcome } from './pages/health.ts'
import { openApiAnswer } from './pages/open-api.ts'
import type { ReceiveEvent } from './webhooks/receive.ts'

/** The dependencies of the public app. */
export interface AppDeps extends LegacyCallDeps, DryRunDeps, PassThroughDeps, Observers {
  readonly config: Config
  /** Decides the route of a request, on its decoded path. */
  readonly route: Router
  readonly answerError: AnswerError
  readonly browserChecks: BrowserChecks
  /** Throws if a source address makes too many calls. */
  readonly ready: () => boolean
  readonly receiveEvent: ReceiveEvent
}

/**
 * Builds the app of the public listener: every route and middleware, in the order in which they apply. Handlers read
 * `c.env.incoming` and write to `c.env.outgoing`.
 */
export function createApp(deps: AppDeps): Hono<Env> {
  const { config, catalog, credentials, browserChecks, route, ready } = deps
  const app = new Hono<Env>({ getPath: (_request, options) => route(options?.env?.incoming.url ?? '/') })

  // The share of the limits, the log line, the metrics and the error answer of every call.
  const observed = observeCalls(deps, replyError)

  // Refuses calls that web pages of other sites send, where callers need no credential.
  const isOpen = credentials.mode === 'fixed'
  const ownPages: Checked = isOpen ? refuseForeignPages(browserChecks) : unchecked
  const ownOrigins: Checked = isOpen ? refuseForeignOrigins(browserChecks) : unchecked

  // All of it for one route: calls are refused while there are too many; health checks and the gateway's own pages never are. Only one
  // handler may match a call: Hono chains several.
  const anyMethod = (path: string, handler: Handler<Env>) => app.all(path, observed(path, ownPages(handler)))
  const call = (path: string, methods: readonly string[], handler: Handler<Env>) =>
    anyMethod(path, allow(methods, admitted(handler)))

  // Version-1 calls.
  const { headers: deprecation } = commonDeprecation(config)
  for (const endpoint of catalog.endpoints.values()) {
    // It refuses other methods itself: the answer to a known caller is its own.
    const answered = admitted(async (c) => {
      const answer = await legacyCall(c.env.incoming, endpoint, c.env.call, deps)
      await endOfTurn()
      return reply(c, answer, c.env.call.legacyHeaders ?? deprecation)
    })
    anyMethod(`/legacy${endpoint.path}`, answered)
  }

  // The same calls, explained and not sent.
  for (const endpoint of catalog.endpoints.values()) {
    const methods = endpoint.method === 'GET' ? ['GET', 'POST'] : ['POST']
    call(`/dry-run${endpoint.path}`, methods, async (c) =>
      replyReadably(c, await dryRun(c.env.incoming, endpoint, c.env.call, deps)),
    )
  }
  call('/own/dry-run/reply/:action', ['POST'], async (c) => {
    const compiled = catalog.actions.get(c.req.param('action') ?? '')
    if (!compiled) {
      throw gatewayError('path-unknown/action', { actions: [...catalog.actions.keys()].join(', ') })
    }
    c.env.call.action = compiled.action.name
    return replyReadably(c, await dryRunReply(c.env.incoming, compiled, c.env.call, deps))
  })
  call('/own/dry-run/webhook/:event', ['GET', 'POST'], async (c) =>
    replyReadably(c, await dryRunEvent(c.env.incoming, c.req.param('event') ?? '', c.env.call, deps)),
  )

  // Version-2 calls: everything below /v2/, and the service's token endpoint.
  const passOn = (use: Call['use']) => async (c: Context<Env>) => {
    c.env.call.use = use
    await passThrough(c.env.incoming, c.env.outgoing, c.env.call, deps)
    return RESPONSE_ALREADY_SENT
  }
  anyMethod('/service', admitted(passOn('version-2')))
  call('/token', ['POST'], passOn(undefined))

  // Events of the service, whose path has a secret that no page knows. A wrong secret is answered like an unknown path.
  const receive = admitted(async (c) => {
    const answer = await deps.receiveEvent(c.env.incoming, c.env.call)
    return answer ? reply(c, answer) : replyError(c, unknownPath())
  })
  app.post(WEBHOOK_ROUTE, observed(WEBHOOK_ROUTE, receive))

  // The gateway's own pages.
  const page = (path: string, check: Checked, answer: (c: Context<Env>) => Answer) =>
    app.get(
      path,
      observed(
        path,
        check((c) => reply(c, answer(c))),
      ),
    )
  const description = openApiAnswer(catalog, config.LEGACY_BASE_PATHS)
  page('/own/', ownPages, () => welcome)
  page('/own/openapi.json', ownPages, (c) => description(c.req.header('accept-encoding')))
  page('/own/healthz', ownOrigins, () => alive)
  page('/own/readyz', ownOrigins, () => readiness(ready()))

  // Unknown and refused paths.
  const paths = config.LEGACY_BASE_PATHS.flatMap((base) =>
    [...catalog.endpoints.values()].map(({ path }) => base + path),
  ).join(', ')
  const unknownPath = () => gatewayError('path-unknown', { paths })
  app.all(
    '/unreadable',
    observed(
      '/unreadable',
      ownPages((c) => replyError(c, gatewayError('path-unreadable', {}))),
    ),
  )
  app.notFound(
    observed(
      '/*',
      ownPages((c) => replyError(c, unknownPath())),
    ) as NotFoundHandler<Env>,
  )
  return app

  function replyError(c: Context<Env>, thrown: unknown): Response {
    const { call } = c.env
    const error = toGatewayError(thrown)
    recordError(call, error)
    return reply(c, deps.answerError(error, { ...call, target: c.env.incoming.url ?? '' }))
  }
}

/** Refuses other methods than those of a route. */
function allow(methods: readonly string[], handler: Handler<Env>): Handler<Env> {
  return (c, next) => {
    requireMethod(c.env.incoming.method, methods)
    return handler(c, next)
  }
}

const unchecked: Checked = (handler) => handler

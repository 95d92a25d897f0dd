import { type Context, Hono, type NotFoundHandler } from 'hono'
import { createChecks } from './calls/check.ts'
import { type DryRunDeps, dryRun, dryRunEvent, dryRunReply } from './calls/dry-run.ts'
import { legacyCall } from './calls/legacy-call.ts'
import { type PassThroughDeps, passThrough } from './calls/pass-through.ts'
import type { CallRooms } from './calls/rooms.ts'
import { type AnswerError, reply, replyExplanation, toGatewayError } from './edge/answers.ts'
import type { BrowserChecks } from './edge/callers/browsers.ts'
import { commonDeprecation } from './edge/callers/caller.ts'
import { type CallsDeps, createCalls, type Demands, type Env, endOfTurn, type Work } from './edge/middleware.ts'
import { type Router, WEBHOOK_ROUTE } from './edge/routing.ts'
import type { Answer } from './language/answer.ts'
import type { Config } from './language/config/config.ts'
import { gatewayError } from './language/errors.ts'
import { alive, readiness, STYLE_PATH, style, welcome } from './operator/pages/fixed.ts'
import { SCRIPT_PATH, wantsHtml } from './operator/pages/layout.ts'
import type { OwnPagesDeps } from './operator/pages/my.ts'
import { openApiAnswer } from './operator/pages/open-api.ts'
import { type Call, recordError } from './runtime/call.ts'
import type { CallRecorder } from './runtime/record.ts'
import type { ReceiveEvent } from './state/events/receive.ts'

/** The most that a visitor may paste; a browser writes JSON in twice its length. */
const PASTED_BYTES = 32 * 1024

/** Calls that a page of another site may not make where callers need no credential. */
const CALL = { methods: 'any', from: 'own pages', admission: 'counted', explainsBytes: 0 } as const
const PAGE = { ...CALL, methods: ['GET'] } as const
/** Answers that are made before they are asked for. */
const READY_MADE = { methods: 'any', from: 'own pages', admission: 'exempt', explainsBytes: 0 } as const

/** The dependencies of the public app. */
export interface AppDeps extends CallRooms, DryRunDeps, PassThroughDeps, CallsDeps, OwnPagesDeps {
  readonly config: Config
  /** Decides the route of a request, on its decoded path. */
  readonly route: Router
  readonly answerError: AnswerError
  /** Undefined without RECORD_FILE. */
  readonly recorder: CallRecorder | undefined
  readonly browserChecks: BrowserChecks
  readonly ready: () => boolean
  readonly receiveEvent: ReceiveEvent
}

/**
 * Builds the app of the public listener: every route and middleware, in the order in which they apply. Handlers read
 * `c.env.incoming` and write to `c.env.outgoing`.
 */
export function createApp(deps: AppDeps): Hono<Env> {
  const { config, catalog, credentials, browserChecks, route, ready, recorder } = deps
  const app = new Hono<Env>({ getPath: (_request, options) => route(options?.env?.incoming.url ?? '/') })

  // Where callers need no credential, web pages of other sites are refused.
  const called = createCalls(deps, credentials.mode === 'fixed' ? browserChecks : undefined, replyError)
  // Only one handler may match a call: Hono chains several.
  const all = (path: string, demands: Demands, answer: Work) => app.all(path, called(path, demands, answer))
  const explained = { ...CALL, explainsBytes: deps.bodyLimitBytes }

  // Version-1 calls. They refuse other methods themselves: the answer to a known caller is its own.
  const { headers: deprecation } = commonDeprecation(config)
  for (const endpoint of catalog.endpoints.values()) {
    all(`/legacy${endpoint.path}`, CALL, async (c) => {
      if (recorder) c.env.call.recording = recorder.begin()
      const answer = await legacyCall(c.env.incoming, endpoint, c.env.call, deps)
      await endOfTurn()
      return reply(c, answer, c.env.call.legacyHeaders ?? deprecation)
    })
  }

  // The same calls, explained and not sent.
  const checks = createChecks(deps)
  for (const endpoint of catalog.endpoints.values()) {
    const methods = endpoint.method === 'GET' ? ['GET', 'POST'] : ['POST']
    all(`/dry-run${endpoint.path}`, { ...explained, methods }, async (c, body) => {
      const { incoming, call } = c.env
      const explanation = await dryRun(incoming, body, endpoint, call, deps)
      checks.remember(incoming, call, explanation)
      return replyExplanation(c, explanation)
    })
  }
  // New code, compared with these.
  all('/own/check/*', explained, async (c, body) => {
    const { incoming, call } = c.env
    const path = c.req.path.slice('/own/check'.length)
    return reply(
      c,
      path === '/last' ? await checks.last(incoming, call) : await checks.check(incoming, path, body, call),
    )
  })
  all('/own/dry-run/reply/:action', { ...explained, methods: ['POST'] }, (c, body) => {
    const compiled = catalog.actions.get(c.req.param('action') ?? '')
    if (!compiled) {
      throw gatewayError('path-unknown/action', { actions: [...catalog.actions.keys()].join(', ') })
    }
    c.env.call.action = compiled.action.name
    return replyExplanation(c, dryRunReply(body, compiled, deps))
  })
  all('/own/dry-run/webhook/:event', { ...explained, methods: ['GET', 'POST'] }, (c, body) =>
    replyExplanation(c, dryRunEvent(body, c.req.param('event') ?? '', deps)),
  )

  // A caller's own migration, for who has its credential.
  const own = () => import('./operator/pages/my.ts')
  all('/own/my', PAGE, async (c) => {
    const { incoming, call } = c.env
    const answer = await (await own()).ownMigration(incoming, call, deps)
    call.share.holdAnswer(Buffer.byteLength(answer.body))
    return reply(c, answer)
  })
  all('/own/my/numbers.csv', PAGE, async ({ env: { incoming, outgoing, call } }) =>
    (await own()).ownNumbers(incoming, outgoing, call, deps),
  )

  // Version-2 calls: everything below /v2/, and the service's token endpoint.
  const passOn =
    (use: Call['use']): Work =>
    ({ env: { incoming, outgoing, call } }) => {
      call.use = use
      return passThrough(incoming, outgoing, call, deps)
    }
  all('/service', CALL, passOn('version-2'))
  all('/token', { ...CALL, methods: ['POST'] }, passOn(undefined))

  // Events of the service, whose path has a secret that no page knows. A wrong secret is answered like an unknown path.
  const receive = called(WEBHOOK_ROUTE, { ...CALL, from: 'anywhere' }, async (c) => {
    const answer = await deps.receiveEvent(c.env.incoming, c.env.call)
    return answer ? reply(c, answer) : replyError(c, unknownPath())
  })
  app.post(WEBHOOK_ROUTE, receive)

  // The gateway's own pages.
  const page = (path: string, demands: Demands, answer: (c: Context<Env>) => Answer) =>
    app.get(
      path,
      called(path, demands, (c) => reply(c, answer(c))),
    )
  const description = openApiAnswer(catalog, config.LEGACY_BASE_PATHS)
  if (config.WORKBENCH === 'on') {
    // The pages for visitors are loaded when one of them is asked for.
    const workbench = () => import('./operator/pages/workbench.ts')
    const visitors = { ...deps, destination: deps, sunset: config.RETIRED_FROM ?? config.SUNSET }
    const pasted = { ...CALL, methods: ['GET', 'POST'], explainsBytes: Math.min(deps.bodyLimitBytes, PASTED_BYTES) }
    all('/own/', pasted, async (c, body) => {
      const { incoming } = c.env
      if (!wantsHtml(incoming)) return reply(c, welcome)
      const sent = incoming.method === 'POST' ? body.toString('utf8') : (incoming.url ?? '').split('?')[1]
      const asked = new URLSearchParams(sent)
      return reply(c, await (await workbench()).workbenchPage(visitors, asked))
    })
    all('/own/reference', PAGE, async (c) => reply(c, await (await workbench()).referencePage(visitors)))
    all('/own/guide', PAGE, async (c) => reply(c, await (await workbench()).guidePage(visitors)))
    all(`/own${SCRIPT_PATH}`, PAGE, async (c) => reply(c, (await workbench()).script))
  } else page('/own/', READY_MADE, () => welcome)
  page(`/own${STYLE_PATH}`, READY_MADE, () => style)
  page('/own/openapi.json', READY_MADE, (c) => description(c.req.header('accept-encoding')))
  page('/own/healthz', { ...READY_MADE, from: 'any host' }, () => alive)
  page('/own/readyz', { ...READY_MADE, from: 'any host' }, () => readiness(ready()))

  // Unknown and refused paths.
  const paths = config.LEGACY_BASE_PATHS.flatMap((base) =>
    [...catalog.endpoints.values()].map(({ path }) => base + path),
  ).join(', ')
  const unknownPath = () => gatewayError('path-unknown', { paths })
  all('/unreadable', READY_MADE, (c) => replyError(c, gatewayError('path-unreadable', {})))
  app.notFound(called('/*', READY_MADE, (c) => replyError(c, unknownPath())) as NotFoundHandler<Env>)
  return app

  function replyError(c: Context<Env>, thrown: unknown): Response {
    const { call } = c.env
    const error = toGatewayError(thrown)
    recordError(call, error)
    return reply(c, deps.answerError(error, { ...call, target: c.env.incoming.url ?? '' }))
  }
}

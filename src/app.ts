import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono } from 'hono'
import { routePath } from 'hono/route'
import { type DryRunDeps, dryRun } from './calls/dry-run.ts'
import { dryRunReply } from './calls/dry-run-reply.ts'
import { passThrough } from './calls/pass-through.ts'
import type { Config } from './config/config.ts'
import { GatewayError } from './errors.ts'
import {
  answerOfError,
  asGatewayError,
  legacyError,
  legacyHeaders,
  noteError,
  notNow,
  problemDetails,
  TEXT_TYPE,
} from './http/answers.ts'
import { pretty, reply } from './http/reply.ts'
import { beginCall, type Env } from './observe/call.ts'
import { openApi } from './pages/open-api.ts'
import type { ShortcutDeps } from './shortcut.ts'

/** What the house is built from. */
export interface AppDeps extends ShortcutDeps, DryRunDeps {
  readonly config: Config
}

/**
 * The map of the house: every route and middleware of the public listener, in order. What comes most often does not walk
 * through it (`shortcut.ts`), and where nothing else comes, as beside one old application, it is not even loaded.
 */
export function createApp(deps: AppDeps): Hono<Env> {
  const { config, catalog, route, limitSource, log, metrics } = deps
  const app = new Hono<Env>({ getPath: (_request, options) => route(options?.env?.incoming.url ?? '/') })

  app.use(async (c, next) => {
    // The pattern of the route that answers, for a path itself may hold anything.
    const call = beginCall(c.env.incoming, routePath(c, 1))
    c.set('call', call)
    await next()
    const status = c.env.outgoing.headersSent ? c.env.outgoing.statusCode : c.res.status
    log(call, c.env.incoming, status)
    metrics.noteCall(call, status)
  })

  const demandWelcome = ({ env: { unwelcome, incoming } }: Context<Env>) => {
    if (unwelcome) throw notNow(unwelcome)
    limitSource(incoming)
  }

  // And as they are not.
  const retired = legacyHeaders(config)
  for (const endpoint of catalog.endpoints.values()) {
    app.all(`/legacy${endpoint.path}`, (c) => {
      const answer = answerOfError(wrongMethod(endpoint.method), endpoint.family, c.var.call, config.ERROR_STATUS)
      return reply(c, { ...answer, headers: { ...retired, ...answer.headers } })
    })

    // The same calls, explained and not sent.
    const rehearse = async (c: Context<Env>) => {
      demandWelcome(c)
      return pretty(c, await dryRun(c.env.incoming, endpoint, c.var.call, deps))
    }
    app.post(`/dry-run${endpoint.path}`, rehearse)
    if (endpoint.method === 'GET') app.get(`/dry-run${endpoint.path}`, rehearse)
    app.all(`/dry-run${endpoint.path}`, () => {
      throw wrongMethod(endpoint.method === 'GET' ? 'GET, POST' : 'POST')
    })
  }

  // The token endpoint of version 2.
  app.post('/token', async (c) => {
    demandWelcome(c)
    await passThrough(c.env.incoming, c.env.outgoing, c.var.call, deps)
    return RESPONSE_ALREADY_SENT
  })
  app.all('/token', () => {
    throw wrongMethod('POST')
  })

  // The gateway's own pages.
  app.post('/own/dry-run/reply/:action', async (c) => {
    const compiled = catalog.actions.get(c.req.param('action'))
    if (!compiled) {
      const message = `There is no such action. The actions are ${[...catalog.actions.keys()].join(', ')}.`
      throw new GatewayError('path-unknown', message)
    }
    c.var.call.action = compiled.action.name
    return pretty(c, await dryRunReply(c.env.incoming, compiled, deps))
  })
  app.all('/own/dry-run/reply/:action', () => {
    throw wrongMethod('POST')
  })
  app.get('/own/', (c) => reply(c, { status: 200, headers: { 'Content-Type': TEXT_TYPE }, body: WELCOME }))
  // The same bytes for everybody: a text of its own for each of a thousand slow readers would be gigabytes.
  const description = Buffer.from(`${JSON.stringify(openApi(catalog, config.LEGACY_BASE_PATHS), null, 2)}\n`)
  app.get('/own/openapi.json', (c) => reply(c, { status: 200, headers: {}, body: description }))

  app.all('/unreadable', () => {
    const message =
      'The path cannot be read. Send it percent-encoded, without control characters, and below /v2/ without dot segments.'
    throw new GatewayError('path-unreadable', message)
  })
  const paths = config.LEGACY_BASE_PATHS.flatMap((base) =>
    [...catalog.endpoints.values()].map(({ path }) => base + path),
  ).join(', ')
  app.all('*', () => {
    throw new GatewayError('path-unknown', `Nothing is served at this path. The legacy paths are ${paths}.`)
  })

  app.onError((thrown, c) => {
    const error = asGatewayError(thrown)
    noteError(c.var.call, error)
    const answer = DRY_RUN.test(c.env.incoming.url ?? '') ? problemDetails(error) : legacyError(error, 'shipment', '')
    return reply(c, answer)
  })
  return app
}

const WELCOME = `Transload: version-1 calls of a vehicle-transport service, answered by version 2.
Point the old integration at this host; try a call under /dry-run first. The interface: /openapi.json
`

/** Dry runs answer as the gateway's own endpoints do; everything else may be a lost version-1 caller. */
const DRY_RUN = /^\/dry-run(\/|$)/

function wrongMethod(allowed: string): GatewayError {
  return new GatewayError('method-wrong', `This path takes ${allowed}.`, { headers: { Allow: allowed } })
}

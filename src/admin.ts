import { type Context, Hono } from 'hono'
import { alive, type ErrorPage, problemDetails, readiness, reply, toGatewayError } from './edge/answers.ts'
import type { BrowserChecks } from './edge/callers/browsers.ts'
import type { Env } from './edge/door.ts'
import { requireMethod } from './edge/routing.ts'
import type { Answer } from './language/answer.ts'
import { type GatewayError, gatewayError } from './language/errors.ts'
import type { Metrics } from './runtime/metrics.ts'

/** A page of the admin listener. It only reads; the parameter is the last part of a path such as `/bookings/:key`. */
export interface AdminRoute {
  readonly path: string
  readonly answer: (request: Env['Bindings']['incoming'], parameter: string | undefined) => Answer | Promise<Answer>
}

/** Builds the app of the admin listener, which is for operators only. */
export function createAdmin({
  browserChecks,
  ready,
  metrics,
  adminPages,
  errorPage,
}: {
  readonly browserChecks: BrowserChecks
  readonly ready: () => boolean
  readonly metrics: Metrics
  readonly adminPages: readonly AdminRoute[]
  readonly errorPage: ErrorPage
}): Hono<Env> {
  const app = new Hono<Env>({ getPath: (_request, options) => pathOf(options?.env?.incoming.url ?? '/') })
  app.use((c, next) => {
    browserChecks.demandOwnOrigin(c.env.incoming)
    // Health checks are answered under any host name.
    if (!HEALTH.has(c.req.path)) browserChecks.demandOwnHost(c.env.incoming)
    return next()
  })
  const serve = (path: string, answer: (c: Context<Env>) => Answer | Promise<Answer>) =>
    app.all(path, async (c) => {
      requireMethod(c.env.incoming.method, ['GET'])
      return reply(c, await answer(c))
    })
  serve('/healthz', () => alive)
  serve('/readyz', () => readiness(ready()))
  serve('/metrics', async () => {
    const { type, text } = await metrics.scrape()
    return { status: 200, headers: { 'Content-Type': type }, body: text }
  })
  for (const { path, answer } of adminPages) {
    const [, parameter] = path.split(':', 2)
    serve(path, (c) => answer(c.env.incoming, parameter && c.req.param(parameter)))
  }
  const replyError = async (c: Context<Env>, error: GatewayError) =>
    reply(c, (await errorPage(c.env.incoming, error)) ?? problemDetails(error))
  app.notFound((c) => replyError(c, gatewayError('path-unknown/admin', {})))
  app.onError((error, c) => replyError(c, toGatewayError(error)))
  return app
}

const HEALTH = new Set(['/healthz', '/readyz'])

const pathOf = (target: string) => target.split('?', 1)[0] ?? target

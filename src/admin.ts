import { type Context, Hono } from 'hono'
import { alive, problemDetails, readiness, reply, toGatewayError } from './edge/answers.ts'
import type { Env } from './edge/door.ts'
import { requireMethod } from './edge/routing.ts'
import type { Answer } from './language/answer.ts'
import { type GatewayError, gatewayError } from './language/errors.ts'
import type { AdminRoute, GatewayRooms, Pages } from './routes.ts'

/** Builds the app of the admin listener, which is for operators only. */
export function createAdmin({ browserChecks, ready, metrics }: GatewayRooms, pages: Pages): Hono<Env> {
  const app = new Hono<Env>({ getPath: (_request, options) => pathOf(options?.env?.incoming.url ?? '/') })
  app.use((c, next) => {
    browserChecks.demandOwnOrigin(c.env.incoming)
    // Health checks are answered under any host name.
    if (!HEALTH.has(c.req.path)) browserChecks.demandOwnHost(c.env.incoming)
    return next()
  })
  const routes: readonly AdminRoute[] = [
    { path: '/healthz', answer: () => alive },
    { path: '/readyz', answer: () => readiness(ready()) },
    { path: '/metrics', answer: () => scrape(metrics) },
    ...pages.admin,
  ]
  for (const { path, answer } of routes)
    app.all(path, async (c) => {
      requireMethod(c.env.incoming.method, ['GET'])
      return reply(c, await answer(c.env.incoming, c.req.param('name')))
    })
  const replyError = async (c: Context<Env>, error: GatewayError) =>
    reply(c, (await pages.adminError(c.env.incoming, error)) ?? problemDetails(error))
  app.notFound((c) => replyError(c, gatewayError('path-unknown/admin', {})))
  app.onError((error, c) => replyError(c, toGatewayError(error)))
  return app
}

async function scrape(metrics: GatewayRooms['metrics']): Promise<Answer> {
  const { type, text } = await metrics.scrape()
  return { status: 200, headers: { 'Content-Type': type }, body: text }
}

const HEALTH = new Set(['/healthz', '/readyz'])

const pathOf = (target: string) => target.split('?', 1)[0] ?? target

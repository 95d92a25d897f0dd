import { Hono } from 'hono'
import { publicView } from './bookings/bookings.ts'
import type { BrowserChecks } from './callers/browsers.ts'
import { gatewayError } from './errors.ts'
import type { Env } from './http/env.ts'
import { refuseForeignPages } from './http/foreign-pages.ts'
import { toGatewayError } from './http/gateway-error.ts'
import { problemDetails } from './http/problem-details.ts'
import { reply, replyReadably } from './http/reply.ts'
import { beginCall } from './observe/call.ts'
import type { Metrics } from './observe/metrics.ts'
import { alive, readiness } from './pages/health.ts'
import type { Claims } from './store/store.ts'

/** The dependencies of the admin app. */
export interface AdminDeps {
  readonly browserChecks: BrowserChecks
  readonly ready: () => boolean
  readonly store: Claims
  readonly metrics: Pick<Metrics, 'scrape'>
}

/** Builds the app of the admin listener, which is for operators only. */
export function createAdmin({ browserChecks, ready, store, metrics }: AdminDeps): Hono<Env> {
  const app = new Hono<Env>({ getPath: (_request, options) => pathOf(options?.env?.incoming.url ?? '/') })
  app.use((c, next) => {
    c.set('call', beginCall(c.env.incoming, c.req.path))
    return next()
  })
  app.use(refuseForeignPages(browserChecks, ['/healthz', '/readyz']))
  app.get('/healthz', (c) => reply(c, alive))
  app.get('/readyz', (c) => reply(c, readiness(ready())))
  app.get('/metrics', async (c) => {
    const { type, text } = await metrics.scrape()
    return reply(c, { status: 200, headers: { 'Content-Type': type }, body: text })
  })
  app.get('/bookings', async (c) => {
    const unknown = await store.listClaims({ state: 'unknown' })
    return replyReadably(c, { unknown: unknown.map(publicView) })
  })
  app.notFound((c) => reply(c, problemDetails(gatewayError('path-unknown/admin', {}))))
  app.onError((error, c) => reply(c, problemDetails(toGatewayError(error))))
  return app
}

const pathOf = (target: string) => target.split('?', 1)[0] ?? target

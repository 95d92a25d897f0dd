import { Hono } from 'hono'
import { publicView } from './bookings/bookings.ts'
import { GatewayError } from './errors.ts'
import { alive, asGatewayError, problemDetails, readiness } from './http/answers.ts'
import { pretty, reply } from './http/reply.ts'
import { beginCall, type Env } from './observe/call.ts'
import type { Metrics } from './observe/metrics.ts'
import type { Claims } from './store/store.ts'

export interface AdminDeps {
  readonly ready: () => boolean
  readonly store: Claims
  readonly metrics: Pick<Metrics, 'scrape'>
}

/** Every route of the admin listener: what only operators reach. */
export function createAdmin({ ready, store, metrics }: AdminDeps): Hono<Env> {
  const app = new Hono<Env>()
  app.use(async (c, next) => {
    c.set('call', beginCall(c.env.incoming, c.req.path))
    await next()
  })
  app.get('/healthz', (c) => reply(c, alive))
  app.get('/readyz', (c) => reply(c, readiness(ready())))
  app.get('/metrics', async (c) => {
    const { type, text } = await metrics.scrape()
    return reply(c, { status: 200, headers: { 'Content-Type': type }, body: text })
  })
  app.get('/bookings', async (c) => {
    const unknown = await store.listClaims({ state: 'unknown' })
    return pretty(c, { unknown: unknown.map(publicView) })
  })
  app.notFound((c) => reply(c, problemDetails(new GatewayError('path-unknown', 'Nothing is served here.'))))
  app.onError((error, c) => reply(c, problemDetails(asGatewayError(error))))
  return app
}

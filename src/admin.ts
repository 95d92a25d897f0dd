import { type Context, Hono } from 'hono'
import { problemDetails, reply, toGatewayError } from './edge/answers.ts'
import type { BrowserChecks } from './edge/callers/browsers.ts'
import type { Env } from './edge/middleware.ts'
import { gatewayError } from './language/errors.ts'
import { alive, readiness, STYLE_PATH, style } from './operator/pages/fixed.ts'
import type { MigrationPagesDeps } from './operator/pages/migration.ts'
import type { Operations, OperationsDeps } from './operator/pages/operations.ts'
import type { Metrics } from './runtime/metrics.ts'

/** The dependencies of the admin app. */
interface AdminDeps extends Omit<MigrationPagesDeps, 'store'>, Pick<OperationsDeps, 'config' | 'reloads'> {
  readonly store: MigrationPagesDeps['store'] & OperationsDeps['store']
  readonly browserChecks: BrowserChecks
  readonly ready: () => boolean
  readonly metrics: Metrics
}

/** Builds the app of the admin listener, which is for operators only. */
export function createAdmin(deps: AdminDeps): Hono<Env> {
  const { browserChecks, ready, metrics } = deps
  const app = new Hono<Env>({ getPath: (_request, options) => pathOf(options?.env?.incoming.url ?? '/') })
  app.use((c, next) => {
    browserChecks.demandOwnOrigin(c.env.incoming)
    // Health checks are answered under any host name.
    if (!HEALTH.has(c.req.path)) browserChecks.demandOwnHost(c.env.incoming)
    return next()
  })
  app.get('/healthz', (c) => reply(c, alive))
  app.get('/readyz', (c) => reply(c, readiness(ready())))
  app.get('/metrics', async (c) => {
    const { type, text } = await metrics.scrape()
    return reply(c, { status: 200, headers: { 'Content-Type': type }, body: text })
  })

  // The pages for operators, which are loaded when one of them is asked for. They only read.
  app.get(STYLE_PATH, (c) => reply(c, style))
  const migration = async (c: Context<Env>) =>
    reply(c, await (await pages()).migrationAnswer(c.env.incoming, c.req.param('tenant'), deps))
  app.get('/migration', migration)
  app.get('/migration.json', migration)
  app.get('/migration/:tenant', migration)
  let opened: Promise<Operations> | undefined
  const operations = () =>
    (opened ??= import('./operator/pages/operations.ts').then((module) => module.openOperations(deps)))
  for (const name of ['home', 'bookings', 'events', 'settings'] as const) {
    const answer = async (c: Context<Env>) => {
      if (name === 'home') (await pages()).overviewOf(deps).catch(() => undefined)
      return reply(c, await (await operations())[name](c.env.incoming))
    }
    app.get(name === 'home' ? '/' : `/${name}`, answer)
    app.get(`/${name}.json`, answer)
  }
  app.get('/bookings/:handle', async (c) =>
    reply(c, await (await operations()).booking(c.env.incoming, c.req.param('handle'))),
  )

  app.notFound((c) => reply(c, problemDetails(gatewayError('path-unknown/admin', {}))))
  app.onError((error, c) => reply(c, problemDetails(toGatewayError(error))))
  return app
}

const HEALTH = new Set(['/healthz', '/readyz'])

const pages = () => import('./operator/pages/migration.ts')

const pathOf = (target: string) => target.split('?', 1)[0] ?? target

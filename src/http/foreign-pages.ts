import type { MiddlewareHandler } from 'hono'
import type { BrowserChecks } from '../callers/browsers.ts'
import type { Env } from './env.ts'
import { WEBHOOK_ROUTE } from './routing.ts'

/**
 * Refuses requests of other sites' pages. Health checks are answered under any host name, and so are deliveries of the
 * service, whose path has a secret that no page knows.
 */
export function refuseForeignPages(
  { demandOwnOrigin, demandOwnHost }: BrowserChecks,
  healthPaths: readonly string[],
): MiddlewareHandler<Env> {
  return (c, next) => {
    if (c.req.path === WEBHOOK_ROUTE) return next()
    demandOwnOrigin(c.env.incoming)
    if (!healthPaths.includes(c.req.path)) demandOwnHost(c.env.incoming)
    return next()
  }
}

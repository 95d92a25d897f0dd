import type { MiddlewareHandler } from 'hono'
import type { BrowserChecks } from '../callers/browsers.ts'
import type { Env } from './env.ts'

/** Refuses requests of other sites' pages. Health checks are answered under any host name. */
export function refuseForeignPages(
  { demandOwnOrigin, demandOwnHost }: BrowserChecks,
  healthPaths: readonly string[],
): MiddlewareHandler<Env> {
  return (c, next) => {
    demandOwnOrigin(c.env.incoming)
    if (!healthPaths.includes(c.req.path)) demandOwnHost(c.env.incoming)
    return next()
  }
}

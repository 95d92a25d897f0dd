import type { BrowserChecks } from '../callers/browsers.ts'
import type { Checked } from './admission.ts'

/** Refuses requests of other sites' pages, and those under an unknown host name. */
export function refuseForeignPages({ demandOwnOrigin, demandOwnHost }: BrowserChecks): Checked {
  return (handler) => (c, next) => {
    demandOwnOrigin(c.env.incoming)
    demandOwnHost(c.env.incoming)
    return handler(c, next)
  }
}

/** Refuses requests of other sites' pages. Health checks are answered under any host name. */
export function refuseForeignOrigins({ demandOwnOrigin }: Pick<BrowserChecks, 'demandOwnOrigin'>): Checked {
  return (handler) => (c, next) => {
    demandOwnOrigin(c.env.incoming)
    return handler(c, next)
  }
}

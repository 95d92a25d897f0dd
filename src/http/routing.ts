import { gatewayError } from '../errors.ts'
import type { Endpoint } from '../mapping/catalog.ts'
import { isBelowVersion2 } from './version-2-path.ts'

/**
 * Decides the path that `app.ts` routes a request by. Each kind of route has its own prefix, so a caller's path cannot
 * match a route of another kind.
 */
type Route =
  | `/legacy${string}`
  | `/dry-run${string}`
  | `/own${string}`
  /** Everything below is passed through to the service. */
  | '/service'
  /** The service's token endpoint, also passed through. */
  | '/token'
  /** An event of the service. The secret in its path is no part of the route, which is logged. */
  | typeof WEBHOOK_ROUTE
  /** Refused: the path does not decode, or the service might read it differently. */
  | '/unreadable'

/** Decides the route of a request once, on its decoded path. */
export type Router = (target: string) => Route

/** Makes the router for the known legacy paths under each prefix. */
export function createRouter(endpoints: ReadonlyMap<string, Endpoint>, basePaths: readonly string[]): Router {
  const known = new Map<string, string>()
  for (const basePath of basePaths) {
    for (const [path, endpoint] of endpoints) known.set(looseKey(basePath + path), endpoint.path)
  }
  return (target) => {
    const query = target.indexOf('?')
    const raw = query === -1 ? target : target.slice(0, query)
    const path = decoded(raw)
    if (path === undefined || CONTROL.test(path)) return '/unreadable'
    const key = looseKey(path)
    const legacy = known.get(key)
    if (legacy !== undefined) return `/legacy${legacy}`
    if (path.startsWith(DRY_RUN)) {
      const explained = known.get(key.slice(DRY_RUN.length - 1))
      return explained === undefined ? `/own${path}` : `/dry-run${explained}`
    }
    if (path === '/oauth2/token') return '/token'
    if (WEBHOOK.test(path)) return WEBHOOK_ROUTE
    if (!path.startsWith('/v2/')) return `/own${path}`
    return isBelowVersion2(raw) ? '/service' : '/unreadable'
  }
}

/** The route of all deliveries, as it stands in logs and metrics. */
export const WEBHOOK_ROUTE = '/webhooks/***'
const WEBHOOK = /^\/webhooks\/([^/]+)\/?$/

/** Returns the secret in the target of a delivery; undefined if there is none. */
export function webhookSecret(target: string): string | undefined {
  const path = decoded(target.split('?', 1)[0] ?? '')
  return path === undefined ? undefined : WEBHOOK.exec(path)?.[1]
}

const DRY_RUN = '/dry-run/'
const CONTROL = /\p{Cc}/u

/** Legacy names ignore case, a trailing slash and repeated slashes. */
function looseKey(path: string): string {
  const single = path.includes('//') ? path.replace(/\/{2,}/g, '/') : path
  const key = single.toLowerCase()
  return key.endsWith('/') ? key.slice(0, -1) : key
}

function decoded(raw: string): string | undefined {
  if (!raw.includes('%')) return raw
  try {
    return decodeURIComponent(raw)
  } catch {
    return undefined
  }
}

/** Throws for another method than those of a route. A `HEAD` is answered like a `GET`. */
export function requireMethod(method: string | undefined, methods: readonly string[]): void {
  if (methods.includes(method === 'HEAD' ? 'GET' : (method ?? ''))) return
  const allowed = methods.join(', ')
  throw gatewayError('method-wrong', { methods: allowed }, { headers: { Allow: allowed } })
}

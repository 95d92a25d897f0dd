import type { Endpoint } from '../mapping/catalog.ts'

/**
 * The wing of the house that a request is for, as the path that `app.ts` routes on. Each wing has its own prefix, so
 * that no path of a caller can stand for a route of another wing.
 */
export type Route =
  | `/legacy${string}`
  | `/dry-run${string}`
  | `/own${string}`
  /** Passed through to the service, whatever is below. */
  | '/service'
  /** The service's token endpoint, passed through as well. */
  | '/token'
  /** Refused: it does not decode, or would mean one thing here and another at the service. */
  | '/unreadable'

/** Decides the route of a request once, on its decoded path. */
export type Router = (target: string) => Route

/** Makes the router for the known legacy paths under each prefix. */
export function createRouter(endpoints: ReadonlyMap<string, Endpoint>, basePaths: readonly string[]): Router {
  const known = new Map<string, string>()
  for (const basePath of basePaths) {
    for (const [path, endpoint] of endpoints) known.set(basePath.toLowerCase() + path, endpoint.path)
  }
  return (target) => {
    const path = pathOf(target)
    if (path === undefined) return '/unreadable'
    const legacy = known.get(looseKey(path))
    if (legacy !== undefined) return `/legacy${legacy}`
    if (path.startsWith(DRY_RUN)) {
      const rehearsed = known.get(looseKey(path.slice(DRY_RUN.length - 1)))
      return rehearsed === undefined ? `/own${path}` : `/dry-run${rehearsed}`
    }
    if (path === '/oauth2/token') return '/token'
    return path.startsWith('/v2/') ? '/service' : `/own${path}`
  }
}

const DRY_RUN = '/dry-run/'

/** Legacy names match without regard to case, with or without a trailing slash. */
function looseKey(path: string): string {
  const key = path.toLowerCase()
  return key.endsWith('/') ? key.slice(0, -1) : key
}

const CONTROL = /\p{Cc}/u

/**
 * The path of a request target, decoded once; undefined where it does not decode, holds control characters, or would
 * leave `/v2/` once its dot segments are resolved.
 */
function pathOf(target: string): string | undefined {
  const query = target.indexOf('?')
  const path = decoded(query === -1 ? target : target.slice(0, query))
  if (path === undefined || CONTROL.test(path)) return undefined
  return path.startsWith('/v2/') && !resolve(path).startsWith('/v2/') ? undefined : path
}

function decoded(raw: string): string | undefined {
  if (!raw.includes('%')) return raw
  try {
    return decodeURIComponent(raw)
  } catch {
    return undefined
  }
}

/** A path without its dot segments (RFC 3986, 5.2.4); a backslash counts as a slash, as it does for many servers. */
function resolve(path: string): string {
  const kept: string[] = []
  for (const segment of path.split(/[\\/]/).slice(1)) {
    if (segment === '..') kept.pop()
    else if (segment !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}

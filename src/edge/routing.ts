import { type GatewayError, gatewayError } from '../language/errors.ts'
import type { Endpoint } from '../language/mapping/catalog.ts'

/**
 * Decides the path that `routes.ts` routes a request by. Each kind of route has its own prefix, so a caller's path cannot
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
  /** An event from the service. The route, which is logged, leaves out the secret in its path. */
  | typeof WEBHOOK_ROUTE
  | typeof UNREADABLE

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
    const path = raw.includes('%') ? decoded(raw) : raw
    if (path === undefined || CONTROL.test(path)) return UNREADABLE
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
    return isBelowVersion2(raw) ? '/service' : UNREADABLE
  }
}

/** The route of a refused path: it does not decode, or the service might read it differently. */
export const UNREADABLE = '/unreadable'

/** The route of all deliveries, as logs and metrics show it. */
export const WEBHOOK_ROUTE = '/webhooks/***'
const WEBHOOK = /^\/webhooks\/([^/]+)\/?$/

/** Returns the secret in a delivery's target; undefined if there is none. */
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
  try {
    return decodeURIComponent(raw)
  } catch {
    return undefined
  }
}

/** Throws if a method is not one of these. A `HEAD` is answered like a `GET`. */
export function requireMethod(method: string | undefined, methods: readonly string[]): void {
  if (methods.includes(method === 'HEAD' ? 'GET' : (method ?? ''))) return
  throw methodWrong(methods.join(', '))
}

/** Returns the error of a method that is not one of these. */
export const methodWrong = (methods: string): GatewayError =>
  gatewayError('method-wrong', { methods }, { headers: { Allow: methods } })

/** Unreserved characters are equal to their escapes (RFC 3986, 6.2.2.2); a slash is not. */
export const BELOW_VERSION_2 = /^\/(?:v|%76)(?:2|%32)\//
/** Every server reads a path without any of these the same way. */
const AMBIGUOUS = /[%\\#]|\/\./

/** The `%uXXXX` escape of old servers. */
const UNICODE_ESCAPE = /%u[\da-f]{4}/i
/** Some servers treat a backslash as a slash, and some cut off blanks and parameters of a segment (`;`). */
const DOT_SEGMENT = /[\\/]\s*\.{1,2}\s*(?:[\\/;?#]|$)/

/**
 * Reports whether a raw path is below `/v2/` for every server that may read it, in whatever order and however often it decodes, splits and
 * resolves the path.
 */
export function isBelowVersion2(path: string): boolean {
  if (!BELOW_VERSION_2.test(path)) return false
  if (!AMBIGUOUS.test(path)) return true
  if (path.includes('#')) return false
  // A slash, a dot or a control character that appears in any reading is still there in the last one.
  const last = fullyDecoded(path)
  if (last === undefined || CONTROL.test(last) || UNICODE_ESCAPE.test(last)) return false
  // Some servers read a full-width dot or slash as the ASCII one.
  return !DOT_SEGMENT.test(last) && !DOT_SEGMENT.test(last.normalize('NFKC'))
}

const PERCENT = 0x25
const HEX = 16

/**
 * Decodes an ASCII path for as long as decoding changes it; undefined if the result is not UTF-8. It takes one pass, because decoding
 * `%2525252525…` level by level takes time that grows with the square of its length.
 */
function fullyDecoded(path: string): string | undefined {
  if (!DECODES.test(path)) return path
  const bytes: number[] = []
  for (let i = 0; i < path.length; i += 1) {
    bytes.push(path.charCodeAt(i))
    for (let byte = escapeAtEnd(bytes); byte !== undefined; byte = escapeAtEnd(bytes)) bytes.splice(-3, 3, byte)
  }
  try {
    return UTF_8.decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}

/** A path without any of these stays unchanged. */
const DECODES = /[%\u0080-\uffff]/
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns the byte that the last three characters escape; undefined if they are not an escape. */
function escapeAtEnd(bytes: readonly number[]): number | undefined {
  if (bytes.at(-3) !== PERCENT) return undefined
  const digits = String.fromCharCode(bytes.at(-2) ?? 0, bytes.at(-1) ?? 0)
  return /^[\da-f]{2}$/i.test(digits) ? Number.parseInt(digits, HEX) : undefined
}

/** The meaning of a version-2 call that concerns the gateway: it is about a shipment, or approves a quote. */
type Version2Call =
  | { readonly verb: 'create' }
  | { readonly verb: 'approve'; readonly id: string }
  /** `id` may be the service's number. */
  | { readonly verb: 'read' | 'update' | 'cancel'; readonly id: string }

/** The meaning of a method on shipments. */
const VERBS_OF_SHIPMENTS = { POST: 'create', GET: 'read', PUT: 'update', DELETE: 'cancel' } as const

/**
 * Returns what a version-2 call means by its method and path, in every spelling that a service may accept: the case of words, parameters of
 * a segment (`;`), escapes at any depth, blanks, and repeated or reversed slashes. Everything that needs the meaning of a path calls this.
 * Undefined for a call that does not concern the gateway.
 */
export function version2Call(method: string, url: string): Version2Call | undefined {
  if (!Object.hasOwn(VERBS_OF_SHIPMENTS, method)) return undefined
  const verb = VERBS_OF_SHIPMENTS[method as keyof typeof VERBS_OF_SHIPMENTS]
  const [path = ''] = url.split('?', 1)
  const segments: string[] = []
  for (const part of (fullyDecoded(path) ?? path).split(/[/\\]/)) {
    const segment = (part.split(';', 1)[0] ?? '').trim()
    if (segment !== '') segments.push(segment)
  }
  const [version, thing, id, step, ...more] = segments
  const word = thing?.toLowerCase()
  if (version?.toLowerCase() !== 'v2' || more.length > 0) return undefined
  if (word === 'quote' || word === 'quotes') {
    const isApproval = method === 'POST' && step?.toLowerCase() === 'approve'
    return isApproval && id !== undefined ? { verb: 'approve', id } : undefined
  }
  if ((word !== 'shipment' && word !== 'shipments') || step !== undefined) return undefined
  if (verb === 'create') return id === undefined ? { verb } : undefined
  return id === undefined ? undefined : { verb, id }
}

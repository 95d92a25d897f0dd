import { lookup, Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import http, { type IncomingMessage, type RequestOptions } from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Tenant } from '../../language/config/tenants-file.ts'
import type { Settings } from '../../language/mapping/row.ts'
import { compileNetworks, type Networks } from '../../language/networks.ts'
import { type SigningKey, signatureHeaders } from '../../language/webhook-signature.ts'
import type { CallbackBody, CallbackFormat } from '../../outside/store/events.ts'

/** A tenant's callback. */
export interface CallbackEndpoint {
  readonly tenant: string
  readonly url: URL
  readonly format: CallbackFormat
  /** Each key signs every delivery. Without keys, deliveries are not signed. */
  readonly keys: readonly SigningKey[]
  /** Networks that are not public but may be called. */
  readonly allowed: Networks
  readonly settings: Settings
}

/** Returns a tenant's endpoint; undefined if it has no callback. */
export function callbackOf(
  { name, callback, shipment_number: number }: Tenant,
  common: Settings,
): CallbackEndpoint | undefined {
  if (!callback) return undefined
  const { url, format, keys, networks } = callback
  const settings = { ...common, shipment_number: number ?? common.shipment_number }
  return { tenant: name, url, format, keys, allowed: compileNetworks(networks), settings }
}

/** Returns an endpoint's address for people, without user name, password and query, which may be secrets. */
export function shownUrl({ origin, pathname, search }: URL): string {
  return origin + pathname + (search === '' ? '' : '?***')
}

/** One try of a delivery. */
interface Try {
  readonly id: string
  readonly body: CallbackBody
  /** In milliseconds since 1970, for the signature. */
  readonly at: number
  /** Ends the try. */
  readonly signal?: AbortSignal | undefined
}

/** The result of a try. */
export type TryResult =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: unknown }
  /** An address is not allowed; nothing was sent. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

/** How long a try may take in total: lookup, connection and the whole reply. */
const TIMEOUT_MS = 20_000
/** A longer reply is not read to its end. */
const REPLY_LIMIT_BYTES = 64 * 1024

const CONTENT_TYPES = { json: 'application/json', form: 'application/x-www-form-urlencoded' }

/**
 * Makes the function that posts. It checks every address of the endpoint before each try, and connects to those addresses without looking
 * the name up again. Each try has its own connection and follows no redirect. The function never rejects.
 */
export function createPost({
  resolve,
  timeoutMs = TIMEOUT_MS,
}: {
  readonly resolve: Resolve
  /** @default 20000 */
  readonly timeoutMs?: number | undefined
}) {
  return async ({ url, keys, allowed }: CallbackEndpoint, { id, body, at, signal }: Try): Promise<TryResult> => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const isOver = signal ? AbortSignal.any([timeout, signal]) : timeout
    try {
      const addresses = await addressesOf(url, resolve, isOver)
      const forbidden = addresses.find((address) => !isPublic(address) && !allowed.has(address))
      if (forbidden !== undefined)
        return { kind: 'refused', reason: `${forbidden} is private; add it to callback_networks` }
      const signed = signatureHeaders(keys, { id, timestamp: Math.floor(at / 1000), body: body.text })
      const { 'webhook-signature': _, ...unsigned } = signed
      const headers = {
        'content-type': CONTENT_TYPES[body.format],
        'user-agent': 'transload',
        ...(keys.length > 0 ? signed : unsigned),
      }
      return await wholeReply(url, { method: 'POST', headers, lookup: lookupOf(addresses), signal: isOver }, body.text)
    } catch (error) {
      if (timeout.aborted) return { kind: 'failed', reason: `no complete reply within ${timeoutMs / 1000} s` }
      return { kind: 'failed', reason: signal?.aborted ? 'interrupted' : reasonOf(error) }
    }
  }
}

/** Sends a request on its own connection, and reads its reply up to a limit. */
async function wholeReply(url: URL, options: RequestOptions, text: string): Promise<TryResult> {
  const request = (url.protocol === 'https:' ? https : http).request(url, { ...options, agent: false })
  // An error after the reply does not matter.
  request.on('error', () => undefined)
  try {
    request.end(text)
    // A reply of 101 closes the connection without an event that `once` knows.
    const [reply]: IncomingMessage[] = await once(request, 'response', options)
    let received = 0
    for await (const chunk of reply ?? []) {
      received += chunk.length
      if (received > REPLY_LIMIT_BYTES) break
    }
    return { kind: 'answered', status: reply?.statusCode ?? 0, retryAfter: reply?.headers['retry-after'] }
  } finally {
    request.destroy()
  }
}

/** Returns why a try failed: the error's code, because messages may quote an address with secrets. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return REASONS.get(code.replace(/^HPE_.*/, 'HPE')) ?? `failed (${code})`
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ENOTFOUND', 'the name has no address'],
  ['ECONNRESET', 'connection lost'],
  ['HPE', 'the reply is not HTTP'],
])

/** Returns a URL's addresses: its host, which the URL parser has normalized, or those of its name. */
async function addressesOf({ hostname }: URL, resolve: Resolve, isOver: AbortSignal): Promise<readonly string[]> {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(literal) !== 0) return [literal]
  const aborted = once(isOver, 'abort').then(() => Promise.reject(isOver.reason))
  const addresses = await Promise.race([resolve(hostname), aborted])
  if (addresses.length === 0) throw new Error(`${hostname} has no address`)
  return addresses
}

/** Answers with the checked addresses, whatever the name resolves to by now. */
function lookupOf(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, done) => {
    const [first = { address: '', family: 0 }] = all
    if (options.all) done(null, all)
    else done(null, first.address, first.family)
  }
}

/** Returns all addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

const LOOK_UP_TIMEOUT_MS = 5_000
const LOOK_UP_TRIES = 2
const NOT_KNOWN = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

/**
 * Makes a resolver that asks the name servers, by default the machine's, without using libuv's few threads: a name server that does not
 * answer for one endpoint delays no other lookup. A name that they do not know may be in the machine's own list.
 */
export function createResolve({ servers }: { readonly servers?: readonly string[] } = {}): Resolve {
  const resolver = new Resolver({ timeout: LOOK_UP_TIMEOUT_MS, tries: LOOK_UP_TRIES })
  if (servers) resolver.setServers(servers)
  return async (hostname) => {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    const unanswered = failures.find((failure) => !NOT_KNOWN.has(String(failure?.code)))
    if (unanswered !== undefined) throw unanswered
    return (await lookup(hostname, { all: true })).map(({ address }) => address)
  }
}

/** IPv4 networks that are not on the public internet (RFC 6890 and its registry), and one cloud address. */
const FORBIDDEN_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Azure's metadata service.
  '168.63.129.16/32',
]

/** Networks of global unicast IPv6 addresses that are not hosts, or that embed an IPv4 address: Teredo, 6to4, documentation. */
const FORBIDDEN_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const forbidden = compileNetworks([...FORBIDDEN_IPV4, ...FORBIDDEN_IPV6])
/** In IPv6, only global unicast addresses are public; mapped, translated, local and multicast ones lie outside. */
const globalIpv6 = compileNetworks(['2000::/3'])

/** Reports whether an address is on the public internet. */
export const isPublic = (address: string): boolean =>
  (isIP(address) === 4 || globalIpv6.has(address)) && !forbidden.has(address)

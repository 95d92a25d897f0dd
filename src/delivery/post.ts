import { isIP, type LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'
import Client from 'undici/lib/dispatcher/client.js'
import type { CallbackBody } from '../store/events.ts'
import { type SignatureHeaders, signatureHeaders } from '../webhook-signature.ts'
import { forbiddenIn, literalAddress } from './addresses.ts'
import type { Endpoint } from './endpoint.ts'
import type { Resolve } from './resolve.ts'

/** One try of a delivery. */
export interface Try {
  readonly id: string
  readonly body: CallbackBody
  /** In milliseconds since 1970, for the signature. */
  readonly at: number
  /** Ends the try. */
  readonly signal?: AbortSignal | undefined
}

/** The result of a try. */
export type Reply =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: unknown }
  /** An address is not allowed; nothing was sent. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

export interface PostOptions {
  readonly resolve: Resolve
  /** @default 20000 */
  readonly timeoutMs?: number
}

/** How long a try may take in all: look-up, connection and the whole reply. */
const TIMEOUT_MS = 20_000
/** A longer reply is not read to its end. */
const REPLY_LIMIT_BYTES = 64 * 1024

const CONTENT_TYPES = { json: 'application/json', form: 'application/x-www-form-urlencoded' }

/** Posts one try to an endpoint; never rejects. */
export type Post = (endpoint: Endpoint, attempt: Try) => Promise<Reply>

/**
 * Makes the function that posts. Every address of the endpoint is checked before each try, and the connection goes to
 * those addresses: the name is not looked up again. No redirect is followed.
 */
export function createPost({ resolve, timeoutMs = TIMEOUT_MS }: PostOptions): Post {
  return async (endpoint, attempt) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = attempt.signal ? AbortSignal.any([timeout, attempt.signal]) : timeout
    try {
      const addresses = await untilAborted(addressesOf(endpoint.url, resolve), signal)
      const [forbidden] = forbiddenIn(addresses, endpoint.allowed)
      if (forbidden !== undefined) {
        const reason = `${endpoint.url.hostname} is the address ${forbidden}, which callback_networks does not allow`
        return { kind: 'refused', reason }
      }
      return await send(endpoint, addresses, attempt, signal)
    } catch (error) {
      if (timeout.aborted) return { kind: 'failed', reason: `no whole reply within ${timeoutMs / 1000} s` }
      return { kind: 'failed', reason: reasonOf(error) }
    }
  }
}

async function addressesOf(url: URL, resolve: Resolve): Promise<readonly string[]> {
  const literal = literalAddress(url)
  if (literal !== undefined) return [literal]
  const addresses = await resolve(url.hostname)
  if (addresses.length === 0) throw new Error(`${url.hostname} has no address`)
  return addresses
}

async function send(
  { url, keys }: Endpoint,
  addresses: readonly string[],
  { id, body, at }: Try,
  signal: AbortSignal,
): Promise<Reply> {
  const client = new Client(url.origin, {
    connect: { lookup: lookupOf(addresses), timeout: 0 },
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  })
  const headers = {
    'content-type': CONTENT_TYPES[body.format],
    'user-agent': 'transload',
    ...authorizationOf(url),
    ...signature(keys, id, at, body),
  }
  const request = { method: 'POST', path: url.pathname + url.search, headers, body: body.text } as const
  try {
    return await untilAborted(replyOf(client, request), signal)
  } finally {
    // Not awaited: a connection that does not end would hold up the result.
    void client.destroy().catch(() => undefined)
  }
}

/** Sends a request and reads its reply, up to a limit. */
function replyOf(client: Client, request: Dispatcher.DispatchOptions): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  let reply: Reply | undefined
  let received = 0
  const finish = () => (reply ? resolve(reply) : reject(new Error('no reply')))
  client.dispatch(request, {
    onRequestStart: () => undefined,
    onResponseStart(_controller, status, headers) {
      reply = { kind: 'answered', status, retryAfter: headers['retry-after'] }
    },
    onResponseData(_controller, chunk) {
      received += chunk.length
      if (received > REPLY_LIMIT_BYTES) finish()
    },
    onResponseEnd: finish,
    onResponseError: (_controller, error) => reject(error),
  })
  return promise
}

/** Answers with the checked addresses, whatever the name is by now. */
function lookupOf(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, done) => {
    const [first = { address: '', family: 0 }] = all
    if (options.all) done(null, all)
    else done(null, first.address, first.family)
  }
}

function signature(keys: Endpoint['keys'], id: string, at: number, { text }: CallbackBody): Partial<SignatureHeaders> {
  const headers = signatureHeaders(keys, { id, timestamp: Math.floor(at / 1000), body: text })
  if (keys.length > 0) return headers
  const { 'webhook-id': webhookId, 'webhook-timestamp': timestamp } = headers
  return { 'webhook-id': webhookId, 'webhook-timestamp': timestamp }
}

/** Returns the user name and password of an address as a header. */
function authorizationOf({ username, password }: URL): { readonly authorization?: string } {
  if (username === '' && password === '') return {}
  const pair = [username, password].map(decodeURIComponent).join(':')
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', stop))
}

/** Returns why a try failed: the code of the error, because messages may quote an address with secrets. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return REASONS.get(code) ?? `failed (${code})`
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ENOTFOUND', 'the name has no address'],
  ['ECONNRESET', 'connection lost'],
  ['UND_ERR_SOCKET', 'connection lost'],
  ['UND_ERR_CONNECT_TIMEOUT', 'no connection in time'],
  ['AbortError', 'interrupted'],
  ['HTTPParserError', 'the reply is not HTTP'],
])

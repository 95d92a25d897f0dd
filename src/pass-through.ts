import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Dispatcher } from 'undici'
import { readBytes } from './body/bytes.ts'
import type { Credentials, Passage } from './callers/credentials.ts'
import type { Config } from './config.ts'
import { GatewayError } from './errors.ts'
import { REPLY_TIMEOUT_MS } from './http/listener.ts'
import type { Upstream } from './service/upstream.ts'

/** What concerns one connection only (RFC 9110, 7.6.1), or is decided anew on the next one. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What passing calls through depends on. */
export interface PassThroughDeps {
  readonly config: Pick<Config, 'UPSTREAM_TIMEOUT_MS'>
  readonly credentials: Credentials
  readonly upstream: Upstream
}

/** Hands a version-2 call to the service and the reply back, both as streams, neither parsed nor changed. */
export async function passThrough(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  requestId: string,
  { config, credentials, upstream }: PassThroughDeps,
): Promise<void> {
  const deadline = performance.now() + config.UPSTREAM_TIMEOUT_MS
  const passage = await credentials.passage(incoming)
  const leave = passage.limits.enter()
  const hangUp = new AbortController()
  const onClose = () => hangUp.abort()
  // Node's pipeline listens ten times by itself, which Node then warns of.
  outgoing.setMaxListeners(20)
  outgoing.once('close', onClose)
  try {
    const body = passage.authorized && isSmall(incoming) ? await readBytes(incoming, SMALL_BYTES) : bodyOf(incoming)
    const sent = unmistakable(incoming.rawHeaders)
    const headers = [...endToEnd(sent, ['authorization', 'x-request-id']), 'x-request-id', requestId]
    const attempt = async (authorization: string | undefined): Promise<Reply> => {
      const reply = await upstream.pool(passage.origin, passage.pool).request({
        // Any method passes; undici's type names the usual ones.
        method: (incoming.method ?? 'GET') as 'GET',
        path: passage.prefix + incoming.url,
        headers: authorization === undefined ? headers : [...headers, 'authorization', authorization],
        body,
        headersTimeout: config.UPSTREAM_TIMEOUT_MS,
        bodyTimeout: config.UPSTREAM_TIMEOUT_MS,
        responseHeaders: 'raw',
        signal: hangUp.signal,
      })
      return { status: reply.statusCode, lines: linesOf(reply.headers), body: reply.body }
    }
    const reply = await answerOf(passage, body, deadline, attempt)
    outgoing.writeHead(reply.status, [...endToEnd(reply.lines, ['x-request-id']), 'X-Request-Id', requestId])
    await toReader(reply.body, outgoing)
  } catch (cause) {
    if (outgoing.headersSent || hangUp.signal.aborted) outgoing.destroy()
    else throw cause instanceof GatewayError ? cause : passThroughError(cause)
  } finally {
    leave()
    outgoing.off('close', onClose)
  }
}

/** Hands a body on as fast as it is read; a reader that takes nothing for too long is let go. */
async function toReader(body: Reply['body'], outgoing: ServerResponse): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const wait = () => {
    timer ??= setTimeout(() => outgoing.destroy(), REPLY_TIMEOUT_MS)
  }
  const goOn = () => {
    clearTimeout(timer)
    timer = undefined
  }
  body.on('pause', wait)
  outgoing.on('drain', goOn)
  try {
    await pipeline(body, outgoing)
  } finally {
    goOn()
    outgoing.off('drain', goOn)
  }
}

interface Reply {
  readonly status: number
  /** Names and values in turn, as they came. */
  readonly lines: readonly string[]
  readonly body: Dispatcher.ResponseData['body']
}

/** A body this small is kept until it is clear that the service takes the credential, so that it can be sent again. */
const SMALL_BYTES = 64 * 1024

/** One attempt for what can be read only once; else as many as finding the right `Authorization` takes. */
async function answerOf(
  { authorized, authorization, learn }: Passage,
  body: Buffer | IncomingMessage | null,
  deadline: number,
  attempt: (authorization: string | undefined) => Promise<Reply>,
): Promise<Reply> {
  if (authorized && (body === null || Buffer.isBuffer(body))) {
    let last: Reply | undefined
    const found = authorized(deadline, async (right) => {
      // An answer that is not the last one is nobody's; its connection is needed.
      await last?.body.dump()
      last = await attempt(right)
      return { status: last.status, headers: challengesIn(last.lines) }
    })
    await found.catch(async (error: unknown) => {
      await last?.body.dump()
      throw error
    })
    if (last) return last
  }
  const sent = await authorization?.(deadline)
  const reply = await attempt(sent)
  if (sent !== undefined) learn?.(sent, { status: reply.status, headers: challengesIn(reply.lines) })
  return reply
}

const challengesIn = (lines: readonly string[]) => {
  const values = lines.filter((_line, i) => i % 2 === 1 && lines[i - 1]?.toLowerCase() === 'www-authenticate')
  return values.length > 0 ? { 'www-authenticate': values.join(', ') } : {}
}

/** With `responseHeaders: 'raw'` undici gives names and values in turn, a character for each byte; its type says else. */
function linesOf(headers: unknown): readonly string[] {
  return headers as readonly string[]
}

function isSmall({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return (
    headers['content-encoding'] === undefined &&
    length !== undefined &&
    Number(length) <= SMALL_BYTES &&
    Number(length) > 0
  )
}

/** Header lines that are meant for the other end, less those that are written anew. */
function endToEnd(lines: readonly string[], rewritten: readonly string[]): string[] {
  const left = new Set([...HOP_BY_HOP, ...rewritten, ...namedByConnection(lines)])
  const kept: string[] = []
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] ?? ''
    if (!left.has(name.toLowerCase())) kept.push(name, lines[i + 1] ?? '')
  }
  return kept
}

const PLAIN_NAME = /^[a-z\d-]+$/i

/**
 * Header lines without those whose names some servers read as other ones: to many of them, `Content_Length` and
 * `Content.Length` are what frames the body, or `X_Forwarded_For` what a proxy vouches for.
 */
function unmistakable(lines: readonly string[]): string[] {
  return lines.filter((_line, i) => PLAIN_NAME.test(lines[i - (i % 2)] ?? ''))
}

/** A header that `Connection` names is for this hop alone. */
function namedByConnection(lines: readonly string[]): string[] {
  return lines.flatMap((line, i) =>
    i % 2 === 0 && line.toLowerCase() === 'connection'
      ? (lines[i + 1] ?? '').split(',').map((name) => name.trim().toLowerCase())
      : [],
  )
}

function bodyOf(incoming: IncomingMessage): IncomingMessage | null {
  const { 'transfer-encoding': coding, 'content-length': length } = incoming.headers
  return coding !== undefined || Number(length ?? 0) > 0 ? incoming : null
}

function passThroughError(cause: unknown): GatewayError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return code === 'UND_ERR_HEADERS_TIMEOUT'
    ? new GatewayError('service-silent', 'The service did not answer in time. Try again later.', { cause })
    : new GatewayError('service-unreachable', 'The service cannot be reached. Try again later.', { cause })
}

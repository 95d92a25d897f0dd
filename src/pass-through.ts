import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Config } from './config.ts'
import type { Credentials } from './credentials.ts'
import { GatewayError } from './errors.ts'
import type { Upstream } from './upstream.ts'

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
  readonly config: Pick<Config, 'V2_BASE_URL' | 'UPSTREAM_TIMEOUT_MS'>
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
  const authorization = credentials.passThrough(incoming.headers)
  const headers = [...endToEnd(incoming.rawHeaders, ['authorization', 'x-request-id']), 'x-request-id', requestId]
  if (authorization !== undefined) headers.push('authorization', authorization)
  const hangUp = new AbortController()
  const onClose = () => hangUp.abort()
  outgoing.once('close', onClose)
  try {
    const reply = await upstream.pool(authorization ?? '').request({
      method: (incoming.method ?? 'GET') as 'GET',
      path: config.V2_BASE_URL.prefix + incoming.url,
      headers,
      body: hasBody(incoming) ? incoming : null,
      headersTimeout: config.UPSTREAM_TIMEOUT_MS,
      bodyTimeout: config.UPSTREAM_TIMEOUT_MS,
      responseHeaders: 'raw',
      signal: hangUp.signal,
    })
    // With `responseHeaders: 'raw'` undici gives the header lines as they came.
    const received = reply.headers as unknown as readonly Buffer[]
    const lines = endToEnd(received.map(String), ['x-request-id'])
    outgoing.writeHead(reply.statusCode, [...lines, 'X-Request-Id', requestId])
    await pipeline(reply.body, outgoing)
  } catch (cause) {
    if (outgoing.headersSent || hangUp.signal.aborted) outgoing.destroy()
    else throw passThroughError(cause)
  } finally {
    outgoing.off('close', onClose)
  }
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

/** A header that `Connection` names is for this hop alone. */
function namedByConnection(lines: readonly string[]): string[] {
  return lines.flatMap((line, i) =>
    i % 2 === 0 && line.toLowerCase() === 'connection'
      ? (lines[i + 1] ?? '').split(',').map((name) => name.trim().toLowerCase())
      : [],
  )
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function passThroughError(cause: unknown): GatewayError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return code === 'UND_ERR_HEADERS_TIMEOUT'
    ? new GatewayError('service-silent', 'The service did not answer in time. Try again later.', { cause })
    : new GatewayError('service-unreachable', 'The service cannot be reached. Try again later.', { cause })
}

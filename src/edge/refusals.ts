import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Answer } from '../language/answer.ts'
import { requestId } from '../runtime/call.ts'
import { JSON_TYPE } from './answers.ts'

/* The requests that a listener refuses before routing: malformed ones, and those that other servers read differently. */

/** The reason why a listener refuses a request before routing. */
export interface RequestRefusal {
  readonly status: number
  readonly message: string
}

/** Returns a refusal in the shape that callers of its path read. The target is undefined if it is unknown. */
export type AnswerRefusal = (refused: RequestRefusal, target: string | undefined) => Answer

/** Every refusal. `{method}` is filled in. */
export const refusals = {
  malformed: { status: 400, message: 'Malformed HTTP request.' },
  target: { status: 400, message: 'The request target must be a path, without a host.' },
  backslash: { status: 400, message: 'The path contains a backslash. Use / instead.' },
  severalHosts: { status: 400, message: 'Send one Host header.' },
  host: { status: 400, message: 'Malformed Host header.' },
  method: { status: 405, message: 'The method {method} is not supported.' },
  timeout: { status: 408, message: 'The request took too long to arrive. Send it again.' },
  chunkExtensions: { status: 413, message: 'The chunk extensions are too large. Send chunks without extensions.' },
  expectation: { status: 417, message: 'Expect: 100-continue is the only expectation supported.' },
  headers: { status: 431, message: 'The headers are too large. Send fewer of them.' },
  coding: { status: 501, message: 'Send the body with a Content-Length, or chunked over HTTP/1.1.' },
  version: { status: 505, message: 'Use HTTP/1.1 or HTTP/1.0.' },
} as const satisfies Readonly<Record<string, RequestRefusal>>

const HTTP_1_0_OR_LATER = /^1\.[01]$/
/** More headers than any caller needs. Beyond its own limit, Node would drop headers silently. */
const MAX_HEADERS = 200

/** Returns the reason to refuse a request that Node accepts and other servers read differently. */
export function requestRefusal({
  rawHeaders,
  headers,
  httpVersion,
  method,
  url,
}: IncomingMessage): RequestRefusal | undefined {
  if (!HTTP_1_0_OR_LATER.test(httpVersion)) return refusals.version
  if (method === 'TRACE' || method === 'CONNECT') return unsupported(method)
  if (!url?.startsWith('/')) return refusals.target
  if (url.includes('\\') && BACKSLASH_IN_PATH.test(url)) return refusals.backslash
  if (rawHeaders.length > 2 * MAX_HEADERS) return refusals.headers
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') hosts += 1
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return refusals.severalHosts
  if (headers.host && !PLAIN_HOST.test(headers.host) && !isHost(headers.host)) return refusals.host
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.trim().toLowerCase() !== 'chunked')) {
    return refusals.coding
  }
  return undefined
}

const BACKSLASH_IN_PATH = /^[^?]*\\/
const PLAIN_HOST = /^[a-z0-9._-]+(?::\d{1,5})?$/i

/** Reports whether a `Host` that is not plain is a name or an address, with or without a port. */
function isHost(host: string): boolean {
  return !/[\s/?#@\\]/.test(host) && URL.canParse(`http://${host}/`)
}

/** Refuses a method that is meant for proxies. */
export const unsupported = (method: string): RequestRefusal => ({
  status: refusals.method.status,
  message: refusals.method.message.replace('{method}', method),
})

const PARSER_REFUSALS: ReadonlyMap<string, RequestRefusal> = new Map<string, RequestRefusal>([
  ['HPE_HEADER_OVERFLOW', refusals.headers],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', refusals.chunkExtensions],
  ['ERR_HTTP_REQUEST_TIMEOUT', refusals.timeout],
])

/** Returns the refusal for an error code of Node's parser. */
export const parserRefusal = (code: string | undefined): RequestRefusal =>
  PARSER_REFUSALS.get(code ?? '') ?? refusals.malformed

/** Returns the path of a request that Node's parser refuses; undefined if its bytes do not begin with the request. */
export const refusedPath = (bytes: Buffer | undefined): string | undefined =>
  bytes && /^\s*[a-z]+ ([^\s?]+)[\s?]/i.exec(bytes.toString('latin1'))?.[1]

/** Closes the connection after the answer, because the rest of a refused request is not read. */
const headersOf = ({ headers, body }: Answer, incoming: IncomingMessage | undefined) => ({
  'Content-Type': JSON_TYPE,
  'Content-Length': String(Buffer.byteLength(body)),
  'X-Request-Id': requestId(incoming?.headers),
  ...headers,
  Connection: 'close',
})

/** Answers a request with its refusal. */
export function refuse(outgoing: ServerResponse, answer: Answer): void {
  outgoing.writeHead(answer.status, headersOf(answer, outgoing.req)).end(answer.body)
}

/** Returns a refusal as bytes, for a connection without a response to write to. */
export function refusalBytes(answer: Answer, incoming: IncomingMessage | undefined): string {
  const { status, body } = answer
  const lines = Object.entries(headersOf(answer, incoming)).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n')
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { JSON_TYPE } from './answers.ts'

/** Why a listener answers a request itself, before any route. */
export interface Refusal {
  readonly status: number
  readonly message: string
}

const HTTP_1_0_OR_LATER = /^1\.[01]$/
/** No caller needs more, and of very many Node would show only some. */
const MOST_HEADERS = 200

/** What Node lets through although it means different things to different servers. */
export function refusal({ rawHeaders, headers, httpVersion, method, url }: IncomingMessage): Refusal | undefined {
  if (!HTTP_1_0_OR_LATER.test(httpVersion)) return { status: 505, message: 'Speak HTTP/1.1 or HTTP/1.0.' }
  if (method === 'TRACE' || method === 'CONNECT') return notServed(method)
  if (!url?.startsWith('/')) return { status: 400, message: 'Send the path alone as the request target.' }
  if (url.includes('\\') && BACKSLASH_IN_PATH.test(url))
    return { status: 400, message: 'Send no backslash in the path.' }
  if (rawHeaders.length > 2 * MOST_HEADERS) return TOO_MANY_HEADERS
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') hosts += 1
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return { status: 400, message: 'Send one Host header.' }
  if (headers.host && !isHost(headers.host)) return BAD_REQUEST
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.trim().toLowerCase() !== 'chunked')) {
    return { status: 501, message: 'Send the body with Content-Length, or chunked.' }
  }
  return undefined
}

const BACKSLASH_IN_PATH = /^[^?]*\\/
const PLAIN_HOST = /^[a-z0-9._-]+(?::\d{1,5})?$/i

/** Whether a `Host` names one, in a name or an address, and perhaps a port. */
function isHost(host: string): boolean {
  return PLAIN_HOST.test(host) || (!/[\s/?#@\\]/.test(host) && URL.canParse(`http://${host}/`))
}

/** The refusal of a method that concerns proxies. */
export const notServed = (method: string): Refusal => ({ status: 405, message: `${method} is not served here.` })

/** The refusal of an expectation that is none of HTTP's. */
export const UNEXPECTED: Refusal = { status: 417, message: 'Expect nothing but 100-continue.' }

const TOO_MANY_HEADERS: Refusal = { status: 431, message: 'The headers are too large. Send fewer of them.' }
const BAD_REQUEST: Refusal = { status: 400, message: 'The request is not HTTP as it should be. Send it anew.' }
const PARSER_REFUSALS: ReadonlyMap<string, Refusal> = new Map([
  ['HPE_HEADER_OVERFLOW', TOO_MANY_HEADERS],
  [
    'HPE_CHUNK_EXTENSIONS_OVERFLOW',
    { status: 413, message: 'The chunks are too large. Send them without extensions.' },
  ],
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: 408, message: 'The request took too long to arrive. Send it again.' }],
])

/** What the parser's own error means to the caller. */
export const parserRefusal = (code: string | undefined): Refusal => PARSER_REFUSALS.get(code ?? '') ?? BAD_REQUEST

const bodyOf = (message: string) => JSON.stringify({ Message: message, TransportationBooked: 'No' })

/** The rest of a refused request is not worth reading. */
const headersOfRefusal = (body: string) => ({
  'Content-Type': JSON_TYPE,
  'Content-Length': String(Buffer.byteLength(body)),
  Connection: 'close',
  'X-Request-Id': crypto.randomUUID(),
})

/** Answers a request with its refusal. */
export function refuse(outgoing: ServerResponse, { status, message }: Refusal): void {
  const body = bodyOf(message)
  outgoing.writeHead(status, headersOfRefusal(body)).end(body)
}

/** What cannot be made a request of, such as one with a Host that is none. */
export function badRequest(): Response {
  const body = bodyOf(BAD_REQUEST.message)
  return new Response(body, { status: BAD_REQUEST.status, headers: headersOfRefusal(body) })
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
}

/** A refusal as bytes, for whom there is no response to write to. */
export function written({ status, message }: Refusal): string {
  const body = bodyOf(message)
  const lines = Object.entries(headersOfRefusal(body)).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${REASONS[status] ?? 'Refused'}`, ...lines, '', body].join('\r\n')
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket, Server as SocketServer } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { JSON_TYPE } from './answers.ts'
import type { Env } from './call.ts'
import type { Logger } from './log.ts'
import { readTls, type TlsFiles, watchTls } from './tls.ts'

/** The part of an application that a listener needs. */
export interface Fetcher {
  readonly fetch: (request: Request, bindings: Env['Bindings']) => Response | Promise<Response>
}

/** A server that listens. */
export interface Listener {
  readonly url: string
  /** Stops taking calls, waits for those under way, at most so long, and closes. */
  readonly close: (graceMs: number) => Promise<void>
}

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  /** @default no limit */
  readonly maxInFlight?: number
  /** @default no limit */
  readonly maxConnections?: number
  /** @default no limit */
  readonly sourceConnections?: number
  /** @default plain HTTP */
  readonly tls?: TlsFiles | undefined
  readonly log: Logger
}

/** A caller that sends its headers, or its whole request, slower than this is let go. */
const HEADERS_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 15_000
const CHECKING_INTERVAL_MS = 1_000

const MANNERS = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: CHECKING_INTERVAL_MS,
  // Refused below, with a body.
  requireHostHeader: false,
} as const

/** Listens for an application; refuses what must not reach any route. */
export async function listen(app: Fetcher, options: ListenerOptions): Promise<Listener> {
  const { host, port, tls, log, maxInFlight = Number.POSITIVE_INFINITY } = options
  const underWay = new Set<ServerResponse>()
  let closing = false
  let emptied = () => {}
  const unwelcome = () => (closing ? 'draining' : underWay.size > maxInFlight ? 'overloaded' : undefined)
  const serve = getRequestListener(
    (request, bindings) => {
      // What listens here speaks HTTP/1, so that its bindings are those of `node:http`.
      const { incoming, outgoing } = bindings as Env['Bindings']
      const response = app.fetch(request, { incoming, outgoing, unwelcome: unwelcome() })
      // Hono answers HEAD with a new response, which no longer says that everything was sent already.
      return incoming.method === 'HEAD' ? unlessSent(response, outgoing) : response
    },
    // Without a hostname of its own, an HTTP/1.0 call that sends no Host would be refused.
    { hostname: 'transload', errorHandler: () => badRequest() },
  )
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const refused = refusal(incoming)
    if (refused) return answer(outgoing, refused)
    underWay.add(outgoing)
    outgoing.once('close', () => {
      underWay.delete(outgoing)
      if (underWay.size === 0) emptied()
    })
    void serve(incoming, outgoing)
  }
  const server = tls ? createTlsServer({ ...MANNERS, ...readTls(tls) }, handle) : createServer(MANNERS, handle)
  const unwatch =
    tls && 'setSecureContext' in server ? watchTls(tls, (renewed) => server.setSecureContext(renewed), log) : undefined
  limitConnections(server, options)
  server.on('checkExpectation', (_incoming, outgoing) =>
    answer(outgoing, { status: 417, message: 'Expect nothing but 100-continue.' }),
  )
  server.on('connect', (_incoming, socket) => {
    socket.on('error', () => socket.destroy())
    socket.end(written('405 Method Not Allowed', 'CONNECT is not served here.'))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Something may have been sent already, and then another answer would be taken for the next reply's.
    if (!socket.writable || ('bytesWritten' in socket && Number(socket.bytesWritten) > 0)) return void socket.destroy()
    socket.end(written(...(PARSER_REFUSALS.get(error.code ?? '') ?? BAD_REQUEST)))
  })
  await started(server, host, port)

  return {
    url: urlOf(server, host, tls ? 'https' : 'http'),
    close: async (graceMs) => {
      closing = true
      unwatch?.()
      for (const outgoing of underWay) if (!outgoing.headersSent) outgoing.setHeader('Connection', 'close')
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      const empty = underWay.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => (emptied = resolve))
      await withinGrace(empty, graceMs)
      server.closeAllConnections()
      await closed
    },
  }
}

/** Lets nobody hold more connections than there are for everybody, and no address more than its share. */
function limitConnections(
  server: SocketServer,
  { maxConnections, sourceConnections = Number.POSITIVE_INFINITY }: ListenerOptions,
): void {
  if (maxConnections !== undefined) server.maxConnections = maxConnections
  const held = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const source = socket.remoteAddress ?? ''
    const count = (held.get(source) ?? 0) + 1
    if (count > sourceConnections) return void socket.destroy()
    held.set(source, count)
    socket.once('close', () => {
      const left = (held.get(source) ?? 1) - 1
      if (left === 0) held.delete(source)
      else held.set(source, left)
    })
  })
}

interface Refusal {
  readonly status: number
  readonly message: string
}

const HTTP_1_0_OR_LATER = /^1\.[01]$/

/** What Node lets through although it means different things to different servers. */
function refusal({ rawHeaders, headers, httpVersion, method, url }: IncomingMessage): Refusal | undefined {
  if (!HTTP_1_0_OR_LATER.test(httpVersion)) return { status: 505, message: 'Speak HTTP/1.1 or HTTP/1.0.' }
  if (method === 'TRACE' || method === 'CONNECT') return { status: 405, message: `${method} is not served here.` }
  if (!url?.startsWith('/')) return { status: 400, message: 'Send the path alone as the request target.' }
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') hosts += 1
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return { status: 400, message: 'Send one Host header.' }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && (httpVersion === '1.0' || coding.trim().toLowerCase() !== 'chunked')) {
    return { status: 501, message: 'Send the body with Content-Length, or chunked.' }
  }
  return undefined
}

const BAD_REQUEST = ['400 Bad Request', 'The request is not HTTP as it should be. Send it anew.'] as const
const PARSER_REFUSALS: ReadonlyMap<string, readonly [status: string, message: string]> = new Map([
  ['HPE_HEADER_OVERFLOW', ['431 Request Header Fields Too Large', 'The headers are too large. Send fewer of them.']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['408 Request Timeout', 'The request took too long to arrive. Send it again.']],
] as const)

const bodyOf = (message: string) => JSON.stringify({ Message: message, TransportationBooked: 'No' })

/** The rest of a refused request is not worth reading. */
const headersOfRefusal = () => ({
  'Content-Type': JSON_TYPE,
  Connection: 'close',
  'X-Request-Id': crypto.randomUUID(),
})

function answer(outgoing: ServerResponse, { status, message }: Refusal): void {
  outgoing.writeHead(status, headersOfRefusal())
  outgoing.end(bodyOf(message))
}

/** What cannot be made a request of, such as one with a Host that is none. */
function badRequest(): Response {
  return new Response(bodyOf(BAD_REQUEST[1]), { status: 400, headers: headersOfRefusal() })
}

/** A reply as bytes, for whom there is no response to write to. */
function written(status: string, message: string): string {
  const body = bodyOf(message)
  const headers = { ...headersOfRefusal(), 'Content-Length': Buffer.byteLength(body) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status}`, ...lines, '', body].join('\r\n')
}

async function unlessSent(response: Response | Promise<Response>, outgoing: ServerResponse): Promise<Response> {
  const made = await response
  return outgoing.headersSent ? RESPONSE_ALREADY_SENT : made
}

function started(server: SocketServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function urlOf(server: SocketServer, host: string, scheme: string): string {
  // A server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `${scheme}://${name}:${port}`
}

function withinGrace(work: Promise<void>, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, graceMs)
    void work.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

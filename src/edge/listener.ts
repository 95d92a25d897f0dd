import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server, Socket, Server as SocketServer } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContextOptions, SecureVersion } from 'node:tls'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Hono } from 'hono'
import type { Answer } from '../language/answer.ts'
import { OLD_CIPHERS } from '../language/config/certificates.ts'
import type { Config } from '../language/config/config.ts'
import { watchFiles } from '../language/config/watch-files.ts'
import { beginCall, requestId } from '../runtime/call.ts'
import { createUnorderedList, type UnorderedList } from '../runtime/collections.ts'
import type { Logger } from '../runtime/log.ts'
import type { Reloads } from '../runtime/reloads.ts'
import { JSON_TYPE, refusalDetails } from './answers.ts'
import type { Env, Unavailable } from './door.ts'

interface ListenersOptions {
  readonly config: Config
  readonly app: Hono<Env>
  readonly admin: Hono<Env>
  /** Undefined turns the admin listener off. */
  readonly adminPort: number | undefined
  /** Admits a connection of a caller, as in `ConnectionLimits`. */
  readonly connect: (socket: Socket) => (() => void) | undefined
  /** On the public listener. */
  readonly answerRefusal: AnswerRefusal
  readonly timeouts: ListenerTimeouts
  readonly log: Logger
  /** Of the certificate. @default not kept */
  readonly reloads?: Reloads | undefined
}

/** The listeners of a gateway. */
interface Listeners {
  readonly url: string
  /** Undefined if the admin listener is turned off. */
  readonly adminUrl: string | undefined
  /** Refuses new calls, finishes those in flight, and closes. */
  readonly close: () => Promise<void>
}

/** Opens the public and the admin listener, or neither. */
export async function openListeners(options: ListenersOptions): Promise<Listeners> {
  const { config, app, admin, adminPort, connect, answerRefusal, timeouts, log, reloads } = options
  const open: Listener[] = []
  const close = async () => {
    await Promise.all(open.map((listener) => listener.close(config.SHUTDOWN_GRACE_MS)))
  }
  try {
    const { HOST: host, PORT: port, MAX_CONNECTIONS: maxConnections } = config
    const tls = tlsFilesOf(config, log)
    const publicOptions = { host, port, maxConnections, connect, tls, answerRefusal, timeouts, log, reloads }
    open.push(await listen(createRequestHandler(app, answerRefusal), publicOptions))
    if (adminPort !== undefined) {
      const adminOptions = { host: config.ADMIN_HOST, port: adminPort, answerRefusal: refusalDetails, timeouts, log }
      open.push(await listen(createRequestHandler(admin, refusalDetails), adminOptions))
    }
    const [listener, adminListener] = open
    return { url: listener?.url ?? '', adminUrl: adminListener?.url, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Makes the request handler of an app whose handlers read `c.env.incoming` and write to `c.env.outgoing`. */
function createRequestHandler(app: Hono<Env>, answerRefusal: AnswerRefusal): RequestHandler {
  let unavailable: Unavailable | undefined
  let received: readonly [IncomingMessage, ServerResponse] | undefined
  const listener = getRequestListener(
    (request, bindings) => {
      // The listener speaks HTTP/1, so the bindings are those of `node:http`.
      const { incoming, outgoing } = bindings as Pick<Env['Bindings'], 'incoming' | 'outgoing'>
      const answered = app.fetch(request, { incoming, outgoing, unavailable, call: beginCall(incoming) })
      // If even the error reply failed, the connection closes.
      if (answered instanceof Promise) answered.catch(() => outgoing.destroy())
      // The app writes to `outgoing`. Nothing waits for it here: each promise in a row costs every call.
      return RESPONSE_ALREADY_SENT
    },
    // An HTTP/1.0 request without Host needs a hostname. The listener discards the rest of a body itself.
    { hostname: 'transload', autoCleanupIncoming: false, errorHandler: refuseMalformed },
  )
  return (incoming, outgoing, now) => {
    // The adapter makes a `Request`, and calls the app, before it returns.
    unavailable = now
    received = [incoming, outgoing]
    void listener(incoming, outgoing)
    received = undefined
  }

  /** Answers a request that cannot become a `Request`, such as one with an unusual `Host`. */
  function refuseMalformed(): Response | undefined {
    // Any later failure is the app's, and of a request that is not known here.
    if (!received) return new Response(undefined, { status: 500 })
    const [incoming, outgoing] = received
    refuse(outgoing, answerRefusal(refusals.malformed, incoming))
    return undefined
  }
}

/** The timeouts of a listener, in milliseconds. */
export interface ListenerTimeouts {
  /** For the head of a request, and for a TLS handshake. */
  readonly headersMs: number
  /** For a whole request. */
  readonly requestMs: number
  /** For a caller to read a reply that is ready. */
  readonly replyMs: number
  /** Between two checks of the timeouts above. */
  readonly checkMs: number
  /** For a refused caller to read the refusal; further input is discarded. */
  readonly lingerMs: number
  /** For the first request on a new connection while the listener closes. */
  readonly lastRequestMs: number
  /** Between two checks of the certificate's files. */
  readonly certificateMs: number
}

/** The timeouts of the public and the admin listener. */
export const LISTENER_TIMEOUTS: ListenerTimeouts = {
  headersMs: 5_000,
  requestMs: 15_000,
  replyMs: 15_000,
  checkMs: 1_000,
  lingerMs: 1_000,
  lastRequestMs: 500,
  certificateMs: 2_000,
}

/** Handles a request that the listener accepts. */
type RequestHandler = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  /** The reason why the listener refuses new calls. */
  unavailable: Unavailable | undefined,
) => void

/** A listening server. */
interface Listener {
  readonly url: string
  /** Refuses new calls, waits at most `graceMs` for those under way, and closes. */
  readonly close: (graceMs: number) => Promise<void>
}

interface ListenerOptions extends ConnectionLimits {
  readonly host: string
  readonly port: number
  /** @default plain HTTP */
  readonly tls?: TlsFiles | undefined
  /** @default LISTENER_TIMEOUTS */
  readonly timeouts?: ListenerTimeouts | undefined
  readonly answerRefusal: AnswerRefusal
  readonly log: Logger
  /** Of the certificate. @default not kept */
  readonly reloads?: Reloads | undefined
}

/** Opens a listener. It refuses malformed and ambiguous requests, and passes the others to the handler. */
async function listen(handler: RequestHandler, options: ListenerOptions): Promise<Listener> {
  const { host, port, tls, log, reloads, answerRefusal, timeouts = LISTENER_TIMEOUTS } = options
  const unanswered = createUnorderedList<ServerResponse>()
  /** Connections whose last reply is sent; further data on them is no request. */
  const finished = new WeakSet<Duplex>()
  let isClosing = false
  let onEmpty = () => {}

  const receive = (incoming: IncomingMessage, outgoing: ServerResponse, refused = refusal(incoming)) => {
    if (finished.has(incoming.socket)) return
    if (refused) {
      finished.add(incoming.socket)
      return refuse(outgoing, answerRefusal(refused, incoming))
    }
    const held = unanswered.add(outgoing)
    outgoing.once('close', () => {
      unanswered.take(held)
      if (isClosing && unanswered.size() === 0) onEmpty()
      if (!incoming.readableEnded) discardRest(incoming, timeouts.lingerMs)
    })
    if (isClosing) outgoing.setHeader('Connection', 'close')
    handler(incoming, outgoing, isClosing ? 'draining' : undefined)
  }

  /** Refuses malformed input on a connection, after the replies to earlier requests. */
  const refuseConnection = (socket: Duplex, reason: Refusal) => {
    if (finished.has(socket)) return
    finished.add(socket)
    const pending = unanswered.items().filter(({ req }) => req.socket === socket)
    // Refuses an incomplete request. Without one, the caller would take the refusal for another reply.
    const incomplete = pending.at(-1)?.req.complete === false ? pending.pop() : undefined
    const last = pending.at(-1)
    if (last) {
      if (!last.headersSent) last.setHeader('Connection', 'close')
      return void last.once('close', () => socket.destroy())
    }
    if (incomplete?.headersSent) return void socket.destroy()
    const incoming = incomplete?.req
    socket.end(refusalBytes(answerRefusal(reason, incoming), incoming))
    setTimeout(() => socket.destroy(), timeouts.lingerMs).unref()
  }

  const settings = {
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkMs,
    // `refusal` refuses such requests with a body.
    requireHostHeader: false,
  }
  let renew = () => {}
  const stopWatching =
    tls &&
    watchFiles(
      () => [tls.certFile, tls.keyFile],
      timeouts.certificateMs,
      () => renew(),
    )
  const server = tls
    ? createTlsServer(
        { ...settings, ...readTls(tls), handshakeTimeout: timeouts.headersMs, allowHalfOpen: true },
        receive,
      )
    : createServer(settings, receive)
  // A caller that has closed its side still waits for its reply; Node would close the connection.
  Object.assign(server, { httpAllowHalfOpen: true })
  // `refusal` counts the headers; Node would drop those beyond a limit.
  server.maxHeadersCount = 0
  server.on('checkExpectation', (incoming, outgoing) => {
    // An empty list expects nothing (RFC 9110, 5.6.1).
    const expects = incoming.headers.expect?.trim() !== ''
    receive(incoming, outgoing, refusal(incoming) ?? (expects ? refusals.expectation : undefined))
  })
  server.on('connect', (_incoming, socket) => {
    socket.on('error', () => socket.destroy())
    refuseConnection(socket, unsupported('CONNECT'))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const isGone = !socket.writable && !finished.has(socket)
    if (isGone || NOT_HTTP.test(error.code ?? '')) return void socket.destroy()
    refuseConnection(socket, parserRefusal(error.code))
  })
  if (tls) reloads?.taken('certificate')
  if (tls && 'setSecureContext' in server)
    renew = () => renewTls(tls, (renewed) => server.setSecureContext(renewed), log, reloads)
  const destroyConnections = limitConnections(server, options)
  const checks = destroyUnreadReplies(unanswered, timeouts)
  await started(server, host, port)

  return {
    url: urlOf(server, host, tls ? 'https' : 'http'),
    close: async (graceMs) => {
      isClosing = true
      stopWatching?.()
      for (const outgoing of unanswered.items()) if (!outgoing.headersSent) outgoing.setHeader('Connection', 'close')
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      await within(timeouts.lastRequestMs, closed)
      if (unanswered.size() > 0) await within(graceMs, new Promise<void>((resolve) => (onEmpty = resolve)))
      destroyConnections()
      await closed
      clearInterval(checks)
    },
  }
}

/** Briefly discards what a caller still sends after its reply. */
function discardRest(incoming: IncomingMessage, lingerMs: number): void {
  if (incoming.destroyed) return
  const timer = setTimeout(() => incoming.socket.destroySoon(), lingerMs).unref()
  incoming.once('close', () => clearTimeout(timer)).resume()
}

/** The connection is closed, or its TLS handshake never completed. */
const NOT_HTTP = /^(ECONNRESET|EPIPE|ERR_SSL_|ERR_TLS_)/

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

/** Resolves with the work, or after a timeout in milliseconds. */
function within(ms: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    void work.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** The limits for connections of a listener. */
interface ConnectionLimits {
  /** @default no limit */
  readonly maxConnections?: number
  /**
   * Admits a connection and returns the function to call when it closes; undefined refuses it.
   * @default admits all
   */
  readonly connect?: (socket: Socket) => (() => void) | undefined
}

const nothing = () => {}

/**
 * Refuses connections beyond the limits. Returns the function that closes all open ones, including those in a TLS
 * handshake.
 */
function limitConnections(server: Server, { maxConnections, connect = () => nothing }: ConnectionLimits): () => void {
  if (maxConnections !== undefined) server.maxConnections = maxConnections
  const open = createUnorderedList<Socket>()
  server.on('connection', (socket: Socket) => {
    const disconnect = connect(socket)
    if (!disconnect) return void socket.destroy()
    const held = open.add(socket)
    socket.once('close', () => {
      open.take(held)
      disconnect()
    })
  })
  return () => {
    for (const socket of open.items()) socket.destroy()
  }
}

/**
 * Destroys replies that callers do not read in time. It checks all of them periodically, because a timer for each reply
 * would cost every call, and almost none would fire.
 */
function destroyUnreadReplies(
  unanswered: UnorderedList<ServerResponse>,
  { replyMs, checkMs }: ListenerTimeouts,
): NodeJS.Timeout {
  const readySince = new WeakMap<ServerResponse, number>()
  return setInterval(() => {
    const now = performance.now()
    for (const outgoing of unanswered.items()) {
      // Without a socket, it waits behind another reply on its connection.
      if (!outgoing.writableEnded || !outgoing.socket) continue
      const since = readySince.get(outgoing) ?? now
      readySince.set(outgoing, since)
      // It was ready for up to one interval before the first check.
      if (now - since > replyMs - checkMs) outgoing.destroy()
    }
  }, checkMs).unref()
}

/** The files of the certificate and its key, and the oldest version of TLS that is accepted. */
interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
  readonly minVersion: SecureVersion
}

/** Returns the files of the configuration; undefined where callers use plain HTTP. */
function tlsFilesOf(config: Config, log: Logger): TlsFiles | undefined {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_MIN_VERSION: version } = config
  if (certFile === undefined || keyFile === undefined) return undefined
  if (version === '1.0' || version === '1.1')
    log.warn(`TLS ${version} is accepted, which protects nothing; set TLS_MIN_VERSION=1.2 if no caller needs it`)
  return { certFile, keyFile, minVersion: version === '1.0' ? 'TLSv1' : `TLSv${version}` }
}

/** Reads what a server needs for TLS from the files as they are now. */
function readTls({ certFile, keyFile, minVersion }: TlsFiles): SecureContextOptions {
  const old = minVersion === 'TLSv1' || minVersion === 'TLSv1.1'
  return {
    cert: readFileSync(certFile),
    key: readFileSync(keyFile),
    minVersion,
    ...(old && { ciphers: OLD_CIPHERS }),
  }
}

/** Applies a new certificate, unless certificate and key do not match. */
function renewTls(
  files: TlsFiles,
  apply: (tls: SecureContextOptions) => void,
  log: Logger,
  reloads: Reloads | undefined,
): void {
  try {
    apply(readTls(files))
    reloads?.taken('certificate')
    log.info('the certificate was read again')
  } catch (err) {
    reloads?.refused('certificate', [err instanceof Error ? err.message : String(err)])
    log.error({ err }, 'the new certificate is refused; the old one stays in use')
  }
}

/** The reason why a listener refuses a request before routing. */
export interface Refusal {
  readonly status: number
  readonly message: string
}

/** Returns a refusal in the shape that callers of its path read. The request is undefined if nothing of it is known. */
export type AnswerRefusal = (refused: Refusal, incoming: IncomingMessage | undefined) => Answer

/** Every refusal; `docs/wire.md` shows them. `{method}` is filled in. */
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
} as const satisfies Readonly<Record<string, Refusal>>

const HTTP_1_0_OR_LATER = /^1\.[01]$/
/** More headers than any caller needs. Beyond its own limit, Node would drop headers silently. */
const MAX_HEADERS = 200

/** Returns the reason to refuse a request that Node accepts and other servers read differently. */
function refusal({ rawHeaders, headers, httpVersion, method, url }: IncomingMessage): Refusal | undefined {
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

/** Returns whether a `Host` that is not plain is a name or an address, with or without a port. */
function isHost(host: string): boolean {
  return !/[\s/?#@\\]/.test(host) && URL.canParse(`http://${host}/`)
}

/** Refuses a method that concerns proxies. */
const unsupported = (method: string): Refusal => ({
  status: refusals.method.status,
  message: refusals.method.message.replace('{method}', method),
})

const PARSER_REFUSALS: ReadonlyMap<string, Refusal> = new Map<string, Refusal>([
  ['HPE_HEADER_OVERFLOW', refusals.headers],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', refusals.chunkExtensions],
  ['ERR_HTTP_REQUEST_TIMEOUT', refusals.timeout],
])

/** Returns the refusal for an error code of Node's parser. */
const parserRefusal = (code: string | undefined): Refusal => PARSER_REFUSALS.get(code ?? '') ?? refusals.malformed

/** Closes the connection after the answer, because the rest of a refused request is not read. */
const headersOf = ({ headers, body }: Answer, incoming: IncomingMessage | undefined) => ({
  'Content-Type': JSON_TYPE,
  'Content-Length': String(Buffer.byteLength(body)),
  'X-Request-Id': requestId(incoming?.headers),
  ...headers,
  Connection: 'close',
})

/** Answers a request with its refusal. */
function refuse(outgoing: ServerResponse, answer: Answer): void {
  outgoing.writeHead(answer.status, headersOf(answer, outgoing.req)).end(answer.body)
}

/** Returns a refusal as bytes, for a connection without a response to write to. */
function refusalBytes(answer: Answer, incoming: IncomingMessage | undefined): string {
  const { status, body } = answer
  const lines = Object.entries(headersOf(answer, incoming)).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n')
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket, Server as SocketServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Hono } from 'hono'
import type { Config } from '../language/config/config.ts'
import { beginCall } from '../runtime/call.ts'
import { createUnorderedList } from '../runtime/collections.ts'
import type { Logger } from '../runtime/log.ts'
import type { Reloads } from '../runtime/reloads.ts'
import { within } from '../runtime/time.ts'
import { refusalDetails } from './answers.ts'
import {
  type ConnectionLimits,
  destroyUnreadReplies,
  discardRest,
  type ListenerTimeouts,
  limitConnections,
} from './connections.ts'
import type { Env } from './door.ts'
import {
  type AnswerRefusal,
  parserRefusal,
  type RequestRefusal,
  refusalBytes,
  refusals,
  refuse,
  refusedPath,
  requestRefusal,
  unsupported,
} from './refusals.ts'
import { type Certificate, openCertificate } from './tls.ts'

/** Opens the public and the admin listener; if one fails, neither stays open. */
export async function openListeners({
  config,
  app,
  admin,
  adminPort,
  connect,
  answerRefusal,
  timeouts,
  log,
  reloads,
}: {
  readonly config: Config
  readonly app: Hono<Env>
  readonly admin: Hono<Env>
  /** Undefined turns the admin listener off. */
  readonly adminPort: number | undefined
  /** Admits a caller's connection, as in `ConnectionLimits`. */
  readonly connect: Required<ConnectionLimits>['connect']
  /** For the public listener. */
  readonly answerRefusal: AnswerRefusal
  readonly timeouts: ListenerTimeouts
  readonly log: Logger
  /** For the certificate. */
  readonly reloads: Reloads
}) {
  const open: Awaited<ReturnType<typeof listen>>[] = []
  /** Refuses new calls, finishes those in flight, and closes; until then, operators see on the admin listener that it is not ready. */
  const close = async (): Promise<void> => {
    const end = performance.now() + config.SHUTDOWN_GRACE_MS
    for (const listener of open) await listener.close(Math.max(0, end - performance.now()))
  }
  try {
    const { HOST: host, PORT: port, MAX_CONNECTIONS: maxConnections } = config
    const certificate = openCertificate(config, log, reloads)
    const publicOptions = { host, port, maxConnections, connect, certificate, answerRefusal, timeouts }
    open.push(await listen(createRequestHandler(app, answerRefusal), publicOptions))
    if (adminPort !== undefined) {
      const adminOptions = { host: config.ADMIN_HOST, port: adminPort, answerRefusal: refusalDetails, timeouts }
      open.push(await listen(createRequestHandler(admin, refusalDetails), adminOptions))
    }
    const [listener, adminListener] = open
    return { url: listener?.url ?? '', adminUrl: adminListener?.url, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Makes the request handler for an app whose handlers read `c.env.incoming` and write to `c.env.outgoing`. */
function createRequestHandler(app: Hono<Env>, answerRefusal: AnswerRefusal): RequestHandler {
  let isDraining = false
  let received: readonly [IncomingMessage, ServerResponse] | undefined
  const listener = getRequestListener(
    (request, bindings) => {
      // The listener speaks HTTP/1, so the bindings are those of `node:http`.
      const { incoming, outgoing } = bindings as Env['Bindings']
      const answered = app.fetch(request, { incoming, outgoing, isDraining, call: beginCall(incoming) })
      // If even the error reply fails, the connection closes.
      if (answered instanceof Promise) answered.catch(() => outgoing.destroy())
      // The app writes to `outgoing`. Nothing waits for it here, because each chained promise costs every call.
      return RESPONSE_ALREADY_SENT
    },
    // An HTTP/1.0 request without Host needs a hostname. The listener itself discards the rest of a body.
    { hostname: 'transload', autoCleanupIncoming: false, errorHandler: refuseMalformed },
  )
  return (incoming, outgoing, now) => {
    // The adapter makes a `Request` and calls the app before it returns.
    isDraining = now
    received = [incoming, outgoing]
    void listener(incoming, outgoing)
    received = undefined
  }

  /** Answers a request that cannot become a `Request`, such as one with an unusual `Host`. */
  function refuseMalformed(): Response | undefined {
    // Any later failure is the app's, for a request that is not known here.
    if (!received) return new Response(undefined, { status: 500 })
    const [incoming, outgoing] = received
    refuse(outgoing, answerRefusal(refusals.malformed, incoming.url))
    return undefined
  }
}

/** Handles a request that the listener accepts. */
type RequestHandler = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  /** The listener accepts no new calls. */
  isDraining: boolean,
) => void

interface ListenerOptions extends ConnectionLimits {
  readonly host: string
  readonly port: number
  /** Undefined speaks plain HTTP. */
  readonly certificate?: Certificate | undefined
  readonly timeouts: ListenerTimeouts
  readonly answerRefusal: AnswerRefusal
}

/** Opens a listener. It refuses malformed and ambiguous requests, and passes the others to the handler. */
async function listen(handler: RequestHandler, options: ListenerOptions) {
  const { host, port, certificate, answerRefusal, timeouts } = options
  const unanswered = createUnorderedList<ServerResponse>()
  /** Connections whose last reply is sent; further data on them is not a request. */
  const finished = new WeakSet<Duplex>()
  /** How many of a connection's requests wait for the replies to earlier ones. */
  const pipelined = new WeakMap<Socket, number>()
  let isClosing = false
  let onEmpty = () => {}

  const receive = (incoming: IncomingMessage, outgoing: ServerResponse, refused = requestRefusal(incoming)) => {
    if (finished.has(incoming.socket)) return
    if (refused) {
      finished.add(incoming.socket)
      return refuse(outgoing, answerRefusal(refused, incoming.url))
    }
    const held = unanswered.add(outgoing)
    outgoing.once('close', () => {
      unanswered.take(held)
      if (isClosing && unanswered.size() === 0) onEmpty()
      if (!incoming.readableEnded) discardRest(incoming, timeouts.lingerMs)
    })
    if (outgoing.socket) handle(incoming, outgoing)
    else handleInTurn(incoming, outgoing)
  }

  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (isClosing) outgoing.setHeader('Connection', 'close')
    handler(incoming, outgoing, isClosing)
  }

  /** Handles a pipelined request after the reply to the previous one, in its own turn of the event loop. */
  const handleInTurn = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming
    const count = (pipelined.get(socket) ?? 0) + 1
    if (count > MAX_PIPELINED) return void socket.destroy()
    pipelined.set(socket, count)
    if (count === 1) socket.on('resume', stayPaused).pause()
    outgoing.once('socket', () => {
      const rest = (pipelined.get(socket) ?? 0) - 1
      pipelined.set(socket, rest)
      if (rest === 0) socket.off('resume', stayPaused).resume()
      setImmediate(handle, incoming, outgoing)
    })
  }

  /** Refuses malformed input on a connection, after the replies to earlier requests. */
  const refuseConnection = (socket: Duplex, reason: RequestRefusal, target?: string) => {
    if (finished.has(socket)) return
    finished.add(socket)
    const pending = unanswered.items().filter(({ req }) => req.socket === socket)
    // An incomplete request gets the refusal. If there is none, the caller would take the refusal for another request's reply.
    const incomplete = pending.at(-1)?.req.complete === false ? pending.pop() : undefined
    const last = pending.at(-1)
    if (last) {
      if (!last.headersSent) last.setHeader('Connection', 'close')
      return void last.once('close', () => socket.destroy())
    }
    if (incomplete?.headersSent) return void socket.destroy()
    const incoming = incomplete?.req
    socket.end(refusalBytes(answerRefusal(reason, incoming?.url ?? target), incoming))
    setTimeout(() => socket.destroy(), timeouts.lingerMs).unref()
  }

  const settings = {
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkMs,
    // `requestRefusal` refuses such requests with a body.
    requireHostHeader: false,
  }
  const stopWatching = certificate?.watch(timeouts.certificateMs, (renewed) => {
    if ('setSecureContext' in server) server.setSecureContext(renewed)
  })
  const server = certificate
    ? createTlsServer(
        { ...settings, ...certificate.read(), handshakeTimeout: timeouts.headersMs, allowHalfOpen: true },
        receive,
      )
    : createServer(settings, receive)
  // A caller that has closed its side still waits for its reply, although Node would close the connection.
  Object.assign(server, { httpAllowHalfOpen: true })
  // `requestRefusal` counts the headers; Node would silently drop those beyond a limit.
  server.maxHeadersCount = 0
  server.on('checkExpectation', (incoming, outgoing) => {
    // An empty list expects nothing (RFC 9110, 5.6.1).
    const expects = incoming.headers.expect?.trim() !== ''
    receive(incoming, outgoing, requestRefusal(incoming) ?? (expects ? refusals.expectation : undefined))
  })
  server.on('connect', (_incoming, socket) => {
    socket.on('error', () => socket.destroy())
    refuseConnection(socket, unsupported('CONNECT'))
  })
  server.on('clientError', (error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }, socket) => {
    const isGone = !socket.writable && !finished.has(socket)
    if (isGone || NOT_HTTP.test(error.code ?? '')) return void socket.destroy()
    refuseConnection(socket, parserRefusal(error.code), refusedPath(error.rawPacket))
  })
  const destroyConnections = limitConnections(server, options)
  const checks = destroyUnreadReplies(unanswered, timeouts)
  await started(server, host, port)

  return {
    url: urlOf(server, host, certificate ? 'https' : 'http'),
    /** Refuses new calls, waits at most `graceMs` for those under way, and closes. */
    close: async (graceMs: number): Promise<void> => {
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

/** The most requests that may wait on a connection. Node reads 64 KiB at once, which may hold thousands. */
const MAX_PIPELINED = 100

/** Reading a request's body would otherwise resume its connection. */
function stayPaused(this: Socket): void {
  this.pause()
}

/** Errors of a connection that is closed, or whose TLS handshake never completed. */
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

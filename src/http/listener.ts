import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server as SocketServer } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Env, Unwelcome } from '../observe/call.ts'
import type { Logger } from '../observe/log.ts'
import { createUnorderedList, type UnorderedList } from '../unordered-list.ts'
import { type ConnectionLimits, limitConnections } from './connections.ts'
import { badRequest, notServed, parserRefusal, type Refusal, refusal, refuse, UNEXPECTED, written } from './refusals.ts'
import { readTls, type TlsFiles, watchTls } from './tls.ts'

/** An import would ask the module for all it has, and so load a `fetch` that nothing here uses: 20 ms of every start. */
const { createServer } = process.getBuiltinModule('node:http')

/** The part of an application that a listener needs. */
export interface Application {
  /**
   * Takes a call that needs neither a `Request` nor a `Response`; false leaves it to the map.
   * @default takes none
   */
  readonly shortcut?: (incoming: IncomingMessage, outgoing: ServerResponse, unwelcome: Unwelcome | undefined) => boolean
  /** Loads what answers all other calls, when the first of them comes: until then it would only make the start longer. */
  readonly loadMap: () => Promise<{
    readonly fetch: (request: Request, bindings: Env['Bindings']) => Response | Promise<Response>
  }>
}

/** A server that listens. */
export interface Listener {
  readonly url: string
  /** Stops taking calls, waits for those under way, at most so long, and closes. */
  readonly close: (graceMs: number) => Promise<void>
}

export interface ListenerOptions extends ConnectionLimits {
  readonly host: string
  readonly port: number
  /** @default plain HTTP */
  readonly tls?: TlsFiles | undefined
  readonly log: Logger
}

/** A caller that sends its headers, or its whole request, slower than this is let go. */
const HEADERS_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 15_000
const CHECKING_INTERVAL_MS = 1_000
/** And so is one that takes longer to read a reply that is ready. */
export const REPLY_TIMEOUT_MS = 15_000

/** How long a refused caller may take to read why, while what it still sends goes nowhere. */
const LINGER_MS = 1_000
/** How long a closing listener waits for a first request on connections that have just been made. */
const LAST_WORDS_MS = 500

const MANNERS = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: CHECKING_INTERVAL_MS,
  // Refused below, with a body.
  requireHostHeader: false,
} as const

/** Listens for an application; refuses what must not reach any route. */
export async function listen(app: Application, options: ListenerOptions): Promise<Listener> {
  const { host, port, tls, log } = options
  const underWay = createUnorderedList<ServerResponse>()
  /** The connections whose last reply is decided: whatever still comes over them is no request. */
  const done = new WeakSet<Duplex>()
  let closing = false
  let emptied = () => {}
  const unwelcome = () => (closing ? 'draining' : undefined)
  const load = async () => {
    const [{ getRequestListener }, map] = await Promise.all([import('@hono/node-server'), app.loadMap()])
    return getRequestListener(
      (request, bindings) => {
        // What listens here speaks HTTP/1, so that its bindings are those of `node:http`.
        const { incoming, outgoing } = bindings as Env['Bindings']
        return map.fetch(request, { incoming, outgoing, unwelcome: unwelcome() })
      },
      // Without a hostname of its own, an HTTP/1.0 call that sends no Host would be refused.
      { hostname: 'transload', errorHandler: () => badRequest() },
    )
  }
  let serve: ReturnType<typeof load> | undefined
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse, refused = refusal(incoming)) => {
    if (done.has(incoming.socket)) return
    if (refused) {
      done.add(incoming.socket)
      return refuse(outgoing, refused)
    }
    const held = underWay.add(outgoing)
    outgoing.once('close', () => {
      underWay.take(held)
      if (underWay.size() === 0) emptied()
      if (!incoming.readableEnded) drain(incoming)
    })
    if (closing) outgoing.setHeader('Connection', 'close')
    if (app.shortcut?.(incoming, outgoing, unwelcome())) return
    serve ??= load()
    void serve.then((answer) => answer(incoming, outgoing))
  }
  /** Ends a connection that has no request to be answered, once those before have their answers. */
  const part = (socket: Duplex, why: Refusal) => {
    if (done.has(socket)) return
    done.add(socket)
    const pending = underWay.items().filter(({ req }) => req.socket === socket)
    // A request that is not all there is the one that is refused; taking the reply for another's would be a lie.
    const refused = pending.at(-1)?.req.complete === false ? pending.pop() : undefined
    const last = pending.at(-1)
    if (last) {
      if (!last.headersSent) last.setHeader('Connection', 'close')
      return void last.once('close', () => socket.destroy())
    }
    if (refused?.headersSent) return void socket.destroy()
    socket.end(written(why))
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
  const server = tls
    ? createTlsServer(
        { ...MANNERS, ...readTls(tls), handshakeTimeout: HEADERS_TIMEOUT_MS, allowHalfOpen: true },
        (incoming, outgoing) => handle(incoming, outgoing),
      )
    : createServer(MANNERS, (incoming, outgoing) => handle(incoming, outgoing))
  // Who sends no more still waits for an answer; Node would hang up on it.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Counted in a refusal: Node would leave out what is beyond this number.
  server.maxHeadersCount = 0
  const unwatch =
    tls && 'setSecureContext' in server ? watchTls(tls, (renewed) => server.setSecureContext(renewed), log) : undefined
  const hangUp = limitConnections(server, options)
  const watch = letGoOfSlowReaders(underWay)
  server.on('checkExpectation', (incoming, outgoing) => handle(incoming, outgoing, refusal(incoming) ?? UNEXPECTED))
  server.on('connect', (_incoming, socket) => {
    socket.on('error', () => socket.destroy())
    part(socket, notServed('CONNECT'))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable && !done.has(socket)) return void socket.destroy()
    if (NOBODY_LISTENS.test(error.code ?? '')) return void socket.destroy()
    part(socket, parserRefusal(error.code))
  })
  await started(server, host, port)

  return {
    url: urlOf(server, host, tls ? 'https' : 'http'),
    close: async (graceMs) => {
      closing = true
      unwatch?.()
      for (const outgoing of underWay.items()) if (!outgoing.headersSent) outgoing.setHeader('Connection', 'close')
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      await within(LAST_WORDS_MS, closed)
      if (underWay.size() > 0) await within(graceMs, new Promise<void>((resolve) => (emptied = resolve)))
      hangUp()
      await closed
      clearInterval(watch)
    },
  }
}

/** What a caller still sends after its answer goes nowhere, for a moment. */
function drain(incoming: IncomingMessage): void {
  if (incoming.destroyed) return
  const timer = setTimeout(() => incoming.socket.destroySoon(), LINGER_MS).unref()
  incoming.once('close', () => clearTimeout(timer)).resume()
}

/**
 * Lets go of callers that do not take what is ready for them. It looks at all of them now and then: a timer for every
 * reply would cost every call, and nearly none ever goes off.
 */
function letGoOfSlowReaders(underWay: UnorderedList<ServerResponse>): NodeJS.Timeout {
  const readySince = new WeakMap<ServerResponse, number>()
  return setInterval(() => {
    const now = performance.now()
    for (const outgoing of underWay.items()) {
      // Without a socket it waits behind another answer on its connection.
      if (!outgoing.writableEnded || !outgoing.socket) continue
      const since = readySince.get(outgoing) ?? now
      readySince.set(outgoing, since)
      // It was ready for up to an interval before it was first seen to be.
      if (now - since > REPLY_TIMEOUT_MS - CHECKING_INTERVAL_MS) outgoing.destroy()
    }
  }, CHECKING_INTERVAL_MS).unref()
}

/** The connection is gone, or was never one of TLS. */
const NOBODY_LISTENS = /^(ECONNRESET|EPIPE|ERR_SSL_|ERR_TLS_)/

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

/** Resolves with the work, or after so many milliseconds. */
function within(ms: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    void work.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

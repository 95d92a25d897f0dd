import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server as SocketServer } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Env, Unwelcome } from '../observe/call.ts'
import type { Logger } from '../observe/log.ts'
import { createUnorderedList, type UnorderedList } from '../unordered-list.ts'
import { type ConnectionLimits, limitConnections } from './connections.ts'
import { badRequest, notServed, parserRefusal, type Refusal, refusal, refuse, UNEXPECTED, written } from './refusals.ts'
import { LISTENER_TIMEOUTS, type ListenerTimeouts } from './timeouts.ts'
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
  /** @default no limit */
  readonly maxInFlight?: number
  /** @default plain HTTP */
  readonly tls?: TlsFiles | undefined
  /** @default LISTENER_TIMEOUTS */
  readonly timeouts?: ListenerTimeouts | undefined
  readonly log: Logger
}

/** Listens for an application; refuses what must not reach any route. */
export async function listen(app: Application, options: ListenerOptions): Promise<Listener> {
  const { host, port, tls, log, maxInFlight = Number.POSITIVE_INFINITY, timeouts = LISTENER_TIMEOUTS } = options
  const underWay = createUnorderedList<ServerResponse>()
  /** The connections whose last reply is decided: whatever still comes over them is no request. */
  const done = new WeakSet<Duplex>()
  let closing = false
  let emptied = () => {}
  /** A reply that is only still to be read is no work, and must not keep others from theirs. */
  const isFull = () =>
    underWay.size() > maxInFlight &&
    underWay.items().filter((reply) => !reply.writableEnded && !reply.writableNeedDrain).length > maxInFlight
  const unwelcome = () => (closing ? 'draining' : isFull() ? 'overloaded' : undefined)
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
      if (!incoming.readableEnded) drain(incoming, timeouts.lingerMs)
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
    setTimeout(() => socket.destroy(), timeouts.lingerMs).unref()
  }
  const settings = {
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkMs,
    // Refused by `refusal`, with a body.
    requireHostHeader: false,
  }
  const server = tls
    ? createTlsServer(
        { ...settings, ...readTls(tls), handshakeTimeout: timeouts.headersMs, allowHalfOpen: true },
        (incoming, outgoing) => handle(incoming, outgoing),
      )
    : createServer(settings, (incoming, outgoing) => handle(incoming, outgoing))
  // Who sends no more still waits for an answer; Node would hang up on it.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Counted in a refusal: Node would leave out what is beyond this number.
  server.maxHeadersCount = 0
  const unwatch =
    tls && 'setSecureContext' in server
      ? watchTls(tls, (renewed) => server.setSecureContext(renewed), log, timeouts.certificateMs)
      : undefined
  const hangUp = limitConnections(server, options)
  const watch = letGoOfSlowReaders(underWay, timeouts)
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
      await within(timeouts.lastRequestMs, closed)
      if (underWay.size() > 0) await within(graceMs, new Promise<void>((resolve) => (emptied = resolve)))
      hangUp()
      await closed
      clearInterval(watch)
    },
  }
}

/** What a caller still sends after its answer goes nowhere, for a moment. */
function drain(incoming: IncomingMessage, lingerMs: number): void {
  if (incoming.destroyed) return
  const timer = setTimeout(() => incoming.socket.destroySoon(), lingerMs).unref()
  incoming.once('close', () => clearTimeout(timer)).resume()
}

/**
 * Lets go of callers that do not take what is ready for them. It looks at all of them now and then: a timer for every
 * reply would cost every call, and nearly none ever goes off.
 */
function letGoOfSlowReaders(
  underWay: UnorderedList<ServerResponse>,
  { replyMs, checkMs }: ListenerTimeouts,
): NodeJS.Timeout {
  const readySince = new WeakMap<ServerResponse, number>()
  return setInterval(() => {
    const now = performance.now()
    for (const outgoing of underWay.items()) {
      // Without a socket it waits behind another answer on its connection.
      if (!outgoing.writableEnded || !outgoing.socket) continue
      const since = readySince.get(outgoing) ?? now
      readySince.set(outgoing, since)
      // It was ready for up to an interval before it was first seen to be.
      if (now - since > replyMs - checkMs) outgoing.destroy()
    }
  }, checkMs).unref()
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

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Hono } from 'hono'
import type { Config } from '../config/config.ts'
import { beginCall } from '../observe/call.ts'
import type { Logger } from '../observe/log.ts'
import type { Env, Unavailable } from './env.ts'
import { type Listener, type ListenerTimeouts, listen, type RequestHandler } from './listener.ts'
import { refusalDetails } from './problem-details.ts'
import { type AnswerRefusal, refusals, refuse } from './refusals.ts'
import { tlsFilesOf } from './tls.ts'

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
  const { config, app, admin, adminPort, connect, answerRefusal, timeouts, log } = options
  const open: Listener[] = []
  const close = async () => {
    await Promise.all(open.map((listener) => listener.close(config.SHUTDOWN_GRACE_MS)))
  }
  try {
    const { HOST: host, PORT: port, MAX_CONNECTIONS: maxConnections } = config
    const tls = tlsFilesOf(config, log)
    const publicOptions = { host, port, maxConnections, connect, tls, answerRefusal, timeouts, log }
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
function createRequestHandler(app: Pick<Hono<Env>, 'fetch'>, answerRefusal: AnswerRefusal): RequestHandler {
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

import type { Socket } from 'node:net'
import type { Hono } from 'hono'
import type { Config } from '../config/config.ts'
import type { Logger } from '../observe/log.ts'
import { createRequestHandler } from './adapter.ts'
import type { Env } from './env.ts'
import { type Listener, listen } from './listener.ts'
import { refusalDetails } from './problem-details.ts'
import type { AnswerRefusal } from './refusals.ts'
import type { ListenerTimeouts } from './timeouts.ts'
import { tlsFilesOf } from './tls.ts'

export interface ListenersOptions {
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
export interface Listeners {
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

import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { buildConnector as Build } from 'undici'
import buildConnector from 'undici/lib/core/connect.js'

/** Makes a connection to the service. */
export type Connector = Build.connector

/**
 * Makes the connector of one credential at one address. Its connections resume the last TLS session, which saves a round trip
 * and most of the work of a handshake, also where each call has a connection of its own. undici would keep the session for
 * the connections of one client only, and only until the next garbage collection.
 */
export function createConnector(options: Build.BuildOptions): Connector {
  const withoutCache = { ...options, maxCachedSessions: 0 }
  const connectPlainly = buildConnector(withoutCache)
  let session: Buffer | undefined
  return (target, answer) => {
    const callback: typeof answer = (...result) => {
      if (result[1]) ignoreContinue(result[1])
      answer(...result)
    }
    if (target.protocol !== 'https:') return connectPlainly(target, callback)
    const connect = buildConnector(session ? { ...withoutCache, session } : withoutCache)
    connect(target, (...result) => {
      const [error, socket] = result
      // A server that fails on a session must get a whole handshake next.
      if (error) session = undefined
      else if (socket instanceof TLSSocket) {
        socket.on('session', (latest) => {
          session = latest
        })
      }
      callback(...result)
    })
  }
}

/** The start line of an interim reply that tells the client to send its body. */
const CONTINUE = 'HTTP/1.1 100'
const END_OF_HEAD = '\r\n\r\n'
/** A longer head of an interim reply is not waited for. */
const MOST_HEAD_BYTES = 4_096

/**
 * Drops each `100 Continue` that a service sends before a reply: a client that did not ask for it ignores it (RFC 9110, 15.2), but
 * undici destroys the connection, and a booking on it would be unknown.
 */
function ignoreContinue(socket: Socket): void {
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket)
  /** True from a request until the first bytes of its final reply: later ones are a body, whatever they look like. */
  let isBeforeReply = true
  let held = ''
  socket.write = (data: string | Uint8Array, ...more: unknown[]) => {
    // undici writes the head of a request as one string, and bodies as bytes.
    if (typeof data === 'string') isBeforeReply = true
    // The forms of its further arguments stay as they are.
    return Reflect.apply(write, socket, [data, ...more])
  }
  socket.read = (size?: number) => {
    for (;;) {
      const chunk: Buffer | null = read(size)
      if (chunk === null || !isBeforeReply) return chunk
      if (held === '' && !CONTINUE.startsWith(chunk.toString('latin1', 0, CONTINUE.length))) {
        isBeforeReply = false
        return chunk
      }
      held += chunk.toString('latin1')
      while (held.startsWith(CONTINUE) && held.includes(END_OF_HEAD)) {
        held = held.slice(held.indexOf(END_OF_HEAD) + END_OF_HEAD.length)
      }
      if (CONTINUE.startsWith(held.slice(0, CONTINUE.length)) && held.length < MOST_HEAD_BYTES) continue
      const rest = Buffer.from(held, 'latin1')
      held = ''
      isBeforeReply = false
      return rest
    }
  }
}

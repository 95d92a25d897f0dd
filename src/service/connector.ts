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
  return (target, callback) => {
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

import type { Server, Socket } from 'node:net'
import { sourceOf } from '../callers/source-address.ts'

/** How many connections a listener holds. */
export interface ConnectionLimits {
  /** @default no limit */
  readonly maxConnections?: number
  /** Of one address, or one network of IPv6. @default no limit */
  readonly sourceConnections?: number
  /**
   * Whose connections are not one caller's but everybody's.
   * @default nobody's
   */
  readonly isProxy?: (address: string) => boolean
}

/**
 * Lets nobody hold more connections than there are for everybody, and no source more than its share. The answer ends
 * all that are open, also those that are not yet through with the greetings of TLS.
 */
export function limitConnections(
  server: Server,
  { maxConnections, sourceConnections = Number.POSITIVE_INFINITY, isProxy = () => false }: ConnectionLimits,
): () => void {
  if (maxConnections !== undefined) server.maxConnections = maxConnections
  const open = new Set<Socket>()
  const held = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    const source = sourceOf(address)
    const count = (held.get(source) ?? 0) + 1
    if (count > sourceConnections && !isProxy(address)) return void socket.destroy()
    open.add(socket)
    held.set(source, count)
    socket.once('close', () => {
      open.delete(socket)
      const left = (held.get(source) ?? 1) - 1
      if (left === 0) held.delete(source)
      else held.set(source, left)
    })
  })
  return () => {
    for (const socket of open) socket.destroy()
  }
}

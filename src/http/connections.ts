import type { Server, Socket } from 'node:net'

/** How many connections a listener holds. */
export interface ConnectionLimits {
  /** @default no limit */
  readonly maxConnections?: number
  /**
   * Lets a connection in and returns what to call when it is closed; undefined refuses it.
   * @default lets each in
   */
  readonly connect?: (socket: Socket) => (() => void) | undefined
}

const nothing = () => {}

/**
 * Refuses connections beyond the limits. Returns what closes all that are open, also those whose TLS handshake is not
 * complete.
 */
export function limitConnections(
  server: Server,
  { maxConnections, connect = () => nothing }: ConnectionLimits,
): () => void {
  if (maxConnections !== undefined) server.maxConnections = maxConnections
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    const disconnect = connect(socket)
    if (!disconnect) return void socket.destroy()
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      disconnect()
    })
  })
  return () => {
    for (const socket of open) socket.destroy()
  }
}

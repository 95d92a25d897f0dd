import type { Server, Socket } from 'node:net'

/** The limits for connections of a listener. */
export interface ConnectionLimits {
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

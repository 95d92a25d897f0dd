import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import { createUnorderedList, type UnorderedList } from '../runtime/collections.ts'

/* Limits for connections: how many there are, and how long each may take to send and to read. */

/** The timeouts of a listener, in milliseconds. */
export interface ListenerTimeouts {
  /** For the head of a request, and for a TLS handshake. */
  readonly headersMs: number
  /** For a whole request. */
  readonly requestMs: number
  /** For a caller to read a reply that is ready. */
  readonly replyMs: number
  /** Between two checks of the timeouts above. */
  readonly checkMs: number
  /** For a refused caller to read the refusal; further input is discarded. */
  readonly lingerMs: number
  /** For the first request on a new connection while the listener closes. */
  readonly lastRequestMs: number
  /** Between two checks of the certificate's files. */
  readonly certificateMs: number
}

/** The timeouts of the public and the admin listener. */
export const LISTENER_TIMEOUTS: ListenerTimeouts = {
  headersMs: 5_000,
  requestMs: 15_000,
  replyMs: 15_000,
  checkMs: 1_000,
  lingerMs: 1_000,
  lastRequestMs: 500,
  certificateMs: 2_000,
}

/** A listener's limits for connections. */
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

/** Refuses connections beyond the limits. Returns a function that closes all open ones, including those in a TLS handshake. */
export function limitConnections(
  server: Server,
  { maxConnections, connect = () => nothing }: ConnectionLimits,
): () => void {
  if (maxConnections !== undefined) server.maxConnections = maxConnections
  const open = createUnorderedList<Socket>()
  server.on('connection', (socket: Socket) => {
    const disconnect = connect(socket)
    if (!disconnect) return void socket.destroy()
    const held = open.add(socket)
    socket.once('close', () => {
      open.take(held)
      disconnect()
    })
  })
  return () => {
    for (const socket of open.items()) socket.destroy()
  }
}

/**
 * Destroys replies that callers do not read in time. It checks all of them periodically, because a timer per reply would cost every call,
 * and almost none would fire.
 */
export function destroyUnreadReplies(
  unanswered: UnorderedList<ServerResponse>,
  { replyMs, checkMs }: ListenerTimeouts,
): NodeJS.Timeout {
  const readySince = new WeakMap<ServerResponse, number>()
  return setInterval(() => {
    const now = performance.now()
    for (const outgoing of unanswered.items()) {
      // A reply without a socket waits behind another reply on its connection.
      if (!outgoing.writableEnded || !outgoing.socket) continue
      const since = readySince.get(outgoing) ?? now
      readySince.set(outgoing, since)
      // It was ready for up to one interval before the first check.
      if (now - since > replyMs - checkMs) outgoing.destroy()
    }
  }, checkMs).unref()
}

/** Briefly discards what a caller still sends after its reply. */
export function discardRest(incoming: IncomingMessage, lingerMs: number): void {
  if (incoming.destroyed) return
  const timer = setTimeout(() => incoming.socket.destroySoon(), lingerMs).unref()
  incoming.once('close', () => clearTimeout(timer)).resume()
}

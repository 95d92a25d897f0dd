import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls'
import { dial, parse, type Wire, type WireReply } from './wire.ts'

/** A connection to which a test writes bytes, and from which it reads whole replies, even after it has ended its own side. */
export interface Line extends Omit<Wire, 'closed'> {
  /** Resolves with all replies once there are `count`, or the other end has closed. */
  readonly replies: (count: number) => Promise<readonly WireReply[]>
  /** Resolves with all replies once the other end has closed. */
  readonly closed: () => Promise<readonly WireReply[]>
}

/** Opens such a connection, or uses a given one. */
export async function openLine(gateway: { readonly url: string }, given?: Socket): Promise<Line> {
  const { hostname, port } = new URL(gateway.url)
  // Only a URL has brackets around an IPv6 address.
  const host = hostname.replace(/^\[|\]$/g, '')
  const open = () => connect({ port: Number(port), host, noDelay: true, allowHalfOpen: true })
  const wire = await dial(gateway, given ?? open())
  return {
    ...wire,
    replies: async (count) => wholeReplies(await wire.received(count)),
    closed: async () => wholeReplies(await wire.closed()),
  }
}

/** Returns the whole replies in a text; an incomplete last one is left out. */
export const wholeReplies = (text: string): readonly WireReply[] => parse(text).replies.filter(({ isWhole }) => isWhole)

export const CERTIFICATES = join(import.meta.dirname, 'certificates')

/** The settings of a gateway that speaks TLS. */
export const TLS = {
  TLS_CERT_FILE: join(CERTIFICATES, 'server.pem'),
  TLS_KEY_FILE: join(CERTIFICATES, 'server.key'),
} as const

/** Node accepts this, although the type does not show it. */
const HALF_OPEN: object = { allowHalfOpen: true }

/** Connects to a gateway by TLS, and resolves after the handshake. */
export const shaken = (gateway: { readonly url: string }, options: ConnectionOptions = {}) =>
  new Promise<TLSSocket>((resolve, reject) => {
    const socket = tlsConnect({
      port: Number(new URL(gateway.url).port),
      host: '127.0.0.1',
      servername: 'localhost',
      ca: readFileSync(join(CERTIFICATES, 'authority.pem')),
      ...HALF_OPEN,
      ...options,
    })
    socket.once('secureConnect', () => resolve(socket)).once('error', reject)
  })

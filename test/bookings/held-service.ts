import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'

const certificate = (name: string) => join(import.meta.dirname, '../http/certificates', name)

/** The settings of a gateway that calls a held service. */
export const TRUSTS_HELD_SERVICE = { V2_CA_FILE: certificate('authority.pem') }

/** A service behind TLS, whose handshakes wait. */
export interface HeldService {
  readonly url: string
  readonly close: () => void
}

async function listen(made: Server): Promise<number> {
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address with a port.
  return (made.address() as AddressInfo).port
}

/** Opens a way to a service over TLS; each connection is given to `hold`, which lets its handshake begin. */
export async function holdService(serviceUrl: string, hold: (letThrough: () => void) => void): Promise<HeldService> {
  const sockets = new Set<Socket>()
  const service = Number(new URL(serviceUrl).port)
  const keys = { cert: readFileSync(certificate('server.pem')), key: readFileSync(certificate('server.key')) }
  const tls = createTlsServer(keys, (socket) => {
    const upstream = connect(service, '127.0.0.1').on('error', () => socket.destroy())
    socket.on('error', () => upstream.destroy())
    socket.pipe(upstream).pipe(socket)
  })
  tls.on('tlsClientError', () => {})
  const front = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    hold(() => tls.emit('connection', socket))
  })
  const port = await listen(front)
  return {
    url: `https://localhost:${port}`,
    close() {
      for (const socket of sockets) socket.destroy()
      front.close()
    },
  }
}

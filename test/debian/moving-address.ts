import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/* A PostgreSQL address that moves from server to server, like a virtual IP or a proxy. */

/** Opens an address on this machine that leads to a server. */
export async function startMovingAddress(first: number) {
  let target = first
  const open = new Map<Socket, number>()
  const proxy = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    open.set(client, target)
    client.pipe(server).pipe(client)
    // If one end breaks, the other is closed.
    for (const socket of [client, server]) socket.on('error', () => undefined)
    client.on('close', () => {
      open.delete(client)
      server.destroy()
    })
    server.on('close', () => client.destroy())
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const socketsTo = (port: number) => [...open].flatMap(([socket, other]) => (other === port ? [socket] : []))
  return {
    // A server that listens on a port has such an address.
    port: (proxy.address() as AddressInfo).port,
    /** Sends new connections there; open ones stay where they are. */
    moveTo(port: number) {
      target = port
    },
    /** Breaks the connections to a server. */
    cut(port: number) {
      for (const socket of socketsTo(port)) socket.destroy()
    },
    connectionsTo: (port: number) => socketsTo(port).length,
    close() {
      proxy.close()
      for (const socket of open.keys()) socket.destroy()
    },
  }
}

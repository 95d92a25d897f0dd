import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** Returns a port on which another program listens without ever answering. */
export async function takenPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  // A server that listens on a port has an address with a port.
  return (server.address() as AddressInfo).port
}

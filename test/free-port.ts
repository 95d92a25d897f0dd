import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that Linux gives to outgoing connections and to servers that ask for any port, so that none of these takes it. */
const [FIRST, LAST] = [10_240, 32_000]

/** Returns a port of the loopback address that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A delivery as it arrived. */
export interface ReceivedDelivery {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Handle = (outgoing: ServerResponse, delivery: ReceivedDelivery, incoming: IncomingMessage) => void

/** Answers with a status and headers. */
export function replies(status: number, headers: Readonly<Record<string, string>> = {}): Handle {
  return (outgoing) => void outgoing.writeHead(status, headers).end()
}

/** Starts a tenant's receiver, a real server, for one test; it answers 200 by default. */
export async function startReceiver(handle: Handle = replies(200)) {
  const received: ReceivedDelivery[] = []
  const waiting = new Set<() => void>()
  let current = handle
  const server = createServer(async (incoming, outgoing) => {
    const { method, url: path, headers } = incoming
    const delivery = { method, path, headers, body: await text(incoming) }
    received.push(delivery)
    for (const look of waiting) look()
    current(outgoing, delivery, incoming)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    /** Resolves when this many deliveries have arrived. */
    count: (deliveries: number) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (received.length < deliveries) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    /** Replaces the answer. */
    answer: (next: Handle) => {
      current = next
    },
  }
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { NO_SHIPMENT } from '../../src/outside/service/account.ts'

/** A service that answers exactly with the bytes of a test. */
export interface OwnService {
  readonly url: string
  /** Every request so far, with its body read whole unless the handler took the stream. */
  readonly requests: readonly IncomingMessage[]
}

export interface OwnServiceOptions {
  /**
   * True if every credential is accepted before its first call, without a call of the handler.
   * @default true
   */
  readonly acceptsAll?: boolean
}

/** Opens such a service on a free port for one test. */
export async function openService(
  handle: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
  { acceptsAll = true }: OwnServiceOptions = {},
): Promise<OwnService> {
  const requests: IncomingMessage[] = []
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
    // The gateway proves a credential with this read, which is not a call of the test.
    if (acceptsAll && incoming.url?.endsWith(NO_SHIPMENT)) return void outgoing.writeHead(404).end()
    requests.push(incoming)
    handle(incoming, outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  // A server that listens on a port has an address with a port.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

/** The whole body of a request or reply. */
export async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A service that holds all answers until the test releases them. */
export interface HoldingService extends OwnService {
  /** Resolves when this many requests have arrived in all. */
  readonly arrived: (count: number) => Promise<void>
  /** Answers every held request. */
  readonly release: (body: object) => void
}

const POLL_MS = 5

/** Opens such a service for one test. */
export async function openHoldingService(): Promise<HoldingService> {
  const held = new Set<ServerResponse>()
  const service = await openService((incoming, outgoing) => {
    incoming.resume()
    held.add(outgoing)
  })
  return {
    ...service,
    arrived: (count) => expect.poll(() => service.requests.length, { interval: POLL_MS }).toBeGreaterThanOrEqual(count),
    release: (body) => {
      for (const outgoing of held) {
        outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      }
      held.clear()
    },
  }
}

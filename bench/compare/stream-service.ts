import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AUTHORIZATION } from './calls.ts'
import { HOST, type Running, residentMegabytes } from './processes.ts'
import { Refused } from './rounds.ts'

const CHUNK = Buffer.alloc(64 * 1024, 'x')
const LOOK_EVERY_MS = 20
const MEGABYTE = 1024 * 1024

/** Generates `size` bytes. */
function* bytes(size: number): Generator<Buffer> {
  for (let left = size; left > 0; left -= CHUNK.length) yield left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK
}

/** Starts a service that counts the bytes of a body, and answers with as many bytes as the query asks for. */
export async function startStreamService(): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer(async (incoming, response) => {
    const size = Number(new URL(incoming.url ?? '', `http://${HOST}`).searchParams.get('bytes') ?? 0)
    let came = 0
    for await (const chunk of incoming) came += chunk.length
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-length': size,
      'x-came': came,
    })
    await pipeline(Readable.from(bytes(size)), response).catch(() => response.destroy())
  }).listen(0, HOST)
  await once(server, 'listening')
  return {
    // A server that listens on a port has an address with a port.
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** The figures of one large transfer. */
export interface Transfer {
  readonly seconds: number
  /** The difference between the highest memory and the memory before. */
  readonly grownMegabytes: number
}

/** Sends a large body through a contender, or asks for a large reply, and watches its memory. */
export async function transfer({ port, pid }: Running, direction: 'in' | 'out', megabytes: number): Promise<Transfer> {
  const size = megabytes * MEGABYTE
  const before = residentMegabytes(pid)
  let highest = before
  const watch = setInterval(() => {
    highest = Math.max(highest, residentMegabytes(pid))
  }, LOOK_EVERY_MS)
  const begun = performance.now()
  try {
    const sent = direction === 'in' ? size : 0
    const outgoing = request({
      host: HOST,
      port,
      method: direction === 'in' ? 'POST' : 'GET',
      path: `/v2/shipments/stream?bytes=${direction === 'out' ? size : 0}`,
      headers: {
        authorization: AUTHORIZATION,
        ...(sent > 0 && { 'content-type': 'application/octet-stream', 'content-length': sent }),
      },
    })
    const answered = once(outgoing, 'response')
    if (sent > 0) await pipeline(Readable.from(bytes(sent)), outgoing)
    else outgoing.end()
    const [response] = await answered
    let came = 0
    for await (const chunk of response) came += chunk.length
    const arrived = direction === 'in' ? Number(response.headers['x-came']) : came
    if (response.statusCode !== 200 || arrived !== size) {
      throw new Refused(`of ${size} bytes ${arrived} arrived, with status ${response.statusCode}`)
    }
    return { seconds: (performance.now() - begun) / 1_000, grownMegabytes: highest - before }
  } finally {
    clearInterval(watch)
  }
}

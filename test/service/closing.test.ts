/** Promise: a connection that closes early costs no call (contract, section 9). */

import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample, shipmentExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'
import { size } from '../size.ts'

const CALLS = size(150, 1_000)
const AT_ONCE = 8
/** Updates of one shipment are made one after the other, and each lost connection costs a pause. */
const LONG_MS = 300_000
/** Every so many requests on kept connections, the service closes the connection instead of answering. */
const CLOSES_EVERY = 12

/** Opens a service that closes every few kept connections as soon as a second request has arrived, unread. */
async function openClosingService(): Promise<{ readonly url: string; readonly closed: () => number }> {
  const requests = new WeakMap<object, number>()
  let later = 0
  let closed = 0
  const server = createServer((incoming, outgoing) => {
    const count = (requests.get(incoming.socket) ?? 0) + 1
    requests.set(incoming.socket, count)
    if (count > 1) {
      later += 1
      if (later % CLOSES_EVERY === 0) {
        closed += 1
        return void incoming.socket.destroy()
      }
    }
    incoming.resume().once('end', () => {
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(replyTo(incoming)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, closed: () => closed }
}

let bookings = 0

function replyTo({ method, url = '' }: IncomingMessage): object {
  if (url.startsWith('/v2/quote')) return { shipment_id: 'q-1', price: 100 }
  if (method !== 'POST') return { ...shipmentExample, id: url.split('/').at(-1) ?? '' }
  bookings += 1
  return { ...shipmentExample, id: `s-${bookings}` }
}

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'

test.each([
  ['quotes', (gateway: TestGateway) => post(gateway, '/getShippingQuote.php', quoteExample), true],
  ['reads', (gateway: TestGateway) => get(gateway, `/getShipment.php?shipment_id=${ID}`), true],
  ['calls under /v2/', (gateway: TestGateway) => get(gateway, `/v2/shipments/${ID}`), true],
  [
    'updates',
    (gateway: TestGateway) => post(gateway, '/updateShipment.php', { shipment_id: ID, PickupName: 'Gate 2' }),
    true,
  ],
  [
    'bookings',
    (gateway: TestGateway, i: number) =>
      post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: `R-${i}` }),
    false,
  ],
] as const)(
  'a service that closes kept connections at random fails no %s',
  { timeout: LONG_MS },
  async (_, call, usesKept) => {
    const service = await openClosingService()
    const gateway = await startGateway({ serviceUrl: service.url })
    expect((await get(gateway, `/getShipment.php?shipment_id=${ID}`)).status).toBe(200)
    const statuses = new Map<number, number>()
    let next = 0
    const caller = async () => {
      while (next < CALLS) {
        next += 1
        const { status } = await call(gateway, next)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, caller))
    expect(Object.fromEntries(statuses)).toEqual({ 200: CALLS })
    if (usesKept) expect(service.closed()).toBeGreaterThan(CALLS / CLOSES_EVERY / 4)
  },
)

test('each booking has a connection of its own, which ends with it', async () => {
  const sockets: Socket[] = []
  const server = createServer((incoming, outgoing) => {
    if (incoming.method === 'POST') sockets.push(incoming.socket)
    incoming.resume().once('end', () => outgoing.end(JSON.stringify(replyTo(incoming))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const gateway = await startGateway({ serviceUrl: `http://127.0.0.1:${port}` })
  for (let count = 1; count <= 3; count += 1) {
    const { status } = await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: `O-${count}` })
    expect(status).toBe(200)
    expect(new Set(sockets).size).toBe(count)
    // Long before the gateway would close an idle connection.
    expect(sockets.slice(0, -1).every(({ destroyed }) => destroyed)).toBe(true)
  }
})

test('a service that resets kept connections before the next request fails no call under /v2/', async () => {
  const kept: Socket[] = []
  const server = createServer((incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(replyTo(incoming)))
    kept.push(incoming.socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  const gateway = await startGateway({ serviceUrl: `http://127.0.0.1:${port}` })
  const statuses = new Set<number>()
  for (let i = 0; i < CALLS; i += 1) {
    const [socket] = kept.splice(0)
    const call = get(gateway, `/v2/shipments/${ID}`)
    const reset = (turns: number) => void (turns > 0 ? setImmediate(reset, turns - 1) : socket?.resetAndDestroy())
    reset(i % 12)
    statuses.add((await call).status)
  }
  expect([...statuses]).toEqual([200])
})

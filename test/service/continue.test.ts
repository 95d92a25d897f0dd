/** Promise: Expect: 100-continue is answered (contract, section 1). */

import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { book, expectBooked } from '../bookings/desk.ts'
import { OWN, post, startGateway } from '../gateway.ts'

/* A service that sends 100 Continue without being asked: RFC 9110, 15.2, tells clients to ignore it. */

const SHIPMENT = { id: 's-1', number: 'SH1', status: 'new', notes: 'HTTP/1.1 100 Continue', vehicles: [{ id: 'v' }] }

/** Answers each request with these pieces before the reply, each in a segment of its own where the network lets it. */
async function openContinuing(pieces: readonly string[]): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    let arrived = ''
    socket.on('data', async (chunk) => {
      arrived += chunk.toString('latin1')
      const [head = '', body] = arrived.split('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (body === undefined || body.length < length) return
      arrived = ''
      for (const piece of pieces) {
        socket.write(piece)
        await turn()
      }
      const reply = JSON.stringify(head.includes('/v2/quote') ? { shipment_id: 'q-1', price: 100 } : SHIPMENT)
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${reply.length}\r\n\r\n`)
      await turn()
      // The body begins as an interim reply does.
      socket.write(reply)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' && address ? `http://127.0.0.1:${address.port}` : expect.fail('no port')
}

const ASKED = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

test.each([
  [['HTTP/1.1 100 Continue\r\n\r\n']],
  [['HTTP/1.1 100', ' Continue\r\nX-A: b\r', '\n\r\n']],
  [['H', 'TTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n']],
  [['HTTP/1.1 103 Early Hints\r\n\r\n']],
  [[]],
])('a booking, quotes on one connection and a call under /v2/ are answered after %j', async (pieces) => {
  const gateway = await startGateway({ env: OWN, serviceUrl: await openContinuing(pieces) })
  expect(expectBooked(await book(gateway))).toBe('s-1')
  for (let i = 0; i < 3; i += 1) {
    expect((await post(gateway, '/getShippingQuote.php', ASKED)).json).toMatchObject({ Cost: '100.00' })
  }
  const passed = await fetch(`${gateway.url}/v2/shipments/s-1`)
  expect(await passed.json()).toEqual(SHIPMENT)
})

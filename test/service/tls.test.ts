/** Promise: a service is called over TLS, with its own authority (contract, section 11). */

import { readFileSync } from 'node:fs'
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'

const file = (name: string) => join(import.meta.dirname, '../http/certificates', name)
const TRUSTED = { V2_CA_FILE: file('authority.pem') }

/** A service behind TLS that says yes to everything, and who it was that called. */
async function openTlsService(options: ServerOptions = {}) {
  const calls: { readonly path: string; readonly protocol: string | null; readonly client: unknown }[] = []
  const keys = { cert: readFileSync(file('server.pem')), key: readFileSync(file('server.key')) }
  const server = createServer({ ...keys, ...options }, (incoming, outgoing) => {
    incoming.resume()
    // A server of HTTPS has sockets of TLS.
    const socket = incoming.socket as TLSSocket
    const client = socket.getPeerCertificate().subject?.CN
    calls.push({ path: incoming.url ?? '', protocol: socket.getProtocol(), client })
    const reply = { id: 's-1', number: 'TL-1', shipment_id: 'q-1', price: 7 }
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  // A server that listens on a port has an address with a port.
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, calls }
}

const book = (gateway: TestGateway) => post(gateway, '/createShipment.php', bookingExample)
const quote = (gateway: TestGateway) => post(gateway, '/getShippingQuote.php', quoteExample)

test('a service whose certificate V2_CA_FILE vouches for is called, by every way', async () => {
  const service = await openTlsService()
  const gateway = await startGateway({ env: TRUSTED, serviceUrl: service.url })
  expect((await quote(gateway)).json.Cost).toBe('7.00')
  expect((await book(gateway)).json.TransportationBooked).toBe('Yes')
  expect((await get(gateway, '/v2/shipments/s-1')).status).toBe(200)
  expect(service.calls).toEqual(
    ['/v2/quote', '/v2/shipments', '/v2/shipments/s-1'].map((path) => ({
      path,
      protocol: 'TLSv1.3',
      client: undefined,
    })),
  )
})

test.each([
  ['that nobody vouches for', {}, 'localhost'],
  ['that another authority would have to vouch for', { V2_CA_FILE: file('stranger.pem') }, 'localhost'],
  ['of another name', TRUSTED, '127.0.0.2'],
])('a certificate %s is 502, and nothing was booked', async (_, env, hostname) => {
  const service = await openTlsService()
  const store = createMemoryStore()
  const serviceUrl = service.url.replace('localhost', hostname)
  const wary = await startGateway({ env: { ...OWN, ...env }, serviceUrl, store })
  expect((await quote(wary)).status).toBe(502)
  expect((await get(wary, '/v2/x')).status).toBe(502)
  const refused = await book(wary)
  expect(refused.status).toBe(502)
  expect(refused.json).toEqual({ Message: expect.stringMatching(/nothing was sent/), TransportationBooked: 'No' })
  expect(service.calls).toEqual([])

  // The claim is free: once the certificate is right, the booking is made.
  const mended = await startGateway({ env: { ...OWN, ...TRUSTED }, serviceUrl: service.url, store })
  expect((await book(mended)).json.TransportationBooked).toBe('Yes')
  expect(service.calls.map(({ path }) => path)).toEqual(['/v2/shipments'])
})

test('a service that speaks no TLS is 502, and nothing was booked', async () => {
  const { sandbox } = await startGateway()
  const gateway = await startGateway({ env: OWN, serviceUrl: sandbox.url.replace('http:', 'https:') })
  const refused = await book(gateway)
  expect([refused.status, refused.json.TransportationBooked]).toEqual([502, 'No'])
  expect(sandbox.requests).toEqual([])
})

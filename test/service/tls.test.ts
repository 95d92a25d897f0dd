/** Promise: a service is called over TLS, with its own authority (contract, section 11). */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { ask } from '../bookings/desk.ts'
import { get, OWN, startGateway } from '../gateway.ts'
import { book, quote } from './calls.ts'

const file = (name: string) => join(import.meta.dirname, '../http/certificates', name)
const TRUSTED = { ...OWN, V2_CA_FILE: file('authority.pem') }

/** A service with TLS that accepts everything, and the paths that were called. */
async function openTlsService() {
  const paths: (string | undefined)[] = []
  const keys = { cert: readFileSync(file('server.pem')), key: readFileSync(file('server.key')) }
  const server = createServer(keys, (incoming, outgoing) => {
    paths.push(incoming.resume().url)
    outgoing.end(JSON.stringify({ id: 's-1', number: 'TL-1', shipment_id: 'q-1', price: 7 }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  // A server that listens on a port has an address with a port.
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, paths, server }
}

test('a service with a certificate from V2_CA_FILE is called in every way', async () => {
  const service = await openTlsService()
  const gateway = await startGateway({ env: TRUSTED, serviceUrl: service.url })
  expect((await quote(gateway)).json.Cost).toBe('7.00')
  expect((await book(gateway)).json.TransportationBooked).toBe('Yes')
  expect((await get(gateway, '/v2/shipments/s-1')).status).toBe(200)
  expect(service.paths).toEqual(['/v2/quote', '/v2/shipments', '/v2/shipments/s-1'])
})

test('an approval under /v2/ that loses its lock while the connection is made is not sent', async () => {
  const { url, paths, server } = await openTlsService()
  const store = createMemoryStore()
  let isHeld = true
  server.once('connection', () => {
    isHeld = false
  })
  const exclusive: Store['exclusive'] = (key, waitMs, work) => store.exclusive(key, waitMs, () => work(() => isHeld))
  const gateway = await startGateway({ env: TRUSTED, serviceUrl: url, store: { ...store, exclusive } })
  expect([(await ask(gateway, 'POST', '/v2/quote/q-1/approve')).status, paths]).toEqual([503, []])
})

test.each([
  ['that nobody vouches for', OWN, 'localhost'],
  ['that another authority would have to vouch for', { ...OWN, V2_CA_FILE: file('stranger.pem') }, 'localhost'],
  ['of another name', TRUSTED, '127.0.0.2'],
  ['that is none, but plain HTTP,', TRUSTED, 'plain'],
])('a certificate %s is 502, and nothing was booked', async (_, env, hostname) => {
  const service = await openTlsService()
  const store = createMemoryStore()
  const { sandbox } = await startGateway()
  const plain = sandbox.url.replace('http:', 'https:')
  const serviceUrl = hostname === 'plain' ? plain : service.url.replace('localhost', hostname)
  const wary = await startGateway({ env, serviceUrl, store })
  expect((await quote(wary)).status).toBe(502)
  expect((await get(wary, '/v2/x')).status).toBe(502)
  const refused = await book(wary)
  expect(refused.status).toBe(502)
  expect(refused.json).toEqual({ Message: expect.stringMatching(/nothing was sent/), TransportationBooked: 'No' })
  expect([...service.paths, ...sandbox.requests]).toEqual([])

  // The claim is free, so the booking is made when the certificate is correct.
  const mended = await startGateway({ env: TRUSTED, serviceUrl: service.url, store })
  expect((await book(mended)).json.TransportationBooked).toBe('Yes')
  expect(service.paths).toEqual(['/v2/shipments'])
})

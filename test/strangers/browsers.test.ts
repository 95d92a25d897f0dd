/** Promise: web pages make no browser call (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { booking, openEdge, tenant } from '../callers/edge.ts'
import { OWN, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'
import { callFrom } from './call.ts'

/*
 * Pages of other sites in a browser that reaches a gateway without credentials.
 */

/** The headers that a browser adds to requests of another site's page. */
const PAGES = {
  'a form of another site': { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  'a script of another site': { origin: 'https://evil.example', 'content-type': 'text/plain' },
  'a page of another port': { origin: 'http://localhost:1', 'sec-fetch-site': 'same-site' },
  'a page from a file or a sandboxed frame': { origin: 'null' },
  'an image of another site': { 'sec-fetch-site': 'cross-site' },
  'a name that points to the gateway since a moment ago': { host: 'evil.example' },
  'such a name, to which the page belongs': {
    host: 'evil.example',
    origin: 'http://evil.example',
    'sec-fetch-site': 'same-origin',
  },
  'a name that begins like an own one': { host: 'localhost.evil.example' },
} as const

const CALLS = {
  books: { path: '/createShipment.php', body: booking('R-1') },
  'asks for a quote': { path: '/getShippingQuote.php', body: quoteExample },
  cancels: { path: '/deleteShipment.php', body: { ReferenceNumber: 'R-1' } },
  reads: { method: 'GET', path: '/getShipment.php?ReferenceNumber=R-1' },
  'passes a call through': { path: '/v2/shipments', body: {} },
  'has a dry run': { path: '/dry-run/createShipment.php', body: booking('R-1') },
} as const

/** Gateways that require no credential. */
const OPEN = {
  fixed: (options: TestGatewayOptions = {}) => startGateway({ ...options, env: { ...OWN, ...options.env } }),
  'tenants, of a network,': (options: TestGatewayOptions = {}) =>
    openEdge((place) => [tenant(place, 'acme', { networks: ['127.0.0.0/8'] })], options),
} as const

describe.each(Object.entries(OPEN))('in %s mode', (_, open) => {
  test.each(Object.entries(PAGES))('%s is 403, whatever it does, and nothing is sent', async (_page, headers) => {
    const gateway = await open()
    for (const call of Object.values(CALLS)) {
      const { status, text } = await callFrom(gateway.url, { ...call, headers })
      expect([call.path, status, text]).toEqual([call.path, 403, expect.stringMatching(/page|ALLOWED_HOSTS/)])
    }
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('programs, own pages and addresses go on as before', async () => {
    const gateway = await open()
    const { port } = new URL(gateway.url)
    const own = [
      {},
      { host: `localhost:${port}` },
      { host: `127.0.0.1:${port}`, origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      { host: '192.0.2.1' },
    ]
    for (const headers of own) {
      const { status } = await callFrom(gateway.url, { ...CALLS['asks for a quote'], headers })
      expect([headers, status]).toEqual([headers, 200])
    }
  })

  test('ALLOWED_HOSTS lets a name in, and the pages of a whole origin', async () => {
    const gateway = await open({ env: { ALLOWED_HOSTS: 'sidecar.internal,https://app.example.com' } })
    const allowed = [
      { host: 'sidecar.internal:8080' },
      { host: 'app.example.com', origin: 'https://app.example.com', 'sec-fetch-site': 'same-origin' },
    ]
    for (const headers of allowed) {
      const { status } = await callFrom(gateway.url, { ...CALLS['asks for a quote'], headers })
      expect([headers, status]).toEqual([headers, 200])
    }
    const foreign = { host: 'sidecar.internal', origin: 'https://evil.example' }
    expect((await callFrom(gateway.url, { ...CALLS['asks for a quote'], headers: foreign })).status).toBe(403)
  })
})

const askAdmin = ({ adminUrl }: TestGateway, path: string, headers: Readonly<Record<string, string>>) =>
  callFrom(adminUrl, { method: 'GET', path, headers })

test.each(Object.entries(PAGES))('the admin listener shows nothing to %s, in any mode', async (_, headers) => {
  const gateway = await startGateway()
  for (const path of ['/bookings', '/metrics']) {
    expect([path, (await askAdmin(gateway, path, headers)).status]).toEqual([path, 403])
    expect((await askAdmin(gateway, path, {})).status).toBe(200)
  }
})

test('the health of either listener can be asked under any name', async () => {
  const gateway = await startGateway({ env: OWN })
  for (const url of [gateway.url, gateway.adminUrl]) {
    for (const path of ['/healthz', '/readyz']) {
      expect((await callFrom(url, { method: 'GET', path, headers: { host: 'probe.example' } })).status).toBe(200)
    }
  }
})

test('a page that knows a credential is a caller like any other, in client mode', async () => {
  const gateway = await startGateway()
  const headers = { ...PAGES['a script of another site'], authorization: `Basic ${btoa('demo:demo-secret')}` }
  expect((await callFrom(gateway.url, { ...CALLS['asks for a quote'], headers })).status).toBe(200)
})

/** Promise: no web page makes a browser book (contract, section 5). */

import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, OWN, startGateway } from '../gateway.ts'
import { openLine, shaken, TLS } from '../http/line.ts'
import { send } from '../http/wire.ts'
import headers from './browsers.json' with { type: 'json' }
import { as, named, openEdge } from './tenants-gateway.ts'

const { allowed, foreign, notAllowed, rebound, welcome } = headers
const BODY = JSON.stringify(quoteExample)

/** Sends a quote, or another request from a page, with these header lines in addition to those of its body. */
function ask(
  url: string,
  lines: readonly string[],
  { target = '/getShippingQuote.php', method = 'POST', version = '1.1' } = {},
) {
  const { host, port } = new URL(url)
  const names = { host, port, hostname: hostname(), HOSTNAME: hostname().toUpperCase() }
  const head = [`${method} ${target} HTTP/${version}`, 'Connection: close', 'Content-Type: text/plain', ...lines]
  const body = method === 'POST' ? BODY : ''
  const filled = Object.entries(names).reduce((text, [name, is]) => text.replaceAll(`{${name}}`, is), head.join('\r\n'))
  return send({ url }, `${filled}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
}

/** A browser's headers for a page of another site. After DNS rebinding, the browser takes the page for the gateway's own. */
const PAGES = Object.entries({ ...foreign, ...rebound })

type Env = Readonly<Record<string, string>>

/** Gateways that require no credential. */
const OPEN = {
  'a gateway with a credential for all callers': (env: Env = {}) => startGateway({ env: { ...OWN, ...env } }),
  'a gateway that knows its callers by their network': (env: Env = {}) =>
    openEdge(named(['acme'], { networks: ['127.0.0.0/8'] }), { env }),
} as const

const BOOKINGS = { method: 'GET', target: '/bookings' }
const ACTS = [
  ['POST', '/createShipment.php'],
  ['POST', '/deleteShipment.php'],
  ['GET', '/getShipment.php?ReferenceNumber=R-1'],
  ['GET', '/v2/shipments/TL-1'],
  ['POST', '/v2/shipments'],
  ['OPTIONS', '/v2/shipments'],
  ['POST', '/dry-run/createShipment.php'],
] as const

describe.each(Object.entries(OPEN))('%s', (_mode, open) => {
  test('refuses requests from pages of other sites, and so does its admin listener', async () => {
    const { url, adminUrl, sandbox } = await open()
    for (const [i, [what, lines]] of PAGES.entries()) {
      const { status, json } = await ask(url, lines)
      expect([what, status]).toEqual([what, 403])
      expect(json['Message']).toMatch(Object.hasOwn(rebound, what) ? /ALLOWED_HOSTS/ : /other sites.*ALLOWED_HOSTS/)
      // Whatever the page does, even with a header that identifies no caller.
      for (const [method, target] of i === 0 ? ACTS : [ACTS[i % ACTS.length] ?? ACTS[0]]) {
        expect((await ask(url, lines, { method, target })).status, `${what} ${target}`).toBe(403)
      }
      expect((await ask(url, [...lines, `Authorization: ${i % 2 ? '' : 'Bearer of-the-page'}`])).status, what).toBe(403)
      const target = ['/bookings', '/metrics', '/nothing'][i % 3] ?? ''
      const reply = await ask(adminUrl, lines, { method: 'GET', target })
      const type = reply.headers.get('content-type')?.[0]
      expect([what, reply.status, type]).toEqual([what, 403, 'application/problem+json; charset=utf-8'])
    }
    expect(sandbox.requests).toEqual([])
  })

  test('answers all other requests', async () => {
    const { url, adminUrl } = await open()
    for (const [what, lines] of Object.entries(welcome)) {
      expect((await ask(url, lines)).status, what).toBe(200)
      expect((await ask(url, lines, { method: 'GET', target: '/v2/shipments/TL-1' })).status, what).toBe(404)
      expect((await ask(adminUrl, lines, BOOKINGS)).status, what).toBe(200)
    }
  })

  test('is reached by the names and origins of ALLOWED_HOSTS, and so is its admin listener', async () => {
    const { url, adminUrl } = await open({ ALLOWED_HOSTS: 'Gateway.internal, https://gateway.example.com' })
    for (const lines of allowed) {
      expect((await ask(url, lines)).status, lines.join()).toBe(200)
      expect((await ask(adminUrl, lines, BOOKINGS)).status, lines.join()).toBe(200)
    }
    for (const lines of notAllowed) expect((await ask(url, lines)).status, lines.join()).toBe(403)
  })
})

describe('a gateway that requires no credential', () => {
  test('answers an HTTP/1.0 caller without Host, which is not a browser', async () => {
    const { url } = await startGateway({ env: OWN })
    expect((await ask(url, [], { version: '1.0' })).status).toBe(200)
    expect((await ask(url, ['Origin: http://localhost'], { version: '1.0' })).status).toBe(403)
  })

  test('answers health checks under any name, but not to pages of other sites', async () => {
    const gateway = await startGateway({ env: OWN })
    for (const url of [gateway.url, gateway.adminUrl]) {
      for (const target of ['/healthz', '/readyz']) {
        expect((await ask(url, ['Host: probe.internal'], { method: 'GET', target })).status).toBe(200)
        const page = ['Host: localhost', 'Origin: https://evil.example']
        expect((await ask(url, page, { method: 'GET', target })).status).toBe(403)
      }
    }
  })

  test('reports the name in a request, so that the operator can allow it', async () => {
    const { url, lines } = await startGateway({ env: OWN })
    const { json } = await ask(url, ['Host: transload:8080'])
    expect(json['Message']).toMatch(/\btransload\b.*ALLOWED_HOSTS/)
    expect(lines()).toContainEqual(expect.objectContaining({ msg: 'call', status: 403, error: 'host-unknown' }))
    const long = await ask(url, [`Host: ${'x'.repeat(5_000)}`])
    expect(long.json['Message']).toMatch(/^(?=.{1,500}$).*ALLOWED_HOSTS/)
  })

  test('knows its own origin over TLS', async () => {
    const gateway = await startGateway({ env: { ...OWN, ...TLS } })
    const { port } = new URL(gateway.url)
    const status = async (origin: string) => {
      const line = await openLine(gateway, await shaken(gateway))
      line.write(`GET / HTTP/1.1\r\nHost: localhost:${port}\r\nOrigin: ${origin}\r\n\r\n`)
      return (await line.replies(1))[0]?.status
    }
    expect(await status(`https://localhost:${port}`)).toBe(200)
    expect(await status(`http://localhost:${port}`)).toBe(403)
  })
})

test('a page may call with a credential that is checked, and with no other', async () => {
  const gateway = await startGateway()
  const fixed = await OPEN['a gateway with a credential for all callers']()
  const edge = await OPEN['a gateway that knows its callers by their network']()
  for (const [what, lines] of PAGES) {
    const status = async ({ url }: { readonly url: string }, authorization: string) =>
      (await ask(url, [...lines, `Authorization: ${authorization}`])).status
    const statuses = [
      await status(gateway, basic()),
      await status(gateway, ''),
      await status(edge, as('acme').authorization),
      await status(fixed, basic()),
      (await ask(gateway.adminUrl, lines, BOOKINGS)).status,
      (await ask(fixed.url, lines, { method: 'GET', target: '/openapi.json' })).status,
    ]
    expect([what, ...statuses]).toEqual([what, 200, 401, 200, 403, 403, 403])
  }
})

test('a caller from an unknown network gets 401 under any name', async () => {
  const { url } = await openEdge(named(['acme'], { networks: ['192.0.2.0/24'] }))
  const reply = await ask(url, ['Host: gateway.example.com'])
  expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([401, [expect.stringMatching(/^Basic /)]])
})

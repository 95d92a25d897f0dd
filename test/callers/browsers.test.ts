/** Promise: no web page makes a browser book (contract, section 5). */

import { hostname } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, OWN, startGateway, type TestGateway } from '../gateway.ts'
import { openLine } from '../http/line.ts'
import { send } from '../http/wire.ts'
import { as, named, openEdge } from './tenants-gateway.ts'

const BODY = JSON.stringify(quoteExample)

/** Sends a quote, or another request of a page, with these header lines besides those of its body. */
function ask(
  { url }: Pick<TestGateway, 'url'>,
  lines: readonly string[],
  { target = '/getShippingQuote.php', method = 'POST', version = '1.1' } = {},
) {
  const head = [`${method} ${target} HTTP/${version}`, 'Connection: close', 'Content-Type: text/plain', ...lines]
  const body = method === 'POST' ? BODY : ''
  return send({ url }, `${[...head, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`)
}

/** The headers of a browser for a page of another site. */
const FOREIGN = {
  'a page': ['Host: {host}', 'Origin: https://evil.example', 'Sec-Fetch-Site: cross-site'],
  'a page in an old browser': ['Host: {host}', 'Origin: https://evil.example'],
  'a form or an image, which has no Origin': ['Host: {host}', 'Sec-Fetch-Site: cross-site'],
  'a page of another host of the site': ['Host: localhost:{port}', 'Sec-Fetch-Site: same-site'],
  'a file, or a frame in a sandbox': ['Host: {host}', 'Origin: null'],
  'a page of another port': ['Host: localhost:{port}', 'Origin: http://localhost:1'],
  'a page of the default port': ['Host: localhost:{port}', 'Origin: http://localhost'],
  'a page of another scheme': ['Host: localhost:{port}', 'Origin: https://localhost:{port}'],
  'a page of another name of this machine': ['Host: 127.0.0.1:{port}', 'Origin: http://localhost:{port}'],
  'a page that looks like its own': ['Host: {host}', 'Origin: http://{host}.evil.example'],
  'a page whose user has a name': ['Host: {host}', 'Origin: http://{host}@evil.example'],
  'an extension': ['Host: {host}', 'Origin: chrome-extension://abcdefgh'],
  'two Origins': ['Host: {host}', 'Origin: http://{host}', 'Origin: https://evil.example'],
  'an empty Origin': ['Host: {host}', 'Origin:'],
  'an unknown Sec-Fetch-Site': ['Host: {host}', 'Sec-Fetch-Site: other'],
  'two Sec-Fetch-Sites': ['Host: {host}', 'Sec-Fetch-Site: none', 'Sec-Fetch-Site: cross-site'],
} as const
/** The headers of a browser after DNS rebinding: for the browser, the attacker's page is the gateway's own. */
const REBOUND = {
  'a name': ['Host: evil.example:{port}', 'Origin: http://evil.example:{port}', 'Sec-Fetch-Site: same-origin'],
  'a name, and a form': ['Host: evil.example:{port}'],
  'a name that ends in localhost': ['Host: localhost.evil.example'],
  'a name below localhost': ['Host: evil.localhost:{port}'],
  'a name that looks like an address': ['Host: 127.0.0.1.evil.example'],
  'a name of digits': ['Host: 2130706433:{port}'],
} as const
const WELCOME = {
  'no browser': ['Host: {host}'],
  'no browser, by the name of the machine': [`Host: ${hostname()}:{port}`],
  'no browser, by that name with its dot': [`Host: ${hostname().toUpperCase()}.:{port}`],
  'an address of IPv6': ['Host: [::1]:{port}'],
  'an address of another network': ['Host: 192.0.2.7'],
  'a page of its own': ['Host: {host}', 'Origin: http://{host}', 'Sec-Fetch-Site: same-origin'],
  'a page of its own, by another name': ['Host: LocalHost:{port}', 'Origin: http://localhost:{port}'],
  'a page of its own at the default port': ['Host: localhost', 'Origin: http://localhost:80'],
  'an address that was typed in': ['Host: {host}', 'Sec-Fetch-Site: none'],
} as const

const PAGES = Object.entries({ ...FOREIGN, ...REBOUND })

function filled({ url }: Pick<TestGateway, 'url'>, lines: readonly string[]): readonly string[] {
  const { host, port } = new URL(url)
  return lines.map((line) => line.replaceAll('{host}', host).replaceAll('{port}', port))
}

type Env = Readonly<Record<string, string>>

/** Gateways that ask for no credential. */
const OPEN = {
  'a gateway with a credential for all callers': (env: Env = {}) => startGateway({ env: { ...OWN, ...env } }),
  'a gateway that knows its callers by their network': (env: Env = {}) =>
    openEdge(named(['acme'], { networks: ['127.0.0.0/8'] }), { env }),
} as const

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
  test('refuses what pages of other sites send, and its admin listener, too', async () => {
    const gateway = await open()
    const admin = { url: gateway.adminUrl }
    for (const [what, lines] of PAGES) {
      const plain = filled(gateway, lines)
      const { status, json } = await ask(gateway, plain)
      expect([what, status]).toEqual([what, 403])
      expect(json['Message']).toMatch(Object.hasOwn(REBOUND, what) ? /ALLOWED_HOSTS/ : /other sites.*ALLOWED_HOSTS/)
      for (const [method, target] of ACTS) {
        expect((await ask(gateway, plain, { method, target })).status, `${what} ${target}`).toBe(403)
      }
      // A header that identifies no caller changes nothing.
      for (const authorization of ['', 'Bearer of-the-page']) {
        expect((await ask(gateway, [...plain, `Authorization: ${authorization}`])).status, what).toBe(403)
      }
      for (const target of ['/bookings', '/metrics', '/nothing']) {
        const reply = await ask(admin, filled(admin, lines), { method: 'GET', target })
        expect([reply.status, reply.headers.get('content-type')], what).toEqual([
          403,
          ['application/problem+json; charset=utf-8'],
        ])
      }
    }
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('answers what comes from nobody else', async () => {
    const gateway = await open()
    const admin = { url: gateway.adminUrl }
    for (const [what, lines] of Object.entries(WELCOME)) {
      const plain = filled(gateway, lines)
      expect((await ask(gateway, plain)).status, what).toBe(200)
      expect((await ask(gateway, plain, { method: 'GET', target: '/v2/shipments/TL-1' })).status, what).toBe(404)
      const shown = await ask(admin, filled(admin, lines), { method: 'GET', target: '/bookings' })
      expect(shown.status, what).toBe(200)
    }
  })

  test('is reached by the names and origins of ALLOWED_HOSTS, and so is its admin listener', async () => {
    const gateway = await open({ ALLOWED_HOSTS: 'Gateway.internal, https://gateway.example.com' })
    for (const lines of [
      ['Host: gateway.internal:8080'],
      ['Host: GATEWAY.INTERNAL', 'Origin: http://gateway.internal', 'Sec-Fetch-Site: same-origin'],
      // Behind a proxy that terminates TLS, with the browser's Host, and with the proxy's own.
      ['Host: gateway.example.com', 'Origin: https://gateway.example.com', 'Sec-Fetch-Site: same-origin'],
      ['Host: 10.0.0.7:8080', 'Origin: https://gateway.example.com'],
    ]) {
      expect((await ask(gateway, lines)).status, lines.join()).toBe(200)
      expect((await ask({ url: gateway.adminUrl }, lines, { method: 'GET', target: '/bookings' })).status).toBe(200)
    }
    for (const lines of [
      ['Host: other.internal'],
      ['Host: gateway.internal', 'Origin: https://gateway.internal'],
      ['Host: gateway.internal', 'Origin: https://evil.example'],
      ['Host: gateway.example.com', 'Origin: https://gateway.example.com:8443'],
      ['Host: gateway.example.com', 'Origin: https://www.gateway.example.com'],
    ]) {
      expect((await ask(gateway, lines)).status, lines.join()).toBe(403)
    }
  })
})

describe('a gateway that asks for no credential', () => {
  test('answers an HTTP/1.0 caller without Host, which no browser is', async () => {
    const gateway = await startGateway({ env: OWN })
    expect((await ask(gateway, [], { version: '1.0' })).status).toBe(200)
    expect((await ask(gateway, ['Origin: http://localhost'], { version: '1.0' })).status).toBe(403)
  })

  test('answers health checks under any name, but not to pages of other sites', async () => {
    const gateway = await startGateway({ env: OWN })
    for (const url of [gateway.url, gateway.adminUrl]) {
      for (const target of ['/healthz', '/readyz']) {
        expect((await ask({ url }, ['Host: probe.internal'], { method: 'GET', target })).status).toBe(200)
        const foreign = ['Host: localhost', 'Origin: https://evil.example']
        expect((await ask({ url }, foreign, { method: 'GET', target })).status).toBe(403)
      }
    }
  })

  test('says which name it was called by, for the operator to allow it', async () => {
    const gateway = await startGateway({ env: OWN })
    const { json } = await ask(gateway, ['Host: transload:8080'])
    expect(json['Message']).toMatch(/\btransload\b.*ALLOWED_HOSTS/)
    expect(gateway.lines()).toContainEqual(expect.objectContaining({ msg: 'call', status: 403, error: 'host-unknown' }))
    const long = await ask(gateway, [`Host: ${'x'.repeat(5_000)}`])
    expect(String(long.json['Message']).length).toBeLessThanOrEqual(500)
    expect(long.json['Message']).toContain('ALLOWED_HOSTS')
  })

  test('knows its own origin over TLS', async () => {
    const certificates = join(import.meta.dirname, '../http/certificates')
    const files = { TLS_CERT_FILE: join(certificates, 'server.pem'), TLS_KEY_FILE: join(certificates, 'server.key') }
    const gateway = await startGateway({ env: { ...OWN, ...files } })
    const { port } = new URL(gateway.url)
    const status = async (origin: string) => {
      const socket = connect({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false })
      await new Promise((resolve) => socket.once('secureConnect', resolve))
      const line = await openLine(gateway, socket)
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
    const status = async (to: TestGateway, authorization: string) =>
      (await ask(to, [...filled(to, lines), `Authorization: ${authorization}`])).status
    expect(await status(gateway, basic()), what).toBe(200)
    expect(await status(gateway, ''), what).toBe(401)
    expect(await status(edge, as('acme').authorization), what).toBe(200)
    expect(await status(fixed, basic()), what).toBe(403)
    const target = '/openapi.json'
    const admin = { url: gateway.adminUrl }
    expect((await ask(admin, filled(admin, lines), { method: 'GET', target: '/bookings' })).status, what).toBe(403)
    expect((await ask(fixed, filled(fixed, lines), { method: 'GET', target })).status, what).toBe(403)
  }
})

test('a caller of no known network gets 401 under any name', async () => {
  const edge = await openEdge(named(['acme'], { networks: ['192.0.2.0/24'] }))
  const { status, headers } = await ask(edge, ['Host: gateway.example.com'])
  expect(status).toBe(401)
  expect(headers.get('www-authenticate')?.[0]).toMatch(/^Basic /)
})

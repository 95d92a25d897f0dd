/** Promise: no web page makes a browser book (contract, section 5). */

import { hostname } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, CLIENT, startGateway, type TestGateway } from '../gateway.ts'
import { openLine } from '../http/line.ts'
import { send } from '../http/wire.ts'
import { as, openEdge, tenant } from './edge.ts'

const FIXED = { V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret }
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

const hostOf = ({ url }: Pick<TestGateway, 'url'>) => new URL(url).host
const portOf = ({ url }: Pick<TestGateway, 'url'>) => new URL(url).port

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
const OWN = {
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

const filled = (gateway: Pick<TestGateway, 'url'>, lines: readonly string[]) =>
  lines.map((line) => line.replaceAll('{host}', hostOf(gateway)).replaceAll('{port}', portOf(gateway)))

describe('a gateway that asks for no credential', () => {
  test.each(Object.entries({ ...FOREIGN, ...REBOUND }))('refuses what comes from %s', async (what, lines) => {
    const gateway = await startGateway({ env: FIXED })
    const quote = await ask(gateway, filled(gateway, lines))
    expect(quote.status).toBe(403)
    const Message = Object.hasOwn(REBOUND, what) ? /ALLOWED_HOSTS/ : /other sites.*ALLOWED_HOSTS/
    expect(quote.json).toEqual({ Cost: '', ShipmentNumber: '', Message: expect.stringMatching(Message) })
    for (const [method, target] of [
      ['POST', '/createShipment.php'],
      ['POST', '/deleteShipment.php'],
      ['GET', `/getShipment.php?ReferenceNumber=${bookingExample.ReferenceNumber}`],
      ['GET', '/v2/shipments/TL-1'],
      ['POST', '/v2/shipments'],
      ['POST', '/dry-run/createShipment.php'],
      ['GET', '/openapi.json'],
      ['OPTIONS', '/v2/shipments'],
    ]) {
      expect((await ask(gateway, filled(gateway, lines), { method, target })).status, target).toBe(403)
    }
    // A credential that is not checked proves nothing.
    const authorized = [...filled(gateway, lines), `Authorization: ${basic()}`]
    expect((await ask(gateway, authorized)).status).toBe(403)
    expect(gateway.sandbox.requests).toEqual([])
    expect(
      gateway
        .lines()
        .filter(({ msg }) => msg === 'call')
        .map(({ status }) => status),
    ).toEqual(Array(10).fill(403))
  })

  test.each(Object.entries(OWN))('answers what comes from %s', async (_what, lines) => {
    const gateway = await startGateway({ env: FIXED })
    expect((await ask(gateway, filled(gateway, lines))).status).toBe(200)
    expect((await ask(gateway, filled(gateway, lines), { method: 'GET', target: '/v2/shipments/TL-1' })).status).toBe(
      404,
    )
  })

  test('answers an HTTP/1.0 caller without Host, which no browser is', async () => {
    const gateway = await startGateway({ env: FIXED })
    expect((await ask(gateway, [], { version: '1.0' })).status).toBe(200)
    expect((await ask(gateway, ['Origin: http://localhost'], { version: '1.0' })).status).toBe(403)
  })

  test('answers health checks under any name, but not to pages of other sites', async () => {
    const gateway = await startGateway({ env: FIXED })
    for (const url of [gateway.url, gateway.adminUrl]) {
      for (const target of ['/healthz', '/readyz']) {
        expect((await ask({ url }, ['Host: probe.internal'], { method: 'GET', target })).status).toBe(200)
        const foreign = ['Host: localhost', 'Origin: https://evil.example']
        expect((await ask({ url }, foreign, { method: 'GET', target })).status).toBe(403)
      }
    }
  })

  test('is reached by the names and origins of ALLOWED_HOSTS', async () => {
    const ALLOWED_HOSTS = 'Gateway.internal, https://gateway.example.com'
    const gateway = await startGateway({ env: { ...FIXED, ALLOWED_HOSTS } })
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
      ['Host: gateway.example.com', 'Origin: https://gateway.example.com:8443'],
      ['Host: gateway.example.com', 'Origin: https://www.gateway.example.com'],
    ]) {
      expect((await ask(gateway, lines)).status, lines.join()).toBe(403)
    }
  })

  test('says which name it was called by, for the operator to allow it', async () => {
    const gateway = await startGateway({ env: FIXED })
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
    const gateway = await startGateway({ env: { ...FIXED, ...files } })
    const status = async (origin: string) => {
      const socket = connect({ port: Number(portOf(gateway)), host: '127.0.0.1', rejectUnauthorized: false })
      await new Promise((resolve) => socket.once('secureConnect', resolve))
      const line = await openLine(gateway, socket)
      line.write(`GET / HTTP/1.1\r\nHost: localhost:${portOf(gateway)}\r\nOrigin: ${origin}\r\n\r\n`)
      return (await line.replies(1))[0]?.status
    }
    expect(await status(`https://localhost:${portOf(gateway)}`)).toBe(200)
    expect(await status(`http://localhost:${portOf(gateway)}`)).toBe(403)
  })
})

test.each(Object.entries({ ...FOREIGN, ...REBOUND }))(
  'the admin listener refuses what comes from %s, in every mode',
  async (_what, lines) => {
    const gateway = await startGateway()
    const admin = { url: gateway.adminUrl }
    for (const target of ['/bookings', '/metrics', '/nothing']) {
      const reply = await ask(admin, filled(admin, lines), { method: 'GET', target })
      expect(reply.status, target).toBe(403)
      expect(reply.headers.get('content-type')).toEqual(['application/problem+json; charset=utf-8'])
      expect(reply.json).not.toHaveProperty('unknown')
    }
  },
)

test.each(Object.entries(OWN))('the admin listener answers what comes from %s', async (_what, lines) => {
  const gateway = await startGateway()
  const admin = { url: gateway.adminUrl }
  expect((await ask(admin, filled(admin, lines), { method: 'GET', target: '/bookings' })).status).toBe(200)
})

test('a caller that proves itself by a credential may be a page', async () => {
  const gateway = await startGateway()
  const pages = [...Object.values(FOREIGN), ...Object.values(REBOUND)]
  for (const lines of pages) {
    const authorized = [...filled(gateway, lines), `Authorization: ${basic()}`]
    expect((await ask(gateway, authorized)).status, lines.join()).toBe(200)
    expect((await ask(gateway, filled(gateway, lines))).status, lines.join()).toBe(401)
  }
})

describe('a tenant that is known by its network', () => {
  const openBoth = (networks: readonly string[]) => openEdge((place) => [tenant(place, 'acme', { networks })])

  test.each(Object.entries({ ...FOREIGN, ...REBOUND }))('is not acted for by %s', async (_what, lines) => {
    const edge = await openBoth(['127.0.0.0/8'])
    const plain = filled(edge, lines)
    expect((await ask(edge, plain)).status).toBe(403)
    expect((await ask(edge, plain, { method: 'GET', target: '/v2/shipments/TL-1' })).status).toBe(403)
    expect((await ask(edge, plain, { target: '/dry-run/getShippingQuote.php' })).status).toBe(403)
    // A header that does not identify a caller changes nothing.
    for (const authorization of ['', 'Bearer of-the-page']) {
      expect((await ask(edge, [...plain, `Authorization: ${authorization}`])).status).toBe(403)
    }
    expect(edge.sandbox.requests).toEqual([])
    // The same page with the tenant's credential is admitted.
    const { authorization } = as('acme')
    expect((await ask(edge, [...plain, `Authorization: ${authorization}`])).status).toBe(200)
    // These pages change nothing and contain no secret.
    expect((await ask(edge, plain, { method: 'GET', target: '/openapi.json' })).status).toBe(200)
  })

  test.each(Object.entries(OWN))('is served when it comes as %s', async (_what, lines) => {
    const edge = await openBoth(['127.0.0.0/8'])
    expect((await ask(edge, filled(edge, lines))).status).toBe(200)
  })

  test('does not concern unknown callers, which get 401 under any name', async () => {
    const edge = await openBoth(['192.0.2.0/24'])
    const { status, headers } = await ask(edge, ['Host: gateway.example.com'])
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')?.[0]).toMatch(/^Basic /)
  })
})

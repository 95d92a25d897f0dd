/** Promise: every path is served in every spelling (contract, section 1). */

import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { basic, get, OTHER_LOOPBACK, post, startGateway, type TestGateway } from '../gateway.ts'
import paths from './paths.json' with { type: 'json' }
import { openHoldingService } from './service.ts'
import { send } from './wire.ts'

const LEGACY = {
  '/getShippingQuote.php': 'POST',
  '/getShippingQuoteWTS.php': 'POST',
  '/createShipment.php': 'POST',
  '/ConfirmBooking': 'POST',
  '/getShipment.php': 'GET',
  '/updateShipment.php': 'POST',
  '/deleteShipment.php': 'POST',
} as const
const gateway = await startGateway({ closeAt: afterAll })
beforeEach(() => {
  gateway.sandbox.requests.length = 0
})

const AUTH = `Authorization: ${basic()}\r\n`

/** Sends one request whose target and headers stay as they are. */
function request(gateway: Pick<TestGateway, 'url'>, target: string, method = 'GET', headers = '') {
  return send(gateway, `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`)
}

describe('a legacy path', () => {
  test('is served in every spelling', async () => {
    for (const path of paths.legacy.spellings) {
      const { status, json } = await post(gateway, path, quoteExample)
      expect([path, status, json.ShipmentNumber]).toEqual([path, 200, quoteExample.ShipmentNumber])
    }
  })

  test('is not served at similar paths', async () => {
    for (const path of paths.legacy.similar) {
      expect([path, (await request(gateway, path, 'POST', AUTH)).status]).toEqual([path, 404])
    }
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('takes its method alone, and says so in Allow', async () => {
    const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'TRACE']
    for (const [path, allowed] of Object.entries(LEGACY)) {
      for (const method of methods.filter((one) => one !== allowed)) {
        const reply = await request(gateway, `/quotes${path}/`, method, AUTH)
        expect([method, reply.status, reply.headers.get('allow')]).toEqual([method, 405, [allowed]])
        expect(reply.json['Message']).toContain(allowed)
        expect(Object.keys(reply.json)[0]).toBe(path.includes('Quote') ? 'Cost' : 'Message')
      }
    }
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('that does not decode is 400', async () => {
    for (const path of paths.legacy.unreadable) {
      const { status, json } = await request(gateway, path)
      const told = expect.stringContaining('path')
      const body =
        path === '/v2/%zz'
          ? expect.objectContaining({ detail: told })
          : { Message: told, TransportationBooked: 'Unknown' }
      expect([path, status, json]).toEqual([path, 400, body])
    }
    expect(gateway.sandbox.requests).toEqual([])
  })
})

test('no route of the gateway is served by its own name', async () => {
  for (const path of paths.own) {
    for (const method of ['GET', 'POST', 'HEAD']) {
      const { status } = await request(gateway, path, method, AUTH)
      expect([method, path, status]).toEqual([method, path, 404])
    }
  }
  expect(gateway.sandbox.requests).toEqual([])
})

describe("the gateway's own pages", () => {
  test('without its store it is alive and not ready, on both listeners', async () => {
    const store = createMemoryStore()
    const gateway = await startGateway({ store })
    await store.close()
    for (const url of [gateway.url, gateway.adminUrl]) {
      expect((await get({ url }, '/healthz')).status).toBe(200)
      expect(await get({ url }, '/readyz')).toMatchObject({ status: 503, json: { status: 'not ready' } })
    }
  })

  test('the admin listener has its own address, and none of the public paths', async () => {
    const gateway = await startGateway({ env: { ADMIN_HOST: OTHER_LOOPBACK } })
    const { port } = new URL(gateway.adminUrl)
    const url = `http://${OTHER_LOOPBACK.includes(':') ? `[${OTHER_LOOPBACK}]` : OTHER_LOOPBACK}:${port}`
    expect(gateway.adminUrl).toBe(url)
    expect(new URL(gateway.url).hostname).toBe('127.0.0.1')
    for (const path of ['/metrics', '/healthz', '/readyz']) expect((await get({ url }, path)).status).toBe(200)
    for (const path of ['/getShipment.php', '/v2/quote', '/openapi.json', '/dry-run/getShipment.php']) {
      const { status, headers } = await get({ url }, path)
      expect([status, headers.get('content-type')]).toEqual([404, 'application/problem+json; charset=utf-8'])
    }
  })
})

test('a source is an address of IPv4, in any spelling, or a network /64 of IPv6', async () => {
  const service = await openHoldingService()
  const env = { TRUST_PROXY: '127.0.0.1', SOURCE_IN_FLIGHT: '1' }
  const gateway = await startGateway({ env, serviceUrl: service.url })
  const ask = (address: string) => get(gateway, '/v2/x', { 'x-forwarded-for': address })
  const underWay = [ask('2001:db8:1:2::1'), ask('192.0.2.1'), ask('2001:db8:1:3::1'), ask('192.0.2.2')]
  await service.arrived(4)
  for (const address of ['2001:DB8:1:2:ffff::2', '::FFFF:c000:0201']) expect((await ask(address)).status).toBe(429)
  service.release({})
  for (const call of underWay) expect((await call).status).toBe(200)
})

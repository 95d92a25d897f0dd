/** Promise: tokens are fetched once for all calls and renewed in time, and the newest is kept (contract, section 5). */

import { expect, test } from 'vitest'
import { atOnce, clocks, counted, exchanges } from '../callers/tenants-gateway.ts'
import { OWN, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { quote, read } from './calls.ts'

const AT_TOKEN = { path: '/oauth2/token' } as const

const openWithTokens = ({ sandbox, ...options }: TestGatewayOptions = {}): Promise<TestGateway> =>
  startGateway({
    ...options,
    env: { ...OWN, V2_TOKEN: 'oauth2' },
    sandbox: { auth: 'bearer', ...sandbox },
  })

/** Asks for a quote; returns the status. */
const quoted = async (gateway: TestGateway) => (await quote(gateway)).status

test("the exchange is made below the service's prefix", async () => {
  const service = await openService((incoming, outgoing) => {
    incoming.resume()
    outgoing.end(JSON.stringify({ access_token: 'abc', shipment_id: 'x', price: 1 }))
  })
  const gateway = await openWithTokens({ serviceUrl: `${service.url}/api/v2/` })
  expect(await quoted(gateway)).toBe(200)
  expect(service.requests.map(({ url }) => url)).toEqual(['/api/oauth2/token', '/api/v2/quote'])
})

test('the exchange is made once for fifty calls, at the start and when their token is revoked meanwhile', async () => {
  const gateway = await openWithTokens()
  for (const made of [1, 2]) {
    expect(counted(await atOnce(50, () => quoted(gateway)))).toEqual({ 200: 50 })
    expect(exchanges(gateway)).toHaveLength(made)
    gateway.sandbox.revokeTokens()
  }
})

test.each([
  [3600, 2_880_000, 710_000],
  [10, 4_100, 700],
])(
  'a token of %i seconds is renewed ahead of time, each time, and no call waits for it',
  async (tokenExpiresIn, due, left) => {
    const { pass, clock } = clocks()
    const gateway = await openWithTokens({ sandbox: { tokenExpiresIn, clock } })
    await quoted(gateway)
    for (let renewals = 1; renewals <= 2; renewals += 1) {
      await quoted(gateway)
      const old = gateway.sandbox.requests.at(-1)?.headers.authorization
      pass(due)
      gateway.sandbox.fail({ kind: 'delay', on: AT_TOKEN, ms: 150 })
      const renewal = gateway.sandbox.next(({ path }) => path === AT_TOKEN.path)
      // The renewal is slow; this call was sent long before with the old token.
      expect(await quoted(gateway)).toBe(200)
      expect(gateway.sandbox.requests.findLast(({ path }) => path === '/v2/quote')?.headers.authorization).toBe(old)
      await renewal
      await gateway.sandbox.idle()
      expect(exchanges(gateway)).toHaveLength(1 + renewals)
    }
    // By now the first two have expired.
    pass(left)
    expect(await quoted(gateway)).toBe(200)
    expect(exchanges(gateway)).toHaveLength(3)
  },
)

test('a token is used until it expires, even while the token endpoint is down', async () => {
  const { pass, clock } = clocks()
  const gateway = await openWithTokens({ sandbox: { tokenExpiresIn: 3600, clock } })
  await quoted(gateway)
  gateway.sandbox.fail({ kind: 'status', on: AT_TOKEN, times: 'always', status: 500 })
  pass(3_000_000)
  for (let i = 0; i < 5; i += 1) expect(await quoted(gateway)).toBe(200)
  await gateway.sandbox.idle()
  // A failed renewal is not repeated for a while.
  expect(exchanges(gateway)).toHaveLength(2)
  pass(10_000)
  expect(await quoted(gateway)).toBe(200)
  pass(600_000)
  expect(await quoted(gateway)).toBe(502)
  gateway.sandbox.clearFaults()
  expect(await quoted(gateway)).toBe(200)
})

test('a token that was replaced meanwhile is not dropped with the one that failed', async () => {
  const gateway = await openWithTokens()
  await quoted(gateway)
  gateway.sandbox.revokeTokens()
  // The slower call is refused when the faster one already has a new token.
  gateway.sandbox.fail({ kind: 'delay', on: { method: 'GET' }, ms: 300 })
  const slower = read(gateway)
  await gateway.sandbox.next(({ method }) => method === 'GET')
  expect(await quoted(gateway)).toBe(200)
  expect((await slower).status).toBe(404)
  expect(exchanges(gateway)).toHaveLength(2)
})

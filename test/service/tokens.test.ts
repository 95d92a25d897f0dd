/** Promise: tokens are fetched once, renewed in time and dropped when refused (contract, section 5). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atOnce, book, clocks, counted, exchanges, quote, read } from '../callers/tenants-gateway.ts'
import { basic, post, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'
import { openService } from '../http/service.ts'
import type { Fault } from '../stand-in/stand-in.ts'

const OWN = { V2_CLIENT_ID: 'own', V2_CLIENT_SECRET: 'own-secret' }
const OWN_BASIC = { authorization: basic('own', 'own-secret') }
const AT_TOKEN = { path: '/oauth2/token' } as const
const CALLER = { authorization: '' }

const openWithTokens = ({ env, sandbox, ...options }: TestGatewayOptions = {}): Promise<TestGateway> =>
  startGateway({
    ...options,
    env: { ...OWN, V2_TOKEN: 'oauth2', ...env },
    sandbox: { credentials: { own: 'own-secret' }, auth: 'bearer', ...sandbox },
  })

/** Asks for a quote; returns the status. */
const quoted = async (gateway: TestGateway) => (await quote(gateway, CALLER)).status

/** Books; returns what version 1 says of it. */
const booked = async (gateway: TestGateway) => (await book(gateway, 'R-1', CALLER)).json.TransportationBooked

test('the exchange is made as the interface says: a form, and the credential as Basic', async () => {
  const gateway = await openWithTokens()
  expect(await quoted(gateway)).toBe(200)
  expect(gateway.sandbox.requests).toMatchObject([
    {
      method: 'POST',
      path: '/oauth2/token',
      body: 'grant_type=client_credentials',
      headers: { ...OWN_BASIC, 'content-type': 'application/x-www-form-urlencoded', 'content-length': '29' },
    },
    { path: '/v2/quote', headers: { authorization: expect.stringMatching(/^Bearer [\w-]{32}$/) } },
  ])
})

test("the exchange is made below the service's prefix", async () => {
  const service = await openService((incoming, outgoing) => {
    incoming.resume()
    outgoing.end(JSON.stringify({ access_token: 'abc', shipment_id: 'x', price: 1 }))
  })
  const gateway = await openWithTokens({ serviceUrl: `${service.url}/api/v2/` })
  expect(await quoted(gateway)).toBe(200)
  expect(service.requests.map(({ url }) => url)).toEqual(['/api/oauth2/token', '/api/v2/quote'])
})

test('the exchange is made once for fifty calls, at the start and when their token is revoked under them', async () => {
  const gateway = await openWithTokens()
  for (const made of [1, 2]) {
    expect(counted(await atOnce(50, () => quoted(gateway)))).toEqual({ 200: 50 })
    expect(exchanges(gateway)).toHaveLength(made)
    gateway.sandbox.revokeTokens()
  }
})

test('the exchange is made for each client by itself, in client mode', async () => {
  const credentials = { one: '1', two: '2' }
  const gateway = await startGateway({ env: { V2_TOKEN: 'oauth2' }, sandbox: { credentials, auth: 'bearer' } })
  const [one, two] = Object.entries(credentials).map((pair) => basic(...pair))
  await atOnce(20, (i) => quote(gateway, { authorization: (i % 2 ? one : two) ?? '' }))
  const made = exchanges(gateway).map(({ headers }) => headers.authorization)
  expect(made.sort()).toEqual([one, two])
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
      // The renewal takes its time; this call has gone out with the old token long before.
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
  // A renewal that failed is left alone for a while.
  expect(exchanges(gateway)).toHaveLength(2)
  pass(10_000)
  expect(await quoted(gateway)).toBe(200)
  pass(600_000)
  expect(await quoted(gateway)).toBe(502)
  gateway.sandbox.clearFaults()
  expect(await quoted(gateway)).toBe(200)
})

test('a token that is refused is dropped and fetched anew once, and no more; the booking is sent again, and made once', async () => {
  const gateway = await openWithTokens()
  const { sandbox } = gateway
  const sentBy = async (call: () => Promise<unknown>) => {
    sandbox.requests.length = 0
    return [await call(), ...sandbox.requests.map(({ path }) => path)]
  }
  await quoted(gateway)
  sandbox.revokeTokens()
  const again = ['/v2/shipments', '/oauth2/token', '/v2/shipments']
  expect(await sentBy(() => booked(gateway))).toEqual(['Yes', ...again])
  expect(sandbox.shipments.size).toBe(1)
  sandbox.fail({ kind: 'status', on: { path: '/v2/quote' }, times: 'always', status: 401 })
  expect(await sentBy(() => quoted(gateway))).toEqual([401, '/v2/quote', '/oauth2/token', '/v2/quote'])
})

test('a token that was replaced meanwhile is not dropped with the one that failed', async () => {
  const gateway = await openWithTokens()
  await quoted(gateway)
  gateway.sandbox.revokeTokens()
  // The slower call is refused when the faster one has a new token already.
  gateway.sandbox.fail({ kind: 'delay', on: { method: 'GET' }, ms: 300 })
  const slower = read(gateway, 'UNKNOWN', CALLER)
  await gateway.sandbox.next(({ method }) => method === 'GET')
  expect(await quoted(gateway)).toBe(200)
  expect((await slower).status).toBe(404)
  expect(exchanges(gateway)).toHaveLength(2)
})

test.each([
  ['none', '{"access_token":"TOKEN"}', 230_000, 66_000],
  ['a huge one', '{"access_token":"TOKEN","expires_in":1e18}', 1e9, undefined],
  ['a text', '\ufeff{"access_token":"TOKEN","expires_in":"3600"}', 2_800_000, 100_000],
  ['zero', '{"access_token":"TOKEN","expires_in":0}', 200_000, 96_000],
])('a token lives on however its life is told: %s', async (_, body, later, due) => {
  const { pass } = clocks()
  const gateway = await openWithTokens()
  const { sandbox } = gateway
  const { json } = await post({ url: sandbox.url }, '/oauth2/token', 'grant_type=client_credentials', OWN_BASIC)
  sandbox.fail({ kind: 'status', on: AT_TOKEN, status: 200, body: body.replace('TOKEN', json.access_token) })
  expect(await quoted(gateway)).toBe(200)
  pass(later)
  expect(await quoted(gateway)).toBe(200)
  expect(exchanges(gateway)).toHaveLength(2)
  if (due === undefined) return
  pass(due)
  expect(await quoted(gateway)).toBe(200)
  await sandbox.idle()
  expect(exchanges(gateway)).toHaveLength(3)
})

type Failure = Fault & { readonly told: number }
const failures: Record<string, Failure> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'token-endpoint.json'), 'utf8'),
)

test.each(Object.entries(failures))(
  'a token endpoint that %s is told in the shape of version 1, nothing is sent, and the booking may be sent again',
  async (_, { told: status, ...fault }) => {
    const gateway = await openWithTokens({ env: fault.kind === 'timeout' ? { UPSTREAM_TIMEOUT_MS: '400' } : {} })
    const { sandbox } = gateway
    const failing = { ...fault, on: AT_TOKEN, times: 'always' } as const
    const says = status === 401 ? /^The service rejected this credential\. .* The service says: \w+_client$/ : /token/
    const Message = expect.stringMatching(says)
    sandbox.fail(failing)
    const { headers, ...refused } = await quote(gateway, CALLER)
    expect(refused).toMatchObject({ status, json: { Cost: '', ShipmentNumber: expect.any(String), Message } })
    if (status === 503) expect(headers.get('retry-after')).toBe('60')
    if (status === 401) expect(headers.get('www-authenticate')).toMatch(/^Basic /)
    expect(sandbox.requests.every(({ path }) => path === AT_TOKEN.path)).toBe(true)

    // Nor is a booking made whose token is refused when there is no other.
    sandbox.clearFaults()
    await expect.poll(() => quoted(gateway)).toBe(200)
    sandbox.revokeTokens()
    sandbox.fail(failing)
    const booking = await book(gateway, 'R-1', CALLER)
    expect([booking.status, booking.json]).toEqual([status, { Message, TransportationBooked: 'No' }])
    sandbox.clearFaults()
    await expect.poll(() => booked(gateway)).toBe('Yes')
    expect(sandbox.shipments.size).toBe(1)
  },
)

test('a token endpoint that stumbles once is asked again', async () => {
  const gateway = await openWithTokens()
  gateway.sandbox.fail({ kind: 'reset-after', on: AT_TOKEN })
  expect(await booked(gateway)).toBe('Yes')
  expect(exchanges(gateway)).toHaveLength(2)
})

test('a credential that gets no token any more is no longer shown what it booked', async () => {
  const { pass } = clocks()
  const caller = { authorization: basic('one', '1') }
  const gateway = await startGateway({
    proven: false,
    env: { V2_TOKEN: 'oauth2' },
    sandbox: { credentials: { one: '1' }, auth: 'bearer' },
  })
  expect((await book(gateway, 'R-1', caller)).json.TransportationBooked).toBe('Yes')
  // The token has expired; the credential counts as accepted for longer.
  gateway.sandbox.fail({ kind: 'status', status: 401, on: AT_TOKEN, times: 'always' })
  gateway.sandbox.revokeTokens()
  pass(1)
  expect((await quote(gateway, caller)).status).toBe(401)
  expect((await book(gateway, 'R-1', caller)).status).toBe(401)
})

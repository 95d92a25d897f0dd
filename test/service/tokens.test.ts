/** Promise: tokens are fetched once, renewed in time and dropped when refused (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { atOnce, book, clocks, counted, exchanges, quote, read } from '../callers/tenants-gateway.ts'
import { basic, post, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { size } from '../size.ts'

const OWN = { V2_CLIENT_ID: 'own', V2_CLIENT_SECRET: 'own-secret' }
const AT_TOKEN = { path: '/oauth2/token' } as const
const CALLER = { authorization: '' }

function openWithTokens({ env, sandbox, ...options }: TestGatewayOptions = {}): Promise<TestGateway> {
  return startGateway({
    ...options,
    env: { ...OWN, V2_TOKEN: 'oauth2', ...env },
    sandbox: { credentials: { own: 'own-secret' }, auth: 'bearer', ...sandbox },
  })
}

/** Asks for a quote; returns the status. */
const quoted = async (gateway: TestGateway) => (await quote(gateway, CALLER)).status

const given = (body: object) => ({ kind: 'status', on: AT_TOKEN, status: 200, body: { ...body } }) as const

describe('the exchange', () => {
  test('is made as the interface says: a form, and the credential as Basic', async () => {
    const gateway = await openWithTokens()
    expect(await quoted(gateway)).toBe(200)
    const [exchange, call, ...more] = gateway.sandbox.requests
    expect(more).toEqual([])
    expect(exchange).toMatchObject({ method: 'POST', path: '/oauth2/token', body: 'grant_type=client_credentials' })
    expect(exchange?.headers).toMatchObject({
      authorization: basic('own', 'own-secret'),
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': '29',
    })
    expect(call?.headers.authorization).toMatch(/^Bearer [\w-]{32}$/)
  })

  test("is made below the service's prefix", async () => {
    const service = await openService((incoming, outgoing) => {
      incoming.resume()
      const body = incoming.url?.endsWith('/token') ? { access_token: 'abc' } : { shipment_id: 'x', price: 1 }
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    const gateway = await openWithTokens({ serviceUrl: `${service.url}/api/v2/` })
    expect(await quoted(gateway)).toBe(200)
    expect(service.requests.map(({ url }) => url)).toEqual(['/api/oauth2/token', '/api/v2/quote'])
  })

  test('is made once for two hundred calls, at the start and when their token is revoked under them', async () => {
    const gateway = await openWithTokens()
    for (const made of [1, 2]) {
      expect(counted(await atOnce(200, () => quoted(gateway)))).toEqual({ 200: 200 })
      expect(exchanges(gateway)).toHaveLength(made)
      gateway.sandbox.revokeTokens()
    }
  })

  test('is made for each client by itself, in client mode too', async () => {
    const gateway = await startGateway({
      env: { V2_TOKEN: 'oauth2' },
      sandbox: { credentials: { one: '1', two: '2' }, auth: 'bearer' },
    })
    await atOnce(20, (i) => quote(gateway, { authorization: i % 2 ? basic('one', '1') : basic('two', '2') }))
    expect(counted(exchanges(gateway).map(({ headers }) => headers.authorization))).toEqual({
      [basic('one', '1')]: 1,
      [basic('two', '2')]: 1,
    })
  })
})

describe('a token', () => {
  test('expires under load, again and again, and no call fails', async () => {
    const gateway = await openWithTokens({ sandbox: { tokenExpiresIn: 0.5 } })
    const statuses: number[] = []
    await atOnce(size(4, 20), async () => {
      while (exchanges(gateway).length < size(4, 10)) statuses.push(await quoted(gateway))
    })
    expect(Object.keys(counted(statuses))).toEqual(['200'])
    // Half of its life is used at most, and four fifths of that before it is renewed. A busy machine notes the first late.
    const times = exchanges(gateway).map(({ at }) => at.getTime())
    const lived = (times.at(-1) ?? Number.NaN) - (times[0] ?? Number.NaN)
    expect(lived).toBeGreaterThanOrEqual((times.length - 2) * 100)
  })

  test.each([
    [3600, 2_880_000, 710_000],
    [10, 4_100, 700],
  ])(
    'of %i seconds is renewed ahead of time, each time, and no call waits for it',
    async (tokenExpiresIn, due, left) => {
      const { pass, clock } = clocks()
      const gateway = await openWithTokens({ sandbox: { tokenExpiresIn, clock } })
      await quoted(gateway)
      for (let renewals = 1; renewals <= 2; renewals += 1) {
        await quoted(gateway)
        const old = gateway.sandbox.requests.at(-1)?.headers.authorization
        pass(due)
        gateway.sandbox.fail({ kind: 'delay', on: AT_TOKEN, ms: 150 })
        const renewal = gateway.sandbox.next(({ path }) => path === '/oauth2/token')
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

  test('is used until it expires, even while the token endpoint is down', async () => {
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

  test('that is refused is dropped and fetched anew once, and no more', async () => {
    const gateway = await openWithTokens()
    await quoted(gateway)
    gateway.sandbox.revokeTokens()
    expect(await quoted(gateway)).toBe(200)
    expect(exchanges(gateway)).toHaveLength(2)

    gateway.sandbox.fail({ kind: 'status', on: { path: '/v2/quote' }, times: 'always', status: 401 })
    const before = gateway.sandbox.requests.length
    const refused = await quote(gateway, CALLER)
    expect(refused.status).toBe(401)
    expect(refused.json.Message).toMatch(/credential/)
    expect(gateway.sandbox.requests.slice(before).map(({ path }) => path)).toEqual([
      '/v2/quote',
      '/oauth2/token',
      '/v2/quote',
    ])
  })

  test('that was replaced meanwhile is not dropped with the one that failed', async () => {
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

  test('without expires_in lives five minutes', async () => {
    const { pass } = clocks()
    const gateway = await openWithTokens({ sandbox: { tokenExpiresIn: null } })
    await quoted(gateway)
    pass(230_000)
    await quoted(gateway)
    expect(exchanges(gateway)).toHaveLength(1)
    pass(66_000)
    await quoted(gateway)
    expect(exchanges(gateway)).toHaveLength(2)
  })

  test.each([
    ['a huge one', 1e18, 1e9],
    ['a text', '3600', 2_800_000],
    ['zero', 0, 200_000],
  ])('lives on however its life is told: %s', async (_, expires_in, later) => {
    const { pass } = clocks()
    const gateway = await openWithTokens({ sandbox: { auth: 'both' } })
    const real = await post({ url: gateway.sandbox.url }, '/oauth2/token', 'grant_type=client_credentials', {
      authorization: basic('own', 'own-secret'),
    })
    gateway.sandbox.fail(given({ access_token: real.json.access_token, token_type: 'Bearer', expires_in }))
    expect(await quoted(gateway)).toBe(200)
    pass(later)
    expect(await quoted(gateway)).toBe(200)
    expect(exchanges(gateway)).toHaveLength(2)
  })
})

test('a token reply may begin with a byte order mark', async () => {
  const gateway = await openWithTokens({ sandbox: { auth: 'both' } })
  const real = await post({ url: gateway.sandbox.url }, '/oauth2/token', 'grant_type=client_credentials', {
    authorization: basic('own', 'own-secret'),
  })
  const body = `\ufeff{"access_token":"${real.json.access_token}"}`
  gateway.sandbox.fail({ kind: 'status', on: AT_TOKEN, status: 200, body })
  expect(await quoted(gateway)).toBe(200)
})

describe('a token endpoint', () => {
  const failures = [
    ['fails', { kind: 'status', status: 500 }, 502],
    ['is overloaded', { kind: 'status', status: 503, headers: { 'retry-after': '60' } }, 503],
    ['is not there', { kind: 'status', status: 404 }, 502],
    ['answers with a page', { kind: 'not-json' }, 502],
    ['answers without a token', { kind: 'status', status: 200, body: { token_type: 'Bearer' } }, 502],
    [
      'answers with a token that breaks headers',
      { kind: 'status', status: 200, body: { access_token: 'a\r\nx: y' } },
      502,
    ],
    ['breaks the connection', { kind: 'reset-before' }, 502],
    ['answers endlessly', { kind: 'huge', megabytes: 9 }, 502],
    ['refuses the credential', { kind: 'status', status: 401, body: { error: 'invalid_client' } }, 401],
    ['refuses the client', { kind: 'status', status: 400, body: { error: 'unauthorized_client' } }, 401],
  ] as const

  test.each(failures)(
    'that %s is told in the shape of version 1, nothing is sent, and the booking may be sent again',
    async (_, fault, status) => {
      const gateway = await openWithTokens()
      gateway.sandbox.fail({ on: AT_TOKEN, times: 'always', ...fault } as Parameters<typeof gateway.sandbox.fail>[0])
      const answer = await quote(gateway, CALLER)
      const says = status === 401 ? /^The service rejected this credential\. .* The service says: \w+_client$/ : /token/
      expect(answer.status).toBe(status)
      expect(answer.json).toEqual({
        Cost: '',
        ShipmentNumber: expect.any(String),
        Message: expect.stringMatching(says),
      })
      if (status === 503) expect(answer.headers.get('retry-after')).toBe('60')
      if (status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
      const refused = await book(gateway, 'R-1', CALLER)
      expect(refused.status).toBe(status)
      expect(refused.json).toEqual({ Message: expect.stringMatching(says), TransportationBooked: 'No' })
      expect(gateway.sandbox.requests.every(({ path }) => path === '/oauth2/token')).toBe(true)

      gateway.sandbox.clearFaults()
      const booked = await book(gateway, 'R-1', CALLER)
      expect(booked.json.TransportationBooked).toBe('Yes')
      expect(booked.headers.get('idempotent-replayed')).toBeNull()
      expect(gateway.sandbox.shipments.size).toBe(1)
    },
  )

  test('that never answers costs the call its time and no more: 504, and the booking may be sent again', async () => {
    const gateway = await openWithTokens({ env: { UPSTREAM_TIMEOUT_MS: '400' } })
    gateway.sandbox.fail({ kind: 'timeout', on: AT_TOKEN, times: 'always' })
    const [answer, refused] = await Promise.all([quote(gateway, CALLER), book(gateway, 'R-1', CALLER)])
    expect(answer.status).toBe(504)
    expect(answer.json.Message).toMatch(/token/)
    expect(refused.status).toBe(504)
    expect(refused.json).toEqual({ Message: expect.stringMatching(/nothing was sent/), TransportationBooked: 'No' })
    gateway.sandbox.clearFaults()
    expect((await book(gateway, 'R-1', CALLER)).json.TransportationBooked).toBe('Yes')
    expect(gateway.sandbox.shipments.size).toBe(1)
  })

  test('that stumbles once is asked again', async () => {
    const gateway = await openWithTokens()
    gateway.sandbox.fail({ kind: 'reset-after', on: AT_TOKEN })
    expect((await book(gateway, 'R-1', CALLER)).json.TransportationBooked).toBe('Yes')
    expect(exchanges(gateway)).toHaveLength(2)
  })
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

test('a booking that meets a refused token is sent again, and made once', async () => {
  const gateway = await openWithTokens()
  await quoted(gateway)
  gateway.sandbox.revokeTokens()
  expect((await book(gateway, 'R-1', CALLER)).json.TransportationBooked).toBe('Yes')
  expect(gateway.sandbox.requests.filter(({ path }) => path === '/v2/shipments')).toHaveLength(2)
  expect(gateway.sandbox.shipments.size).toBe(1)
})

test('a booking whose token is refused when there is no other is not made, and may be sent again', async () => {
  const gateway = await openWithTokens()
  await quoted(gateway)
  gateway.sandbox.revokeTokens()
  gateway.sandbox.fail({ kind: 'status', on: AT_TOKEN, times: 'always', status: 500 })
  const refused = await book(gateway, 'R-1', CALLER)
  expect([refused.status, refused.json.TransportationBooked]).toEqual([502, 'No'])
  gateway.sandbox.clearFaults()
  expect((await book(gateway, 'R-1', CALLER)).json.TransportationBooked).toBe('Yes')
  expect(gateway.sandbox.shipments.size).toBe(1)
})

/** Promise: the gateway finds out how the service authenticates, without a call that is sent twice (contract, section 5). */

import { expect, test } from 'vitest'
import {
  as,
  atService,
  book,
  clocks,
  counted,
  exchanges,
  openEdge,
  quote,
  read,
  tenant,
} from '../callers/tenants-gateway.ts'
import { basic, get, post, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'
import { bytesOf, openService } from '../http/service.ts'

const CALLER = { authorization: basic() }
/** Asks for a quote; returns the status. */
const quoted = async (gateway: TestGateway) => (await quote(gateway, CALLER)).status

const schemes = ({ sandbox }: TestGateway, from = 0) =>
  sandbox.requests
    .slice(from)
    .filter(({ path }) => path.startsWith('/v2/'))
    .map(({ headers }) => headers.authorization?.split(' ')[0])

const openAuto = ({ env, ...options }: TestGatewayOptions = {}) =>
  startGateway({ ...options, env: { V2_TOKEN: 'auto', ...env } })

test('a call that Basic no longer gets through is made with a token, and the next one begins with it', async () => {
  const gateway = await openAuto({ sandbox: { auth: 'bearer' } })
  expect(await quoted(gateway)).toBe(200)
  expect(await quoted(gateway)).toBe(200)
  expect(schemes(gateway)).toEqual(['Basic', 'Bearer', 'Bearer'])
  expect(exchanges(gateway)).toHaveLength(1)
})

test('with basic, and with a refusal that names no Bearer, nothing is exchanged', async () => {
  const plain = await startGateway({ sandbox: { auth: 'bearer' } })
  expect(await quoted(plain)).toBe(401)
  expect(exchanges(plain)).toEqual([])
  const gateway = await openAuto()
  for (const challenge of ['Basic realm="Bearer, bearer , x"', 'Basic realm="a", charset="bearer"', 'BearerLike']) {
    gateway.sandbox.fail({ kind: 'status', status: 401, headers: { 'www-authenticate': challenge } })
    expect(await quoted(gateway)).toBe(401)
  }
  expect(exchanges(gateway)).toEqual([])
})

test.each([
  'Bearer',
  'bearer realm="x"',
  'Basic realm="a, b", Bearer realm="x", error="invalid_token"',
  'Negotiate abc==, BEARER',
])('a challenge is understood however it is written: %s', async (challenge) => {
  const gateway = await openAuto()
  gateway.sandbox.fail({ kind: 'status', status: 401, headers: { 'www-authenticate': challenge } })
  expect(await quoted(gateway)).toBe(200)
  expect(exchanges(gateway)).toHaveLength(1)
})

test.each([
  ['a wrong secret is called wrong', 'Basic realm="x", Bearer', 401],
  ['only the token is missing', 'Bearer', 502],
])('where the service has no tokens yet, %s by its challenge %s', async (_, challenge, status) => {
  const gateway = await openAuto({ sandbox: { auth: 'basic' } })
  const headers = { 'www-authenticate': challenge }
  gateway.sandbox.fail({ kind: 'status', on: { path: '/v2/quote' }, times: 'always', status: 401, headers })
  const first = await quote(gateway, CALLER)
  const second = await quote(gateway, CALLER)
  expect([first.status, second.status]).toEqual([status, status])
  expect(second.text).toBe(first.text)
})

test('the scheme that the service wants is remembered for each credential', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme'), tenant(place, 'beta')], { env: { V2_TOKEN: 'auto' } })
  const only = (name: string) =>
    edge.sandbox.requests
      .filter(({ headers, path }) => path.startsWith('/v2/') && headers.authorization !== atService(name))
      .map(({ headers }) => headers.authorization?.split(' ')[0])
  edge.sandbox.set({ auth: 'bearer' })
  await quote(edge, as('acme'))
  edge.sandbox.set({ auth: 'both' })
  await quote(edge, as('acme'))
  await quote(edge, as('beta'))
  expect(only('acme')).toEqual(['Bearer', 'Bearer', 'Basic'])
  expect(edge.sandbox.requests.at(-1)?.headers.authorization).toBe(atService('beta'))
  expect(counted(exchanges(edge).map(({ headers }) => headers.authorization))).toEqual({ [atService('acme')]: 1 })
})

test('a credential that has changed over to tokens stays with them', async () => {
  const { pass, clock } = clocks()
  const gateway = await openAuto({ sandbox: { auth: 'bearer', clock, tokenExpiresIn: 100_000 } })
  await quoted(gateway)
  gateway.sandbox.set({ auth: 'both' })
  pass(86_400_000)
  expect(await quoted(gateway)).toBe(200)
  expect(schemes(gateway)).toEqual(['Basic', 'Bearer', 'Bearer'])
})

test('the day of the switch costs no call, and no booking is made twice', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme'), tenant(place, 'beta')], {
    env: { V2_TOKEN: 'auto' },
    sandbox: { auth: 'basic' },
  })
  const failed: unknown[] = []
  let calls = 0
  let over = false
  const works = async (what: string, call: () => Promise<{ status: number; text: string }>) => {
    const { status, text } = await call()
    calls += 1
    if (status !== 200) failed.push([what, status, text])
  }
  const traffic = async (caller: number) => {
    const headers = as(caller % 2 ? 'acme' : 'beta')
    for (let round = 0; !over; round += 1) {
      const reference = `R-${caller}-${round}`
      await works('quote', () => quote(edge, headers, { ShipmentNumber: `Q-${reference}` }))
      await works('book', () => book(edge, reference, headers))
      await works('read', () => read(edge, reference, headers))
      await works('update', () =>
        post(edge, '/updateShipment.php', { ReferenceNumber: reference, PickupName: 'Sam' }, headers),
      )
      await works('pass', () =>
        get(edge, `/v2/shipments/${edge.sandbox.shipments.keys().next().value}`, headers).then(known),
      )
    }
  }
  // The first shipment belongs to one tenant; the other gets no 401 for it either.
  const known = (answer: { status: number; text: string }) =>
    answer.status === 404 ? { ...answer, status: 200 } : answer

  const all = Promise.all(Array.from({ length: 12 }, (_, caller) => traffic(caller)))
  for (const auth of ['both', 'bearer', 'both', 'bearer'] as const) {
    const enough = calls + 100
    while (calls < enough) await edge.sandbox.next()
    edge.sandbox.set({ auth })
  }
  const enough = calls + 100
  while (calls < enough) await edge.sandbox.next()
  over = true
  await all

  expect(failed).toEqual([])
  expect(calls).toBeGreaterThan(500)
  const booked = counted([...edge.sandbox.shipments.values()].map(({ external_id }) => external_id))
  expect(Object.values(booked).every((count) => count === 1)).toBe(true)
  expect(Object.keys(booked).length).toBeGreaterThan(100)
  expect(new Set(schemes(edge))).toEqual(new Set(['Basic', 'Bearer']))
})

const FIXED = { V2_CLIENT_ID: 'demo', V2_CLIENT_SECRET: 'demo-secret' }
const TRIP = { pickup: '10314', delivery: '33166', vehicle_type: 'car', transport_type: 'open' }

test('a small call that is passed through is sent again without its caller noticing, with all of its body', async () => {
  const gateway = await openAuto({ env: FIXED, sandbox: { auth: 'bearer' } })
  const answer = await post(gateway, '/v2/quote', TRIP, { authorization: '' })
  expect(answer.status).toBe(200)
  expect(schemes(gateway)).toEqual(['Basic', 'Bearer'])
  expect(gateway.sandbox.requests.filter(({ path }) => path === '/v2/quote').map(({ body }) => body)).toEqual([
    JSON.stringify(TRIP),
    JSON.stringify(TRIP),
  ])
})

/** A service that takes one scheme alone, and may keep its token endpoint all the same. */
async function serviceWith(settings: { auth: 'basic' | 'bearer'; tokens: boolean }) {
  const seen: string[] = []
  const service = await openService(async (incoming, outgoing) => {
    const { length } = await bytesOf(incoming)
    const { authorization = '' } = incoming.headers
    if (incoming.url === '/oauth2/token') {
      seen.push('token')
      const body = settings.tokens ? { access_token: 'abc', expires_in: 3600 } : {}
      outgoing.writeHead(settings.tokens ? 200 : 404).end(JSON.stringify(body))
      return
    }
    seen.push(`${authorization.split(' ')[0]} ${length}`)
    const good = authorization.toLowerCase().startsWith(settings.auth)
    const challenge = settings.auth === 'basic' ? 'Basic' : 'Bearer'
    outgoing.writeHead(good ? 200 : 401, good ? {} : { 'www-authenticate': challenge }).end()
  })
  const gateway = await openAuto({ env: FIXED, serviceUrl: service.url })
  const big = 'x'.repeat(200_000)
  const send = async () => (await post(gateway, '/v2/documents', big, { authorization: '' })).status
  return { seen, send }
}

test('after a stream that cannot be sent twice, the next one is sent with a token', async () => {
  const settings: Parameters<typeof serviceWith>[0] = { auth: 'basic', tokens: true }
  const { seen, send } = await serviceWith(settings)
  expect(await send()).toBe(200)
  settings.auth = 'bearer'
  expect([await send(), await send()]).toEqual([401, 200])
  expect(seen).toEqual(['Basic 200000', 'Basic 200000', 'token', 'Bearer 200000'])
})

test('streams of a service that names tokens and has none are not stuck', async () => {
  const settings: Parameters<typeof serviceWith>[0] = { auth: 'bearer', tokens: false }
  const { send } = await serviceWith(settings)
  expect([await send(), await send()]).toEqual([401, 502])
  settings.auth = 'basic'
  expect(await send()).toBe(200)
})

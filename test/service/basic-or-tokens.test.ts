/** Promise: the gateway finds out how the service authenticates, without a call that is sent twice (contract, section 5). */

import { expect, test } from 'vitest'
import {
  as,
  atOnce,
  atService,
  CALLS,
  clocks,
  counted,
  exchanges,
  named,
  openEdge,
  quote,
} from '../callers/tenants-gateway.ts'
import {
  basic,
  get,
  OWN,
  post,
  startGateway,
  type TestGateway,
  type TestGatewayOptions,
  type WholeAnswer,
} from '../gateway.ts'
import { bytesOf, openService } from '../http/service.ts'

const CALLER = { authorization: basic() }
/** Asks for a quote; returns the status. */
const quoted = async (gateway: TestGateway) => (await quote(gateway, CALLER)).status

/** The scheme and the credential of each request under /v2/. */
const credentials = ({ sandbox }: TestGateway) =>
  sandbox.requests
    .filter(({ path }) => path.startsWith('/v2/'))
    .map(({ headers }) => headers.authorization?.split(' ') ?? [])
const schemes = (gateway: TestGateway) => credentials(gateway).map(([scheme]) => scheme)

const AUTO = { V2_TOKEN: 'auto' }
const openAuto = ({ env, ...options }: TestGatewayOptions = {}) =>
  startGateway({ ...options, env: { ...AUTO, ...env } })
/** A refusal with a challenge. */
const challenging = (challenge: string) =>
  ({ kind: 'status', status: 401, on: { path: '/v2/quote' }, headers: { 'www-authenticate': challenge } }) as const

test('a call that Basic no longer gets through is made with a token, and all later ones begin with it', async () => {
  const { pass, clock } = clocks()
  const gateway = await openAuto({ sandbox: { auth: 'bearer', clock, tokenExpiresIn: 100_000 } })
  for (const _ of [1, 2]) expect(await quoted(gateway)).toBe(200)
  gateway.sandbox.set({ auth: 'both' })
  pass(86_400_000)
  expect(await quoted(gateway)).toBe(200)
  expect(schemes(gateway)).toEqual(['Basic', 'Bearer', 'Bearer', 'Bearer'])
})

test('with basic, and with a refusal that names no Bearer, nothing is exchanged', async () => {
  const plain = await startGateway({ sandbox: { auth: 'bearer' } })
  expect([await quoted(plain), exchanges(plain)]).toEqual([401, []])
  const gateway = await openAuto()
  for (const challenge of ['Basic realm="Bearer, bearer , x"', 'Basic realm="a", charset="bearer"', 'BearerLike']) {
    gateway.sandbox.fail(challenging(challenge))
    expect([await quoted(gateway), exchanges(gateway)]).toEqual([401, []])
  }
})

test.each([
  'Bearer',
  'bearer realm="x"',
  'Basic realm="a, b", Bearer realm="x", error="invalid_token"',
  'Negotiate abc==, BEARER',
])('a challenge is understood however it is written: %s', async (challenge) => {
  const gateway = await openAuto()
  gateway.sandbox.fail(challenging(challenge))
  expect([await quoted(gateway), exchanges(gateway).length]).toEqual([200, 1])
})

test.each([
  ['a wrong secret is called wrong', 'Basic realm="x", Bearer', 401],
  ['only the token is missing', 'Bearer', 502],
])('where the service has no tokens yet, %s by its challenge %s', async (_, challenge, status) => {
  const gateway = await openAuto({ sandbox: { auth: 'basic' } })
  gateway.sandbox.fail({ ...challenging(challenge), times: 'always' })
  const [first, second] = [await quote(gateway, CALLER), await quote(gateway, CALLER)]
  expect([first.status, second.status, second.text]).toEqual([status, status, first.text])
})

test('the scheme that the service wants is remembered for each credential', async () => {
  const edge = await openEdge(named(['acme', 'beta']), { env: AUTO, sandbox: { auth: 'bearer' } })
  await quote(edge, as('acme'))
  edge.sandbox.set({ auth: 'both' })
  await quote(edge, as('acme'))
  await quote(edge, as('beta'))
  expect(schemes(edge)).toEqual(['Basic', 'Bearer', 'Bearer', 'Basic'])
  expect(credentials(edge).at(-1)).toEqual(atService('beta').split(' '))
  expect(exchanges(edge).map(({ headers }) => headers.authorization)).toEqual([atService('acme')])
})

test('the day of the switch costs no call, and no booking is made twice', async () => {
  const edge = await openEdge(named(['acme', 'beta']), { env: AUTO, sandbox: { auth: 'basic' } })
  const failed: unknown[] = []
  let calls = 0
  let isOver = false
  const all = atOnce(12, async (caller) => {
    const headers = as(caller % 2 ? 'acme' : 'beta')
    for (let round = 0; !isOver; round += 1) {
      const name = `R-${caller}-${round}`
      let id: string | null = null
      for (const kind of ['quote', 'book', 'read', 'update', 'pass'] as const) {
        const answer: WholeAnswer =
          kind === 'pass' ? await get(edge, `/v2/shipments/${id}`, headers) : await CALLS[kind](edge, name, headers)
        if (answer.status !== 200) failed.push([kind, answer.status, answer.text])
        id = answer.headers.get('transload-shipment-id') ?? id
        calls += 1
      }
    }
  })
  for (const auth of ['both', 'bearer', 'both', 'bearer', 'bearer'] as const) {
    const enough = calls + 50
    while (calls < enough) await edge.sandbox.next()
    edge.sandbox.set({ auth })
  }
  isOver = true
  await all

  expect(failed).toEqual([])
  const booked = counted([...edge.sandbox.shipments.values()].map(({ external_id }) => external_id))
  expect(Object.values(booked).every((count) => count === 1)).toBe(true)
  expect(Object.keys(booked).length).toBeGreaterThan(30)
  expect(new Set(schemes(edge))).toEqual(new Set(['Basic', 'Bearer']))
})

test('a small call that is passed through is sent again without its caller noticing, with all of its body', async () => {
  const trip = { pickup: '10314', delivery: '33166', vehicle_type: 'car', transport_type: 'open' }
  const gateway = await openAuto({ env: OWN, sandbox: { auth: 'bearer' } })
  expect((await post(gateway, '/v2/quote', trip, { authorization: '' })).status).toBe(200)
  expect(schemes(gateway)).toEqual(['Basic', 'Bearer'])
  const bodies = gateway.sandbox.requests.filter(({ path }) => path === '/v2/quote').map(({ body }) => JSON.parse(body))
  expect(bodies).toEqual([trip, trip])
})

/** A service that takes one scheme alone, and may have a token endpoint all the same; and a way to send it a stream. */
async function serviceWith(settings: { auth: 'Basic' | 'Bearer'; readonly hasTokens: boolean }) {
  const seen: string[] = []
  const service = await openService(async (incoming, outgoing) => {
    const { length } = await bytesOf(incoming)
    const [scheme] = incoming.headers.authorization?.split(' ') ?? []
    if (incoming.url === '/oauth2/token') {
      seen.push('token')
      return void outgoing.writeHead(settings.hasTokens ? 200 : 404).end('{"access_token":"abc","expires_in":3600}')
    }
    seen.push(`${scheme} ${length}`)
    outgoing.writeHead(scheme === settings.auth ? 200 : 401, { 'www-authenticate': settings.auth }).end()
  })
  const gateway = await openAuto({ env: OWN, serviceUrl: service.url })
  const send = async () => (await post(gateway, '/v2/documents', 'x'.repeat(200_000), { authorization: '' })).status
  return { seen, send }
}

test('after a stream that cannot be sent twice, the next one is sent with a token', async () => {
  const settings: Parameters<typeof serviceWith>[0] = { auth: 'Basic', hasTokens: true }
  const { seen, send } = await serviceWith(settings)
  expect(await send()).toBe(200)
  settings.auth = 'Bearer'
  expect([await send(), await send()]).toEqual([401, 200])
  expect(seen).toEqual(['Basic 200000', 'Basic 200000', 'token', 'Bearer 200000'])
})

test('streams of a service that names tokens and has none are not stuck', async () => {
  const settings: Parameters<typeof serviceWith>[0] = { auth: 'Bearer', hasTokens: false }
  const { send } = await serviceWith(settings)
  expect([await send(), await send()]).toEqual([401, 502])
  settings.auth = 'Basic'
  expect(await send()).toBe(200)
})

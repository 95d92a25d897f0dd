/** Promise: each mode requires the credential that it needs, and forwards the right one (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { basic, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import noCredential from './no-credential.json' with { type: 'json' }
import {
  as,
  atOnce,
  atService,
  CALLS,
  clocks,
  KINDS,
  named,
  openEdge,
  quote,
  statuses,
  tenant,
} from './tenants-gateway.ts'

const NOBODY = { authorization: '' }
const TOKEN = { authorization: 'Bearer own' }

const TRIP = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

const encoded = (text: string) => Buffer.from(text).toString('base64')
/** The credentials that the service has received. */
const sentOn = ({ sandbox }: TestGateway) => sandbox.requests.map(({ headers }) => headers.authorization)
const openTwo = () => openEdge(named(['acme', 'beta']))

type Useless = readonly { readonly authorization: string; readonly says: string }[]

/** Expects that no kind of call goes to the service with these credentials. */
async function expectRefused(gateway: TestGateway, useless: Useless): Promise<void> {
  for (const { authorization, says } of useless) {
    for (const kind of KINDS) {
      const { status, headers, json } = await CALLS[kind](gateway, 'N-1', { authorization })
      expect({ authorization, kind, status, told: json.Message }).toMatchObject({
        status: 401,
        told: expect.stringContaining(says),
      })
      expect(headers.get('www-authenticate')).toBe('Basic realm="transload", charset="UTF-8"')
    }
  }
  expect(gateway.sandbox.requests).toEqual([])
}

/** Other decoders may skip characters outside the alphabet or unused bits, and read another client. */
const UNREADABLE: Useless = noCredential.map(({ authorization, says }) => ({
  authorization: authorization.replace(/\{(.*)\}/, (_, text) => encoded(text)),
  says,
}))

describe('in client mode', () => {
  test('a useless credential is refused, and nothing is sent', async () => {
    const controls = ['acme\u0000', 'ac\nme', '\u007facme'].map((id) => ({
      authorization: basic(id),
      says: 'control character',
    }))
    await expectRefused(await startGateway(), [...UNREADABLE, ...controls])
  })
})

test.each(['basic', 'oauth2', 'auto'])("nobody gets a token for the gateway's own credentials (%s)", async (token) => {
  const fixed = await startGateway({ env: { ...OWN, V2_TOKEN: token }, sandbox: { auth: 'both' } })
  const edge = await openEdge(named(['acme'], { v2: { token }, networks: ['127.0.0.0/8'] }))
  for (const gateway of [fixed, edge]) {
    for (const headers of [as('acme'), NOBODY, TOKEN, { authorization: basic('nobody', 'x') }]) {
      for (const path of ['/oauth2/token', '/oauth2/%74oken', '/oauth2/token?grant_type=x']) {
        const refused = await post(gateway, path, 'grant_type=client_credentials', headers)
        expect(refused).toMatchObject({ status: 403, json: { detail: expect.stringMatching(/does not issue/) } })
      }
    }
    expect(gateway.sandbox.requests).toEqual([])
  }
})

describe('in tenants mode', () => {
  const says = 'Client ID or the Client Secret is wrong'
  test('a caller that is not a tenant is told so, and nothing is sent', async () => {
    const edge = await openTwo()
    const wrong = [
      basic('nobody', 'acme-legacy-secret'),
      basic('acme-legacy', 'wrong'),
      basic('acme-legacy', 'beta-legacy-secret'),
      atService('acme'),
      basic('ACME-legacy', 'acme-legacy-secret'),
    ]
    const useless = [...UNREADABLE, ...wrong.map((authorization) => ({ authorization, says }))]
    for (const { authorization } of useless) {
      expect((await get(edge, '/v2/shipments/x', { authorization })).status, authorization).toBe(401)
    }
    await expectRefused(edge, useless)
  })

  test('a tenant may have another address of the service, for legacy and for version-2 calls, and tokens or not', async () => {
    const stage = await startGateway({ sandbox: { credentials: { 'beta-v2': 'beta-v2-secret' } } })
    const beta = { v2: { base_url: `${stage.sandbox.url}/v2`, token: 'basic' } }
    const declared = (place: string) => [tenant(place, 'acme'), tenant(place, 'beta', beta)]
    const edge = await openEdge(declared, { env: { V2_TOKEN: 'oauth2' } })
    await quote(edge, as('acme'))
    await quote(edge, as('beta'))
    await get(edge, '/v2/shipments/x', as('beta'))
    expect(edge.sandbox.requests.map(({ path }) => path)).toEqual(['/oauth2/token', '/v2/quote'])
    expect(sentOn(edge).at(-1)).toMatch(/^Bearer /)
    expect(sentOn(stage)).toEqual([atService('beta'), atService('beta')])
    const dry = await post(edge, '/dry-run/getShippingQuote.php', TRIP, as('beta'))
    expect(dry.json.request.url).toBe(`${stage.sandbox.url}/v2/quote`)
  })

  test('a tenant has a rate limit, which does not affect the others', async () => {
    const { pass } = clocks()
    const edge = await openEdge((place) => [
      tenant(place, 'acme', { limits: { per_second: 0.1 } }),
      tenant(place, 'beta', { limits: { per_second: 2 } }),
      tenant(place, 'free'),
    ])
    const called = async (name: string, count: number) => statuses(await atOnce(count, () => quote(edge, as(name))))
    expect(await called('acme', 3)).toEqual({ 200: 1, 429: 2 })
    const refused = await quote(edge, as('acme'))
    expect([refused.headers.get('retry-after'), refused.json.Message]).toEqual(['10', expect.stringMatching(/10 s/)])
    pass(5_000)
    const passed = await get(edge, '/v2/shipments/x', as('acme'))
    expect([passed.status, passed.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^[45]$/)])
    pass(5_000)
    expect(await called('acme', 2)).toEqual({ 200: 1, 429: 1 })
    // The calls of one second at once, but not more, however long there were none.
    expect((await called('beta', 20))[429]).toBeGreaterThan(5)
    pass(60_000)
    expect((await called('beta', 20))[429]).toBeGreaterThan(5)
    expect(await called('free', 20)).toEqual({ 200: 20 })
  })

  test('a tenant has a limit of concurrent calls, with any outcome', async () => {
    const service = await openHoldingService()
    const edge = await openEdge(
      (place) => [tenant(place, 'acme', { limits: { concurrent: 2 } }), tenant(place, 'beta')],
      { serviceUrl: service.url },
    )
    const held = [quote(edge, as('acme')), get(edge, '/v2/shipments/x', as('acme'))]
    await service.arrived(2)
    const refused = await quote(edge, as('acme'))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    const other = quote(edge, as('beta'))
    await service.arrived(3)
    service.release({ shipment_id: crypto.randomUUID(), price: 10 })
    expect(statuses(await Promise.all([...held, other]))).toEqual({ 200: 3 })
    // A failed call has freed its place, too.
    for (let i = 0; i < 3; i += 1) expect((await post(edge, '/getShippingQuote.php', {}, as('acme'))).status).toBe(422)
  })
})

/** Promise: each mode asks for the credential that it needs, and sends the right one on (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { basic, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import { callFrom } from '../strangers/call.ts'
import {
  as,
  atOnce,
  atService,
  book,
  booking,
  CALLS,
  clocks,
  KINDS,
  named,
  openEdge,
  quote,
  read,
  statuses,
  tenant,
} from './tenants-gateway.ts'

const NOBODY = { authorization: '' }
const TOKEN = { authorization: 'Bearer own' }

const TRIP = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

/** Asks for a quote without any `Authorization`, which fetch and the gateway always send. */
const bare = async (url: string, headers = {}) =>
  (await callFrom(url, { path: '/getShippingQuote.php', headers, body: TRIP })).status

const encoded = (text: string) => Buffer.from(text).toString('base64')
/** The credentials that the service has received. */
const sentOn = ({ sandbox }: TestGateway) => sandbox.requests.map(({ headers }) => headers.authorization)
const openTwo = () => openEdge(named(['acme', 'beta']))

/** Makes every kind of call, and returns the statuses. */
async function callAll(gateway: TestGateway, authorization: string): Promise<number[]> {
  const all: number[] = []
  for (const kind of ['quote', 'reprice', 'book', 'read', 'update', 'cancel', 'approve'] as const) {
    all.push((await CALLS[kind](gateway, 'N-1', { authorization })).status)
  }
  return all
}

const ALL_WELL = Array(7).fill(200)

type Useless = readonly (readonly [what: string, authorization: string, says: RegExp])[]

/** Expects that no kind of call goes to the service with these credentials. */
async function expectRefused(gateway: TestGateway, useless: Useless): Promise<void> {
  for (const [what, authorization, says] of useless) {
    for (const kind of KINDS) {
      const { status, headers, json } = await CALLS[kind](gateway, 'N-1', { authorization })
      expect([what, kind, status, json.Message]).toEqual([what, kind, 401, expect.stringMatching(says)])
      expect(headers.get('www-authenticate')).toBe('Basic realm="transload", charset="UTF-8"')
    }
  }
  expect(gateway.sandbox.requests).toEqual([])
}

const OTHER_SCHEME = /^The Authorization header must use HTTP Basic: /
const NO_PAIR = /^The Basic credential is not valid Base64 of ClientID:ClientSecret\./
const UNREADABLE: Useless = [
  ['none', '', /^No credential was sent\. Use HTTP Basic authentication with your Client ID/],
  ['a token', 'Bearer abc', OTHER_SCHEME],
  ['another scheme', `Digest ${encoded('a:b')}`, OTHER_SCHEME],
  ['Basic without a value', 'Basic', NO_PAIR],
  ['Basic that is not Base64', 'Basic %%%', NO_PAIR],
  ['Basic without a colon', `Basic ${encoded('acme')}`, NO_PAIR],
  ['Basic without an id', `Basic ${encoded(':secret')}`, NO_PAIR],
  ['Basic with more behind it', `Basic ${encoded('a:b')} x`, NO_PAIR],
  // Others may skip characters outside the alphabet, or unused bits, and read another client.
  ['Basic with another alphabet', 'Basic ZGVt-bzpkZW1vLXNlY3JldA==', NO_PAIR],
  ['Basic with unused bits', 'Basic ZGVtbzpkZW1vLXNlY3JldB==', NO_PAIR],
]

describe('in client mode', () => {
  test("every call goes out with the caller's own credential, to the letter", async () => {
    const gateway = await startGateway({ sandbox: { credentials: { 'acme co': 'päss:wörd', open: '' } } })
    const authorization = `bAsIC  ${encoded('acme co:päss:wörd')}`
    expect(await callAll(gateway, authorization)).toEqual(ALL_WELL)
    expect(new Set(sentOn(gateway))).toEqual(new Set([authorization]))
    // An empty secret is the business of the service.
    expect((await quote(gateway, { authorization: basic('open', '') })).status).toBe(200)
  })

  test('a credential that is of no use is refused, and nothing is sent', async () => {
    const controls = ['acme\u0000', 'ac\nme', '\u007facme'].map((id) => [id, basic(id), /control character/] as const)
    await expectRefused(await startGateway(), [...UNREADABLE, ...controls])
  })
})

describe('in fixed mode', () => {
  test("every call goes out with the gateway's own credential, whatever the caller sent, and all callers are one", async () => {
    const gateway = await startGateway({ env: OWN })
    expect(await callAll(gateway, basic('legacy', 'old'))).toEqual(ALL_WELL)
    for (const authorization of ['', 'nonsense', basic(OWN.V2_CLIENT_ID, 'guess'), TOKEN.authorization]) {
      expect((await CALLS.approve(gateway, 'N-1', { authorization })).status).toBe(200)
      expect((await get(gateway, '/v2/shipments/none', { authorization })).status).toBe(404)
    }
    expect(await bare(gateway.url)).toBe(200)
    expect(new Set(sentOn(gateway))).toEqual(new Set([basic()]))
  })

  test('a credential that the service refuses is 401', async () => {
    const gateway = await startGateway({ env: OWN, sandbox: { credentials: {} } })
    const { status, json } = await quote(gateway, NOBODY)
    expect([status, json.Message]).toEqual([401, expect.stringMatching(/Client Secret/)])
  })
})

test.each(['basic', 'oauth2', 'auto'])(
  "nobody is given a token of the gateway's own credentials (%s)",
  async (token) => {
    const fixed = await startGateway({ env: { ...OWN, V2_TOKEN: token }, sandbox: { auth: 'both' } })
    const edge = await openEdge(named(['acme'], { v2: { token }, networks: ['127.0.0.0/8'] }))
    for (const gateway of [fixed, edge]) {
      for (const headers of [as('acme'), NOBODY, TOKEN, { authorization: basic('nobody', 'x') }]) {
        for (const path of ['/oauth2/token', '/oauth2/%74oken', '/oauth2/token?grant_type=x']) {
          const refused = await post(gateway, path, 'grant_type=client_credentials', headers)
          expect([path, refused.status, refused.json.detail]).toEqual([
            path,
            403,
            expect.stringMatching(/does not issue tokens/),
          ])
        }
      }
      expect(gateway.sandbox.requests).toEqual([])
    }
  },
)

describe('in tenants mode', () => {
  test("a tenant is found by its caller's credential, and its own credential goes to the service", async () => {
    const edge = await openTwo()
    expect(await callAll(edge, as('acme').authorization)).toEqual(ALL_WELL)
    expect(new Set(sentOn(edge))).toEqual(new Set([atService('acme')]))
    expect((await quote(edge, as('beta'))).status).toBe(200)
    expect(sentOn(edge).at(-1)).toBe(atService('beta'))
  })

  const WRONG = /Client ID or the Client Secret is wrong/
  test('who is no tenant is told so, and nothing is sent', async () => {
    const edge = await openTwo()
    const useless: Useless = [
      ...UNREADABLE,
      ['an unknown id', basic('nobody', 'acme-legacy-secret'), WRONG],
      ['a wrong secret', basic('acme-legacy', 'wrong'), WRONG],
      ["another tenant's secret", basic('acme-legacy', 'beta-legacy-secret'), WRONG],
      ["the service's credential of the tenant", atService('acme'), WRONG],
      ['the id in other case', basic('ACME-legacy', 'acme-legacy-secret'), WRONG],
    ]
    for (const [what, authorization] of useless) {
      expect((await get(edge, '/v2/shipments/x', { authorization })).status, what).toBe(401)
    }
    await expectRefused(edge, useless)
  })

  test('a caller without a credential is known by its network: the narrowest one, from the nearest proxy that is not trusted', async () => {
    const without = { credentials: [] }
    const edge = await openEdge(
      (place) => [
        tenant(place, 'wide', { ...without, networks: ['10.0.0.0/8', '10.9.9.0/24', '2001:db8::/32'] }),
        tenant(place, 'narrow', { ...without, networks: ['10.9.0.0/16'] }),
        tenant(place, 'proxy', { ...without, networks: ['192.0.2.0/24'] }),
      ],
      { env: { TRUST_PROXY: '127.0.0.0/8,192.0.2.0/24' } },
    )
    const known = {
      wide: [
        '10.1.2.3',
        '10.9.9.3',
        '2001:db8::7',
        '::ffff:10.1.2.3',
        '::FFFF:10.1.2.3',
        '[2001:db8::7]:4711',
        '[2001:db8::7]',
        '11.1.2.3, 10.1.2.3',
        ' 10.1.2.3 , 192.0.2.1,192.0.2.2',
      ],
      narrow: ['10.9.2.3', '10.9.2.3:4711'],
      proxy: ['192.0.2.1', '10.1.2.3, unknown, 192.0.2.1'],
    }
    for (const [name, addresses] of Object.entries(known)) {
      for (const address of addresses) {
        expect(await bare(edge.url, { 'x-forwarded-for': address }), address).toBe(200)
        expect(sentOn(edge).at(-1), address).toBe(atService(name))
      }
    }
    const before = edge.sandbox.requests.length
    for (const stranger of ['11.1.2.3', '2001:db9::7', 'nonsense', 'x10.1.2.3:4711', '', '10.1.2.3, 11.1.2.3']) {
      expect(await bare(edge.url, { 'x-forwarded-for': stranger }), stranger).toBe(401)
    }
    expect(edge.sandbox.requests).toHaveLength(before)
  })

  test('a network vouches for no wrong credential, no header where no proxy is trusted, and no token', async () => {
    const networks = ['127.0.0.0/8']
    const edge = await openEdge((place) => [
      tenant(place, 'acme', { networks }),
      tenant(place, 'behind', { networks: ['10.0.0.0/8'] }),
    ])
    expect(await bare(edge.url, { 'x-forwarded-for': '10.1.2.3' })).toBe(200)
    expect((await quote(edge, { authorization: basic('acme-legacy', 'wrong') })).status).toBe(401)
    expect((await get(edge, '/v2/shipments/x', TOKEN)).status).toBe(404)
    expect((await quote(edge, TOKEN)).status).toBe(200)
    expect(sentOn(edge)).toEqual(Array(3).fill(atService('acme')))
  })

  test('a tenant may have another address of the service, for legacy and for version-2 calls', async () => {
    const stage = await startGateway({ sandbox: { credentials: { 'beta-v2': 'beta-v2-secret' } } })
    const edge = await openEdge((place) => [
      tenant(place, 'acme'),
      tenant(place, 'beta', { v2: { base_url: `${stage.sandbox.url}/v2` } }),
    ])
    await quote(edge, as('acme'))
    await quote(edge, as('beta'))
    await get(edge, '/v2/shipments/x', as('beta'))
    expect(sentOn(edge)).toEqual([atService('acme')])
    expect(sentOn(stage)).toEqual([atService('beta'), atService('beta')])
    const dry = await post(edge, '/dry-run/getShippingQuote.php', TRIP, as('beta'))
    expect(dry.json.request.url).toBe(`${stage.sandbox.url}/v2/quote`)
  })

  test('tenants use tokens or not, each as its own operator says', async () => {
    const edge = await openEdge((place) => [tenant(place, 'acme'), tenant(place, 'beta', { v2: { token: 'basic' } })], {
      env: { V2_TOKEN: 'oauth2' },
    })
    await quote(edge, as('acme'))
    await quote(edge, as('beta'))
    expect(edge.sandbox.requests.map(({ path }) => path)).toEqual(['/oauth2/token', '/v2/quote', '/v2/quote'])
    expect(sentOn(edge).slice(1)).toEqual([expect.stringMatching(/^Bearer /), atService('beta')])
  })

  test("a tenant's defaults, numbers, action names and error status are its own", async () => {
    const edge = await openEdge((place) => [
      tenant(place, 'acme', {
        defaults: { transport_type: 'enclosed', vehicle_type: 'suv' },
        error_status: 'ok',
        shipment_number: 'service',
        actions: { 'Refresh Rate': 'quote.update' },
      }),
      tenant(place, 'beta'),
    ])
    const asked = { ...TRIP, ShipmentNumber: 'OWN-1' }
    const acme = await post(edge, '/getShippingQuote.php', asked, as('acme'))
    const beta = await post(edge, '/getShippingQuote.php', asked, as('beta'))
    const bodies = edge.sandbox.requests.map(({ body }) => JSON.parse(body))
    expect(bodies[0]).toMatchObject({ transport_type: 'enclosed', vehicle_type: 'suv' })
    expect(bodies[1]).toMatchObject({ transport_type: 'open', vehicle_type: 'car' })
    expect(acme.json.ShipmentNumber).toMatch(/^[0-9a-f]{8}-/)
    expect(beta.json.ShipmentNumber).toBe('OWN-1')
    for (const [headers, type] of [
      [as('acme'), 'enclosed'],
      [NOBODY, 'open'],
    ] as const) {
      const { json } = await post(edge, '/dry-run/createShipment.php', booking('R-2'), headers)
      expect(json.request.body.transport_type).toBe(type)
    }

    const refresh = { ActionName: 'refresh_rate', ShipmentNumber: 'OWN-1', EquipmentType: 'OPEN AUTO' }
    expect((await post(edge, '/getShippingQuote.php', refresh, as('acme'))).json.Cost).toMatch(/^\d+\.\d\d$/)
    expect((await post(edge, '/getShippingQuote.php', refresh, as('beta'))).status).toBe(422)

    const acmeError = await read(edge, 'UNKNOWN', as('acme'))
    expect([acmeError.status, acmeError.json.TransportationBooked]).toEqual([200, 'No'])
    expect((await read(edge, 'UNKNOWN', as('beta'))).status).toBe(404)
    const unreadable = await post(edge, '/createShipment.php', '<no/>', as('acme'))
    expect([unreadable.status, unreadable.json.TransportationBooked]).toEqual([200, 'No'])
    const wrong = await get(edge, '/createShipment.php', as('acme'))
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([200, 'POST'])
    // An unknown caller gets the operator's.
    expect((await get(edge, '/createShipment.php', NOBODY)).status).toBe(405)
    expect((await read(edge, 'UNKNOWN', NOBODY)).status).toBe(401)
  })

  test('a tenant has so many calls a second, and the others do not notice', async () => {
    const { pass } = clocks()
    const edge = await openEdge((place) => [
      tenant(place, 'acme', { limits: { per_second: 0.1 } }),
      tenant(place, 'beta', { limits: { per_second: 2 } }),
      tenant(place, 'free'),
    ])
    const called = async (name: string, count: number) => statuses(await atOnce(count, () => quote(edge, as(name))))
    expect(await called('acme', 3)).toEqual({ 200: 1, 429: 2 })
    const refused = await quote(edge, as('acme'))
    expect(refused.headers.get('retry-after')).toBe('10')
    expect(refused.json).toEqual({
      Cost: '',
      ShipmentNumber: expect.any(String),
      Message: expect.stringMatching(/10 s/),
    })
    pass(5_000)
    const passed = await get(edge, '/v2/shipments/x', as('acme'))
    expect([passed.status, passed.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^[45]$/)])
    pass(5_000)
    expect(await called('acme', 2)).toEqual({ 200: 1, 429: 1 })
    // Those of a second at once, and not more, however long there were none.
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
    // A call that failed has left, too.
    for (let i = 0; i < 3; i += 1) expect((await post(edge, '/getShippingQuote.php', {}, as('acme'))).status).toBe(422)
  })

  test('a dry run resolves numbers for the authenticated tenant alone', async () => {
    const edge = await openTwo()
    await book(edge, 'R-1', as('acme'))
    const [id = ''] = edge.sandbox.shipments.keys()
    const before = edge.sandbox.requests.length
    for (const [headers, resolved] of [
      [as('acme'), id],
      [as('beta'), '{shipment_id of R-1}'],
      [NOBODY, '{shipment_id of R-1}'],
      [{ authorization: basic('acme-legacy', 'wrong') }, '{shipment_id of R-1}'],
    ] as const) {
      const update = { ReferenceNumber: 'R-1', DeliveryName: 'Sam' }
      const { json } = await post(edge, '/dry-run/updateShipment.php', update, headers)
      expect(json.request.url).toBe(`${edge.sandbox.url}/v2/shipments/${resolved}`)
    }
    expect(edge.sandbox.requests).toHaveLength(before)
  })
})

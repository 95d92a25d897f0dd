/** Promise: each mode asks for the credential that it needs, and sends the right one on (contract, section 5). */

import { request } from 'node:http'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { basic, get, post, startGateway } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import { as, atService, book, booking, cheapHash, counted, openEdge, quote, read, tenant } from './edge.ts'

const FROM_10 = { 'x-forwarded-for': '10.1.2.3' }
const NOBODY = { authorization: '' }
const PROXY = { TRUST_PROXY: '127.0.0.0/8' }

/** Without any `Authorization`, which fetch and the gateway always send. */
function bare(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/getShippingQuote.php`, { method: 'POST', headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.on('error', reject).end(JSON.stringify(body))
  })
}

const TRIP = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

test('client mode asks for a credential where there is none, and sends nothing', async () => {
  const gateway = await startGateway()
  const answer = await quote(gateway, NOBODY)
  expect(answer.status).toBe(401)
  expect(answer.headers.get('www-authenticate')).toBe('Basic realm="transload", charset="UTF-8"')
  expect(answer.json).toEqual({ Cost: '', ShipmentNumber: 'WTS20250216191244', Message: expect.any(String) })
  expect(gateway.sandbox.requests).toEqual([])
})

test('fixed mode sends its own credential, with or without a credential of the caller', async () => {
  const gateway = await startGateway({
    env: { V2_CLIENT_ID: 'own', V2_CLIENT_SECRET: 'own-secret' },
    sandbox: { credentials: { own: 'own-secret' } },
  })
  for (const authorization of ['', basic('own', 'guess'), 'Bearer abc', 'Negotiate xyz']) {
    expect((await quote(gateway, { authorization })).status).toBe(200)
  }
  expect(await bare(gateway.url, TRIP)).toBe(200)
  expect(counted(gateway.sandbox.requests.map(({ headers }) => headers.authorization))).toEqual({
    [basic('own', 'own-secret')]: 5,
  })
})

test("a tenant is found by its caller's credential, and its own credential goes to the service", async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme'), tenant(place, 'beta')])
  expect((await quote(edge, as('acme'))).status).toBe(200)
  expect((await quote(edge, as('beta'))).status).toBe(200)
  expect(edge.sandbox.requests.map(({ headers }) => headers.authorization)).toEqual([
    atService('acme'),
    atService('beta'),
  ])
})

test.each([
  ['no credential', ''],
  ['an unknown id', basic('nobody', 'acme-legacy-secret')],
  ['a wrong secret', basic('acme-legacy', 'wrong')],
  ["another tenant's secret", basic('acme-legacy', 'beta-legacy-secret')],
  ["the service's credential of the tenant", atService('acme')],
  ['the id in other case', basic('ACME-legacy', 'acme-legacy-secret')],
  ['a token', 'Bearer acme-legacy-secret'],
  ['nonsense', 'Basic !!!'],
])('who is no tenant is told so, and nothing is sent: %s', async (_, authorization) => {
  const edge = await openEdge((place) => [tenant(place, 'acme'), tenant(place, 'beta')])
  const answers = [
    await quote(edge, { authorization }),
    await book(edge, 'R-1', { authorization }),
    await read(edge, 'R-1', { authorization }),
    await post(edge, '/updateShipment.php', { ReferenceNumber: 'R-1' }, { authorization }),
    await post(edge, '/deleteShipment.php', { ReferenceNumber: 'R-1' }, { authorization }),
  ]
  for (const { status, headers, json } of answers) {
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toMatch(/^Basic /)
    expect(json.Message).toEqual(expect.any(String))
  }
  expect(edge.sandbox.requests).toEqual([])
})

test('a wrong credential is called wrong, and a missing one missing', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme')])
  const gateway = await startGateway()
  const words = async (to: typeof gateway, authorization: string) => {
    const { json, headers } = await quote(to, { authorization })
    expect(headers.get('www-authenticate')).toMatch(/^Basic /)
    return json.Message
  }
  for (const credential of [basic('acme-legacy', 'wrong'), basic('nobody', 'wrong')]) {
    expect(await words(edge, credential)).toMatch(/Client ID or the Client Secret is wrong/)
    expect(await words(gateway, credential)).toMatch(/service does not accept the credential/)
  }
  for (const to of [edge, gateway]) {
    expect(await words(to, '')).toMatch(/^No credential was sent\. Send the Client ID/)
    for (const unread of ['Bearer abc', 'Digest username="x"', 'Basic !!!', basic('', 'secret')]) {
      expect(await words(to, unread)).toMatch(
        /^The Authorization header (says Basic, but what follows is not|is not one of HTTP Basic)/,
      )
    }
  }
})

test('passed-through calls without a credential are refused, and so is a token', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme')])
  for (const authorization of [basic('acme-legacy', 'wrong'), '', 'Bearer own']) {
    expect((await get(edge, '/v2/shipments/x', { authorization })).status).toBe(401)
  }
  expect(edge.sandbox.requests).toEqual([])
})

test("a token of a caller that is known by its network is not sent on: the tenant's credential is", async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme', { networks: ['127.0.0.0/8'] })])
  const token = { authorization: 'Bearer own' }
  expect((await get(edge, '/v2/shipments/x', token)).status).toBe(404)
  expect((await quote(edge, token)).status).toBe(200)
  expect(edge.sandbox.requests.map(({ headers }) => headers.authorization)).toEqual([
    atService('acme'),
    atService('acme'),
  ])
})

test.each(['basic', 'oauth2', 'auto'])("no tenant is given a token of the service's credential (%s)", async (token) => {
  const edge = await openEdge((place) => [tenant(place, 'acme', { v2: { token } })])
  for (const headers of [as('acme'), NOBODY, { authorization: basic('nobody', 'x') }]) {
    const refused = await post(edge, '/oauth2/token', 'grant_type=client_credentials', headers)
    expect([refused.status, refused.json.Message]).toEqual([403, expect.stringMatching(/gives no tokens/)])
  }
  expect(edge.sandbox.requests).toEqual([])
})

test('a caller without a credential is known by its network, the narrowest first', async () => {
  const edge = await openEdge(
    (place) => [
      tenant(place, 'wide', { credentials: [], networks: ['10.0.0.0/8', '10.9.9.0/24', '2001:db8::/32'] }),
      tenant(place, 'narrow', { credentials: [], networks: ['10.9.0.0/16'] }),
    ],
    { env: PROXY },
  )
  const from = (address: string) => bare(edge.url, TRIP, { 'x-forwarded-for': address })
  expect(await from('10.1.2.3')).toBe(200)
  expect(await from('10.9.2.3')).toBe(200)
  expect(await from('10.9.9.3')).toBe(200)
  expect(await from('2001:db8::7')).toBe(200)
  expect(await from('::ffff:10.1.2.3')).toBe(200)
  expect(await from('10.9.2.3:4711')).toBe(200)
  expect(await from('[2001:db8::7]:4711')).toBe(200)
  const [wide, narrow] = [atService('wide'), atService('narrow')]
  expect(edge.sandbox.requests.map(({ headers }) => headers.authorization)).toEqual([
    wide,
    narrow,
    wide,
    wide,
    wide,
    narrow,
    wide,
  ])
  for (const stranger of ['11.1.2.3', '2001:db9::7', 'nonsense', '', '10.1.2.3, 11.1.2.3']) {
    expect(await from(stranger)).toBe(401)
  }
  expect(edge.sandbox.requests).toHaveLength(7)
})

test('only headers of trusted proxies count, from the nearest one on', async () => {
  const declare = (place: string) => [tenant(place, 'acme', { credentials: [], networks: ['10.0.0.0/8'] })]
  const trusting = await openEdge(declare, { env: { TRUST_PROXY: '127.0.0.0/8,192.0.2.0/24' } })
  expect(await bare(trusting.url, TRIP, { 'x-forwarded-for': '10.1.2.3, 192.0.2.1' })).toBe(200)
  // The nearest hop is not a trusted proxy, so its header does not count.
  expect(await bare(trusting.url, TRIP, { 'x-forwarded-for': '10.1.2.3, 198.51.100.1' })).toBe(401)
  const wary = await openEdge(declare)
  expect(await bare(wary.url, TRIP, FROM_10)).toBe(401)
  const beside = await openEdge((place) => [tenant(place, 'near', { credentials: [], networks: ['127.0.0.1'] })])
  expect(await bare(beside.url, TRIP)).toBe(200)
})

test('a network does not vouch for a credential that is wrong', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme', { networks: ['127.0.0.0/8'] })])
  expect(await bare(edge.url, TRIP)).toBe(200)
  expect((await quote(edge, { authorization: basic('acme-legacy', 'wrong') })).status).toBe(401)
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
  expect(edge.sandbox.requests.map(({ headers }) => headers.authorization)).toEqual([atService('acme')])
  expect(stage.sandbox.requests.map(({ headers }) => headers.authorization)).toEqual([
    atService('beta'),
    atService('beta'),
  ])
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
  expect(edge.sandbox.requests[1]?.headers.authorization).toMatch(/^Bearer /)
  expect(edge.sandbox.requests[2]?.headers.authorization).toBe(atService('beta'))
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

  const refresh = { ActionName: 'refresh_rate', ShipmentNumber: 'OWN-1', EquipmentType: 'OPEN AUTO' }
  expect((await post(edge, '/getShippingQuote.php', refresh, as('acme'))).json.Cost).toMatch(/^\d+\.\d\d$/)
  expect((await post(edge, '/getShippingQuote.php', refresh, as('beta'))).status).toBe(422)

  const acmeError = await read(edge, 'UNKNOWN', as('acme'))
  expect(acmeError.status).toBe(200)
  expect(acmeError.json).toEqual({ Message: expect.any(String), TransportationBooked: 'No' })
  expect((await read(edge, 'UNKNOWN', as('beta'))).status).toBe(404)
  const unreadable = await post(edge, '/createShipment.php', '<no/>', as('acme'))
  expect([unreadable.status, unreadable.json.TransportationBooked]).toEqual([200, 'No'])
  const wrong = await fetch(`${edge.url}/createShipment.php`, { headers: as('acme') })
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([200, 'POST'])
  expect((await fetch(`${edge.url}/createShipment.php`)).status).toBe(405)
  // An unknown caller gets the operator's.
  expect((await read(edge, 'UNKNOWN', NOBODY)).status).toBe(401)
})

test('only tenants have their own series', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme'), tenant(place, 'beta')])
  await quote(edge, as('acme'))
  await quote(edge, as('acme'))
  await quote(edge, as('beta'))
  await quote(edge, NOBODY)
  const counted = (await (await fetch(`${edge.adminUrl}/metrics`)).text()).matchAll(
    /^transload_calls_total\{.*status="(\d+)".*tenant="(.*)"\} (\d+)$/gm,
  )
  expect([...counted].map(([, ...parts]) => parts.join(' '))).toEqual(['200 acme 2', '200 beta 1', '401  1'])
})

test('a tenant has so many calls a second, and the others do not notice', async () => {
  const edge = await openEdge((place) => [
    tenant(place, 'acme', { limits: { per_second: 0.1 } }),
    tenant(place, 'beta', { limits: { per_second: 5 } }),
    tenant(place, 'free'),
  ])
  const statuses = async (name: string, count: number) =>
    (await Promise.all(Array.from({ length: count }, () => quote(edge, as(name))))).map(({ status }) => status)
  expect(counted(await statuses('acme', 3))).toEqual({ 200: 1, 429: 2 })
  const refused = await quote(edge, as('acme'))
  expect(refused.headers.get('retry-after')).toBe('10')
  expect(refused.json).toEqual({ Cost: '', ShipmentNumber: expect.any(String), Message: expect.any(String) })
  const passed = await get(edge, '/v2/shipments/x', as('acme'))
  expect(passed.status).toBe(429)
  expect(passed.headers.get('retry-after')).toBe('10')
  const beta = counted(await statuses('beta', 20))
  expect(beta[200]).toBeGreaterThanOrEqual(5)
  expect(beta[429]).toBeGreaterThanOrEqual(1)
  expect(counted(await statuses('free', 20))).toEqual({ 200: 20 })
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
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toBe('1')
  const other = quote(edge, as('beta'))
  await service.arrived(3)
  service.release({ shipment_id: crypto.randomUUID(), price: 10 })
  expect((await Promise.all([...held, other])).map(({ status }) => status)).toEqual([200, 200, 200])
  // A call that failed has left, too.
  for (let i = 0; i < 3; i += 1) expect((await post(edge, '/getShippingQuote.php', {}, as('acme'))).status).toBe(422)
})

test('a tenant has several credentials, and is the same one with each', async () => {
  const edge = await openEdge((place) => [
    tenant(place, 'acme', {
      credentials: [
        { id: 'acme-legacy', secret_hash: cheapHash('old') },
        { id: 'acme-legacy', secret_hash: cheapHash('new') },
        { id: 'acme-other', secret_hash: cheapHash('other') },
      ],
    }),
  ])
  expect((await book(edge, 'R-1', { authorization: basic('acme-legacy', 'old') })).status).toBe(200)
  for (const authorization of [basic('acme-legacy', 'new'), basic('acme-other', 'other')]) {
    expect((await read(edge, 'R-1', { authorization })).json.ReferenceNumber).toBe('R-1')
    const again = await book(edge, 'R-1', { authorization })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  }
  expect((await quote(edge, { authorization: basic('acme-other', 'new') })).status).toBe(401)
  expect(edge.sandbox.shipments.size).toBe(1)
})

test('a dry run resolves numbers for the authenticated tenant alone', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme'), tenant(place, 'beta')])
  await book(edge, 'R-1', as('acme'))
  const [id = ''] = edge.sandbox.shipments.keys()
  const update = { ReferenceNumber: 'R-1', DeliveryName: 'Sam' }
  const before = edge.sandbox.requests.length
  const dry = async (headers: Readonly<Record<string, string>>) =>
    (await post(edge, '/dry-run/updateShipment.php', update, headers)).json.request.url
  expect(await dry(as('acme'))).toBe(`${edge.sandbox.url}/v2/shipments/${id}`)
  const unresolved = `${edge.sandbox.url}/v2/shipments/{shipment_id of R-1}`
  expect(await dry(as('beta'))).toBe(unresolved)
  expect(await dry(NOBODY)).toBe(unresolved)
  expect(await dry({ authorization: basic('acme-legacy', 'wrong') })).toBe(unresolved)
  expect(edge.sandbox.requests).toHaveLength(before)
})

test("a dry run uses the tenant's own settings, and shows no secret", async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme', { defaults: { transport_type: 'enclosed' } })])
  const dry = await post(edge, '/dry-run/createShipment.php', booking('R-2'), as('acme'))
  expect(dry.json.request.body.transport_type).toBe('enclosed')
  expect(dry.json.request.headers.authorization).toBe('Basic ***')
  expect(dry.text).not.toContain('acme-v2-secret')
  const strangers = await post(edge, '/dry-run/createShipment.php', bookingExample, NOBODY)
  expect(strangers.json.request.body.transport_type).toBe('open')
})

/** Promise: each translated call is a request as the interface document shows it, in the service's spelling (contract, section 3). */

import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { atOnce, clocks } from '../callers/tenants-gateway.ts'
import { basic, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { approve, book as bookAs, cancel, ID, quote, read, update } from './calls.ts'

const POST = 'POST /v2/quote'
const GET = 'GET /v2/quote?pickup=10314&delivery=33166&vehicle_type=truck_ext&transport_type=open'

/** Makes a call; returns its status, and the requests at the service, one line each. A request with a body is JSON. */
async function sentBy({ sandbox }: TestGateway, call: Promise<{ readonly status: number }>) {
  sandbox.requests.length = 0
  const { status } = await call
  for (const { headers, body, method } of sandbox.requests) {
    const type = method === 'POST' || method === 'PUT' ? 'application/json' : undefined
    expect([headers.authorization, headers['content-type']]).toEqual([basic(), type])
    if (type) expect(JSON.parse(body)).toEqual(expect.any(Object))
    else expect(body).toBe('')
  }
  return [status, ...sandbox.requests.map(({ method, path }) => `${method} ${path}`)]
}

const quoted = (gateway: TestGateway) => sentBy(gateway, quote(gateway))
const readId = (gateway: TestGateway, id = ID) => sentBy(gateway, read(gateway, { id }))

let bookings = 0
/** Books under a new reference each time; gives the service's id. */
async function book(gateway: TestGateway) {
  bookings += 1
  const { status, headers } = await bookAs(gateway, `REF-${bookings}`)
  return { status, reference: `REF-${bookings}`, id: headers.get('transload-shipment-id') ?? '' }
}

describe('V2_QUOTE_METHOD', () => {
  test.each([
    ['auto', 'both', [POST], [POST]],
    ['auto', 'GET', [POST, GET], [GET]],
    ['POST', 'both', [POST], [POST]],
    ['GET', 'both', [GET], [GET]],
    ['POST', 'GET', [POST], [POST], 502],
    ['GET', 'POST', [GET], [GET], 502],
  ] as const)(
    '%s asks a service that speaks %s by %j, then by %j',
    async (V2_QUOTE_METHOD, quoteMethod, first, then, status: number = 200) => {
      const gateway = await startGateway({ env: { V2_QUOTE_METHOD }, sandbox: { quoteMethod } })
      for (const requests of [first, then, then]) expect(await quoted(gateway)).toEqual([status, ...requests])
    },
  )

  test('a quote by query has no body and says the same', async () => {
    const gateway = await startGateway({ env: { V2_QUOTE_METHOD: 'GET' } })
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, TempShipFromPostalCode: 'K1A 0B1 & more' })
    const [request] = gateway.sandbox.requests
    expect(request).toMatchObject({ body: '', headers: { 'accept-encoding': 'identity', 'user-agent': 'transload' } })
    expect(new URLSearchParams(request?.path.split('?')[1]).get('pickup')).toBe('K1A 0B1 & more')
  })

  test('auto changes over again when the service does, and stays where the service knows neither', async () => {
    const gateway = await startGateway({ sandbox: { quoteMethod: 'GET' } })
    await quote(gateway)
    gateway.sandbox.set({ quoteMethod: 'POST' })
    expect(await quoted(gateway)).toEqual([502, GET])
    expect(await quoted(gateway)).toEqual([200, GET, POST])
    gateway.sandbox.fail({ kind: 'status', status: 404, times: 3 })
    expect(await quoted(gateway)).toEqual([502, POST])
    expect(await quoted(gateway)).toEqual([502, POST, GET])
    expect(await quoted(gateway)).toEqual([200, POST])
  })

  test('a spelling that worked within the hour does not change over for a single 404', async () => {
    const { pass } = clocks()
    const gateway = await startGateway({ env: OWN })
    const missing = { kind: 'status', status: 404, on: { method: 'POST' } } as const
    for (const _ of ['once', 'and again after a success']) {
      await quote(gateway)
      gateway.sandbox.fail(missing)
      expect(await quoted(gateway)).toEqual([502, POST])
      expect(await quoted(gateway)).toEqual([200, POST])
    }
    pass(3_600_001)
    gateway.sandbox.fail(missing)
    expect(await quoted(gateway)).toEqual([200, POST, GET])
  })

  test.each(['Update Rate', 'Accept Rate'])('%s has one spelling', async (ActionName) => {
    const gateway = await startGateway()
    await quote(gateway)
    gateway.sandbox.fail({ kind: 'status', status: 404 })
    const named = { ActionName, ShipmentNumber: quoteExample.ShipmentNumber }
    const sent = await sentBy(gateway, post(gateway, '/getShippingQuote.php', named))
    expect([sent[0], sent.length]).toEqual([404, 2])
  })
})

describe('V2_SHIPMENT_PATH', () => {
  test.each([
    ['auto', 'both', '/v2/shipments', 0],
    ['auto', 'singular', '/v2/shipment', 1],
    ['/v2/shipments', 'both', '/v2/shipments', 0],
    ['/v2/shipment', 'singular', '/v2/shipment', 0],
  ] as const)(
    '%s takes a shipment through its life at a service that speaks %s',
    async (V2_SHIPMENT_PATH, shipmentPath, spelling, tries) => {
      const gateway = await startGateway({ env: { V2_SHIPMENT_PATH }, sandbox: { shipmentPath } })
      const missed = Array.from({ length: tries }, () => 'POST /v2/shipments')
      const booked = book(gateway)
      expect(await sentBy(gateway, booked)).toEqual([200, ...missed, `POST ${spelling}`])
      const { id, reference } = await booked
      const named = { ReferenceNumber: reference }
      const one = `${spelling}/${id}`
      expect(await sentBy(gateway, read(gateway, named))).toEqual([200, `GET ${one}`])
      expect(await sentBy(gateway, update(gateway, named))).toEqual([200, `GET ${one}`, `PUT ${one}`])
      expect(await sentBy(gateway, cancel(gateway, reference))).toEqual([200, `DELETE ${one}`, `GET ${one}`])
    },
  )

  test('auto finds one spelling for all callers', async () => {
    const gateway = await startGateway({ sandbox: { shipmentPath: 'singular' } })
    const booked = await atOnce(4, () => book(gateway))
    expect(booked.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })
})

describe('a 404 to a request that names an id', () => {
  test.each(['plural', 'singular', 'both'] as const)(
    'means the id once a spelling is confirmed: %s',
    async (shipmentPath) => {
      const gateway = await startGateway({ sandbox: { shipmentPath } })
      await book(gateway)
      expect(await readId(gateway)).toEqual([404, `GET /v2/shipment${shipmentPath === 'singular' ? '' : 's'}/${ID}`])
    },
  )

  test('has the other spelling tried while none is confirmed, which is confirmed when it knows the id', async () => {
    const gateway = await startGateway({ sandbox: { shipmentPath: 'singular' } })
    const both = (id: string) => [`GET /v2/shipments/${id}`, `GET /v2/shipment/${id}`]
    for (const _ of [1, 2]) expect(await readId(gateway)).toEqual([404, ...both(ID)])
    const shipment = { customer: { customer_name: 'Pat' }, pickup: {}, vehicles: [{ vin: 'X' }] }
    const { id } = (await post(gateway, '/v2/shipment', shipment)).json
    expect(await readId(gateway, id)).toEqual([200, ...both(id)])
    expect(await readId(gateway, id)).toEqual([200, both(id)[1]])
  })

  test('is not undone by a 404 to a new shipment', async () => {
    const gateway = await startGateway({ sandbox: { shipmentPath: 'plural' } })
    const { id } = await book(gateway)
    gateway.sandbox.set({ shipmentPath: 'singular' })
    expect(await readId(gateway, id)).toEqual([404, `GET /v2/shipments/${id}`])
    expect(await sentBy(gateway, book(gateway))).toEqual([502, 'POST /v2/shipments'])
    expect(await sentBy(gateway, book(gateway))).toEqual([200, 'POST /v2/shipments', 'POST /v2/shipment'])
    expect(await readId(gateway, id)).toEqual([200, `GET /v2/shipment/${id}`])
  })

  test.each([
    [400, 1],
    [422, 1],
    [401, 2],
    [503, 2],
  ])('after an answer %i to a booking is tried in so many spellings: %i', async (status, tries) => {
    const gateway = await startGateway({ env: OWN })
    gateway.sandbox.fail({ kind: 'status', status, on: { method: 'POST' } })
    expect((await book(gateway)).status).toBe(status)
    expect(await readId(gateway)).toHaveLength(1 + tries)
  })
})

test('each request is counted by its operation, in one spelling and without ids', async () => {
  const gateway = await startGateway({ env: { V2_SHIPMENT_PATH: '/v2/shipment' } })
  for (const call of [quote, bookAs, read, update, cancel, approve]) await call(gateway)
  const { text } = await get({ url: gateway.adminUrl }, '/metrics')
  const operations = [...text.matchAll(/service_seconds_count\{operation="([^"]+)"/g)].map(([, operation]) => operation)
  expect([...new Set(operations)].sort()).toEqual([
    'DELETE /v2/shipments/{id}',
    'GET /v2/shipments/{id}',
    'POST /v2/quote',
    'POST /v2/quote/{id}/approve',
    'POST /v2/shipments',
    'PUT /v2/shipments/{id}',
  ])
})

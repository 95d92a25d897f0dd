/** Promise: the gateway speaks the service's spelling (contract, section 3). */

import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { atOnce, clocks } from '../callers/tenants-gateway.ts'
import { get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { approve, book as bookAs, cancel, quote, read, update } from './calls.ts'

const UNKNOWN_ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const POST = 'POST /v2/quote'
const GET = 'GET /v2/quote?pickup=10314&delivery=33166&vehicle_type=truck_ext&transport_type=open'

/** The requests at the service since the last call, one line each. */
function sent(gateway: TestGateway): string[] {
  return gateway.sandbox.requests.splice(0).map(({ method, path }) => `${method} ${path}`)
}

const readId = (gateway: TestGateway, id: string) => read(gateway, { id })

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
      for (const requests of [first, then, then]) {
        expect((await quote(gateway)).status).toBe(status)
        expect(sent(gateway)).toEqual(requests)
      }
    },
  )

  test('a quote by query has no body and says the same', async () => {
    const gateway = await startGateway({ env: { V2_QUOTE_METHOD: 'GET' } })
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, TempShipFromPostalCode: 'K1A 0B1 & more' })
    const [request] = gateway.sandbox.requests
    expect(request?.body).toBe('')
    expect(request?.headers).not.toHaveProperty('content-type')
    expect(request?.headers).toMatchObject({ 'accept-encoding': 'identity', 'user-agent': 'transload' })
    expect(new URLSearchParams(request?.path.split('?')[1]).get('pickup')).toBe('K1A 0B1 & more')
  })

  test('auto changes over again when the service does, and stays where the service knows neither', async () => {
    const gateway = await startGateway({ sandbox: { quoteMethod: 'GET' } })
    await quote(gateway)
    gateway.sandbox.set({ quoteMethod: 'POST' })
    sent(gateway)
    expect((await quote(gateway)).status).toBe(502)
    expect(sent(gateway)).toEqual([GET])
    expect((await quote(gateway)).status).toBe(200)
    expect(sent(gateway)).toEqual([GET, POST])
    gateway.sandbox.fail({ kind: 'status', status: 404, times: 3 })
    expect((await quote(gateway)).status).toBe(502)
    expect((await quote(gateway)).status).toBe(502)
    expect(sent(gateway)).toEqual([POST, POST, GET])
    expect((await quote(gateway)).status).toBe(200)
    expect(sent(gateway)).toEqual([POST])
  })

  test('a spelling that worked within the hour does not change over for a single 404', async () => {
    const { pass } = clocks()
    const gateway = await startGateway({ env: OWN })
    for (const _ of ['once', 'and again after a success']) {
      await quote(gateway)
      gateway.sandbox.fail({ kind: 'status', status: 404, on: { method: 'POST' } })
      sent(gateway)
      expect((await quote(gateway)).status).toBe(502)
      expect((await quote(gateway)).status).toBe(200)
      expect(sent(gateway)).toEqual([POST, POST])
    }
    pass(3_600_001)
    gateway.sandbox.fail({ kind: 'status', status: 404, on: { method: 'POST' } })
    expect((await quote(gateway)).status).toBe(200)
    expect(sent(gateway)).toEqual([POST, GET])
  })

  test('updating and approving a quote have one spelling', async () => {
    const gateway = await startGateway()
    await quote(gateway)
    sent(gateway)
    for (const ActionName of ['Update Rate', 'Accept Rate']) {
      gateway.sandbox.fail({ kind: 'status', status: 404 })
      const named = { ActionName, ShipmentNumber: quoteExample.ShipmentNumber }
      expect((await post(gateway, '/getShippingQuote.php', named)).status).toBe(404)
      expect(sent(gateway)).toHaveLength(1)
    }
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
      const { id, reference } = await book(gateway)
      const missed = Array.from({ length: tries }, () => 'POST /v2/shipments')
      expect(sent(gateway)).toEqual([...missed, `POST ${spelling}`])

      const named = { ReferenceNumber: reference }
      const calls = [await read(gateway, named), await update(gateway, named), await cancel(gateway, reference)]
      expect(calls.map(({ status }) => status)).toEqual([200, 200, 200])
      const one = `${spelling}/${id}`
      expect(sent(gateway)).toEqual([`GET ${one}`, `GET ${one}`, `PUT ${one}`, `DELETE ${one}`, `GET ${one}`])
    },
  )
})

describe('a 404 to a request that names an id', () => {
  test.each(['plural', 'singular', 'both'] as const)(
    'means the id once a spelling is confirmed: %s',
    async (shipmentPath) => {
      const gateway = await startGateway({ sandbox: { shipmentPath } })
      await book(gateway)
      sent(gateway)
      expect((await readId(gateway, UNKNOWN_ID)).status).toBe(404)
      expect(sent(gateway)).toEqual([`GET /v2/shipment${shipmentPath === 'singular' ? '' : 's'}/${UNKNOWN_ID}`])
    },
  )

  test('has the other spelling tried while none is confirmed, which is confirmed when it knows the id', async () => {
    const gateway = await startGateway({ sandbox: { shipmentPath: 'singular' } })
    const both = (id: string) => [`GET /v2/shipments/${id}`, `GET /v2/shipment/${id}`]
    for (const _ of [1, 2]) {
      expect((await readId(gateway, UNKNOWN_ID)).status).toBe(404)
      expect(sent(gateway)).toEqual(both(UNKNOWN_ID))
    }
    const shipment = { customer: { customer_name: 'Pat' }, pickup: {}, vehicles: [{ vin: 'X' }] }
    const { id } = (await post(gateway, '/v2/shipment', shipment)).json
    sent(gateway)
    expect([(await readId(gateway, id)).status, sent(gateway)]).toEqual([200, both(id)])
    expect([(await readId(gateway, id)).status, sent(gateway)]).toEqual([200, both(id).slice(1)])
  })

  test('is not undone by a 404 to a new shipment', async () => {
    const gateway = await startGateway({ sandbox: { shipmentPath: 'plural' } })
    const { id } = await book(gateway)
    gateway.sandbox.set({ shipmentPath: 'singular' })
    sent(gateway)
    expect([(await readId(gateway, id)).status, sent(gateway)]).toEqual([404, [`GET /v2/shipments/${id}`]])
    expect((await book(gateway)).status).toBe(502)
    expect((await book(gateway)).status).toBe(200)
    expect(sent(gateway)).toEqual(['POST /v2/shipments', 'POST /v2/shipments', 'POST /v2/shipment'])
    expect([(await readId(gateway, id)).status, sent(gateway)]).toEqual([200, [`GET /v2/shipment/${id}`]])
  })
})

test.each([401, 503])('an answer %i confirms no spelling', async (status) => {
  const gateway = await startGateway({ env: OWN, sandbox: { shipmentPath: 'singular' } })
  gateway.sandbox.fail({ kind: 'status', status, times: 'always', on: { path: '/v2/shipments*' } })
  expect((await readId(gateway, UNKNOWN_ID)).status).not.toBe(404)
  gateway.sandbox.clearFaults()
  sent(gateway)
  expect((await readId(gateway, UNKNOWN_ID)).status).toBe(404)
  expect(sent(gateway)).toHaveLength(2)
})

test.each([400, 422])('an answer %i confirms the spelling that got it', async (status) => {
  const gateway = await startGateway()
  gateway.sandbox.fail({ kind: 'status', status, on: { method: 'POST' } })
  await book(gateway)
  sent(gateway)
  expect((await readId(gateway, UNKNOWN_ID)).status).toBe(404)
  expect(sent(gateway)).toHaveLength(1)
})

test('one spelling is found for all callers and shared by the actions', async () => {
  const gateway = await startGateway({ sandbox: { shipmentPath: 'singular' } })
  const booked = await atOnce(4, () => book(gateway))
  expect(booked.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  sent(gateway)
  await book(gateway)
  await readId(gateway, booked[0]?.id ?? '')
  expect(sent(gateway)).toEqual(['POST /v2/shipment', `GET /v2/shipment/${booked[0]?.id}`])
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

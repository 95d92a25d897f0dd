/** Promise: the gateway speaks the service's spelling (contract, section 1). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'

const UNKNOWN_ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const QUERY = '/v2/quote?pickup=10314&delivery=33166&vehicle_type=truck_ext&transport_type=open'

/** The requests at the service since the last call, one line each. */
function sent(gateway: TestGateway): string[] {
  return gateway.sandbox.requests.splice(0).map(({ method, path }) => `${method} ${path}`)
}

const quote = (gateway: TestGateway) => post(gateway, '/getShippingQuote.php', quoteExample)
const readId = (gateway: TestGateway, id: string) => get(gateway, `/getShipment.php?id=${id}`)

let bookings = 0
/** Books under a new reference each time; gives the service's id. */
async function book(gateway: TestGateway) {
  bookings += 1
  const { status, headers } = await post(gateway, '/createShipment.php', {
    ...bookingExample,
    ReferenceNumber: `REF-${bookings}`,
  })
  return { status, reference: `REF-${bookings}`, id: headers.get('transload-shipment-id') ?? '' }
}

describe('V2_QUOTE_METHOD', () => {
  const rows: [asked: string, spoken: 'POST' | 'GET' | 'both', first: string[], then: string[]][] = [
    ['auto', 'both', ['POST /v2/quote'], ['POST /v2/quote']],
    ['auto', 'POST', ['POST /v2/quote'], ['POST /v2/quote']],
    ['auto', 'GET', ['POST /v2/quote', `GET ${QUERY}`], [`GET ${QUERY}`]],
    ['POST', 'both', ['POST /v2/quote'], ['POST /v2/quote']],
    ['GET', 'both', [`GET ${QUERY}`], [`GET ${QUERY}`]],
    ['GET', 'GET', [`GET ${QUERY}`], [`GET ${QUERY}`]],
  ]
  test.each(rows)(
    '%s gets a price from a service that speaks %s',
    async (V2_QUOTE_METHOD, quoteMethod, first, then) => {
      const gateway = await startGateway({ env: { V2_QUOTE_METHOD }, sandbox: { quoteMethod } })
      for (const requests of [first, then, then]) {
        const { status, json } = await quote(gateway)
        expect(status).toBe(200)
        expect(json.Cost).toMatch(/^\d+\.\d\d$/)
        expect(sent(gateway)).toEqual(requests)
      }
    },
  )

  test.each([
    ['POST', 'GET'],
    ['GET', 'POST'],
  ] as const)('%s stays what it is where the service speaks %s alone', async (V2_QUOTE_METHOD, quoteMethod) => {
    const gateway = await startGateway({ env: { V2_QUOTE_METHOD }, sandbox: { quoteMethod } })
    expect((await quote(gateway)).status).toBe(502)
    expect(sent(gateway)).toHaveLength(1)
  })

  test('a quote by query has no body and says the same', async () => {
    const gateway = await startGateway({ env: { V2_QUOTE_METHOD: 'GET' } })
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, TempShipFromPostalCode: 'K1A 0B1 & more' })
    const [request] = gateway.sandbox.requests
    expect(request?.body).toBe('')
    expect(request?.headers['content-type']).toBeUndefined()
    expect(new URLSearchParams(request?.path.split('?')[1]).get('pickup')).toBe('K1A 0B1 & more')
  })

  test('auto changes over again when the service does', async () => {
    const gateway = await startGateway({ sandbox: { quoteMethod: 'GET' } })
    await quote(gateway)
    gateway.sandbox.set({ quoteMethod: 'POST' })
    sent(gateway)
    expect((await quote(gateway)).status).toBe(200)
    expect(sent(gateway)).toEqual([`GET ${QUERY}`, 'POST /v2/quote'])
    expect((await quote(gateway)).status).toBe(200)
    expect(sent(gateway)).toEqual(['POST /v2/quote'])
  })

  test('auto stays where it was when the service knows neither', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ kind: 'status', status: 404, times: 2 })
    expect((await quote(gateway)).status).toBe(502)
    expect(sent(gateway)).toEqual(['POST /v2/quote', `GET ${QUERY}`])
    await quote(gateway)
    expect(sent(gateway)).toEqual(['POST /v2/quote'])
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
    ['auto', 'plural', '/v2/shipments', 0],
    ['auto', 'singular', '/v2/shipment', 1],
    ['/v2/shipments', 'both', '/v2/shipments', 0],
    ['/v2/shipment', 'both', '/v2/shipment', 0],
    ['/v2/shipment', 'singular', '/v2/shipment', 0],
  ] as const)(
    '%s takes a shipment through its life at a service that speaks %s',
    async (V2_SHIPMENT_PATH, shipmentPath, spelling, tries) => {
      const gateway = await startGateway({ env: { V2_SHIPMENT_PATH }, sandbox: { shipmentPath } })
      const { id, reference, status } = await book(gateway)
      expect(status).toBe(200)
      const missed = Array.from({ length: tries }, () => 'POST /v2/shipments')
      expect(sent(gateway)).toEqual([...missed, `POST ${spelling}`])

      const named = { ReferenceNumber: reference }
      expect((await get(gateway, `/getShipment.php?${new URLSearchParams(named)}`)).status).toBe(200)
      expect((await post(gateway, '/updateShipment.php', { ...named, PickupName: 'X' })).status).toBe(200)
      expect((await post(gateway, '/deleteShipment.php', named)).status).toBe(200)
      const one = `${spelling}/${id}`
      expect(sent(gateway)).toEqual([`GET ${one}`, `GET ${one}`, `PUT ${one}`, `DELETE ${one}`, `GET ${one}`])
    },
  )

  test.each([
    ['/v2/shipments', 'singular'],
    ['/v2/shipment', 'plural'],
  ] as const)('%s stays what it is where the service speaks %s alone', async (V2_SHIPMENT_PATH, shipmentPath) => {
    const gateway = await startGateway({ env: { V2_SHIPMENT_PATH }, sandbox: { shipmentPath } })
    expect((await book(gateway)).status).toBe(502)
    expect(sent(gateway)).toEqual([`POST ${V2_SHIPMENT_PATH}`])
  })
})

describe('a 404 to a request that names an id', () => {
  test('means the id once a spelling is confirmed', async () => {
    for (const shipmentPath of ['plural', 'singular', 'both'] as const) {
      const gateway = await startGateway({ sandbox: { shipmentPath } })
      await book(gateway)
      sent(gateway)
      const spelling = shipmentPath === 'singular' ? '/v2/shipment' : '/v2/shipments'
      for (const _ of [1, 2]) {
        expect((await readId(gateway, UNKNOWN_ID)).status).toBe(404)
        expect(sent(gateway)).toEqual([`GET ${spelling}/${UNKNOWN_ID}`])
      }
    }
  })

  test('has the other spelling tried, once a request, while none is confirmed', async () => {
    const gateway = await startGateway({ sandbox: { shipmentPath: 'singular' } })
    for (const _ of [1, 2]) {
      expect((await readId(gateway, UNKNOWN_ID)).status).toBe(404)
      expect(sent(gateway)).toEqual([`GET /v2/shipments/${UNKNOWN_ID}`, `GET /v2/shipment/${UNKNOWN_ID}`])
    }
  })

  test('confirms the other spelling when that one knows the id', async () => {
    const gateway = await startGateway({ env: { V2_SHIPMENT_PATH: 'auto' }, sandbox: { shipmentPath: 'singular' } })
    const made = await post(gateway, '/v2/shipment', {
      customer: { customer_name: 'Pat' },
      pickup: {},
      vehicles: [{ vin: 'X' }],
    })
    sent(gateway)
    expect((await readId(gateway, made.json.id)).status).toBe(200)
    expect(sent(gateway)).toEqual([`GET /v2/shipments/${made.json.id}`, `GET /v2/shipment/${made.json.id}`])
    expect((await readId(gateway, made.json.id)).status).toBe(200)
    expect(sent(gateway)).toEqual([`GET /v2/shipment/${made.json.id}`])
  })

  test('is not undone by a 404 to a new shipment', async () => {
    const gateway = await startGateway({ sandbox: { shipmentPath: 'plural' } })
    const { id } = await book(gateway)
    gateway.sandbox.set({ shipmentPath: 'singular' })
    sent(gateway)
    expect((await readId(gateway, id)).status).toBe(404)
    expect(sent(gateway)).toEqual([`GET /v2/shipments/${id}`])
    expect((await book(gateway)).status).toBe(200)
    expect(sent(gateway)).toEqual(['POST /v2/shipments', 'POST /v2/shipment'])
    expect((await readId(gateway, id)).status).toBe(200)
    expect(sent(gateway)).toEqual([`GET /v2/shipment/${id}`])
  })
})

test.each([401, 403, 429, 500, 503])('an answer %i confirms no spelling', async (status) => {
  const gateway = await startGateway({ env: OWN, sandbox: { shipmentPath: 'singular' } })
  gateway.sandbox.fail({ kind: 'status', status, times: 'always', on: { path: '/v2/shipments*' } })
  expect((await readId(gateway, UNKNOWN_ID)).status).not.toBe(404)
  gateway.sandbox.clearFaults()
  sent(gateway)
  expect((await readId(gateway, UNKNOWN_ID)).status).toBe(404)
  expect(sent(gateway)).toHaveLength(2)
})

test.each([400, 409, 422])('an answer %i confirms the spelling that got it', async (status) => {
  const gateway = await startGateway()
  gateway.sandbox.fail({ kind: 'status', status, on: { method: 'POST' } })
  await book(gateway)
  sent(gateway)
  expect((await readId(gateway, UNKNOWN_ID)).status).toBe(404)
  expect(sent(gateway)).toEqual([`GET /v2/shipments/${UNKNOWN_ID}`])
})

test('one spelling is found for all callers and shared by the actions', async () => {
  const gateway = await startGateway({ sandbox: { shipmentPath: 'singular' } })
  const booked = await Promise.all([1, 2, 3, 4].map(() => book(gateway)))
  expect(booked.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  sent(gateway)
  await book(gateway)
  await readId(gateway, booked[0]?.id ?? '')
  expect(sent(gateway)).toEqual(['POST /v2/shipment', `GET /v2/shipment/${booked[0]?.id}`])
})

/** Promise: the service of `transload demo` prices, books, changes and cancels like the real one, and forgets nothing of it. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { basic } from '../gateway.ts'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { at, booking, call, refusedFields, TRIP } from './client.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const NOBODY = '00000000-0000-4000-8000-000000000000'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
beforeEach(() => sandbox.clear())
afterAll(() => sandbox.close())

async function booked(more: object = {}): Promise<string> {
  const { json } = await call(sandbox, 'POST', '/v2/shipments', booking(more))
  return String(json['id'])
}

describe('the caller', () => {
  const get = (authorization: string) => call(sandbox, 'GET', `/v2/shipments/${NOBODY}`, undefined, { authorization })

  const token = () =>
    call(sandbox, 'POST', '/oauth2/token', 'grant_type=client_credentials', {
      'content-type': 'application/x-www-form-urlencoded',
    })

  test('no credential or a wrong one is 401 with a challenge', async () => {
    const wrong = ['', 'Basic', 'Basic !', basic('demo', 'wrong'), basic('toString', ''), `Bearer ${NOBODY}`]
    for (const authorization of wrong) {
      const { status, headers, json } = await get(authorization)
      expect([authorization, status, at(json, 'error.code')]).toEqual([authorization, 401, 'unauthorized'])
      expect(headers.get('www-authenticate')).toMatch(authorization.startsWith('Bearer') ? /^Bearer / : /^Basic realm=/)
    }
    expect((await get(basic())).status).toBe(404)
  })

  test('a token works like the credential it was given for, until it is revoked or expires', async () => {
    const { status, json, headers } = await token()
    expect([status, json['token_type'], json['expires_in']]).toEqual([200, 'Bearer', 3600])
    expect(headers.get('cache-control')).toBe('no-store')
    const bearer = `Bearer ${json['access_token']}`
    expect((await get(bearer)).status).toBe(404)
    sandbox.revokeTokens()
    const refused = await get(bearer)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="sandbox", error="invalid_token"',
    ])

    let now = 0
    sandbox.set({ clock: () => new Date(now), tokenExpiresIn: 60 })
    const short = `Bearer ${(await token()).json['access_token']}`
    now = 59_999
    expect((await get(short)).status).toBe(404)
    now = 60_000
    expect((await get(short)).status).toBe(401)
    sandbox.set({ clock: () => new Date(), tokenExpiresIn: null })
    expect((await token()).json).not.toHaveProperty('expires_in')
    sandbox.set({ tokenExpiresIn: 3600 })
  })
})

describe('quotes', () => {
  test('POST and GET price the same trip alike, each under its own id', async () => {
    const posted = await call(sandbox, 'POST', '/v2/quote', TRIP)
    const got = await call(sandbox, 'GET', `/v2/quote?${new URLSearchParams(TRIP)}`)
    expect([posted.status, got.status]).toEqual([200, 200])
    expect(Object.keys(posted.json)).toEqual(['shipment_id', 'price'])
    expect(posted.json['shipment_id']).toMatch(UUID)
    expect(posted.json['shipment_id']).not.toBe(got.json['shipment_id'])
    expect(posted.json['price']).toBe(got.json['price'])
  })

  test('an update lays new facts over the old ones and prices again', async () => {
    const { json } = await call(sandbox, 'POST', '/v2/quote', TRIP)
    const updated = await call(sandbox, 'PUT', `/v2/quote/${json['shipment_id']}`, { transport_type: 'enclosed' })
    expect(updated.status).toBe(200)
    expect(updated.json['shipment_id']).toBe(json['shipment_id'])
    expect(updated.json['price']).toBeCloseTo(Number(json['price']) * 1.4, 1)
    expect(sandbox.quotes.get(String(json['shipment_id']))).toMatchObject({
      pickup: '10314',
      transport_type: 'enclosed',
    })
  })

  test('approval makes a shipment of the same id, once', async () => {
    const { json } = await call(sandbox, 'POST', '/v2/quote', TRIP)
    const path = `/v2/quote/${json['shipment_id']}`
    const first = await call(sandbox, 'POST', `${path}/approve`, {})
    const second = await call(sandbox, 'POST', `${path}/approve`)
    expect(first).toMatchObject({ status: 200, json: { ...json, status: 'new' } })
    expect(second.json).toEqual(first.json)
    expect(sandbox.shipments.size).toBe(1)
    const shipment = await call(sandbox, 'GET', `/v2/shipments/${json['shipment_id']}`)
    expect(shipment.json).toMatchObject({
      price: json['price'],
      pickup: { zipcode: 10314 },
      vehicles: [{ type: 'car' }],
    })
    expect((await call(sandbox, 'PUT', path, TRIP)).status).toBe(409)
  })
})

describe('shipments', () => {
  test('required and wrong fields are named, all at once', async () => {
    expect(await refusedFields(sandbox, 'POST', '/v2/shipments', {})).toEqual([
      'customer is required',
      'pickup is required',
      'vehicles is required',
    ])
    const wrong = {
      customer: { customer_name: '', customer_type: 'dealer' },
      pickup: { zipcode: '75234', available_pickup_dttm: 'soon', notes: null },
      delivery: [],
      vehicles: [{ year: '2023', is_modified: 'no', photos: [] }, 'x'],
      status: 'new',
    }
    expect(await refusedFields(sandbox, 'POST', '/v2/shipments', wrong)).toEqual(
      expect.arrayContaining([
        'customer.customer_name is required',
        'customer.customer_type must be one of AUCTION, BUSINESS, DEALER, PRIVATE, REPO_YARD, PORT',
        'pickup.zipcode must be an integer',
        'pickup.available_pickup_dttm must be a date-time',
        'pickup.notes must be a string',
        'delivery must be an object',
        'vehicles[0].year must be an integer',
        'vehicles[0].is_modified must be true or false',
        'vehicles[0].photos is set by the service and cannot be sent',
        'vehicles[1] must be an object',
        'status is set by the service and cannot be sent',
      ]),
    )
    expect(await refusedFields(sandbox, 'POST', '/v2/shipments', booking({ vehicles: [] }))).toEqual([
      'vehicles must not be empty',
    ])
  })

  test('reading takes the id and the number; unknown ones are 404', async () => {
    const id = await booked()
    expect((await call(sandbox, 'GET', '/v2/shipments/TL-100001')).json['id']).toBe(id)
    expect((await call(sandbox, 'DELETE', '/v2/shipments/TL-100001')).status).toBe(404)
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const { status, json } = await call(sandbox, method, `/v2/shipments/${NOBODY}`, method === 'PUT' ? {} : undefined)
      expect([status, at(json, 'error.code')]).toEqual([404, 'not_found'])
    }
  })

  test('an update replaces the sent members and keeps the others', async () => {
    const id = await booked()
    const { status, json } = await call(sandbox, 'PUT', `/v2/shipments/${id}`, { pickup: { zipcode: 10314 } })
    expect(status).toBe(200)
    expect(json).toMatchObject({ id, customer: { customer_name: 'Example Motors' }, external_id: 'REF-1' })
    expect(json['pickup']).toEqual({ zipcode: 10314 })
    expect(json['vehicles']).toHaveLength(1)
    expect((await call(sandbox, 'GET', `/v2/shipments/${id}`)).json).toEqual(json)
  })

  test('canceling cancels, once', async () => {
    const id = await booked()
    const first = await call(sandbox, 'DELETE', `/v2/shipments/${id}`)
    expect(first).toMatchObject({ status: 200, json: { id, status: 'canceled' } })
    expect((await call(sandbox, 'DELETE', `/v2/shipments/${id}`)).status).toBe(409)
    expect((await call(sandbox, 'PUT', `/v2/shipments/${id}`, {})).status).toBe(409)
  })
})

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { at, booking, call, refusedFields } from './client.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const NOBODY = '00000000-0000-4000-8000-000000000000'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
beforeEach(() => {
  sandbox.clear()
  sandbox.set({ shipmentPath: 'both', etag: false, repeatedCancel: 409 })
})
afterAll(() => sandbox.close())

async function booked(more: object = {}): Promise<string> {
  const { json } = await call(sandbox, 'POST', '/v2/shipments', booking(more))
  return String(json['id'])
}

describe('shipments', () => {
  test('creation answers the whole resource', async () => {
    const { status, json } = await call(sandbox, 'POST', '/v2/shipments', booking({ instructions: 'Call first' }))
    expect(status).toBe(201)
    expect(json).toMatchObject({
      ...booking(),
      number: 'TL-100001',
      status: 'new',
      instructions: 'Call first',
      documents: [],
    })
    expect(json['id']).toMatch(UUID)
    expect(at(json, 'vehicles.0.id')).toMatch(UUID)
    expect(at(json, 'vehicles.0.photos')).toEqual([])
    expect(at(json, 'vehicles.0.weight')).toBeTypeOf('number')
    expect(json['price']).toBeGreaterThan(0)
    expect(json['distance_meters']).toBe(Math.round(Number(json['distance']) * 1609.344))
  })

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

  test('both spellings, or one of them', async () => {
    const id = await booked()
    expect((await call(sandbox, 'POST', '/v2/shipment', booking())).status).toBe(201)
    expect((await call(sandbox, 'GET', `/v2/shipment/${id}`)).json['id']).toBe(id)
    sandbox.set({ shipmentPath: 'plural' })
    expect((await call(sandbox, 'GET', `/v2/shipment/${id}`)).status).toBe(404)
    expect((await call(sandbox, 'GET', `/v2/shipments/${id}`)).status).toBe(200)
    sandbox.set({ shipmentPath: 'singular' })
    expect((await call(sandbox, 'POST', '/v2/shipments', booking())).status).toBe(404)
    expect((await call(sandbox, 'GET', `/v2/shipment/${id}`)).status).toBe(200)
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

  test('canceling cancels; canceling again conflicts, or as the option says', async () => {
    const id = await booked()
    const first = await call(sandbox, 'DELETE', `/v2/shipments/${id}`)
    expect(first).toMatchObject({ status: 200, json: { id, status: 'canceled' } })
    for (const status of [409, 404, 200] as const) {
      sandbox.set({ repeatedCancel: status })
      expect((await call(sandbox, 'DELETE', `/v2/shipments/${id}`)).status).toBe(status)
    }
    expect((await call(sandbox, 'PUT', `/v2/shipments/${id}`, {})).status).toBe(409)
  })

  test('with ETags, an update of a changed shipment is 412', async () => {
    const id = await booked()
    const put = (headers: Record<string, string>) => call(sandbox, 'PUT', `/v2/shipments/${id}`, {}, headers)
    expect((await call(sandbox, 'GET', `/v2/shipments/${id}`)).headers.get('etag')).toBeNull()
    expect((await put({ 'if-match': '"x"' })).status).toBe(200)
    sandbox.set({ etag: true })
    const etag = (await call(sandbox, 'GET', `/v2/shipments/${id}`)).headers.get('etag') ?? ''
    sandbox.advance(id, 'assigned')
    expect((await put({ 'if-match': etag })).status).toBe(412)
    const fresh = (await call(sandbox, 'GET', `/v2/shipments/${id}`)).headers.get('etag') ?? ''
    const updated = await put({ 'if-match': fresh })
    expect(updated.status).toBe(200)
    expect(updated.headers.get('etag')).not.toBe(fresh)
    expect((await put({})).status).toBe(200)
    expect((await put({ 'if-match': '*' })).status).toBe(200)
  })
})

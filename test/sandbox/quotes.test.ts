import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { estimate } from '../../src/sandbox/pricing.ts'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { booking, call, refusedFields, sandboxFor, TRIP } from './client.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const NOBODY = '00000000-0000-4000-8000-000000000000'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
beforeEach(() => {
  sandbox.clear()
  sandbox.set({ quoteMethod: 'both' })
})
afterAll(() => sandbox.close())

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

  test('only one way of getting a quote may exist', async () => {
    sandbox.set({ quoteMethod: 'GET' })
    expect((await call(sandbox, 'POST', '/v2/quote', TRIP)).status).toBe(405)
    sandbox.set({ quoteMethod: 'POST' })
    expect((await call(sandbox, 'GET', `/v2/quote?${new URLSearchParams(TRIP)}`)).status).toBe(405)
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

  test('approval approves the quote and books nothing, in the other kind of service', async () => {
    await using other = await sandboxFor({ approvalBooks: false })
    const { json } = await call(other, 'POST', '/v2/quote', TRIP)
    const id = String(json['shipment_id'])
    const path = `/v2/quote/${id}`
    const first = await call(other, 'POST', `${path}/approve`, {})
    const second = await call(other, 'POST', `${path}/approve`, {})
    expect(first).toMatchObject({ status: 200, json: { quote_id: id, price: json['price'], status: 'approved' } })
    expect(second.json).toEqual(first.json)
    expect(other.shipments.size).toBe(0)
    expect((await call(other, 'GET', `/v2/shipments/${id}`)).status).toBe(404)
    expect((await call(other, 'PUT', path, TRIP)).status).toBe(409)
    const booked = await call(other, 'POST', '/v2/shipments', booking({ quote_id: id }))
    expect(booked).toMatchObject({ status: 201, json: { price: json['price'] } })
  })

  test('unknown ids are 404', async () => {
    expect((await call(sandbox, 'PUT', `/v2/quote/${NOBODY}`, TRIP)).status).toBe(404)
    expect((await call(sandbox, 'POST', `/v2/quote/${NOBODY}/approve`, {})).status).toBe(404)
  })

  test('wrong fields are named', async () => {
    expect(
      await refusedFields(sandbox, 'POST', '/v2/quote', {
        pickup: 10314,
        vehicle_type: 'boat',
        transport_type: 'OPEN AUTO',
      }),
    ).toEqual([
      'pickup must be a string',
      'delivery is required',
      'vehicle_type must be one of car, suv, van, truck, truck_ext, work_van, service_body',
      'transport_type must be one of open, enclosed',
    ])
  })

  test('Canadian codes and ZIP+4 are postal codes', async () => {
    const { status } = await call(sandbox, 'POST', '/v2/quote', { pickup: 'K1A 0B1', delivery: '02134-1234' })
    expect(status).toBe(200)
  })
})

describe('the price', () => {
  test('grows with the distance, the vehicle and the trailer, and is always the same', () => {
    const trip = { from: '10314', to: '33166', vehicleTypes: ['car'], transportType: 'open' }
    const price = (more: object) => estimate({ ...trip, ...more }).price
    expect(price({})).toBe(price({}))
    expect(price({ to: '90001' })).toBeGreaterThan(price({}))
    expect(price({ vehicleTypes: ['truck_ext'] })).toBeGreaterThan(price({}))
    expect(price({ transportType: 'enclosed' })).toBeCloseTo(price({}) * 1.4, 1)
    expect(price({ vehicleTypes: ['car', 'car'] })).toBeCloseTo(price({}) * 2, 1)
    expect(price({ vehicleTypes: ['hovercraft'] })).toBe(price({}))
  })

  test('distances are about right', () => {
    const miles = (from: string, to: string | undefined) =>
      estimate({ from, to, vehicleTypes: [], transportType: 'open' }).distance
    expect(miles('10314', '33166')).toBeGreaterThan(1000)
    expect(miles('10314', '33166')).toBeLessThan(1500)
    expect(miles('10314', '90001')).toBeGreaterThan(2500)
    expect(miles('75234', '75234')).toBe(5)
    expect([miles('75234', undefined), miles('00001', '75234'), miles('K1A 0B1', '75234')]).toEqual([500, 500, 500])
  })
})

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { booking, call, sandboxFor, TRIP } from './client.ts'

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
})

describe('the price', () => {})

import { describe, expect, test } from 'vitest'
import { identityKey, identityOf } from '../../src/webhooks/identity.ts'

const VEHICLE = { vin: ' 1fdxe4fn9pdd32477 ' }
const identity = (body: object) => identityOf({ id: 's-1', body: { ...body } })
const shipment = (change: object = {}) => ({ external_id: 'REF-1', status: 'new', vehicles: [VEHICLE], ...change })

describe('the identity of a shipment', () => {
  test('is its reference and the VIN of its vehicle', () => {
    expect(identity(shipment())).toEqual({ reference: 'REF-1', vin: '1FDXE4FN9PDD32477' })
    expect(identity(shipment({ external_id: ' 1001 ' }))).toMatchObject({ reference: '1001' })
    expect(identity(shipment({ external_id: 1001 }))).toMatchObject({ reference: '1001' })
  })

  test.each([
    ['no VIN', {}],
    ['an empty VIN', { vin: '' }],
    ['a VIN that is null', { vin: null }],
    ['a VIN that is undefined', { vin: undefined }],
  ])('of a vehicle with %s has none', (_, vehicle) => {
    expect(identity(shipment({ vehicles: [vehicle] }))).toEqual({ reference: 'REF-1', vin: '' })
  })

  test.each([
    ['without a reference', { external_id: undefined }],
    ['with an empty reference', { external_id: ' ' }],
    ['with a reference that is no text', { external_id: {} }],
    ['that is canceled', { status: 'canceled' }],
    ['without vehicles', { vehicles: [] }],
    ['whose vehicles are no list', { vehicles: VEHICLE }],
    ['whose vehicle is no object', { vehicles: ['VIN1'] }],
    ['with two vehicles', { vehicles: [VEHICLE, VEHICLE] }],
    ['with a VIN that is no text', { vehicles: [{ vin: {} }] }],
  ])('%s is not known', (_, change) => expect(identity(shipment(change))).toBeUndefined())
})

test('each identity has a key of its own', () => {
  const keys = [
    ['A', 'B'],
    ['AB', ''],
    ['', 'AB'],
    ['A","', 'B'],
  ].map(([reference = '', vin = '']) => identityKey({ reference, vin }))
  expect(new Set(keys).size).toBe(keys.length)
})

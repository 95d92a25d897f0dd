import { describe, expect, test } from 'vitest'
import { canBeNative, nativeRequest, onlyAsks } from '../../src/calls/native-request.ts'
import { actionNamed, requestOf } from './requests.ts'

const NATIVE = { isVersion1: true }

test.each([
  ['quote.get', true, true],
  ['quote.update', true, true],
  ['quote.approve', true, true],
  ['shipment.create', true, true],
  ['shipment.get', false, true],
  ['shipment.update', true, true],
  ['shipment.cancel', false, true],
])('%s can be asked at a version-2 path: %s; at a legacy path: %s', (name, atVersion2, atLegacy) => {
  const { action } = actionNamed(name)
  expect(canBeNative(action, '/v2')).toBe(atVersion2)
  expect(canBeNative(action, '/')).toBe(atLegacy)
  expect(canBeNative(action, '/v2/quotes')).toBe(atLegacy)
})

test.each([
  ['quote.get', true],
  ['quote.update', false],
  ['quote.approve', false],
  ['shipment.create', false],
  ['shipment.get', true],
  ['shipment.update', false],
  ['shipment.cancel', false],
])('%s only asks: %s', (name, asks) => {
  expect(onlyAsks(actionNamed(name).action)).toBe(asks)
})

test('a booking only asks nothing, of whatever family', () => {
  const { action } = actionNamed('quote.get')
  expect(onlyAsks({ ...action, service: { ...action.service, notIdempotent: true } })).toBe(false)
  expect(onlyAsks({ ...action, family: 'shipment' })).toBe(false)
})

describe('a native request', () => {
  const QUOTE = requestOf('quote.get', { ActionName: 'Get Rate', ShipmentNumber: 'N', Unknown: 'x', CSR: null })

  test('has the documented fields as they were sent', () => {
    expect(nativeRequest(QUOTE, { id: undefined }, { nativePath: '/' })).toEqual({
      method: 'POST',
      path: '/getShippingQuote.php',
      namesAnId: false,
      body: { ActionName: 'Get Rate', ShipmentNumber: 'N' },
      isIdempotent: true,
      ...NATIVE,
    })
  })

  test("may leave out the caller's number, but not the reference of a booking", () => {
    const options = { nativePath: '/', withoutNumber: true }
    expect(nativeRequest(QUOTE, { id: undefined }, options).body).toEqual({ ActionName: 'Get Rate' })
    const fields = { ReferenceNumber: 'R', ShipmentNumber: 'N' }
    const booking = nativeRequest(requestOf('shipment.create', fields), { id: undefined }, options)
    expect(booking).toMatchObject({ body: { ReferenceNumber: 'R' }, isIdempotent: false })
  })

  test("has the service's id in place of the names", () => {
    const update = requestOf('quote.update', { ShipmentNumber: 'N', OrderRefNumber: 'O', CSR: 'x' })
    expect(nativeRequest(update, { id: 'Q' }, { nativePath: '/v1' })).toEqual({
      method: 'POST',
      path: '/v1/getShippingQuote.php',
      namesAnId: true,
      body: { CSR: 'x', ShipmentNumber: 'Q' },
      isIdempotent: false,
      ...NATIVE,
    })
    expect(nativeRequest(update, { id: undefined }, { nativePath: '/' }).body).toEqual({
      ShipmentNumber: 'N',
      OrderRefNumber: 'O',
      CSR: 'x',
    })
  })

  test('goes to the version-2 path of its action, if the service wants it there', () => {
    const update = requestOf('quote.update', { ShipmentNumber: 'N', CSR: 'x' })
    expect(nativeRequest(update, { id: 'Q' }, { nativePath: '/v2' })).toEqual({
      method: 'PUT',
      path: '/v2/quote/Q',
      namesAnId: true,
      body: { CSR: 'x', ShipmentNumber: 'Q' },
      isIdempotent: false,
      ...NATIVE,
    })
    expect(nativeRequest(QUOTE, { id: undefined }, { nativePath: '/v2' })).toMatchObject({
      method: 'POST',
      path: '/v2/quote',
      namesAnId: false,
      isIdempotent: true,
    })
  })

  test('of a read has its fields in the query', () => {
    const read = requestOf('shipment.get', { ReferenceNumber: 'a b', VinNo: 'V&1' })
    expect(nativeRequest(read, { id: undefined }, { nativePath: '/' })).toEqual({
      method: 'GET',
      path: '/getShipment.php?ReferenceNumber=a+b&VinNo=V%261',
      namesAnId: false,
      ...NATIVE,
    })
    expect(nativeRequest(read, { id: 'S' }, { nativePath: '/' })).toMatchObject({
      path: '/getShipment.php?VinNo=V%261&ShipmentNumber=S',
      namesAnId: true,
    })
  })

  test.each([
    ['quote.get', 'GET_rate', 'GET_rate'],
    ['quote.get', 'Preis', 'Get Rate'],
    ['quote.update', 'Preis', 'Update Rate'],
    ['shipment.update', 'anything', 'anything'],
  ])('of %s names an action that the service knows: %s', (name, ActionName, said) => {
    const { body } = nativeRequest(requestOf(name, { ActionName }), { id: undefined }, { nativePath: '/' })
    expect(body).toEqual({ ActionName: said })
  })
})

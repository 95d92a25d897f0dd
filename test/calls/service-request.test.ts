import { expect, test } from 'vitest'
import { readOf, serviceRequest, shipmentRead, withPlaceholder } from '../../src/calls/service-request.ts'
import { actionNamed } from './requests.ts'

const update = actionNamed('shipment.update').action
const BODY = { a: 1 }

test('an action is a request to its path, with the id in it', () => {
  expect(serviceRequest(update, BODY, 'a/b c')).toEqual({
    method: 'PUT',
    path: '/v2/shipments/a%2Fb%20c',
    namesAnId: true,
    body: BODY,
  })
  expect(serviceRequest(actionNamed('quote.get').action, 'text', undefined)).toEqual({
    method: 'POST',
    path: '/v2/quote',
    namesAnId: false,
    body: 'text',
  })
  // What looks like a pattern of a replacement is none.
  expect(serviceRequest(update, BODY, '$&').path).toBe('/v2/shipments/%24%26')
})

test.each([
  ['shipment.get', 'GET'],
  ['shipment.cancel', 'DELETE'],
])('%s has no body', (name, method) => {
  expect(serviceRequest(actionNamed(name).action, BODY, 'S')).toEqual({
    method,
    path: '/v2/shipments/S',
    namesAnId: true,
  })
})

test('an id that is unknown is shown as a placeholder', () => {
  const request = serviceRequest(update, BODY, undefined)
  expect(request.namesAnId).toBe(false)
  expect(withPlaceholder(request, '{$& of N}')).toEqual({ ...request, path: '/v2/shipments/{$& of N}' })
})

test('what a request changes is read at the same path', () => {
  expect(shipmentRead('a/b')).toEqual({ method: 'GET', path: '/v2/shipments/a%2Fb', namesAnId: true })
  expect(readOf(serviceRequest(update, BODY, 'S'))).toEqual(shipmentRead('S'))
})

test.each(['.', '..', '...'])('%s is no id', (id) => {
  expect(() => shipmentRead(id)).toThrow(expect.objectContaining({ code: 'number-unknown', status: 404 }))
})

test('an id may contain dots', () => {
  expect(shipmentRead('..a').path).toBe('/v2/shipments/..a')
  expect(shipmentRead('a.').path).toBe('/v2/shipments/a.')
})

/** Promise: a request says the same in each spelling of the service (contract, section 1). */

import { describe, expect, test } from 'vitest'
import { asksForQuote, isAboutShipments, plain, quoteSpelled, shipmentSpelled } from '../../src/service/service.ts'

/** What a request is about decides its spelling, not its id. */
const namesAnId = false
const BASE = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'transload' }
const JSON_TYPE = { 'content-type': 'application/json' }

describe('a request of a declaration', () => {
  test('without a body names no type of it', () => {
    expect(plain({ method: 'GET', path: '/v2/shipments/s-1', namesAnId })).toEqual({
      method: 'GET',
      path: '/v2/shipments/s-1',
      headers: BASE,
      body: undefined,
    })
  })

  test.each([
    [{ zip: '02134' }, '{"zip":"02134"}'],
    ['{"price":1.50}', '{"price":1.50}'],
  ])('with the body %j is sent as %s', (body, text) => {
    expect(plain({ method: 'POST', path: '/v2/quote', namesAnId, body })).toEqual({
      method: 'POST',
      path: '/v2/quote',
      headers: { ...BASE, ...JSON_TYPE },
      body: text,
    })
  })

  test('may name the version that it changes', () => {
    const { headers } = plain({ method: 'PUT', path: '/v2/shipments/s-1', namesAnId, body: {}, ifMatch: '"7"' })
    expect(headers).toEqual({ ...BASE, ...JSON_TYPE, 'if-match': '"7"' })
  })
})

describe('a request for a quote', () => {
  test.each([
    ['POST', '/v2/quote', true],
    ['GET', '/v2/quote', false],
    ['POST', '/v2/quote/q-1', false],
  ] as const)('is %s %s: %s', (method, path, asks) => expect(asksForQuote({ method, path, namesAnId })).toBe(asks))

  const path = '/v2/quote'
  test('has its facts in the body, or in the query, with all digits of numbers', () => {
    const body = '{"zip":"K1A 0B1","price":1.50,"runs":true,"none":null,"list":[1]}'
    expect(quoteSpelled({ method: 'POST', path, namesAnId, body }, 'POST')).toMatchObject({
      method: 'POST',
      path,
      body,
    })
    expect(quoteSpelled({ method: 'POST', path, namesAnId, body }, 'GET')).toEqual({
      method: 'GET',
      path: '/v2/quote?zip=K1A+0B1&price=1.50&runs=true',
      headers: BASE,
      body: undefined,
    })
    expect(quoteSpelled({ method: 'POST', path, namesAnId, body: { zip: '02134' } }, 'GET').path).toBe(
      '/v2/quote?zip=02134',
    )
    expect(quoteSpelled({ method: 'POST', path, namesAnId }, 'GET').path).toBe('/v2/quote?')
  })
})

describe('a request about shipments', () => {
  test.each([
    ['/v2/shipments', true],
    ['/v2/shipments/s-1', true],
    ['/v2/shipmentsx', false],
    ['/v2/shipment', false],
    ['/x/v2/shipments', false],
  ])('is one to %s: %s', (path, isOne) => expect(isAboutShipments({ method: 'GET', path, namesAnId })).toBe(isOne))

  test.each([
    ['/v2/shipments', '/v2/shipment', '/v2/shipment'],
    ['/v2/shipments/s-1', '/v2/shipment', '/v2/shipment/s-1'],
    ['/v2/shipments/s-1', '/v2/shipments', '/v2/shipments/s-1'],
  ] as const)('%s is spelled with %s as %s', (path, spelling, spelled) => {
    expect(shipmentSpelled({ method: 'PUT', path, namesAnId, body: { a: 1 } }, spelling)).toMatchObject({
      method: 'PUT',
      path: spelled,
      body: '{"a":1}',
    })
  })
})

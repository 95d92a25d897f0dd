import { describe, expect, test } from 'vitest'
import { approvedBy, canceledBy, changedBy, mayBook } from '../../src/calls/version-2-call.ts'

describe('the shipment that a version-2 call cancels', () => {
  test.each([
    ['DELETE', '/v2/shipments/a%2Db?why=late', 'a-b'],
    ['DELETE', '/v2//shipment//a//', 'a'],
    ['DELETE', '/v2/shipments/a/documents', undefined],
    ['DELETE', '/v2/shipments', undefined],
    ['DELETE', '/v2/quote/a', undefined],
    ['DELETE', '/old/v2/shipments/a', undefined],
    ['PUT', '/v2/shipments/a', undefined],
  ])('%s %s: %s', (method, url, name) => {
    expect(canceledBy(method, url)).toBe(name)
  })
})

describe('the shipment that a version-2 call may change', () => {
  test.each([
    ['PUT', '/v2/shipments/a%2Db', 'a-b'],
    ['PATCH', '/v2//shipment//a?notify=1', 'a'],
    ['POST', '/v2/quote/a/approve', 'a'],
    ['POST', '/v2//quote//a', 'a'],
    ['DELETE', '/v2/shipments/a/documents/1', 'a'],
    ['POST', '/v2/shipments', undefined],
    ['PUT', '/v2/other/a', undefined],
    ['PUT', '/old/shipments/a', undefined],
    ['PUT', '/old/quote/a', undefined],
    ['PUT', '/old/v2/shipments/a', undefined],
    ['GET', '/v2/shipments/a', undefined],
    ['HEAD', '/v2/shipments/a', undefined],
    ['OPTIONS', '/v2/shipments/a', undefined],
  ])('%s %s: %s', (method, url, name) => {
    expect(changedBy(method, url)).toBe(name)
  })
})

test.each([
  ['POST', '/v2/quote/Q-1/approve', 'Q-1'],
  ['POST', '/v2//quote/Q%2D1/%61pprove/?why=1', 'Q-1'],
  ['GET', '/v2/quote/Q-1/approve', undefined],
  ['POST', '/v2/quote/Q-1', undefined],
  ['POST', '/v2/quote/Q-1/approve/all', undefined],
  ['POST', '/v2/shipments/Q-1/approve', undefined],
  ['POST', '/v1/quote/Q-1/approve', undefined],
])('%s %s approves %s', (method, url, quote) => {
  expect(approvedBy(method, url)).toBe(quote)
})

describe('a version-2 call that may book', () => {
  test.each([
    ['POST', '/v2/shipments', true],
    ['POST', '/v2/shipment/?dry=1', true],
    ['POST', '/v2//shipments', true],
    ['POST', '/v2/%73hipments', true],
    ['POST', '/v2/Shipments;v=1', true],
    ['POST', '/v2/quote/q-1/approve', true],
    ['POST', '/v2/quote/q-1/Approve/', true],
    ['PUT', '/v2/shipments', false],
    ['POST', '/v2/shipments/s-1', false],
    ['POST', '/v2/shipments/s-1/documents', false],
    ['POST', '/v2/shipments%2Fs-1', false],
    ['POST', '/v2/quote', false],
    ['POST', '/v2/quote/q-1', false],
    ['POST', '/v2/quote/q-1/approve/again', false],
    ['POST', '/v2/carriers/c-1/approve', false],
    ['POST', '/v2/webhooks?next=/v2/shipments', false],
    ['POST', '/v2/', false],
    ['POST', '/v3/shipments', false],
  ])('%s %s: %s', (method, url, expected) => {
    expect(mayBook(method, url)).toBe(expected)
  })
})

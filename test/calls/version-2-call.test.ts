/** Promise: what a version-2 path means is read in every spelling (contract, section 7). */

import { describe, expect, test } from 'vitest'
import { version2Call } from '../../src/calls/pass-through.ts'

describe('a version-2 call, in every spelling that some service may take for it', () => {
  test.each([
    ['POST', '/v2/quote/a/approve'],
    ['POST', '/v2/quote/a%2Db/approve?x=1', 'a-b'],
    ['POST', '/v2/Quote/a/Approve'],
    ['POST', '/V2//quotes//a//approve/'],
    ['POST', '/v2/quote/a;v=1/approve;x=1'],
    ['POST', '/v2/quote/a/%2561pprove'],
    ['POST', '/v2/quote\\a\\approve '],
  ])('%s %s approves', (method, url, id = 'a') => {
    expect(version2Call(method, url)).toEqual({ verb: 'approve', id })
  })

  test.each([
    ['/v2/shipments/a%2Db?why=late', 'a-b', '/v2/shipments'],
    ['/v2//shipment//A//', 'A', '/v2/shipment'],
    ['/v2/Shipments/a', 'a', '/v2/shipments'],
    ['/v2/shipments;v=1/a;x', 'a', '/v2/shipments'],
  ])('DELETE %s cancels', (url, id, collection) => {
    expect(version2Call('DELETE', url)).toEqual({ verb: 'cancel', id, collection })
  })

  test('GET /v2/Shipments/a%2Db;v=1 reads', () => {
    expect(version2Call('GET', '/v2/Shipments/a%2Db;v=1')).toEqual({
      verb: 'read',
      id: 'a-b',
      collection: '/v2/shipments',
    })
  })

  test.each(['/v2/shipments', '/v2/Shipment/', '/v2//shipments;a?b'])('POST %s creates', (url) => {
    expect(version2Call('POST', url)).toEqual({ verb: 'create' })
  })

  test.each([
    ['DELETE', '/v2/shipments/a/documents'],
    ['DELETE', '/v2/shipments'],
    ['DELETE', '/v2/quote/a'],
    ['DELETE', '/old/v2/shipments/a'],
    ['PUT', '/v2/shipments/a'],
    ['POST', '/v2/shipments/a'],
    ['POST', '/v2/quote'],
    ['POST', '/v2/quote/a'],
    ['POST', '/v2/quote/a/approve/b'],
    ['PUT', '/v2/quote/a/approve'],
    ['POST', '/v3/quote/a/approve'],
  ])('%s %s is none of these', (method, url) => {
    expect(version2Call(method, url)).toBeUndefined()
  })
})

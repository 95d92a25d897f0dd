import { describe, expect, test } from 'vitest'
import { nativeActions, nativePath } from '../../src/config/native-values.ts'
import { read } from './read-value.ts'

describe('native actions', () => {
  test.each([
    ['/', '/'],
    ['/quotes', '/quotes'],
    ['/quotes/', '/quotes'],
    ['/a/b.c-d_e/', '/a/b.c-d_e'],
    ['/v2', '/v2'],
  ])('are at %s', (text, path) => {
    expect(read(nativePath, text)).toBe(path)
  })

  test.each(['', 'quotes', '//', '/a//b', '/a b', 'x/a', '/a?b'])('are not at %j', (text) => {
    expect(read(nativePath, text)).toBe('must be / or a prefix of the legacy paths such as /quotes, or /v2')
  })

  test('are those that nothing has to be translated for', () => {
    const all = ['quote.get', 'quote.update', 'shipment.get', 'shipment.create']
    expect(read(nativeActions, all.join())).toEqual(all)
    const others = String(read(nativeActions, 'quote.approve,quote.get,shipment.update,shipment.cancel,other'))
    expect(others.split('; ')).toEqual([
      'must not have quote.approve: a version-1 answer does not say if the approval made a shipment, and a booking could make a second one',
      'must not have shipment.update: only a translated update reads what it changes first, and waits for others of the same shipment',
      'must not have shipment.cancel: only a translated cancellation is verified by a read before it frees the key of the booking',
      'must not have other, which is none of quote.get, quote.update, shipment.get, shipment.create',
    ])
  })
})

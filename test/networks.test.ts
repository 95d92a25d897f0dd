/** Promise: a network has the addresses that it says (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { compileNetworks, isNetwork } from '../src/language/networks.ts'

describe('a network', () => {
  test.each(['192.0.2.7', '10.0.0.0/8', '192.0.2.7/32', '0.0.0.0/0', '::1', '2001:db8::/32', '2001:db8::1/128'])(
    'is %s',
    (text) => {
      expect(isNetwork(text)).toBe(true)
    },
  )

  test.each(['', 'x', '10.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1', '::/129', '::/x', '/8'])(
    'is not %j',
    (text) => {
      expect(isNetwork(text)).toBe(false)
    },
  )
})

test('the narrowest of the networks that hold an address counts', () => {
  const { has, narrowest } = compileNetworks([
    '10.0.0.0/8',
    '10.1.0.0/16',
    '192.0.2.7',
    '0.0.0.0/0',
    '2001:db8::/32',
    '::1',
  ])
  const found = ['10.2.3.4', '10.1.3.4', '192.0.2.7', '192.0.2.8', '2001:db8::1', '::1', '2001:db9::1', ''].map(
    narrowest,
  )
  expect(found).toEqual([8, 16, 32, 0, 32, 128, -1, -1])
  expect([has('192.0.2.8'), has('2001:db9::1')]).toEqual([true, false])
})

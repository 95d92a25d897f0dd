/** Promise: a slip is reported with the probable intention (contract, section 9). */

import { expect, test } from 'vitest'
import { nearest } from '../../src/language/text/nearest.ts'
import slips from './slips.json' with { type: 'json' }

const COMMANDS = ['serve', 'check', 'bookings', 'xref', 'store']

test.each(Object.entries(slips))('a slip of %s', (meant, typed) => {
  for (const word of typed) expect([word, nearest(word, COMMANDS) ?? 'none']).toEqual([word, meant])
})

test('of two words, the one with fewer errors is nearer, and their limit can be set', () => {
  expect(nearest('statt', ['state', 'start', 'stats'])).toBe('state')
  expect(nearest('abcdef', ['abcxyf', 'abcdxf', 'abcdefg'])).toBe('abcdxf')
  expect(nearest('bokins', COMMANDS, 1)).toBeUndefined()
  expect(nearest('bokings', COMMANDS, 1)).toBe('bookings')
})

/** Promise: a slip is told with what was probably meant (contract, section 9). */

import { expect, test } from 'vitest'
import { nearest, suggestion } from '../../src/text/nearest.ts'

const COMMANDS = ['serve', 'check', 'bookings', 'xref', 'store']

test.each([
  ['serve', 'serve'],
  ['SERVE', 'serve'],
  ['sreve', 'serve'],
  ['seve', 'serve'],
  ['servee', 'serve'],
  ['sarve', 'serve'],
  ['erve', 'serve'],
  ['bokins', 'bookings'],
  ['bokin', undefined],
  ['vsere', 'serve'],
  ['obokings', 'bookings'],
  ['bookigns', 'bookings'],
  ['bkooinsg', undefined],
  ['xrfe', 'xref'],
  ['xr', undefined],
  ['zref', 'xref'],
  ['zrfe', undefined],
  ['', undefined],
  ['stroe', 'store'],
  ['storr', 'store'],
])('of %s the nearest command is %s', (typed, word) => {
  expect(nearest(typed, COMMANDS)).toBe(word)
})

test('of two words the one with fewer errors is nearer, and how many are allowed can be chosen', () => {
  expect(nearest('statt', ['state', 'start', 'stats'])).toBe('state')
  expect(nearest('abcdef', ['abcxyf', 'abcdxf', 'abcdefg'])).toBe('abcdxf')
  expect(nearest('bokins', COMMANDS, 1)).toBeUndefined()
  expect(nearest('bokings', COMMANDS, 1)).toBe('bookings')
})

test('a suggestion ends a message', () => {
  expect(suggestion('sreve', COMMANDS)).toBe('; did you mean serve?')
  expect(suggestion('fly', COMMANDS)).toBe('')
})

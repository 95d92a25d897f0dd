/** Promise: a slip is told with what was probably meant (contract, section 9). */

import { expect, test } from 'vitest'
import { nearest, suggestion } from '../../src/language/text/nearest.ts'

const COMMANDS = ['serve', 'check', 'bookings', 'xref', 'store']

test('the nearest command has few errors: letters that are swapped, missing, other ones or too many', () => {
  const typed = ['SERVE', 'sreve', 'seve', 'servee', 'sarve', 'erve', 'vsere', 'bokins', 'bookigns', 'xrfe', 'zref']
  const meant = ['serve', 'serve', 'serve', 'serve', 'serve', 'serve', 'serve', 'bookings', 'bookings', 'xref', 'xref']
  expect(typed.map((word) => nearest(word, COMMANDS))).toEqual(meant)
  const others = ['bokin', 'bkooinsg', 'xr', 'zrfe', '']
  expect(others.filter((word) => nearest(word, COMMANDS) !== undefined)).toEqual([])
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

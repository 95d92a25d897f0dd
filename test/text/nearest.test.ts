import { expect, test } from 'vitest'
import { slipsIn } from '../../src/commands/slips.ts'
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

test.each([
  ['V2_BASE_URI', '; did you mean V2_BASE_URL?'],
  ['v2_bse_url', '; did you mean V2_BASE_URL?'],
  ['V2_TIMEOUT', '; did you mean UPSTREAM_TIMEOUT_MS?'],
  ['UPSTREAM_URL', ''],
  ['LEGACY_SOMETHING', ''],
  ['V2_SECRET', ''],
  ['STORE_ULR', '; did you mean STORE_URL?'],
  ['STORE_UL', '; did you mean STORE_URL?'],
])('the variable %s is a slip%s', (name, meant) => {
  expect(slipsIn({ [name]: 'x' }, new Set())).toEqual([`${name} is not a variable of the gateway${meant}`])
})

test.each(['HOSTS', 'STOREURL', 'PORTS_', 'STORE_ULRS', 'V2_BASE_URL', 'USED_BY_TENANTS', 'SSL_CERT_FILE', 'PATH'])(
  'the variable %s is that of another program, or known',
  (name) => {
    expect(slipsIn({ [name]: 'x' }, new Set(['USED_BY_TENANTS']))).toEqual([])
  },
)

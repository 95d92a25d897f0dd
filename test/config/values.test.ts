import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { ConfigErrors } from '../../src/config/errors.ts'

const URL_ALONE = { V2_BASE_URL: 'https://service.example.com' }
const read = (name: string, value: string) => ({ ...readConfig({ ...URL_ALONE, [name]: value }) })[name as 'HOST']

function errorOf(name: string, value: string): string {
  try {
    read(name, value)
    return 'no error'
  } catch (error) {
    return error instanceof ConfigErrors ? error.errors.join() : String(error)
  }
}

describe('every value of an enumerated setting is read as it is', () => {
  test.each([
    ['V2_QUOTE_METHOD', ['auto', 'POST', 'GET']],
    ['V2_TOKEN', ['basic', 'oauth2', 'auto']],
    ['TLS_MIN_VERSION', ['1.1', '1.2', '1.3']],
    ['LOG_ADDRESSES', ['all', 'refused', 'none']],
    ['LOG_LEVEL', ['debug', 'info', 'warn', 'error', 'silent']],
    ['ERROR_STATUS', ['as-is', 'ok']],
    ['SHIPMENT_NUMBER', ['caller', 'service']],
    ['APPROVAL_BOOKS', ['auto', 'no']],
  ])('%s', (name, values) => {
    for (const value of values) expect(read(name, value)).toBe(value)
    // A setting is spelled as documented: a value in another case would pass for none.
    for (const value of values.filter((text) => /[a-z]/i.test(text))) {
      const other = value === value.toLowerCase() ? value.toUpperCase() : value.toLowerCase()
      expect(errorOf(name, other)).toContain(name)
      expect(errorOf(name, `${value}x`)).toContain(name)
    }
  })

  test('SEND_QUOTE_ID', () => {
    expect(read('SEND_QUOTE_ID', 'true')).toBe(true)
    expect(read('SEND_QUOTE_ID', 'false')).toBe(false)
  })
})

describe('bounds', () => {
  test.each([
    ['PORT', '65535', '65536'],
    ['UPSTREAM_TIMEOUT_MS', '86400000', '86400001'],
  ])('%s is at most %s', (name, most, more) => {
    expect(read(name, most)).toBe(Number(most))
    expect(errorOf(name, more)).toContain(name)
  })

  test.each([
    ['DEDUPE_WINDOW', '250ms', 250],
    ['DEDUPE_WINDOW', '3s', 3_000],
    ['DEDUPE_WINDOW', '2m', 120_000],
    ['DEDUPE_WINDOW', '24h', 86_400_000],
    ['QUOTE_MEMORY', '90d', 7_776_000_000],
    ['DEDUPE_WINDOW', '36500d', 3_153_600_000_000],
    ['SWEEP_INTERVAL', '1s', 1_000],
    ['SWEEP_INTERVAL', '1d', 86_400_000],
  ])('%s=%s is %d ms', (name, text, ms) => {
    expect(read(name, text)).toBe(ms)
  })

  test.each([
    ['4xx,503', [400, 499, 503], [399, 500, 502, 504]],
    ['422', [422], [421, 423, 400]],
    ['5xx', [500, 599], [499]],
  ])('BOOKING_REFUSED_STATUSES=%s', (text, inside, outside) => {
    const { BOOKING_REFUSED_STATUSES: isRefused } = readConfig({ ...URL_ALONE, BOOKING_REFUSED_STATUSES: text })
    expect(inside.map(isRefused)).toEqual(inside.map(() => true))
    expect(outside.map(isRefused)).toEqual(outside.map(() => false))
  })
})

describe('a wrong value is answered with what it must be', () => {
  test.each([
    ['V2_BASE_URL', 'ftp://service.example.com', 'must be an http or https address'],
    ['V2_BASE_URL', 'https://pat@service.example.com', 'must have no user name, password, query or fragment'],
    ['V2_BASE_URL', 'https://:word@service.example.com', 'must have no user name, password, query or fragment'],
    ['V2_BASE_URL', 'https://service.example.com/?x=1', 'must have no user name, password, query or fragment'],
    ['V2_BASE_URL', 'https://service.example.com/#x', 'must have no user name, password, query or fragment'],
    ['PORT', '-1', 'must be a whole number from 0 to 65535'],
    ['SEND_QUOTE_ID', 'yes', 'must be true or false'],
    ['DEDUPE_WINDOW', '36501d', 'must be a duration such as 500ms, 15s, 10m, 24h or 90d, at most 36500d'],
    ['SWEEP_INTERVAL', '999ms', 'must be from 1s to 1d'],
    ['SWEEP_INTERVAL', '86400001ms', 'must be from 1s to 1d'],
    ['V2_CA_FILE', '/nowhere/ca.pem', 'names /nowhere/ca.pem, which cannot be read'],
    ['V2_CA_FILE', import.meta.dirname, `names ${import.meta.dirname}, which cannot be read`],
    ['STORE_URL', 'redis://store.example.com', 'must be a path, postgres://… or memory:'],
    ['STORE_URL', 'sqlite:./folder/', 'must be a path, postgres://… or memory:'],
    ['STORE_URL', import.meta.dirname, 'names a folder; it must name a file'],
    [
      'ALLOWED_HOSTS',
      '*.example.com',
      'must list names such as gateway.internal, or origins such as https://gateway.example.com',
    ],
    ['BOOKING_REFUSED_STATUSES', '6xx', 'must be a list of statuses from 300 to 599 such as 4xx,503'],
    ['BOOKING_REFUSED_STATUSES', '2xx', 'must be a list of statuses from 300 to 599 such as 4xx,503'],
    ['BOOKING_REFUSED_STATUSES', ',', 'must be a list of statuses from 300 to 599 such as 4xx,503'],
  ])('%s=%s', (name, value, message) => {
    expect(errorOf(name, value)).toContain(message)
  })
})

describe.each(['HOST', 'ADMIN_HOST'])('%s', (name) => {
  test.each([
    '127.0.0.1',
    '0.0.0.0',
    '::',
    '::1',
    'fe80::1%eth0',
    'localhost',
    'a_b.example.com',
    'edge-1.example.com.',
  ])('may be %s', (value) => {
    expect(read(name, value)).toBe(value)
  })

  test.each(['*', '[::1]', 'localhost:80', 'http://localhost', '256.0.0.1', '10.0.0.0/8', 'a b', 'a..b', '...', ','])(
    'may not be %s',
    (value) => {
      const form = 'must be an address such as 127.0.0.1 or ::, or a name such as localhost, without a port'
      expect(errorOf(name, value)).toBe(`${name} ${form}`)
    },
  )
})

test('no legacy path hides a call that is passed through, or a dry run', () => {
  const name = 'LEGACY_BASE_PATHS'
  const own = (path: string) =>
    `${name} must be a list of paths such as /,/quotes; paths under ${path} are the gateway's own`
  for (const paths of ['/v2', '/,/v2/', '/V2/old', '//v2']) expect(errorOf(name, paths)).toBe(own('/v2'))
  for (const paths of ['/dry-run', '/Dry-Run/x']) expect(errorOf(name, paths)).toBe(own('/dry-run'))
  expect(read(name, '/v2x,/old/v2,/dry-runs,/v')).toEqual(['/v2x', '/old/v2', '/dry-runs', '/v'])
})

test('a body has room among all bodies', () => {
  expect(errorOf('BODIES_LIMIT_BYTES', '1')).toMatch(/^BODIES_LIMIT_BYTES is 1, less than BODY_LIMIT_BYTES/)
})

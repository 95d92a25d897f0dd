import { describe, expect, test } from 'vitest'
import { type Config, contradictions } from '../../src/config/config.ts'

const set = (names: string, more: Readonly<Record<string, string>> = {}) =>
  contradictions({ ...Object.fromEntries(names.split(' ').map((name) => [name, 'x'])), ...more }, {})
const valid = (config: Partial<Config>) => contradictions({}, config)

describe('variables that belong together', () => {
  test.each([
    ['V2_CLIENT_ID', 'V2_CLIENT_SECRET'],
    ['WEBHOOK_CLIENT_ID', 'WEBHOOK_CLIENT_SECRET'],
    ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
  ])('%s and %s are set both, or none', (one, other) => {
    expect(set(`${one} ${other}`)).toEqual([])
    expect(set(one)).toEqual([`${other} is required because ${one} is set`])
    expect(set(other)).toEqual([`${one} is required because ${other} is set`])
  })

  test('a signing secret needs a secret in the path', () => {
    expect(set('WEBHOOK_SECRET')).toEqual([])
    expect(set('WEBHOOK_SECRET WEBHOOK_SIGNING_SECRET')).toEqual([])
    expect(set('WEBHOOK_SIGNING_SECRET')).toEqual(['WEBHOOK_SECRET is required because WEBHOOK_SIGNING_SECRET is set'])
  })

  test('brownouts of bookings need brownouts, of the gateway or of a tenant', () => {
    const bookings = { BROWNOUT_BOOKINGS: 'true' }
    expect(contradictions(bookings, {})).toEqual(['BROWNOUT_BOOKINGS=true has no effect without BROWNOUTS'])
    for (const other of ['BROWNOUTS', 'TENANTS_FILE']) expect(set(other, bookings)).toEqual([])
    expect(contradictions({ BROWNOUT_BOOKINGS: 'false' }, {})).toEqual([])
  })
})

describe('variables of different modes', () => {
  const MODES = 'V2_CLIENT_ID V2_CLIENT_SECRET'
  const BOTH = 'TENANTS_FILE and V2_CLIENT_ID are both set; remove one, because each tenant has a client id of its own'
  const clientOnly = (mode: string) =>
    `${mode} and WEBHOOK_CLIENT_ID are both set; remove WEBHOOK_CLIENT_ID, which serves client mode only`

  test.each<[string, readonly string[]]>([
    ['TENANTS_FILE', []],
    [`TENANTS_FILE ${MODES}`, [BOTH]],
    [
      'TENANTS_FILE WEBHOOK_SECRET',
      [
        'TENANTS_FILE and WEBHOOK_SECRET are both set; remove WEBHOOK_SECRET, because each tenant has a webhook_secret of its own',
      ],
    ],
    [
      'TENANTS_FILE WEBHOOK_SIGNING_SECRET',
      [
        'TENANTS_FILE and WEBHOOK_SIGNING_SECRET are both set; remove WEBHOOK_SIGNING_SECRET, because each tenant has a webhook_signing_secret of its own',
      ],
    ],
    ['TENANTS_FILE WEBHOOK_CLIENT_ID WEBHOOK_CLIENT_SECRET', [clientOnly('TENANTS_FILE')]],
    [`${MODES} WEBHOOK_CLIENT_ID WEBHOOK_CLIENT_SECRET`, [clientOnly('V2_CLIENT_ID')]],
  ])('%s', (names, errors) => {
    expect(set(names)).toEqual(errors)
  })
})

describe('several processes', () => {
  const store = 'STORE_URL=memory: works only with WORKERS=1, because workers do not share memory'

  test.each<[Readonly<Record<string, string>>, readonly string[]]>([
    [{ STORE_URL: 'memory:', WORKERS: '2' }, [store]],
    [{ STORE_URL: ' MEMORY:', WORKERS: '2' }, [store]],
    [{ STORE_URL: 'memory:', WORKERS: '1' }, []],
    [{ STORE_URL: 'memory:' }, []],
    [{ STORE_URL: 'sqlite:x?memory:', WORKERS: '2' }, []],
    [{ WORKERS: '2' }, []],
    [{ STORE_URL: 'postgres://x', WORKERS: '2' }, []],
  ])('%j', (variables, errors) => {
    expect(contradictions(variables, {})).toEqual(errors)
  })
})

describe('values that contradict each other', () => {
  const DAY_MS = 86_400_000
  const ports = { HOST: '0.0.0.0', PORT: 80, ADMIN_HOST: '127.0.0.1', ADMIN_PORT: 80 }

  test.each<[Partial<Config>, readonly string[]]>([
    [ports, ['PORT and ADMIN_PORT are both 80; choose different ports']],
    [{ ...ports, ADMIN_PORT: 81 }, []],
    [{ ...ports, HOST: '192.0.2.1' }, []],
    [{ ...ports, PORT: 0, ADMIN_PORT: 0 }, []],
    [{ PORT: 80, ADMIN_PORT: 80, HOST: '::' }, []],
    [{ PORT: 80, ADMIN_PORT: 80, ADMIN_HOST: '::' }, []],
    [{ BODIES_LIMIT_BYTES: 20, BODY_LIMIT_BYTES: 20 }, []],
    [
      { BODIES_LIMIT_BYTES: 20, BODY_LIMIT_BYTES: 21 },
      ['BODIES_LIMIT_BYTES is 20, less than BODY_LIMIT_BYTES, which is 21; make room for several bodies'],
    ],
    [{ BODIES_LIMIT_BYTES: 1 }, []],
    [{ BODY_LIMIT_BYTES: 1_000 }, []],
    [{ QUOTE_MEMORY: 2 * DAY_MS, BOOKING_DAYS: 2 }, []],
    [
      { QUOTE_MEMORY: 2 * DAY_MS + 1, BOOKING_DAYS: 2 },
      ['QUOTE_MEMORY is longer than BOOKING_DAYS, which is 2; keep bookings at least as long as quotes'],
    ],
    [{ QUOTE_MEMORY: DAY_MS }, []],
    [{ BOOKING_DAYS: 2 }, []],
  ])('%j', (config, errors) => {
    expect(valid(config)).toEqual(errors)
  })
})

test('all are told at once', () => {
  const variables = { TLS_CERT_FILE: 'x', BROWNOUT_BOOKINGS: 'true', STORE_URL: 'memory:', WORKERS: '2' }
  expect(contradictions(variables, { BODIES_LIMIT_BYTES: 1, BODY_LIMIT_BYTES: 2 })).toHaveLength(4)
})

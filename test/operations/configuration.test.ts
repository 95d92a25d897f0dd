/** Promise: every mistake of a configuration is told at once, and ends with 78 (contract, section 11). */

import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Config, readConfig } from '../../src/language/config/config.ts'
import { ConfigErrors } from '../../src/language/config/errors.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { ROOT } from '../command.ts'

const SERVICE = { V2_BASE_URL: 'https://service.example' }

/** Reads an environment, in which the address of the service is set. */
const read = (env: NodeJS.ProcessEnv) => readConfig({ ...SERVICE, ...env })

/** The errors of an environment, a line each. */
function errorsIn(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    read(env)
  } catch (error) {
    if (error instanceof ConfigErrors) return error.errors
    throw error
  }
  return []
}

/** A file that is gone after the test. */
async function fileWith(content: string): Promise<string> {
  const path = join(folder(), 'file.json')
  await writeFile(path, content)
  return path
}

describe('a wrong value is answered with what it must be, and not repeated', () => {
  const ADDRESS = 'must be an http or https address'
  const DATE = 'must be an ISO 8601 date such as 2026-12-31'
  const DURATION = 'must be a duration such as 500ms, 15s, 10m, 24h or 90d, at most 36500d'
  const VERSION_2 = 'must be a value of version 2 such as open or truck_ext'
  const SECRET = 'hook-0123456789abcdef'
  const SIGNING = `whsec_${Buffer.alloc(24, 1).toString('base64')}`

  const WRONG: readonly (readonly [name: string, message: string, values: readonly string[]])[] = [
    ['V2_BASE_URL', ADDRESS, ['ftp://service.example']],
    [
      'V2_BASE_URL',
      'must have no user name, password, query or fragment',
      ['pat@service.example', ':word@service.example', 'service.example/?token=x', 'service.example/#x'].map(
        (rest) => `https://${rest}`,
      ),
    ],
    ['V2_QUOTE_METHOD', 'must be auto, POST or GET', ['PUT']],
    ['UPSTREAM_TIMEOUT_MS', 'must be a whole number from 1 to 86400000', ['15s', '86400001']],
    ['V2_CA_FILE', 'names /nowhere/ca.pem, which cannot be read', ['/nowhere/ca.pem']],
    ['V2_CA_FILE', `names ${ROOT}, which cannot be read`, [ROOT]],
    ['PORT', 'must be a whole number from 0 to 65535', ['65536', '-1']],
    ['BODIES_LIMIT_BYTES', 'must be a whole number from 1 to 1099511627776', ['64 MiB']],
    [
      'ALLOWED_HOSTS',
      'must list names such as gateway.internal, or origins such as https://gateway.example.com',
      [
        'gateway.internal:8080',
        '*',
        '*.example.com/',
        'ftp://a',
        'https://a/b',
        'https://a?b',
        'https://u@a',
        'a:80',
        'a b',
        '//a',
        '*.example.com',
      ],
    ],
    ['LOG_LEVEL', 'must be trace, debug, info, warn, error, fatal or silent', ['loud']],
    ['LEGACY_BASE_PATHS', 'must be a list of paths such as /,/quotes', ['quotes']],
    // No legacy path hides a call that is passed through, or a dry run.
    [
      'LEGACY_BASE_PATHS',
      "must be a list of paths such as /,/quotes; paths under /v2 are the gateway's own",
      ['/v2', '/,/v2/', '/V2/old', '//v2'],
    ],
    [
      'LEGACY_BASE_PATHS',
      "must be a list of paths such as /,/quotes; paths under /dry-run are the gateway's own",
      ['/dry-run', '/Dry-Run/x'],
    ],
    ['ERROR_STATUS', 'must be ok or as-is', ['200']],
    [
      'SUNSET',
      DATE,
      [
        'next year',
        '2026-12-31 or so',
        '2026-12-31T12:00',
        '31.12.2026',
        '2026-1-1',
        '20261231',
        '2026-02-31',
        '2026-02-29',
        '2026-04-31T00:00:00Z',
        '2026-13-01',
        '2026-00-10',
        '2026-01-00',
        '2026-12-31T25:00Z',
      ],
    ],
    ['DEFAULT_TRANSPORT_TYPE', VERSION_2, ['OPEN AUTO']],
    ['SHIPMENT_NUMBER', 'must be caller or service', ['mine']],
    ['SEND_QUOTE_ID', 'must be true or false', ['yes']],
    ['LOOKUPS_FILE', 'names /nowhere/lookups.json, which cannot be read (ENOENT)', ['/nowhere/lookups.json']],
    [
      'STORE_URL',
      'must be a path, postgres://… or memory:',
      ['mysql://user:pass-word@db/x', 'redis://store', 'sqlite:./folder/'],
    ],
    ['STORE_URL', 'names a folder; it must name a file', [ROOT]],
    ['STORE_URL', 'cannot be used: Invalid URL', ['postgres://user:pass-word@:x']],
    [
      'STORE_URL',
      'names several hosts; write one address that moves to the server that takes writes',
      ['postgres://user:pass-word@one,two:x/db'],
    ],
    [
      'STORE_URL',
      'has sslmode=prefer, which the gateway does not know or which may send data unencrypted; write disable, require, verify-ca or verify-full',
      ['postgres://user:pass-word@one/db?sslmode=prefer'],
    ],
    ['TRUST_PROXY', 'must be off or a list of networks such as 10.0.0.0/8,192.0.2.7', ['on']],
    ['QUOTE_MEMORY', DURATION, ['90', '1.5h', '-1s', '1 s', '1w', 'PT5S', 's', '5S']],
    ['DEDUPE_WINDOW', DURATION, ['10 m', '36501d']],
    [
      'BOOKING_REFUSED_STATUSES',
      'must be a list of statuses from 300 to 599 such as 4xx,503',
      ['4xx,never', '6xx', '2xx', ','],
    ],
    ['BOOKING_DAYS', 'must be a number of days such as 30d, at most 3650d', ['12h']],
    [
      'WEBHOOK_SECRET',
      'must be 16 to 256 letters, digits, dots, dashes, underscores or tildes; several are separated by commas',
      [
        ...['short', 'a'.repeat(15), 'a'.repeat(257), '.'.repeat(16)],
        ...['/x', ' x', '%41', '?x', ',', ',short'].map((end) => SECRET + end),
      ],
    ],
  ]

  test.each(WRONG)('%s %s', (name, message, values) => {
    for (const value of values) expect(errorsIn({ [name]: value }), value).toEqual([`${name} ${message}`])
  })

  test.each([SIGNING.slice('whsec_'.length), `${SIGNING},x`, 'whsec_AAAA', 'whsec_'])(
    'WEBHOOK_SIGNING_SECRET=%s',
    (WEBHOOK_SIGNING_SECRET) => {
      expect(errorsIn({ WEBHOOK_SECRET: SECRET, WEBHOOK_SIGNING_SECRET })).toEqual([
        'WEBHOOK_SIGNING_SECRET must be whsec_ and the Base64 of 24 to 64 bytes; several are separated by commas',
      ])
    },
  )

  test('all of them at once, with those of variables that are missing', () => {
    const all = Object.fromEntries(WRONG.map(([name, , [value = '']]) => [name, value]))
    const names = [...Object.keys(all), 'V2_CLIENT_SECRET']
    const errors = errorsIn({ ...all, V2_CLIENT_ID: 'half a pair' })
    expect(errors.map((error) => error.split(' ')[0]).sort()).toEqual(names.sort())
  })

  test('the address of the service is required', () => {
    const required = ['V2_BASE_URL is required: set it to the address of the service']
    for (const V2_BASE_URL of [undefined, '', '  ']) expect(errorsIn({ V2_BASE_URL })).toEqual(required)
  })
})

describe('errors in files of certificates', () => {
  const CERTIFICATES = join(ROOT, 'test/http/certificates')
  const [SERVER, SERVER_KEY, CLIENT, CLIENT_KEY] = ['server.pem', 'server.key', 'client.pem', 'client.key'].map(
    (name) => join(CERTIFICATES, name),
  )

  test('certificate and key must be PEM and match', () => {
    const told = (TLS_CERT_FILE?: string, TLS_KEY_FILE?: string) => errorsIn({ TLS_CERT_FILE, TLS_KEY_FILE })
    const noCertificate = expect.stringMatching(/^TLS_CERT_FILE names \S+, which is not a certificate in PEM: /)
    const noKey = expect.stringMatching(/^TLS_KEY_FILE names \S+, which is not a key in PEM without a passphrase: /)
    expect(told(SERVER, SERVER_KEY)).toEqual([])
    expect(told(CLIENT, CLIENT_KEY)).toEqual([])
    expect(told(SERVER, CLIENT_KEY)).toEqual([
      `TLS_KEY_FILE names ${CLIENT_KEY}, whose key does not match the certificate of TLS_CERT_FILE`,
    ])
    expect(told(SERVER_KEY, SERVER_KEY)).toEqual([noCertificate])
    expect(told(SERVER, SERVER)).toEqual([noKey])
    expect(told('package.json', '/dev/null')).toEqual([noCertificate, noKey])
    expect(told('package.json')).toEqual(['TLS_KEY_FILE is required because TLS_CERT_FILE is set', noCertificate])
    expect(told(undefined, SERVER_KEY)).toEqual(['TLS_CERT_FILE is required because TLS_KEY_FILE is set'])
    expect(told('test', '/nowhere.key')).toEqual([
      'TLS_CERT_FILE names test, which cannot be read',
      'TLS_KEY_FILE names /nowhere.key, which cannot be read',
    ])
  })

  test('a key with a passphrase is an error that does not quote it', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const options = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'pass-word' } as const
    const TLS_KEY_FILE = await fileWith(String(privateKey.export(options)))
    expect(errorsIn({ TLS_CERT_FILE: SERVER, TLS_KEY_FILE })).toEqual([
      expect.stringMatching(/^TLS_KEY_FILE names \S+, which is not a key in PEM without a passphrase: [a-z ]+$/),
    ])
  })

  test('a short key is an error unless an old TLS is allowed', () => {
    const [TLS_CERT_FILE, TLS_KEY_FILE] = ['short.pem', 'short.key'].map((name) => join(CERTIFICATES, name))
    const told = (TLS_MIN_VERSION: string) => errorsIn({ TLS_CERT_FILE, TLS_KEY_FILE, TLS_MIN_VERSION })
    expect(told('1.0')).toEqual([])
    expect(told('1.2')).toEqual([expect.stringMatching(/^TLS_CERT_FILE names .* too small$/)])
  })

  test('V2_CA_FILE must hold complete certificates only', async () => {
    const good = await readFile(SERVER ?? '', 'utf8')
    const halves = ['', 'no certificate', good.slice(0, -60), good + good.slice(0, 200), good.replace('MII', 'AAA')]
    for (const V2_CA_FILE of await Promise.all(halves.map(fileWith))) {
      expect(errorsIn({ V2_CA_FILE })).toEqual([
        `V2_CA_FILE names ${V2_CA_FILE}, which must hold nothing but complete certificates in PEM`,
      ])
    }
    const V2_CA_FILE = await fileWith(`# Ours, and another's\n${good}\n${good.replaceAll('\n', '\r\n')}`)
    expect(errorsIn({ V2_CA_FILE })).toEqual([])
  })
})

describe('valid values', () => {
  test('only the address of the service is required', () => {
    expect(readConfig(SERVICE)).toMatchObject({
      V2_BASE_URL: { origin: 'https://service.example', prefix: '' },
      V2_QUOTE_METHOD: 'auto',
      V2_SHIPMENT_PATH: 'auto',
      UPSTREAM_TIMEOUT_MS: 15_000,
      UPSTREAM_CONNECTIONS: 128,
      HOST: '0.0.0.0',
      PORT: 8080,
      ADMIN_HOST: '127.0.0.1',
      ADMIN_PORT: 9901,
      MAX_IN_FLIGHT: 1024,
      SOURCE_CONNECTIONS: 256,
      BODIES_LIMIT_BYTES: 67_108_864,
      SHUTDOWN_GRACE_MS: 30_000,
      LOG_LEVEL: 'info',
      LEGACY_BASE_PATHS: ['', '/quotes'],
      BODY_LIMIT_BYTES: 262_144,
      ERROR_STATUS: 'as-is',
      DEFAULT_TRANSPORT_TYPE: 'open',
      DEFAULT_VEHICLE_TYPE: 'car',
      SHIPMENT_NUMBER: 'caller',
      SEND_QUOTE_ID: false,
      QUOTE_MEMORY: 90 * 86_400_000,
      DEDUPE_WINDOW: 600_000,
    })
  })

  test.each<[name: keyof Config, text: string, value: unknown]>([
    ['PORT', '65535', 65_535],
    ['UPSTREAM_TIMEOUT_MS', '86400000', 86_400_000],
    ['DEDUPE_WINDOW', '500ms', 500],
    ['DEDUPE_WINDOW', '15s', 15_000],
    ['DEDUPE_WINDOW', '10m', 600_000],
    ['DEDUPE_WINDOW', '24h', 86_400_000],
    ['DEDUPE_WINDOW', '36500d', 3_153_600_000_000],
    ['QUOTE_MEMORY', '0s', 0],
    ['QUOTE_MEMORY', '', 7_776_000_000],
    ['SUNSET', '2028-02-29', new Date('2028-02-29T00:00:00Z')],
    ['SUNSET', '2027-06-30T12:00Z', new Date('2027-06-30T12:00:00Z')],
    ['SUNSET', '2027-06-30T12:00:00+02:00', new Date('2027-06-30T10:00:00Z')],
    ['SEND_QUOTE_ID', 'true', true],
    ['LEGACY_BASE_PATHS', ' /, /old/ ,,/a/b', ['', '/old', '/a/b']],
    ['LEGACY_BASE_PATHS', '/v2x,/old/v2,/dry-runs,/v', ['/v2x', '/old/v2', '/dry-runs', '/v']],
    ['ALLOWED_HOSTS', '', undefined],
    [
      'ALLOWED_HOSTS',
      'Gateway.Internal, https://GATEWAY.example.com:443/, http://bücher.example:8080,b_1',
      {
        names: ['gateway.internal', 'b_1'],
        origins: ['https://gateway.example.com', 'http://xn--bcher-kva.example:8080'],
      },
    ],
  ])('%s=%s', (name, text, value) => {
    expect(read({ [name]: text })[name]).toEqual(value)
  })

  test.each([
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080', ''],
    ['https://service.example/', 'https://service.example', ''],
    ['https://service.example/v2/', 'https://service.example', ''],
    ['https://service.example//v2//', 'https://service.example', ''],
    ['https://service.example/edge/api/v2', 'https://service.example', '/edge/api'],
    ['https://service.example/v2x', 'https://service.example', '/v2x'],
    ['HTTPS://Service.Example:443/A', 'https://service.example', '/A'],
    ['http://[::1]:9', 'http://[::1]:9', ''],
  ])('V2_BASE_URL=%s', (V2_BASE_URL, origin, prefix) => {
    expect(read({ V2_BASE_URL }).V2_BASE_URL).toEqual({ origin, prefix })
  })

  test.each(['memory:', 'postgres://u:p@db/x', 'postgresql:///x', 'sqlite:./a.db', 'file:///a.db', './a.db'])(
    'STORE_URL=%s',
    (STORE_URL) => {
      expect(read({ STORE_URL }).STORE_URL).toBe(STORE_URL)
    },
  )

  test.each([
    ['4xx,503', [400, 499, 503], [399, 500, 502, 504]],
    ['422, 5xx', [422, 500, 599], [421, 423, 400, 499]],
  ])('BOOKING_REFUSED_STATUSES=%s', (BOOKING_REFUSED_STATUSES, inside, outside) => {
    const statuses = [...inside, ...outside]
    const { BOOKING_REFUSED_STATUSES: isRefused } = read({ BOOKING_REFUSED_STATUSES })
    expect(statuses.filter(isRefused)).toEqual(inside)
  })
})

describe('variables that contradict each other', () => {
  const FIXED = { V2_CLIENT_ID: 'a', V2_CLIENT_SECRET: 'b' }
  const EVENT_CLIENT = { WEBHOOK_CLIENT_ID: 'a', WEBHOOK_CLIENT_SECRET: 'b' }
  const WEBHOOK_SECRET = 'hook-0123456789abcdef'
  const WEBHOOK_SIGNING_SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
  const TENANTS_FILE = 'tenants.json'
  const BROWNOUT_BOOKINGS = 'true'
  const PORTS = { PORT: '9000', ADMIN_PORT: '9000' }
  const SAME_PORTS = 'PORT and ADMIN_PORT are both 9000; choose different ports'

  test.each<[env: Readonly<Record<string, string>>, ...errors: string[]]>([
    [FIXED],
    [{ V2_CLIENT_ID: 'a' }, 'V2_CLIENT_SECRET is required because V2_CLIENT_ID is set'],
    [{ V2_CLIENT_SECRET: 'b' }, 'V2_CLIENT_ID is required because V2_CLIENT_SECRET is set'],
    [EVENT_CLIENT],
    [{ WEBHOOK_CLIENT_ID: 'a' }, 'WEBHOOK_CLIENT_SECRET is required because WEBHOOK_CLIENT_ID is set'],
    [{ WEBHOOK_CLIENT_SECRET: 'b' }, 'WEBHOOK_CLIENT_ID is required because WEBHOOK_CLIENT_SECRET is set'],
    [{ WEBHOOK_SECRET, WEBHOOK_SIGNING_SECRET }],
    [{ WEBHOOK_SIGNING_SECRET }, 'WEBHOOK_SECRET is required because WEBHOOK_SIGNING_SECRET is set'],
    [
      { TENANTS_FILE, ...FIXED },
      'TENANTS_FILE and V2_CLIENT_ID are both set; remove one, because each tenant has a client id of its own',
    ],
    [
      { TENANTS_FILE, WEBHOOK_SECRET },
      'TENANTS_FILE and WEBHOOK_SECRET are both set; remove WEBHOOK_SECRET, because each tenant has a webhook_secret of its own',
    ],
    [
      { TENANTS_FILE, WEBHOOK_SIGNING_SECRET },
      'TENANTS_FILE and WEBHOOK_SIGNING_SECRET are both set; remove WEBHOOK_SIGNING_SECRET, because each tenant has a webhook_signing_secret of its own',
    ],
    [
      { TENANTS_FILE, ...EVENT_CLIENT },
      'TENANTS_FILE and WEBHOOK_CLIENT_ID are both set; remove WEBHOOK_CLIENT_ID, which serves client mode only',
    ],
    [
      { ...FIXED, ...EVENT_CLIENT },
      'V2_CLIENT_ID and WEBHOOK_CLIENT_ID are both set; remove WEBHOOK_CLIENT_ID, which serves client mode only',
    ],
    [{ BROWNOUT_BOOKINGS }, 'BROWNOUT_BOOKINGS=true has no effect without BROWNOUTS'],
    [{ BROWNOUT_BOOKINGS: 'false' }],
    [{ BROWNOUT_BOOKINGS, BROWNOUTS: '2091-01-12T15:00Z/1h' }],
    [{ BROWNOUT_BOOKINGS, TENANTS_FILE }],
    [
      { BODIES_LIMIT_BYTES: '20', BODY_LIMIT_BYTES: '21' },
      'BODIES_LIMIT_BYTES is 20, less than BODY_LIMIT_BYTES, which is 21; make room for several bodies',
    ],
    [{ BODIES_LIMIT_BYTES: '20', BODY_LIMIT_BYTES: '20' }],
    [
      { QUOTE_MEMORY: '172800001ms', BOOKING_DAYS: '2' },
      'QUOTE_MEMORY is longer than BOOKING_DAYS, which is 2; keep bookings at least as long as quotes',
    ],
    [{ QUOTE_MEMORY: '2d', BOOKING_DAYS: '2' }],
    [{ ...PORTS, HOST: '192.0.2.1' }],
    [{ ...PORTS, HOST: '0.0.0.0', ADMIN_PORT: '9001' }],
    [{ PORT: '0', ADMIN_PORT: '0' }],
    [{ ...PORTS, HOST: '0.0.0.0', ADMIN_HOST: '127.0.0.1' }, SAME_PORTS],
    [{ ...PORTS, HOST: '127.0.0.1', ADMIN_HOST: '0.0.0.0' }, SAME_PORTS],
    [{ ...PORTS, HOST: '::', ADMIN_HOST: '127.0.0.1' }, SAME_PORTS],
    [{ ...PORTS, HOST: '0:0::0', ADMIN_HOST: '::1' }, SAME_PORTS],
    [{ ...PORTS, HOST: '0.0.0.0', ADMIN_HOST: '::' }, SAME_PORTS],
    [{ ...PORTS, HOST: '::1', ADMIN_HOST: '0::1' }, SAME_PORTS],
    [{ ...PORTS, HOST: 'localhost', ADMIN_HOST: 'LOCALHOST' }, SAME_PORTS],
    [{ ...PORTS, HOST: '0.0.0.0', ADMIN_HOST: 'gateway.example' }, SAME_PORTS],
    // All are told at once.
    [{ BROWNOUT_BOOKINGS, ...PORTS, HOST: '::' }, 'BROWNOUT_BOOKINGS=true has no effect without BROWNOUTS', SAME_PORTS],
  ])('%j', (env, ...errors) => {
    expect(errorsIn(env)).toEqual(errors)
  })
})

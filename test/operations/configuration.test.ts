/** Promise: every mistake of a configuration is told at once, and ends with 78 (contract, section 11). */

import { generateKeyPairSync } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Config, contradictions, readConfig } from '../../src/config/config.ts'
import { ConfigErrors } from '../../src/config/errors.ts'
import { newFolder, ROOT, run } from '../command.ts'

describe('variables', () => {
  const URL_ALONE = { V2_BASE_URL: 'https://service.example' }

  /** Runs the program with exactly this environment. */
  function transload(words: readonly string[], env: Record<string, string>) {
    return run(process.execPath, [join(ROOT, 'src/main.ts'), ...words], { env, cwd: ROOT })
  }

  /** The errors of an environment, a line each. */
  function errorsIn(env: NodeJS.ProcessEnv): readonly string[] {
    try {
      readConfig(env)
    } catch (error) {
      if (error instanceof ConfigErrors) return error.errors
      throw error
    }
    return []
  }

  /** A file that is gone after the test. */
  async function fileWith(content: string): Promise<string> {
    const folder = newFolder('config')
    onTestFinished(() => rm(folder, { recursive: true }))
    const path = join(folder, 'file.json')
    await writeFile(path, content)
    return path
  }

  const WRONG: Record<string, string> = {
    V2_BASE_URL: 'ftp://service.example',
    V2_QUOTE_METHOD: 'PUT',
    V2_SHIPMENT_PATH: '/v2/shipping',
    V2_CLIENT_ID: 'half a pair',
    UPSTREAM_TIMEOUT_MS: '15s',
    UPSTREAM_CONNECTIONS: '0',
    PORT: '65536',
    ADMIN_PORT: 'none',
    MAX_IN_FLIGHT: '-1',
    SOURCE_IN_FLIGHT: '0',
    SOURCE_CONNECTIONS: 'many',
    BODIES_LIMIT_BYTES: '64 MiB',
    ALLOWED_HOSTS: 'gateway.internal:8080',
    SHUTDOWN_GRACE_MS: '1.5',
    LOG_LEVEL: 'loud',
    LEGACY_BASE_PATHS: 'quotes',
    BODY_LIMIT_BYTES: '256 KiB',
    ERROR_STATUS: '200',
    SUNSET: 'next year',
    MIGRATION_GUIDE_URL: 'docs/guide.md',
    DEFAULT_TRANSPORT_TYPE: 'OPEN AUTO',
    DEFAULT_VEHICLE_TYPE: 'Box Truck',
    SHIPMENT_NUMBER: 'mine',
    SEND_QUOTE_ID: 'yes',
    LOOKUPS_FILE: '/nowhere/lookups.json',
    STORE_URL: 'mysql://user:pass-word@db/x',
    TRUST_PROXY: 'on',
    QUOTE_MEMORY: '90',
    DEDUPE_WINDOW: '10 m',
    BOOKING_REFUSED_STATUSES: '4xx,never',
    QUIET_DAYS: '12h',
    WEBHOOK_SECRET: 'too-short',
    SWEEP_INTERVAL: '999ms',
  }

  describe('errors', () => {
    test('are reported all at once, each with its variable', () => {
      const errors = errorsIn(WRONG)
      const names = Object.keys(WRONG).map((name) => (name === 'V2_CLIENT_ID' ? 'V2_CLIENT_SECRET' : name))
      expect(errors.map((error) => error.split(' ')[0]).sort()).toEqual(names.sort())
    })

    test.each(Object.entries(WRONG))('%s=%s is an error', (name, value) => {
      const errors = errorsIn({ ...URL_ALONE, [name]: value })
      expect(errors).toHaveLength(1)
      expect(errors[0]).toMatch(/^[A-Z0-9_]+ (must|is required|names)/)
    })

    test.each([
      ['V2_BASE_URL', 'https://user:pass-word@service.example'],
      ['V2_BASE_URL', 'https://service.example/?token=pass-word'],
      ['V2_BASE_URL', 'https://service.example/#pass-word'],
      ['STORE_URL', 'mysql://user:pass-word@db/x'],
      ['STORE_URL', 'postgres://user:pass-word@one,two:x/db'],
      ['STORE_URL', 'postgres://user:pass-word@one/db?sslmode=prefer'],
      ['STORE_URL', 'postgres://user:pass-word@:x'],
      ['WEBHOOK_SECRET', 'a secret/with pass-word'],
    ])('%s never repeats a secret', (name, value) => {
      const errors = errorsIn({ ...URL_ALONE, [name]: value })
      expect(errors).toHaveLength(1)
      expect(errors[0]).not.toContain('pass-word')
    })

    test('the address of the service is required', () => {
      expect(errorsIn({})).toEqual([expect.stringMatching(/^V2_BASE_URL is required/)])
      expect(errorsIn({ V2_BASE_URL: '  ' })).toEqual([expect.stringMatching(/^V2_BASE_URL is required/)])
    })
  })

  describe('errors in files of certificates', () => {
    const [SERVER, SERVER_KEY, CLIENT, CLIENT_KEY] = ['server.pem', 'server.key', 'client.pem', 'client.key'].map(
      (name) => join(ROOT, 'test/http/certificates', name),
    )

    test('certificate and key must be PEM and match', () => {
      const [certName, keyName] = ['TLS_CERT_FILE', 'TLS_KEY_FILE']
      const told = (cert: string | undefined, key: string | undefined) =>
        errorsIn({ ...URL_ALONE, [certName]: cert, [keyName]: key })
      const noCertificate = expect.stringMatching(`^${certName} names \\S+, which is not a certificate in PEM: `)
      const noKey = expect.stringMatching(`^${keyName} names \\S+, which is not a key in PEM without a passphrase: `)
      expect(told(SERVER, SERVER_KEY)).toEqual([])
      expect(told(CLIENT, CLIENT_KEY)).toEqual([])
      expect(told(SERVER, CLIENT_KEY)).toEqual([
        `${keyName} names ${CLIENT_KEY}, whose key does not match the certificate of ${certName}`,
      ])
      expect(told(SERVER_KEY, SERVER_KEY)).toEqual([noCertificate])
      expect(told(SERVER, SERVER)).toEqual([noKey])
      expect(told('package.json', '/dev/null')).toEqual([noCertificate, noKey])
      expect(told('package.json', undefined)).toEqual([
        `${keyName} is required because ${certName} is set`,
        noCertificate,
      ])
      expect(told('test', '/nowhere.key')).toEqual([
        `${certName} names test, which cannot be read`,
        `${keyName} names /nowhere.key, which cannot be read`,
      ])
    })

    test('a key with a passphrase is an error that does not quote it', async () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const options = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'pass-word' } as const
      const TLS_KEY_FILE = await fileWith(String(privateKey.export(options)))
      const [first, ...others] = errorsIn({ ...URL_ALONE, TLS_CERT_FILE: SERVER, TLS_KEY_FILE })
      expect(first).toMatch(/^TLS_KEY_FILE names \S+, which is not a key in PEM without a passphrase: [a-z ]+$/)
      expect(others).toEqual([])
    })

    test('a short key is an error unless an old TLS is allowed', () => {
      const [cert, key] = ['short.pem', 'short.key'].map((name) => join(ROOT, 'test/http/certificates', name))
      const told = (TLS_MIN_VERSION: string) =>
        errorsIn({ ...URL_ALONE, TLS_CERT_FILE: cert, TLS_KEY_FILE: key, TLS_MIN_VERSION })
      expect(told('1.0')).toEqual([])
      expect(told('1.2')).toEqual([expect.stringMatching(/^TLS_CERT_FILE names .* too small$/)])
    })

    test('V2_CA_FILE must hold complete certificates only', async () => {
      const good = await readFile(SERVER ?? '', 'utf8')
      const halves = [
        '',
        'no certificate',
        good.slice(0, -60),
        `${good}${good.slice(0, 200)}`,
        good.replace('MII', 'AAA'),
      ]
      for (const V2_CA_FILE of await Promise.all(halves.map(fileWith))) {
        expect(errorsIn({ ...URL_ALONE, V2_CA_FILE })).toEqual([
          `V2_CA_FILE names ${V2_CA_FILE}, which must hold nothing but complete certificates in PEM`,
        ])
      }
      const V2_CA_FILE = await fileWith(`# Ours, and another's\n${good}\n${good.replaceAll('\n', '\r\n')}`)
      expect(errorsIn({ ...URL_ALONE, V2_CA_FILE })).toEqual([])
    })
  })

  describe('PORT and ADMIN_PORT', () => {
    const told = (env: Record<string, string>) => errorsIn({ ...URL_ALONE, PORT: '9000', ADMIN_PORT: '9000', ...env })

    test.each([
      ['0.0.0.0', '127.0.0.1'],
      ['127.0.0.1', '0.0.0.0'],
      ['::', '127.0.0.1'],
      ['0:0::0', '::1'],
      ['0.0.0.0', '::'],
      ['::1', '0::1'],
      ['localhost', 'LOCALHOST'],
      ['0.0.0.0', 'gateway.example'],
    ])('must differ where HOST is %s and ADMIN_HOST %s', (HOST, ADMIN_HOST) => {
      expect(told({ HOST, ADMIN_HOST })).toEqual(['PORT and ADMIN_PORT are both 9000; choose different ports'])
    })
  })

  describe('valid values', () => {
    test('only the address of the service is required', () => {
      expect(readConfig(URL_ALONE)).toMatchObject({
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
        QUIET_DAYS: 30,
        DEDUPE_WINDOW: 600_000,
      })
    })

    test.each([
      ['500ms', 500],
      ['15s', 15_000],
      ['10m', 600_000],
      ['24h', 86_400_000],
      ['90d', 7_776_000_000],
      ['0s', 0],
    ])('the duration %s', (QUOTE_MEMORY, milliseconds) => {
      expect(readConfig({ ...URL_ALONE, QUOTE_MEMORY }).QUOTE_MEMORY).toBe(milliseconds)
    })

    test.each(['', '5', '1.5h', '-1s', '1 s', '1w', 'PT5S', 's', '5S'])('not a duration: "%s"', (text) => {
      const errors = errorsIn({ ...URL_ALONE, QUOTE_MEMORY: text })
      expect(errors).toHaveLength(text === '' ? 0 : 1)
    })

    test.each([
      ['http://127.0.0.1:8080', 'http://127.0.0.1:8080', ''],
      ['https://service.example/', 'https://service.example', ''],
      ['https://service.example/v2', 'https://service.example', ''],
      ['https://service.example/v2/', 'https://service.example', ''],
      ['https://service.example//v2//', 'https://service.example', ''],
      ['https://service.example/edge/api', 'https://service.example', '/edge/api'],
      ['https://service.example/edge/api/v2/', 'https://service.example', '/edge/api'],
      ['https://service.example/v2x', 'https://service.example', '/v2x'],
      ['HTTPS://Service.Example:443/A', 'https://service.example', '/A'],
      ['http://[::1]:9', 'http://[::1]:9', ''],
    ])('the address %s', (V2_BASE_URL, origin, prefix) => {
      expect(readConfig({ V2_BASE_URL }).V2_BASE_URL).toEqual({ origin, prefix })
    })

    test.each([
      'memory:',
      'postgres://u:p@db/x',
      'postgresql:///x',
      'sqlite:./a.db',
      'file:///a.db',
      './a.db',
      '/a/b.db',
    ])('the store %s', (STORE_URL) => {
      expect(readConfig({ ...URL_ALONE, STORE_URL }).STORE_URL).toBe(STORE_URL)
    })

    test('ALLOWED_HOSTS are names and whole origins, in the spelling of browsers', () => {
      const hosts = (ALLOWED_HOSTS: string) => readConfig({ ...URL_ALONE, ALLOWED_HOSTS }).ALLOWED_HOSTS
      expect(hosts('')).toBeUndefined()
      expect(hosts('Gateway.Internal, https://GATEWAY.example.com:443/, http://bücher.example:8080,b_1')).toEqual({
        names: ['gateway.internal', 'b_1'],
        origins: ['https://gateway.example.com', 'http://xn--bcher-kva.example:8080'],
      })
      for (const wrong of [
        '*',
        '*.example.com/',
        'ftp://a',
        'https://a/b',
        'https://a?b',
        'https://u@a',
        'a:80',
        'a b',
        '//a',
      ]) {
        expect(errorsIn({ ...URL_ALONE, ALLOWED_HOSTS: wrong }), wrong).toEqual([
          expect.stringMatching(/^ALLOWED_HOSTS must list names /),
        ])
      }
    })

    test('lists, dates and switches', () => {
      const config = readConfig({
        ...URL_ALONE,
        LEGACY_BASE_PATHS: ' /, /old/ ,,/a/b',
        SUNSET: '2027-06-30T12:00:00Z',
        SEND_QUOTE_ID: 'true',
        BOOKING_REFUSED_STATUSES: '400, 5xx',
      })
      expect(config.LEGACY_BASE_PATHS).toEqual(['', '/old', '/a/b'])
      expect(config.SUNSET).toEqual(new Date('2027-06-30T12:00:00Z'))
      expect(config.SEND_QUOTE_ID).toBe(true)
      expect([400, 500, 599, 401, 404].map(config.BOOKING_REFUSED_STATUSES)).toEqual([true, true, true, false, false])
    })

    test.each([
      ['2028-02-29', '2028-02-29T00:00:00.000Z'],
      ['2027-06-30T12:00Z', '2027-06-30T12:00:00.000Z'],
      ['2027-06-30T12:00:00+02:00', '2027-06-30T10:00:00.000Z'],
    ])('the date %s', (SUNSET, at) => {
      expect(readConfig({ ...URL_ALONE, SUNSET }).SUNSET?.toISOString()).toBe(at)
    })

    test.each([
      ...[
        '2026-02-31',
        '2026-02-29',
        '2026-04-31T00:00:00Z',
        '2026-13-01',
        '2026-00-10',
        '2026-01-00',
        '2026-12-31T25:00Z',
      ],
      ...['2026-12-31 or so', '2026-12-31T12:00', '31.12.2026', '2026-1-1', '20261231'],
    ])('not a date: %s', (SUNSET) => {
      expect(errorsIn({ ...URL_ALONE, SUNSET })).toEqual(['SUNSET must be an ISO 8601 date such as 2026-12-31'])
    })
  })

  describe('the program', () => {
    test.each(['check', 'serve'])('reports the errors of all files at once over %s', async (command) => {
      const tenants = [{ name: 'acme', networks: ['nowhere'], actions: { Foo: 'own.action' }, v2: { client_id: 'x' } }]
      const files = {
        LOOKUPS_FILE: await fileWith('{"actions": {"Refresh Rate": "quote.refresh"}}'),
        TENANTS_FILE: await fileWith(JSON.stringify({ tenants })),
      }
      const told = async (env: Record<string, string>) => {
        const { code, err } = await transload([command], { ...files, ...env })
        expect(code).toBe(78)
        return err
      }
      const [all, lookupsToo, folderToo] = await Promise.all([
        told({ PORT: 'web' }),
        told({ ...URL_ALONE, LOOKUPS_FILE: '/nowhere.json' }),
        told({ MAPPINGS_DIR: '/nowhere' }),
      ])
      for (const said of [/PORT must/, /V2_BASE_URL is required/, /means quote\.refresh/, /must be a network/]) {
        expect(all).toMatch(said)
      }
      // An action of a module that failed to load is not reported as unknown.
      expect(all).not.toMatch(/own\.action/)
      for (const said of [/LOOKUPS_FILE names/, /must be a network/, /means own\.action/])
        expect(lookupsToo).toMatch(said)
      for (const said of [/V2_BASE_URL is/, /MAPPINGS_DIR names \/nowhere, which cannot/, /must be a network/])
        expect(folderToo).toMatch(said)
    })
  })
})

describe('values', () => {
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
})

describe('contradictions', () => {
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
      expect(set('WEBHOOK_SIGNING_SECRET')).toEqual([
        'WEBHOOK_SECRET is required because WEBHOOK_SIGNING_SECRET is set',
      ])
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
    const BOTH =
      'TENANTS_FILE and V2_CLIENT_ID are both set; remove one, because each tenant has a client id of its own'
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
})

describe('webhooks', () => {
  const URL_ALONE = { V2_BASE_URL: 'https://service.example' }
  const SECRET = 'hook-0123456789abcdef'
  const SIGNING = `whsec_${Buffer.alloc(24, 1).toString('base64')}`

  /** The errors of an environment, a line each. */
  function errorsIn(env: NodeJS.ProcessEnv): readonly string[] {
    try {
      readConfig({ ...URL_ALONE, ...env })
    } catch (error) {
      if (error instanceof ConfigErrors) return error.errors
      throw error
    }
    return []
  }

  describe('a secret in a path is refused if', () => {
    test.each([
      ['it is short', 'a'.repeat(15)],
      ['it is long', 'a'.repeat(257)],
      ['it has a slash', `${SECRET}/x`],
      ['it has a blank', `${SECRET} x`],
      ['it has an escape', `${SECRET}%41`],
      ['it has a query', `${SECRET}?x`],
      ['it is of dots alone', '.'.repeat(16)],
      ['one of a list is empty', `${SECRET},`],
      ['one of a list is short', `${SECRET},short`],
    ])('%s', (_name, WEBHOOK_SECRET) => {
      const [error, ...others] = errorsIn({ WEBHOOK_SECRET })
      expect(error).toMatch(/^WEBHOOK_SECRET must be 16 to 256 letters/)
      expect(error).not.toContain(SECRET)
      expect(others).toEqual([])
    })
  })

  test('a signing secret that is none is refused without being repeated', () => {
    for (const secret of [SIGNING.slice(6), `${SIGNING},x`, 'whsec_AAAA', 'whsec_']) {
      const [error, ...others] = errorsIn({ WEBHOOK_SECRET: SECRET, WEBHOOK_SIGNING_SECRET: secret })
      expect(error).toMatch(/^WEBHOOK_SIGNING_SECRET must be whsec_ and the Base64 of 24 to 64 bytes/)
      expect(error).not.toContain(SIGNING.slice(6))
      expect(others).toEqual([])
    }
  })

  const FIXED = { V2_CLIENT_ID: 'a', V2_CLIENT_SECRET: 'b' }
  const EVENT_CLIENT = { WEBHOOK_CLIENT_ID: 'a', WEBHOOK_CLIENT_SECRET: 'b' }

  describe('variables that the mode does not use are errors:', () => {
    test.each([
      [
        { TENANTS_FILE: 't', WEBHOOK_SECRET: SECRET },
        /^TENANTS_FILE and WEBHOOK_SECRET are both set; remove WEBHOOK_SECRET/,
      ],
      [{ TENANTS_FILE: 't', ...EVENT_CLIENT }, /^TENANTS_FILE and WEBHOOK_CLIENT_ID are both set/],
      [{ ...FIXED, ...EVENT_CLIENT }, /^V2_CLIENT_ID and WEBHOOK_CLIENT_ID are both set/],
      [{ WEBHOOK_SIGNING_SECRET: SIGNING }, /^WEBHOOK_SECRET is required because WEBHOOK_SIGNING_SECRET is set/],
      [{ WEBHOOK_CLIENT_ID: 'a' }, /^WEBHOOK_CLIENT_SECRET is required because WEBHOOK_CLIENT_ID is set/],
      [{ WEBHOOK_CLIENT_SECRET: 'b' }, /^WEBHOOK_CLIENT_ID is required because WEBHOOK_CLIENT_SECRET is set/],
    ])('%j', (env, words) => {
      expect(errorsIn(env)).toEqual([expect.stringMatching(words)])
    })
  })
})

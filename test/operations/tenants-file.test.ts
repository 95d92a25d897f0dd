/** Promise: the tenants file is checked as a whole, and read again without a restart (contract, section 11). */

import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { ConfigErrors } from '../../src/config/errors.ts'
import { fetchSecret, readTenants, secretOf, secretRef } from '../../src/config/tenants-file.ts'
import { serve } from '../callers/commands.ts'
import { as, cheapHash, folder, known, openEdge, quote, tenant, writeTenants } from '../callers/edge.ts'
import { ROOT } from '../command.ts'
import { basic, startGateway } from '../gateway.ts'
import { read } from './read-value.ts'

describe('the file', () => {
  const ACTIONS = new Set(['quote.update'])
  const WHOLE = {
    name: 'acme',
    credentials: [{ id: 'acme-legacy', secret_hash: cheapHash('x') }],
    networks: ['192.0.2.0/24'],
    v2: {
      client_id: 'acme-v2',
      client_secret: { env: 'ACME_V2_SECRET' },
      base_url: 'https://example.com/v2',
      token: 'auto',
    },
    webhook_secret: { env: 'ACME_HOOK' },
    callback_url: 'https://example.com/hook',
    defaults: { transport_type: 'open', vehicle_type: 'car' },
    error_status: 'ok',
    shipment_number: 'service',
    actions: { 'Refresh Rate': 'quote.update' },
    limits: { per_second: 50, concurrent: 20 },
  }
  const ENV = {
    ACME_V2_SECRET: 's3cret',
    ACME_HOOK: 'hook-of-acme-0123456789',
    SHORT: 'hook',
    NO_SEGMENT: 'hook/of?acme#0123456789',
    SIGNING: `whsec_${'A'.repeat(32)}`,
  }
  const LEAST = {
    name: 'least',
    networks: ['10.0.0.1'],
    v2: { client_id: 'x', client_secret: { env: 'ACME_V2_SECRET' } },
  }

  function errorsIn(content: unknown, env: NodeJS.ProcessEnv = ENV): readonly string[] {
    const path = join(folder(), 'tenants.json')
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    try {
      readTenants(path, ACTIONS, env)
      return []
    } catch (error) {
      if (!(error instanceof ConfigErrors)) throw error
      return error.errors.map((line) => line.replace(path, '').replace(/^(:\d+:\d+)?: /, ''))
    }
  }

  test('an error of the shape names the line and the column', () => {
    const path = join(folder(), 'tenants.json')
    writeFileSync(
      path,
      '\ufeff{ "tenants": [\n  { "name": "ac\\"me",\n    "networks": ["192.0.2.0/24", 5], "colour": "red" }\n] }',
    )
    expect(() => readTenants(path, ACTIONS, ENV)).toThrow(
      expect.objectContaining({
        errors: expect.arrayContaining([
          expect.stringMatching(/tenants\.json:2:13: tenants\[0\]\.name: must be 1 to 64 letters/),
          `${path}:3:34: tenants[0].networks[1]: must be text`,
          `${path}:3:48: tenants[0]: unknown key colour`,
          `${path}:2:3: tenants[0].v2: is required`,
        ]),
      }),
    )
  })

  const wrong: [name: string, change: object, said: RegExp][] = [
    ['an unknown key', { color: 'red' }, /tenants\[0\]: unknown key color$/],
    ['an unknown key further in', { limits: { per_minute: 5 } }, /tenants\[0\]\.limits: unknown key per_minute$/],
    ['no name', { name: undefined }, /tenants\[0\]\.name: is required$/],
    ['a name with blanks', { name: 'ac me' }, /tenants\[0\]\.name: must be 1 to 64/],
    [
      'a secret instead of its hash',
      { credentials: [{ id: 'a', secret_hash: 's3cret' }] },
      /credentials\[0\]\.secret_hash: must be a hash/,
    ],
    [
      'a hash that costs too much',
      { credentials: [{ id: 'a', secret_hash: cheapHash('x').replace('ln=4', 'ln=25') }] },
      /must be a hash/,
    ],
    [
      'an id with a colon',
      { credentials: [{ id: 'a:b', secret_hash: cheapHash('x') }] },
      /credentials\[0\]\.id: .*colon/,
    ],
    [
      'an id with a line break',
      { credentials: [{ id: 'a\nb', secret_hash: cheapHash('x') }] },
      /credentials\[0\]\.id: .*control/,
    ],
    ['no network', { networks: ['10.0.0.0/33'] }, /networks\[0\]: must be a network/],
    ['nobody at all', { credentials: [], networks: [] }, /acme: needs credentials or networks/],
    ['a secret in the open', { v2: { ...WHOLE.v2, client_secret: 's3cret' } }, /v2\.client_secret: must say where/],
    [
      'a secret in two places',
      { v2: { ...WHOLE.v2, client_secret: { env: 'A', file: 'b' } } },
      /v2\.client_secret: must say where/,
    ],
    ['no service', { v2: undefined }, /tenants\[0\]\.v2: /],
    [
      'a secret that is not set',
      { v2: { ...WHOLE.v2, client_secret: { env: 'MISSING' } } },
      /acme: v2\.client_secret: the environment variable MISSING is not set$/,
    ],
    [
      'a file that is not there',
      { v2: { ...WHOLE.v2, client_secret: { file: '/nowhere/at/all' } } },
      /acme: v2\.client_secret: the file \/nowhere\/at\/all cannot be read \(ENOENT\)$/,
    ],
    [
      'a webhook secret that is not set',
      { webhook_secret: { env: 'MISSING' } },
      /acme: webhook_secret: the environment variable MISSING is not set$/,
    ],
    [
      'a webhook secret that is short',
      { webhook_secret: { env: 'SHORT' } },
      /acme: webhook_secret must be 16 to 256 letters/,
    ],
    [
      'a webhook secret that a path would change',
      { webhook_secret: { env: 'NO_SEGMENT' } },
      /acme: webhook_secret must be 16 to 256 letters/,
    ],
    [
      'a signing secret that is none',
      { webhook_signing_secret: { env: 'SHORT' } },
      /acme: webhook_signing_secret must be whsec_ and the Base64 of 24 to 64 bytes/,
    ],
    [
      'a signing secret that is not set',
      { webhook_signing_secret: { env: 'MISSING' } },
      /acme: webhook_signing_secret: the environment variable MISSING is not set$/,
    ],
    [
      'a signing secret alone',
      { webhook_secret: undefined, webhook_signing_secret: { env: 'SIGNING' } },
      /acme: needs a webhook_secret, because it has a webhook_signing_secret$/,
    ],
    [
      'an address with a password',
      { v2: { ...WHOLE.v2, base_url: 'https://a:b@example.com' } },
      /v2\.base_url: must have no user name/,
    ],
    ['an address that is none', { callback_url: 'ftp://example.com' }, /callback_url: must be an http/],
    ['an unknown scheme', { v2: { ...WHOLE.v2, token: 'jwt' } }, /v2\.token: must be basic or oauth2 or auto$/],
    [
      'an action that does not exist',
      { actions: { Foo: 'quote.forget' } },
      /acme: the ActionName Foo means quote\.forget, which is not an action$/,
    ],
    ['no limit', { limits: { per_second: 0 } }, /limits\.per_second: must be more than 0$/],
    ['half a call', { limits: { concurrent: 1.5 } }, /limits\.concurrent: must be a whole number$/],
    ['a word that is none', { defaults: { vehicle_type: 'Big Truck' } }, /defaults\.vehicle_type: must be a value/],
  ]
  test.each(wrong)('%s is an error', (_, change, said) => {
    expect(errorsIn({ tenants: [{ ...WHOLE, ...change }] })).toEqual(
      expect.arrayContaining([expect.stringMatching(said)]),
    )
  })

  test.each([
    ['no JSON', '{ "tenants": [ oops ] }', /is not JSON/],
    ['no object', '[]', /^must be an object$/],
    ['no tenants', '{}', /^tenants: is required$/],
    ['an empty list', '{"tenants":[]}', /^tenants: must have at least one/],
    ['more than tenants', '{"tenants":[], "more": 1}', /^unknown key more$/],
  ])('a file with %s is an error', (_, content, said) => {
    expect(errorsIn(content)).toEqual(expect.arrayContaining([expect.stringMatching(said)]))
  })

  test('a file that is not there is an error', () => {
    expect(() => readTenants('/nowhere/tenants.json', ACTIONS, {})).toThrow(ConfigErrors)
  })

  test('an error of the JSON parser does not quote the file', () => {
    const content = '{"tenants":[{"name":"acme","v2":{"client_secret": CANARY-SECRET-1}}]}'
    expect(errorsIn(content).join('\n')).not.toContain('CANARY')
    expect(errorsIn(content.replace('CANARY', '"CANARY" ')).join('\n')).toMatch(/ is not JSON \(line 1 column \d+\)$/)
  })

  const TWO_SHARED = { tenants: [WHOLE, { ...WHOLE, name: 'acme-2' }, { ...LEAST, name: 'acme-2' }] }

  test('a name, credential or network of two tenants is an error', () => {
    expect(errorsIn(TWO_SHARED)).toEqual([
      'acme-2: two tenants have this name',
      'two credentials have the same hash; hash each secret by itself',
      'two tenants accept the credential acme-legacy',
      'two tenants have the network 192.0.2.0/24',
      'two tenants have the same webhook_secret',
    ])
  })

  test('errors of all kinds are reported at once, and none hides another', () => {
    const all = Object.assign({}, ...wrong.map(([, change]) => change))
    const tenants = wrong.map(([, change], i) => ({ ...WHOLE, name: `tenant-${i}`, ...change }))
    const errors = errorsIn({ tenants: [...tenants, all, ...TWO_SHARED.tenants], extra: true })
    // A tenant without a name is identified by its index.
    for (const [, , said] of wrong) {
      const pattern = new RegExp(
        said.source.replace('tenants\\[0\\]', 'tenants\\[\\d+\\]').replace(/^acme: /, 'tenant-\\d+: '),
      )
      expect(errors).toEqual(expect.arrayContaining([expect.stringMatching(pattern)]))
    }
    expect(errors).toEqual(
      expect.arrayContaining([expect.stringMatching(/^unknown key extra$/), 'acme-2: two tenants have this name']),
    )
    expect(errors.length).toBeGreaterThan(wrong.length + 4)
  })

  test('the schema file refuses the same files as the gateway', () => {
    const file = JSON.parse(readFileSync(join(ROOT, 'docs/tenants.schema.json'), 'utf8'))
    const { items } = file.properties.tenants
    expect(items.anyOf).toEqual([{ required: ['credentials'] }, { required: ['networks'] }])
    // The validator would ignore everything else beside it.
    delete items.anyOf
    const schema = z.fromJSONSchema(file)
    expect(schema.safeParse({ tenants: [WHOLE, LEAST] }).success).toBe(true)
    // Only the gateway can check these: other tenants, the environment, hashes, networks and addresses.
    const beyond =
      /hash|network|nobody|line break|not set|not there|address|does not exist|webhook secret|signing secret/
    for (const [name, change] of wrong.filter(([name]) => !beyond.test(name))) {
      const changed = JSON.parse(JSON.stringify({ tenants: [{ ...WHOLE, ...change }] }))
      expect(schema.safeParse(changed).success, name).toBe(false)
    }
  })

  test('a running gateway takes a new file on SIGHUP and when it changes, and refuses a bad one', async () => {
    const { sandbox } = await startGateway({ sandbox: { credentials: known('acme', 'beta', 'gamma') } })
    const place = folder()
    const path = join(place, 'tenants.json')
    writeTenants(path, tenant(place, 'acme'))
    const gateway = await serve(place, { V2_BASE_URL: sandbox.url, TENANTS_FILE: path, STORE_URL: 'memory:' })
    const status = async (name: string) => (await quote(gateway, as(name))).status
    expect([await status('acme'), await status('beta')]).toEqual([200, 401])

    writeTenants(path, tenant(place, 'acme'), tenant(place, 'beta'))
    gateway.signal('SIGHUP')
    await gateway.says(/"tenants":2,.*read again/)
    expect([await status('acme'), await status('beta')]).toEqual([200, 200])

    writeFileSync(path, '{ "tenants": [ { "name": "acme", "client_secret": "CANARY')
    gateway.signal('SIGHUP')
    await gateway.says(/is not JSON.*refused; the old one stays in use/)
    expect([await status('acme'), await status('beta')]).toEqual([200, 200])
    writeTenants(path, { ...tenant(place, 'acme'), color: 'red' }, tenant(place, 'acme'))
    gateway.signal('SIGHUP')
    const log = await gateway.says(/color.*two tenants have this name.*refused; the old one stays in use/)
    expect([await status('acme'), await status('beta')]).toEqual([200, 200])
    expect(log).not.toContain('CANARY')

    // An editor or a mounted volume replaces the file without an event.
    writeTenants(
      join(place, 'new.json'),
      tenant(place, 'gamma'),
      tenant(place, 'beta'),
      tenant(place, 'acme', { error_status: 'ok' }),
    )
    renameSync(join(place, 'new.json'), path)
    await gateway.says(/"tenants":3,.*read again/)
    expect([await status('acme'), await status('beta'), await status('gamma')]).toEqual([200, 200, 200])
    expect((await quote(gateway, as('acme'), { TempShipToPostalCode: '' })).status).toBe(200)
    gateway.signal('SIGTERM')
    expect((await gateway.ended).code).toBe(0)
  })

  test('tenants that stay as they are keep their tokens and limits; those that change do not keep the old credential', async () => {
    const edge = await openEdge(
      (place) => [
        tenant(place, 'acme', { limits: { per_second: 0.01 } }),
        tenant(place, 'beta'),
        tenant(place, 'gone'),
      ],
      { env: { V2_TOKEN: 'oauth2' } },
    )
    for (const name of ['acme', 'beta', 'gone']) expect((await quote(edge, as(name))).status).toBe(200)
    edge.sandbox.set({ credentials: { ...known('acme'), 'beta-v2': 'renewed' } })
    writeTenants(edge.path, tenant(edge.place, 'acme', { limits: { per_second: 0.01 } }), tenant(edge.place, 'beta'))
    writeFileSync(join(edge.place, 'beta.secret'), 'renewed')
    edge.hangUp()
    expect((await quote(edge, as('acme'))).status).toBe(429)
    expect((await quote(edge, as('beta'))).status).toBe(200)
    expect((await quote(edge, as('gone'))).status).toBe(401)
    const tokens = edge.sandbox.requests.filter(({ path }) => path === '/oauth2/token')
    expect(tokens.map(({ headers }) => headers.authorization)).toEqual([
      basic('acme-v2', 'acme-v2-secret'),
      basic('beta-v2', 'beta-v2-secret'),
      basic('gone-v2', 'gone-v2-secret'),
      basic('beta-v2', 'renewed'),
    ])
  })
})

describe('a callback', () => {
  const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`

  function read(keys: object, env: NodeJS.ProcessEnv = {}) {
    const place = folder()
    const path = `${place}/tenants.json`
    writeTenants(path, tenant(place, 'acme', keys))
    return readTenants(path, new Set(), env)[0]?.callback
  }

  function errorsOf(keys: object, env: NodeJS.ProcessEnv = {}): string {
    try {
      read(keys, env)
      return ''
    } catch (error) {
      return String(Reflect.get(Object(error), 'errors'))
    }
  }

  test('every key is read, and secrets from where the file points', () => {
    const callback = read(
      {
        callback_url: 'http://10.0.0.1/',
        callback_format: 'form',
        callback_secrets: [{ env: 'NEW' }, { env: 'OLD' }],
        callback_allow_http: true,
        callback_networks: ['10.0.0.0/8'],
      },
      { NEW: SECRET, OLD: `whsec_${Buffer.alloc(32, 2).toString('base64')}` },
    )
    expect(callback).toMatchObject({ format: 'form', networks: ['10.0.0.0/8'] })
    expect(callback?.keys.map(({ length }) => length)).toEqual([24, 32])
  })

  test.each<[string, object, NodeJS.ProcessEnv, RegExp]>([
    ['plain HTTP', { callback_url: 'http://hook.example.com/' }, {}, /acme: callback_url must be an https address/],
    ['another scheme', { callback_url: 'ftp://hook.example.com/' }, {}, /must be an http or https address/],
    ['a user name with a bare %', { callback_url: 'https://a%zz@hook.example.com/' }, {}, /percent-encoded user name/],
    ['a fragment', { callback_url: 'https://hook.example.com/#x' }, {}, /callback_url must have no fragment/],
    ['another format', { callback_format: 'xml' }, {}, /callback_format: must be json or form/],
    [
      'a missing secret',
      { callback_url: 'https://a.example.com', callback_secrets: [{ env: 'NONE' }] },
      {},
      /callback_secrets\[0\]: the environment variable NONE is not set/,
    ],
    [
      'a secret of another form',
      { callback_url: 'https://a.example.com', callback_secrets: [{ env: 'S' }] },
      { S: 'my-canary' },
      /callback_secrets\[0\] must be whsec_/,
    ],
    ['secrets without an address', { callback_secrets: [{ env: 'S' }] }, { S: SECRET }, /there is no callback_url/],
    ['a network that is none', { callback_networks: ['10.0.0.0/99'] }, {}, /must be a network/],
  ])('%s is an error', (_, keys, env, error) => {
    const errors = errorsOf(keys, env)
    expect(errors).toMatch(error)
    expect(errors).not.toContain('my-canary')
  })
})

describe('secrets', () => {
  describe('a secret that stands elsewhere', () => {
    test('is in the environment or in a file', () => {
      const folder = mkdtempSync(join(tmpdir(), 'secret-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const [file, empty, none] = ['file', 'empty', 'none'].map((name) => join(folder, name))
      writeFileSync(file ?? '', 'two\n\r\n')
      writeFileSync(empty ?? '', '\n')
      const env = { ONE: 'one', BLANK: '' }
      const fetched = [{ env: 'ONE' }, { file }, { env: 'BLANK' }, { env: 'TWO' }, { file: empty }, { file: none }].map(
        (ref) => fetchSecret(ref as Parameters<typeof fetchSecret>[0], env),
      )
      expect(fetched).toEqual([
        { secret: 'one' },
        { secret: 'two\n' },
        { error: 'the environment variable BLANK is not set' },
        { error: 'the environment variable TWO is not set' },
        { error: `the file ${empty} is empty` },
        { error: `the file ${none} cannot be read (ENOENT)` },
      ])
      expect([secretOf({ env: 'ONE' }, env), secretOf({ env: 'TWO' }, env), secretOf(undefined, env)]).toEqual([
        ...['one', undefined, undefined],
      ])
    })

    test.each([['s3cret'], [{}], [{ env: 'A', file: 'b' }]])('is not %j', (value) => {
      expect(read(secretRef, value)).toBe(
        'must say where the secret is, as {"env": "NAME"} or {"file": "/path"}; the secret itself must not stand here',
      )
    })
  })
})

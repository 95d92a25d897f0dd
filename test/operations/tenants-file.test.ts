/** Promise: the tenants file is checked as a whole, and read again without a restart (contract, section 11). */

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigErrors } from '../../src/language/config/errors.ts'
import { readTenants } from '../../src/language/config/tenants-file.ts'
import { serve } from '../callers/commands.ts'
import { as, cheapHash, folder, known, openEdge, quote, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { ROOT, runAlone } from '../command.ts'
import { basic, startGateway } from '../gateway.ts'

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
  const SIGNING = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
  const ENV = {
    ACME_V2_SECRET: 's3cret',
    ACME_HOOK: 'hook-of-acme-0123456789',
    BLANK: '',
    SHORT: 'my-canary',
    NO_SEGMENT: 'hook/of?acme#0123456789',
    SIGNING,
    OLD_SIGNING: `whsec_${Buffer.alloc(32, 2).toString('base64')}`,
  }
  const LEAST = {
    name: 'least',
    networks: ['10.0.0.1'],
    v2: { client_id: 'x', client_secret: { env: 'ACME_V2_SECRET' } },
  }

  function fileWith(content: unknown): string {
    const path = join(folder(), 'tenants.json')
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }

  /** The errors of a file, without its name and the place. */
  function errorsIn(content: unknown): readonly string[] {
    const path = fileWith(content)
    try {
      readTenants(path, ACTIONS, ENV)
      return []
    } catch (error) {
      if (!(error instanceof ConfigErrors)) throw error
      return error.errors.map((line) => line.replace(path, '').replace(/^(:\d+:\d+)?: /, ''))
    }
  }

  test('an error of the shape names the line and the column', () => {
    const path = fileWith(
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

  type Wrong = readonly (readonly [change: object, said: string])[]
  const secret_hash = cheapHash('x')
  const inV2 = (change: object) => ({ v2: { ...WHOLE.v2, ...change } })
  const MISPLACED =
    'v2.client_secret: must say where the secret is, as {"env": "NAME"} or {"file": "/path"}; the secret'

  /** Mistakes of the shape. */
  const MISSHAPEN: Wrong = [
    [{ color: 'red' }, 'unknown key color'],
    [{ name: undefined }, 'name: is required'],
    [{ name: 'ac me' }, 'name: must be 1 to 64'],
    [{ credentials: [{ id: 'a:b', secret_hash }] }, 'credentials[0].id: must be a client id without a colon'],
    [inV2({ client_secret: 's3cret' }), MISPLACED],
    [inV2({ client_secret: { env: 'A', file: 'b' } }), MISPLACED],
    [inV2({ token: 'jwt' }), 'v2.token: must be basic or oauth2 or auto'],
    [{ limits: { per_second: 0 } }, 'limits.per_second: must be more than 0'],
    [{ callback_format: 'xml' }, 'callback_format: must be json or form'],
  ]

  /** Mistakes that only the gateway finds, in hashes, addresses, networks and the environment. */
  const BEYOND: Wrong = [
    [{ credentials: [{ id: 'a', secret_hash: 's3cret' }] }, 'credentials[0].secret_hash: must be a hash'],
    [{ credentials: [{ id: 'a', secret_hash: secret_hash.replace('ln=4', 'ln=25') }] }, 'must be a hash'],
    [{ networks: ['10.0.0.0/33'] }, 'networks[0]: must be a network'],
    [{ credentials: [], networks: [] }, ': needs credentials or networks'],
    [inV2({ client_secret: { env: 'MISSING' } }), ': v2.client_secret: the environment variable MISSING is not set'],
    [inV2({ client_secret: { file: '/nowhere' } }), 'v2.client_secret: the file /nowhere cannot be read (ENOENT)'],
    [inV2({ client_secret: { file: '/dev/null' } }), 'the file /dev/null is empty'],
    [{ webhook_secret: { env: 'MISSING' } }, ': webhook_secret: the environment variable MISSING is not set'],
    [{ webhook_secret: { env: 'NO_SEGMENT' } }, ': webhook_secret must be 16 to 256 letters'],
    [
      { webhook_signing_secret: { env: 'SHORT' } },
      ': webhook_signing_secret must be whsec_ and the Base64 of 24 to 64 bytes',
    ],
    [
      { webhook_secret: undefined, webhook_signing_secret: { env: 'SIGNING' } },
      ': needs a webhook_secret, because it has a webhook_signing_secret',
    ],
    [inV2({ base_url: 'https://a:b@example.com' }), 'v2.base_url: must have no user name'],
    [{ actions: { Foo: 'quote.forget' } }, ': the ActionName Foo means quote.forget, which is not an action'],
    [{ callback_url: 'http://hook.example.com/' }, ': callback_url must be an https address'],
    [{ callback_url: 'https://hook.example.com/#x' }, 'callback_url must have no fragment'],
    [{ callback_secrets: [{ env: 'MISSING' }] }, 'callback_secrets[0]: the environment variable MISSING is not set'],
    [{ callback_url: undefined, callback_secrets: [{ env: 'SIGNING' }] }, 'there is no callback_url'],
    [{ callback_networks: ['10.0.0.0/99'] }, 'callback_networks[0]: must be a network'],
  ]

  const WRONG = [...MISSHAPEN, ...BEYOND]

  test.each([
    ['{"tenants":[{"v2":{"client_secret": my-canary}}]}', / is not JSON/],
    ['{"tenants":[{"v2":{"client_secret": "my" -canary}}]}', / is not JSON \(line 1 column \d+\)$/],
    ['[]', /^must be an object$/],
    ['{}', /^tenants: is required$/],
    ['{"tenants":[]}', /^tenants: must have at least one/],
    ['{"tenants":[], "more": 1}', /^unknown key more$/],
  ])('a file with %s is an error that does not quote it', (content, said) => {
    const errors = errorsIn(content)
    expect(errors).toContainEqual(expect.stringMatching(said))
    expect(errors.join()).not.toContain('canary')
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
    const all = Object.assign({}, ...WRONG.map(([change]) => change))
    const tenants = WRONG.map(([change], i) => ({ ...WHOLE, name: `tenant-${i}`, ...change }))
    const errors = errorsIn({ tenants: [...tenants, all, ...TWO_SHARED.tenants], extra: true })
    for (const [, said] of WRONG) expect(errors).toContainEqual(expect.stringContaining(said))
    expect(errors.join()).not.toContain('my-canary')
    expect(errors).toEqual(expect.arrayContaining(['unknown key extra', 'acme-2: two tenants have this name']))
    expect(errors.length).toBeGreaterThan(WRONG.length + 4)
  })

  test('secrets are read from where the file points, without the end of their line', () => {
    const file = fileWith('two\n\r\n')
    const [read] = readTenants(
      fileWith({
        tenants: [
          {
            ...WHOLE,
            v2: { client_id: 'x', client_secret: { file } },
            callback_url: 'http://10.0.0.1/',
            callback_format: 'form',
            callback_secrets: [{ env: 'SIGNING' }, { env: 'OLD_SIGNING' }],
            callback_allow_http: true,
            callback_networks: ['10.0.0.0/8'],
          },
        ],
      }),
      ACTIONS,
      ENV,
    )
    expect(read).toMatchObject({
      secret: 'two\n',
      webhookSecrets: [ENV.ACME_HOOK],
      signingKeys: [],
      callback: { format: 'form', networks: ['10.0.0.0/8'], keys: [{ length: 24 }, { length: 32 }] },
    })
  })

  test('the schema file refuses the same files as the gateway', () => {
    const file = JSON.parse(readFileSync(join(ROOT, 'docs/tenants.schema.json'), 'utf8'))
    const { items } = file.properties.tenants
    expect(items.anyOf).toEqual([{ required: ['credentials'] }, { required: ['networks'] }])
    // The validator would ignore everything else beside it.
    delete items.anyOf
    const schema = z.fromJSONSchema(file)
    expect(schema.safeParse({ tenants: [WHOLE, LEAST] }).success).toBe(true)
    for (const [change, said] of MISSHAPEN) {
      const changed = JSON.parse(JSON.stringify({ tenants: [{ ...WHOLE, ...change }] }))
      expect(schema.safeParse(changed).success, said).toBe(false)
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

test('a new secret in its file is taken by itself; a refused file is a metric, and stands on the home of operators', async () => {
  const edge = await openEdge((place) => [tenant(place, 'acme')])
  const metrics = async () => (await fetch(`${edge.adminUrl}/metrics`)).text()
  const home = async () => (await fetch(`${edge.adminUrl}/home.json`)).json()
  expect(await metrics()).toContain('transload_reload_success{file="tenants"} 1')
  expect(await home()).toMatchObject({ refusedReloads: [] })
  edge.sandbox.set({ credentials: { 'acme-v2': 'renewed' } })
  writeFileSync(join(edge.place, 'acme.secret'), 'renewed')
  await expect.poll(async () => (await quote(edge, as('acme'))).status).toBe(200)
  writeTenants(edge.path, tenant(edge.place, 'acme', { v2: { client_id: 'x', client_secret: { env: 'NOT_THERE' } } }))
  edge.hangUp()
  expect(await metrics()).toMatch(
    /transload_reload_success\{file="tenants"\} 0\n[\s\S]*transload_reload_last_success_timestamp_seconds\{file="tenants"\} 1\d{9}/,
  )
  expect(await home()).toMatchObject({
    refusedReloads: [{ file: 'tenants', reasons: [expect.stringContaining('NOT_THERE is not set')] }],
  })
  const page = await fetch(edge.adminUrl, { headers: { accept: 'text/html' } })
  expect(await page.text()).toMatch(
    /<h1>The new tenants file is refused; the old one stays in use\.<\/h1>[\s\S]*NOT_THERE is not set/,
  )
})

test('a start that fails in its middle ends its process', async () => {
  const { code, out } = await runAlone(process.execPath, [join(import.meta.dirname, 'start-child.ts')])
  expect({ code, out }).toEqual({ code: 0, out: 'ConfigErrors: the configuration has an error\n' })
})

/** Promise: `check` says what the gateway would be, and every slip and mistake, without secrets (contract, section 11). */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSandbox } from '../bookings/desk.ts'
import { transload } from '../callers/commands.ts'
import { folder, known, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { OWN } from '../gateway.ts'
import { transcript } from './transcript.ts'

const SERVICE = { V2_BASE_URL: 'https://service.example.com' }
const WEBHOOK_SECRET = 'hush-0123456789abcdef'

test('the check of a configuration prints what it did', async () => {
  const place = folder()
  const client = {
    ...SERVICE,
    WEBHOOK_SECRET,
    BROWNOUTS: '2091-01-12T15:00Z/1h',
    SUNSET: '2093-01-01',
    ADMIN_PORT: '1',
  }
  const fixed = {
    ...{ ...SERVICE, WEBHOOK_SECRET, V2_CLIENT_ID: 'acme', V2_CLIENT_SECRET: 'hush-1' },
    STORE_URL: 'postgres://user:hush-2@127.0.0.1:1/x?sslpassword=hush-3&application_name=y',
  }
  writeTenants(
    join(place, 'tenants.json'),
    tenant(place, 'acme', { brownouts: '2091-01-12T15:00Z/1h', brownout_bookings: true }),
    tenant(place, 'spared', { brownouts: 'none' }),
    tenant(place, 'other'),
  )
  const tenants = {
    ...{ ...SERVICE, TENANTS_FILE: 'tenants.json', TZ: 'Europe/Berlin' },
    BROWNOUTS: '2020-01-12T15:00Z/1h,2091-01-11T23:30Z/1h,2092-02-29T09:00[America/New_York]/24h',
  }
  const text = [
    await transcript(place, ['check', 'healthcheck'], client),
    await transcript(place, ['check'], fixed),
    await transcript(place, ['check', 'check --json'], tenants),
  ].join('')
  expect(text).not.toContain('hush')
  await expect(text).toMatchFileSnapshot('output/check.txt')
})

test('every mistake of a configuration is told at once', async () => {
  const place = folder()
  mkdirSync(join(place, 'folder'))
  writeTenants(join(place, 'tenants.json'), tenant(place, 'acme', { sunset: '2025-12-31', brownouts: 'tomorrow/1h' }))
  const wrong = {
    ...{ V2_BASE_URL: 'nonsense', V2_TOKEN: 'none', PORT: 'x', LOG_LEVELS: 'info' },
    ...{ TENANTS_FILE: 'tenants.json', SUNSET: '2025-12-31', BROWNOUTS: '2027-02-29T15:00Z/1h' },
  }
  const text = [
    await transcript(place, ['check', 'serve', 'translate quote.get'], wrong),
    await transcript(place, ['check'], { ...SERVICE, TENANTS_FILE: 'folder' }),
    await transcript(place, ['check'], { ...SERVICE, LOOKUPS_FILE: 'folder' }),
    await transcript(place, ['check'], { ...SERVICE, MAPPINGS_DIR: 'tenants.json' }),
  ].join('')
  await expect(text).toMatchFileSnapshot('output/check-wrong.txt')
})

test.each([
  ['is no store', 'text.db', 'file is not a database'],
  ['stands below a file', 'text.db/new/store.db', 'FOLDER/text.db is not a folder'],
  ['is on a server that does not answer', 'postgres://127.0.0.1:1/x', 'PostgreSQL does not answer'],
])('a store that %s is a mistake', async (_, STORE_URL, reason) => {
  const place = folder()
  writeFileSync(join(place, 'text.db'), 'no database, but long enough to be read as one'.repeat(20))
  const text = await transcript(place, ['check', 'check --json'], { ...SERVICE, STORE_URL })
  expect(text).not.toContain('The configuration is valid')
  expect(text.split(`STORE_URL names a store that cannot be used: ${reason}`)).toHaveLength(3)
  expect(text.match(/^\(exit code 78\)$/gm)).toHaveLength(2)
  expect(existsSync(join(place, 'data'))).toBe(false)
})

test('the service is tried in both ways with each credential of the gateway, or without one', async () => {
  const sandbox = await openSandbox()
  const client = { V2_BASE_URL: sandbox.url, WEBHOOK_SECRET, WEBHOOK_CLIENT_ID: 'a', WEBHOOK_CLIENT_SECRET: 'b' }
  const all = [
    { ...OWN, V2_BASE_URL: sandbox.url },
    { ...OWN, V2_BASE_URL: sandbox.url, V2_CLIENT_SECRET: 'wrong' },
    client,
    { ...client, V2_BASE_URL: 'http://127.0.0.1:1' },
  ]
  let text = ''
  for (const env of all) text += await transcript(folder(), ['check --connect'], env)
  const tokens = await openSandbox({ credentials: known('acme'), auth: 'bearer' })
  const place = folder()
  const v2 = (token: string) => ({ v2: { base_url: tokens.url, token } })
  const tenants = [tenant(place, 'acme', v2('auto')), tenant(place, 'stranger', v2('oauth2'))]
  for (const some of [tenants.slice(0, 1), tenants]) {
    writeTenants(join(place, 'tenants.json'), ...some)
    text += await transcript(place, ['check --connect'], { V2_BASE_URL: tokens.url, TENANTS_FILE: 'tenants.json' })
  }
  await expect(text).toMatchFileSnapshot('output/check-connect.txt')
})

test('a variable that is none is a slip, unless another program or a tenant has it', async () => {
  const place = folder()
  const path = join(place, 'tenants.json')
  writeTenants(path, tenant(place, 'acme', { v2: { client_secret: { env: 'V2_SECRET_OF_ACME' } } }))
  const slips = ['V2_BASE_URI', 'v2_bse_url', 'V2_TIMEOUT', 'UPSTREAM_URL', 'LEGACY_SOMETHING', 'STORE_ULR', 'STORE_UL']
  const others = ['HOSTS', 'STOREURL', 'PORTS_', 'STORE_ULRS', 'SSL_CERT_FILE', 'V2_SECRET_OF_ACME']
  const set = Object.fromEntries([...slips, ...others].map((name) => [name, 'x']))
  const { err } = await transload(['check'], place, { ...SERVICE, ...set, TENANTS_FILE: path })
  expect(err.split('\n').toSorted().join('\n')).toMatchInlineSnapshot(`
    "
    warning: LEGACY_SOMETHING is not a variable of the gateway
    warning: STORE_UL is not a variable of the gateway; did you mean STORE_URL?
    warning: STORE_ULR is not a variable of the gateway; did you mean STORE_URL?
    warning: UPSTREAM_URL is not a variable of the gateway
    warning: V2_BASE_URI is not a variable of the gateway; did you mean V2_BASE_URL?
    warning: V2_TIMEOUT is not a variable of the gateway; did you mean UPSTREAM_TIMEOUT_MS?
    warning: v2_bse_url is not a variable of the gateway; did you mean V2_BASE_URL?"
  `)
})

/** Promise: `check` says what the gateway would be, and every slip (contract, section 11). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { slipsIn } from '../../src/commands/check.ts'
import { transload } from '../callers/commands.ts'
import { folder, tenant, writeTenants } from '../callers/edge.ts'

const SERVICE = { V2_BASE_URL: 'https://service.example.com' }

test('check prints the brownouts to come in the time zone of the operator', async () => {
  const BROWNOUTS = '2020-01-12T15:00Z/1h,2091-01-12T23:30Z/1h,2092-02-29T09:00[America/New_York]/24h'
  const { code, out, err } = await transload(['check'], folder(), { ...SERVICE, BROWNOUTS, TZ: 'Europe/Berlin' })
  expect([code, err]).toEqual([0, ''])
  expect(out.split('\n\n')[0]?.split('\n')).toEqual([
    expect.stringMatching(/^The configuration is valid/),
    'Brownouts to come, in the time of Europe/Berlin:',
    expect.stringMatching(/^ {2}Sat, 13 Jan 2091, 00:30 .* to Sat, 13 Jan 2091, 01:30 .* {2}all callers$/),
    expect.stringMatching(/^ {2}Fri, 29 Feb 2092, 15:00 .* to Sat, 01 Mar 2092, 15:00 .* {2}all callers$/),
  ])
})

test('check prints those of each tenant', async () => {
  const place = folder()
  const path = join(place, 'tenants.json')
  writeTenants(
    path,
    tenant(place, 'acme', { brownouts: '2091-01-12T15:00Z/1h', brownout_bookings: true }),
    tenant(place, 'spared', { brownouts: 'none' }),
    tenant(place, 'other'),
  )
  const env = { ...SERVICE, TENANTS_FILE: path, BROWNOUTS: '2091-01-11T15:00Z/1h', TZ: 'UTC' }
  const { code, out } = await transload(['check'], place, env)
  expect(code).toBe(0)
  expect(out.split('\n\n')[0]?.split('\n').slice(2)).toEqual([
    expect.stringMatching(/^ {2}Thu, 11 Jan 2091, 15:00 UTC to Thu, 11 Jan 2091, 16:00 UTC {2}other$/),
    expect.stringMatching(/^ {2}Fri, 12 Jan 2091, 15:00 UTC to Fri, 12 Jan 2091, 16:00 UTC {2}acme, bookings too$/),
  ])
  const json = await transload(['check', '--json'], place, env)
  expect(JSON.parse(json.out).brownouts).toEqual([
    { tenant: 'other', start: '2091-01-11T15:00:00.000Z', end: '2091-01-11T16:00:00.000Z', bookings: false },
    { tenant: 'acme', start: '2091-01-12T15:00:00.000Z', end: '2091-01-12T16:00:00.000Z', bookings: true },
  ])
})

test('check refuses a sunset before the deprecation, and wrong brownouts, in the environment and in the tenants file', async () => {
  const place = folder()
  const path = join(place, 'tenants.json')
  writeFileSync(
    path,
    JSON.stringify({ tenants: [{ ...tenant(place, 'acme'), sunset: '2025-12-31', brownouts: 'tomorrow/1h' }] }),
  )
  const env = { ...SERVICE, TENANTS_FILE: path, SUNSET: '2025-12-31', BROWNOUTS: '2027-02-29T15:00Z/1h' }
  const { code, err } = await transload(['check'], place, env)
  expect(code).toBe(78)
  expect(err).toMatch(/SUNSET must not be before 2026-01-01/)
  expect(err).toMatch(/BROWNOUTS must list windows .*, not 2027-02-29T15:00Z\/1h/)
  expect(err).toMatch(/tenants\[0\]\.sunset: must not be before 2026-01-01/)
  expect(err).toMatch(/tenants\[0\]\.brownouts: must list windows .*, not tomorrow\/1h/)
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

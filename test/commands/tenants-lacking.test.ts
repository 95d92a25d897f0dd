/** Promise: a secret that the process lacks is said, and no mistake of a command beside the gateway (contract, section 11). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSandbox } from '../bookings/desk.ts'
import { transload } from '../callers/commands.ts'
import { known, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { newFolder } from '../command.ts'

test('adding and rotating a tenant warn of variables that are not set, and of none that are', async () => {
  const place = newFolder('tenants')
  const TENANTS_FILE = join(place, 'tenants.json')
  const env = { TENANTS_FILE, V2_BASE_URL: 'https://service.example.com' }
  const words = ['tenants', 'add', 'acme', '--v2-client-id', 'acme', '--v2-secret-env', 'ACME_SECRET']
  const added = await transload(words, place, env)
  expect(added.err).toBe(
    `warning: ${TENANTS_FILE}: acme: v2.client_secret: the environment variable ACME_SECRET is not set\n`,
  )
  expect(readFileSync(TENANTS_FILE, 'utf8')).toContain('ACME_SECRET')
  expect((await transload(['tenants', 'rotate', 'acme'], place, env)).err).toContain('ACME_SECRET is not set')
  expect((await transload(['tenants', 'rotate', 'acme'], place, { ...env, ACME_SECRET: 'x' })).err).toBe('')
})

test('checks and lists warn of a secret of the service that is not there, and try the others', async () => {
  const sandbox = await openSandbox({ credentials: known('acme') })
  const place = newFolder('tenants')
  const env = { TENANTS_FILE: join(place, 'tenants.json'), V2_BASE_URL: sandbox.url }
  const away = { v2: { client_secret: { env: 'AWAY_SECRET' } } }
  writeTenants(env.TENANTS_FILE, tenant(place, 'acme'), tenant(place, 'away', away))
  const warning = `warning: ${env.TENANTS_FILE}: away: v2.client_secret: the environment variable AWAY_SECRET is not set\n`
  for (const line of ['check', 'check --connect', 'tenants check', 'tenants list']) {
    const { code, err } = await transload(line.split(' '), place, env)
    expect([line, code, err]).toEqual([line, 0, warning])
  }
  const { out } = await transload(['check', '--connect', '--json'], place, env)
  expect(JSON.parse(out).service).toMatchObject([
    { tenant: 'as acme', accepted: true },
    { tenant: 'as away', outcome: 'not tried: its secret is not here' },
  ])
})

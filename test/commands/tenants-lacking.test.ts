/** Promise: a secret that the process lacks is said before a tenants file is put in place (contract, section 11). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { transload } from '../callers/commands.ts'
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

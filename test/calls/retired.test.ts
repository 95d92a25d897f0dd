/** Promise: the end of version 1 is set per tenant, checked in advance, and shows who still calls (contract, section 9). */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { openSqliteStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { transload } from '../callers/commands.ts'
import { as, folder, known, openEdge, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { post } from '../gateway.ts'

const END = Date.UTC(2027, 5, 30)
const DAY = 86_400_000

test('a tenant has its own end, `never` exempts it, and a reload takes the end back', async () => {
  let place = ''
  const edge = await openEdge(
    (at) => {
      place = at
      return [
        tenant(at, 'acme'),
        tenant(at, 'spared', { retired_from: 'never' }),
        tenant(at, 'late', { retired_from: '2027-07-30' }),
      ]
    },
    { env: { RETIRED_FROM: '2027-06-30' }, now: () => END, sandbox: { credentials: known('acme', 'spared', 'late') } },
  )
  const status = async (name: string) => (await post(edge, '/getShippingQuote.php', quoteExample, as(name))).status
  expect([await status('acme'), await status('spared'), await status('late')]).toEqual([410, 200, 200])
  writeTenants(join(place, 'tenants.json'), tenant(place, 'acme', { retired_from: 'never' }))
  await expect.poll(() => status('acme')).toBe(200)
})

test('the check warns of an end that does not fit the announced one, and of callers that it cuts off', async () => {
  const place = folder()
  const env = { V2_BASE_URL: 'https://service.example.com', STORE_URL: join(place, 'store.db') }
  const warnings = async (more: object) => {
    const { err } = await transload(['check'], place, { ...env, ...more })
    return err.split('\n').filter((line) => /SUNSET|RETIRED_FROM/.test(line))
  }
  const store = await openSqliteStore({ path: env.STORE_URL })
  const now = Date.now()
  const used = (name: string, lastAt: number) =>
    ({
      tenant: name,
      kind: 'use',
      action: '',
      name: 'version-1',
      count: 1,
      firstAt: lastAt,
      lastAt,
      example: '',
    }) as const
  const names = [used('recent', now), used('gone', now - 29 * DAY)]
  await store.addCounts({ instance: 'i', no: 1, days: [], calls: [], names })
  await store.close()
  expect(await warnings({ SUNSET: '2026-01-02' })).toEqual([
    'warning: SUNSET of all callers has passed without RETIRED_FROM: version-1 calls still work',
  ])
  expect(await warnings({ SUNSET: '2093-01-02', RETIRED_FROM: '2093-01-01' })).toEqual([
    'warning: SUNSET of all callers is after RETIRED_FROM, so callers are told a later end',
    'warning: RETIRED_FROM cuts off 1 of the callers of the last 28 days: recent',
  ])
  expect(await warnings({ RETIRED_FROM: '2025-12-31' })).toEqual([expect.stringContaining('2026-01-01')])
  writeTenants(join(place, 'tenants.json'), tenant(place, 'recent', { retired_from: 'never' }))
  expect(await warnings({ RETIRED_FROM: '2093-01-01', TENANTS_FILE: 'tenants.json' })).toEqual([])
})

/** Promise: the migration report is the same as the page, and shows no secret (contract, section 11). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadMappings } from '../../mappings/load.ts'
import { printableLines } from '../../src/language/text/service-text.ts'
import { reportLines } from '../../src/operator/commands/migration.ts'
import { readReport } from '../../src/operator/reports/report.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { DAY_MS } from '../../src/outside/store/scoreboard.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { transload } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { basic, get, post, startGateway } from '../gateway.ts'
import { fillCounts } from '../pages/sample-counts.ts'

const LONG_MS = 60_000
const STORE_URL = 'store.db'

test('the report has not changed', async () => {
  const now = Date.UTC(2031, 2, 4, 5, 6, 7)
  const store = createMemoryStore({ now: () => now })
  const catalog = await loadMappings()
  const written = async (tenants: readonly string[]) =>
    printableLines(`${reportLines(await readReport({ store, catalog, tenants })).join('\n')}\n`)
  await expect(await written([])).toMatchFileSnapshot('output/migration-empty.txt')
  await fillCounts(store)
  const day = Math.floor(now / DAY_MS)
  const acme = { tenant: 'acme', day, use: 'version-1', action: 'shipment.create' } as const
  const calls = [
    { ...acme, outcome: 'replayed', calls: 2 },
    { ...acme, outcome: 'untranslatable', calls: 3 },
    { ...acme, action: 'shipment.update', outcome: 'done', calls: 1 },
    { ...acme, action: '', outcome: 'action-unknown', calls: 4 },
    { ...acme, use: 'dry-run', outcome: 'done', calls: 5 },
  ] as const
  await store.addCounts({ instance: 'sample', no: 2, days: [day], calls, names: [] })
  const text = await written(['silent'])
  expect(text).toContain('  PUT /v2/shipments/{shipment_id}  ')
  await expect(text).toMatchFileSnapshot('output/migration.txt')
})

test('a report is the same as the page of a running gateway, and knows the tenants of the file', {
  timeout: LONG_MS,
  // Midnight in UTC may come between the two.
  retry: 1,
}, async () => {
  const place = folder()
  const store = await openStore(join(place, STORE_URL))
  await fillCounts(store)
  const gateway = await startGateway({ store, proven: false })
  const v2 = { client_id: 'v2', client_secret: { env: 'NOT_SET_HERE' } }
  const tenants = [{ name: 'silent', networks: ['192.0.2.0/24'], v2 }]
  writeFileSync(join(place, 'tenants.json'), JSON.stringify({ tenants }))
  const report = (...words: readonly string[]) =>
    transload(['migration', 'report', ...words], place, { STORE_URL, TENANTS_FILE: 'tenants.json' })

  const { json: page } = await get({ url: gateway.adminUrl }, '/migration?tenant=acme', { accept: 'application/json' })
  const { out: asJson } = await report('--tenant', 'acme', '--json')
  expect(page).toMatchObject({ ...JSON.parse(asJson), generatedAt: expect.any(String) })
  const { code, out } = await report()
  expect(code).toBe(0)
  const headline = 'No: 3 of 7 callers still use version 1.'
  expect(out).toContain(`${headline}\n`)
  expect(JSON.parse((await report('--json')).out)).toMatchObject({ headline })
  expect(out).toMatch(/^ {2}silent +never seen/m)
  // No character that controls a terminal.
  for (const obeyed of ['\u001b', '\u202e']) expect(out).not.toContain(obeyed)
  const { out: one } = await report('--tenant', 'acme')
  expect(one).toContain('\nBlocks migration\n')
  expect(one).not.toContain('quieter')
  expect(one).not.toContain(headline)
  const err = 'transload: there is no tenant nobody\n'
  expect(await report('--tenant', 'nobody')).toEqual({ code: 1, out: '', err })
})

test('a report has no value that callers sent, and no secret', { timeout: LONG_MS }, async () => {
  const place = folder()
  const store = await openStore(join(place, STORE_URL))
  const gateway = await startGateway({ store, sandbox: { credentials: { acme: 'canary-secret' } } })
  const body = {
    TempShipFromPostalCode: 'canary-zip',
    TempShipToPostalCode: '33166',
    Foo: 'canary-foo',
    CSR: 'canary-csr',
  }
  const headers = { authorization: basic('acme', 'canary-secret'), 'user-agent': 'Shop/1 (canary-agent)' }
  await post(gateway, '/getShippingQuote.php?key=canary-query', body, headers)
  await gateway.gateway.close()
  for (const words of [[], ['--json']]) {
    const { out } = await transload(['migration', 'report', ...words], place, { STORE_URL })
    expect(out).toContain('Foo')
    expect(out).not.toContain('canary')
  }
})

/** Promise: a report on the migration is the page, and shows no secret (contract, section 11). */

import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { basic, get, post, startGateway } from '../gateway.ts'
import { fillCounts } from '../pages/sample-counts.ts'

const LONG_MS = 60_000

async function openReports(env: Readonly<Record<string, string>> = {}) {
  const folder = newFolder('report')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const storeUrl = join(folder, 'store.db')
  const report = (...words: readonly string[]) =>
    run(process.execPath, [join(ROOT, 'src/main.ts'), 'migration', ...words], {
      env: cleanEnv({ STORE_URL: storeUrl, ...env }),
    })
  return { folder, storeUrl, report }
}

test('prints the same as the page, from the store of a running gateway', { timeout: LONG_MS }, async () => {
  const { storeUrl, report } = await openReports()
  const store = await openStore(storeUrl)
  await fillCounts(store)
  const gateway = await startGateway({ store })
  const { code, out } = await report('report', '--tenant', 'acme', '--format', 'json')
  expect(code).toBe(0)
  const { json: page } = await get({ url: gateway.adminUrl }, '/migration?tenant=acme', { accept: 'application/json' })
  expect(page).toMatchObject({ ...JSON.parse(out), generatedAt: expect.any(String) })
})

test('prints Markdown, one tenant if asked, and no byte that a terminal or a browser obeys', {
  timeout: LONG_MS,
}, async () => {
  const { storeUrl, report } = await openReports()
  const store = await openStore(storeUrl)
  await fillCounts(store)
  await store.close()
  const [all, one] = await Promise.all([report('report'), report('report', '--tenant', 'acme')])
  expect(all.code).toBe(0)
  expect(all.out).toMatch(/^# Can version 1 be switched off\?/)
  expect(all.out).toMatch(/^\| gone \| safe to switch off \|/m)
  expect(all.out).toContain('## callers without a name')
  for (const obeyed of ['<img', '\u001b', '\u202e']) expect(all.out).not.toContain(obeyed)
  expect(one.out).toContain('### Work that is left')
  expect(one.out).toMatch(/PickupPhNo\. \| loses something \| pickup\.contact\\_phone/)
  expect(one.out).not.toContain('quieter')
})

test('knows the tenants of the file, whose secrets it needs not', { timeout: LONG_MS }, async () => {
  const folder = newFolder('report-tenants')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'tenants.json')
  const v2 = { client_id: 'v2', client_secret: { env: 'NOT_SET_HERE' } }
  await writeFile(file, JSON.stringify({ tenants: [{ name: 'silent', networks: ['192.0.2.0/24'], v2 }] }))
  const { storeUrl, report } = await openReports({ TENANTS_FILE: file })
  await (await openStore(storeUrl)).close()
  const { code, out } = await report('report')
  expect(code).toBe(0)
  expect(out).toMatch(/^\| silent \| never seen \|/m)
})

test('refuses what it does not understand in one line', { timeout: LONG_MS }, async () => {
  const { storeUrl, report } = await openReports()
  await (await openStore(storeUrl)).close()
  const cases = {
    'report --format xml': /argument xml is invalid\. Allowed choices are md, json\./,
    'report --tenant nobody': /there is no tenant nobody/,
    reprot: /did you mean report\?/,
  }
  await Promise.all(
    Object.entries(cases).map(async ([words, message]) => {
      const { code, err } = await report(...words.split(' '))
      expect(code).not.toBe(0)
      expect(err).toMatch(message)
      expect(err).not.toContain('    at ')
    }),
  )
})

test('has no value that callers sent, and no secret', { timeout: LONG_MS }, async () => {
  const { storeUrl, report } = await openReports()
  const store = await openStore(storeUrl)
  const gateway = await startGateway({ store, sandbox: { credentials: { acme: 'canary-secret' } } })
  const body = {
    TempShipFromPostalCode: 'canary-zip',
    TempShipToPostalCode: '33166',
    Foo: 'canary-foo',
    CSR: 'canary-csr',
  }
  await post(gateway, '/getShippingQuote.php?key=canary-query', body, {
    authorization: basic('acme', 'canary-secret'),
    'user-agent': 'Shop/1 (canary-agent)',
  })
  await gateway.gateway.close()
  for (const format of ['md', 'json']) {
    const { out } = await report('report', '--format', format)
    expect(out).toContain('Foo')
    expect(out).not.toContain('canary')
  }
})

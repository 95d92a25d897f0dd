/** Promise: the migration page says who still uses version 1, and what is left (contract, section 1). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { DAY_MS } from '../../src/outside/store/scoreboard.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { named, openEdge } from '../callers/tenants-gateway.ts'
import { get, OWN, startGateway } from '../gateway.ts'
import { ask, CSP, expectWords, HTML, pageOf, partOf } from './browser.ts'
import { fillCounts, fillTenants } from './sample-counts.ts'

/** The pages of a gateway with 70 days of counts, as a program and a browser see them. */
interface PageCase {
  readonly path: string
  /** @default 200 */
  readonly status?: number
  readonly json?: object
  /** Parts of objects somewhere in the JSON. */
  readonly items?: readonly object[]
  readonly words?: readonly string[]
  readonly without?: readonly string[]
}
const cases: readonly PageCase[] = JSON.parse(readFileSync(join(import.meta.dirname, 'pages.json'), 'utf8'))

const store = createMemoryStore()
await fillCounts(store)
const gateway = await startGateway({ store, proven: false, closeAt: afterAll })

/** Lists all objects in JSON. */
const objectsIn = (value: unknown): readonly object[] =>
  typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(objectsIn)] : []

test.each(cases)('$path', async ({ path, status = 200, json, items = [], words = [], without = [] }) => {
  const [program, page] = [await ask(gateway, path), await ask(gateway, path, HTML)]
  expect([program.status, page.status]).toEqual([status, status])
  if (json) expect(program.json).toMatchObject(json)
  const objects = objectsIn(program.json)
  for (const item of items) expect(objects).toContainEqual(expect.objectContaining(item))
  expectWords(page.text, ...words)
  expect(without.filter((one) => page.text.includes(one))).toEqual([])
})

/** Returns the addresses of a page's links, unescaped. */
const linksIn = (page: string) =>
  [...page.matchAll(/ href="([^"]*)"/g)].map(([, address = '']) =>
    address.replaceAll('&#39;', "'").replaceAll('&amp;', '&'),
  )

test('the list of tenants links each of them, under a strict policy', async () => {
  const { text, headers } = await ask(gateway, '/migration', HTML)
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(headers.get('content-security-policy')).toBe(CSP)
  const links = linksIn(text).filter((address) => /^\/migration[/?](?!.*json)/.test(address))
  expect(links).toHaveLength(6)
  for (const link of links) expect((await ask(gateway, link, HTML)).status, link).toBe(200)
  expect((await ask(gateway, '/style.css')).headers.get('content-type')).toBe('text/css; charset=utf-8')
  const [list, one] = [await ask(gateway, '/migration'), await ask(gateway, '/migration/acme')]
  expect(list.headers.get('content-type')).toContain('application/json')
  // A browser gets JSON from these addresses.
  expect((await ask(gateway, '/migration.json', HTML)).json.tenants).toEqual(list.json.tenants)
  expect((await ask(gateway, '/migration/acme.json', HTML)).json.tenants).toEqual(one.json.tenants)
  const blocking = one.json.tenants[0].work.map(({ blocks }: { blocks?: string }) => Number(blocks === undefined))
  expect(blocking).toEqual(blocking.toSorted())
  for (const obeyed of ['\u001b', '\u202e']) expect(list.text + one.text).not.toContain(obeyed)
})

test('ten thousand tenants are on pages of fifty, each below 60 KB', async () => {
  const store = createMemoryStore()
  await fillTenants(store, 10_000)
  const gateway = await startGateway({ store, proven: false })
  const text = await pageOf(gateway, '/migration?sort=name&page=3')
  const headline = 'No: 10,000 of 10,000 callers still use version 1; 3,334 fail.'
  expectWords(text, headline, 'Page 3 of 200', '>tenant 00100<')
  expect(Buffer.byteLength(text)).toBeLessThan(60 * 1024)
  expect((await ask(gateway, '/migration?state=failing&q=9999')).json).toMatchObject({ found: 1 })
})

test("a caller's mistakes are not failures", async () => {
  const store = createMemoryStore()
  await fillTenants(store, 3, 'credential-wrong')
  const { json } = await ask(await startGateway({ store, proven: false }), '/migration')
  const days = [{ failed: 0, mistakes: 9 }]
  expect(json).toMatchObject({ headline: 'No: 3 of 3 callers still use version 1.', days })
})

test('the kit lists only what needs a decision, and nothing that the gateway assumed was sent', async () => {
  const { text, headers } = await ask(gateway, '/migration/acme?kit', HTML)
  expect(headers.get('content-disposition')).toBe('attachment; filename="version-2.html"')
  const [, decisions = ''] = text.split('Fields that need a decision')
  expectWords(decisions, 'PickupPhNo.', 'Foo', 'vehicle_type')
  expect(decisions.match(/<tr role="row">/g)).toHaveLength(7)
})

test('obstacles of a tenant come first, with the field that an unknown one may mean, and the rest is folded', async () => {
  const store = createMemoryStore()
  await fillCounts(store)
  const day = Math.floor(store.now() / DAY_MS)
  const at = { tenant: 'acme', count: 1, example: '', firstAt: day * DAY_MS, lastAt: day * DAY_MS }
  const used = { ...at, kind: 'used', action: 'shipment.update' } as const
  const fields = ['ActionName', 'ReferenceNumber', 'DeliveryName', 'PickupCity'].map((name) => ({ ...used, name }))
  const names = [{ ...at, kind: 'unknown', action: '', name: 'PickUpZipCode' } as const, ...fields]
  const call = { tenant: 'acme', day, use: 'version-1', outcome: 'done', calls: 1 } as const
  const calls = ['shipment.update', 'quote.approve'].map((action) => ({ ...call, action }))
  await store.addCounts({ instance: 'typo', no: 1, days: [day], calls, names })
  const gateway = await startGateway({ store, proven: false })
  const [before = '', after = ''] = (await pageOf(gateway, '/migration/acme')).split('<h2>Details</h2>')
  expectWords(before, 'Did you mean PickupZip?', 'version 2 does not record the agent')
  expect(after.match(/<details><summary>[^<]+<\/summary>/g)?.length).toBeGreaterThan(4)
  // The count is the same everywhere.
  const listed = partOf(await pageOf(gateway, '/migration'), /<bdi>acme<\/bdi>.*?<td [^>]*class="number">(\d+)<\/td>/s)
  expect(before).toContain(`<h2>Blocks migration (${listed})</h2>`)
  const kit = (await ask(gateway, '/migration/acme?kit')).text
  expect(kit.replace(/<[^>]*>/g, '')).toContain('These calls also send PickupCity (pickup.city).\n')
  // Version 2 does not do what the rest of these summaries says of version 1.
  const headings = [...kit.matchAll(/<h2>(.*)<\/h2>/g)].map(([, heading]) => heading)
  expect(headings).toEqual(['Get a quote', 'Accept a quote', 'Change a shipment', 'Fields that need a decision'])
})

test("a report is read again after the store's clock has jumped", async () => {
  let behindMs = 3 * DAY_MS
  const store = createMemoryStore({ now: () => Date.now() - behindMs })
  await fillTenants(store, 500)
  const gateway = await startGateway({ store, proven: false })
  const asOf = async () => (await ask(gateway, '/migration')).json.generatedAt.slice(0, 10)
  const before = await asOf()
  behindMs = 0
  expect(await asOf()).not.toBe(before)
})

test('the guide and the kit say in each mode which credential is valid where', async () => {
  const others = createMemoryStore()
  await fillCounts(others)
  const env = { SUPPORT_CONTACT: 'help@example.com' }
  for (const [opened, ...words] of [
    [gateway, 'stay the same'],
    [startGateway({ store: others, env: OWN }), 'its own credential for all callers'],
    [openEdge(named(['acme', 'two']), { store: others, env }), 'works only at this gateway', 'help@example.com'],
  ] as const) {
    const gateway = await opened
    expectWords((await get(gateway, '/guide', HTML)).text, ...words)
    expectWords((await ask(gateway, '/migration/acme?kit')).text, ...words)
  }
})

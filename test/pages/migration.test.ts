/** Promise: the migration page says who still uses version 1, and what is left (contract, section 1). */

import { afterAll, expect, test } from 'vitest'
import { DAY_MS } from '../../src/outside/store/scoreboard.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { named, openEdge } from '../callers/tenants-gateway.ts'
import { get, OWN, startGateway } from '../gateway.ts'
import { ask, CSP, expectWords, HTML, pageOf, partOf } from './browser.ts'
import { fillCounts, fillTenants, HOSTILE } from './sample-counts.ts'

const HEADLINE = 'No: 3 of 6 callers still use version 1.'
const OF_HOSTILE = `/migration?tenant=${encodeURIComponent(HOSTILE)}`

const store = createMemoryStore()
await fillCounts(store)
const gateway = await startGateway({ store, closeAt: afterAll })
const json = async (path: string) => (await ask(gateway, path)).json

/** Returns the addresses of a page's links, unescaped. */
const linksIn = (page: string) =>
  [...page.matchAll(/ href="([^"]*)"/g)].map(([, address = '']) =>
    address.replaceAll('&#39;', "'").replaceAll('&amp;', '&'),
  )

test('all tenants are JSON for programs, with a verdict for each', async () => {
  const { json, headers } = await ask(gateway, '/migration')
  expect(headers.get('content-type')).toContain('application/json')
  const states = { acme: 'moving', 'calling-only': 'calling', gone: 'safe', quieter: 'quiet', '': 'safe' }
  for (const [tenant, state] of Object.entries({ ...states, [HOSTILE]: 'calling' }))
    expect(json.tenants).toContainEqual(
      expect.objectContaining({ tenant, verdict: expect.objectContaining({ state }) }),
    )
  const watch = { quietDays: 30, watchedDays: 70, headline: HEADLINE }
  expect(json).toMatchObject({ ...watch, verdict: { state: 'moving' }, found: 6, pages: 1 })
  expect((await ask(gateway, '/migration.json', HTML)).json.tenants).toEqual(json.tenants)
})

test('all tenants are a page for browsers, which links each', async () => {
  const { status, text, headers } = await ask(gateway, '/migration', HTML)
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(headers.get('content-security-policy')).toBe(CSP)
  expectWords(text, 'safe to switch off', `>${HEADLINE}</h1>`, 'class="share"', '>Blockers</th>')
  const links = linksIn(text).filter((address) => /^\/migration[/?](?!.*json)/.test(address))
  expect(links).toHaveLength(6)
  for (const link of links) expect((await ask(gateway, link, HTML)).status, link).toBe(200)
  expect((await ask(gateway, '/style.css')).headers.get('content-type')).toBe('text/css; charset=utf-8')
})

test('a tenant has the work that is left, with version-2 equivalents, and an example of each error', async () => {
  const [{ work, errors }] = (await json('/migration/acme')).tenants
  for (const item of [
    { name: 'CSR', blocks: 'no version-2 equal', note: 'version 2 does not record the agent' },
    { name: 'PickupPhNo.', blocks: 'loses something', equivalents: ['pickup.contact_phone'] },
    { name: 'TempShipFromPostalCode', equivalents: ['pickup'] },
    { name: 'ActionName', equivalents: ['POST /v2/quote'] },
    { name: 'vehicle_type', kind: 'assumed' },
    { name: 'Foo', kind: 'unknown', blocks: 'no version-2 equal' },
    { name: 'quote.get', kind: 'action', equivalents: ['POST /v2/quote'] },
  ])
    expect(work).toContainEqual(expect.objectContaining(item))
  const blocking = work.map(({ blocks }: { blocks?: string }) => Number(blocks === undefined))
  expect(blocking).toEqual(blocking.toSorted())
  expect(errors).toContainEqual(
    expect.objectContaining({ name: 'untranslatable', version1: 3, requestId: 'request-17' }),
  )
  const words = ['pickup.contact_phone', 'request-17', 'OldShop/3', '192.0.2.0/24', 'all others']
  expectWords(await pageOf(gateway, '/migration/acme'), ...words)
  expect((await ask(gateway, '/migration/acme.json', HTML)).json.tenants).toHaveLength(1)
})

test.each([
  ['q=ACM', ['acme']],
  ['state=safe&sort=name', ['', 'gone']],
  ['sort=calls', ['acme', 'quieter', 'calling-only', 'gone', HOSTILE, '']],
  ['q=none', []],
  ['state=odd&sort=odd&page=-1&q=quiet', ['quieter']],
])('tenants are found, filtered and sorted: %s', async (query, tenants) => {
  const found = (await json(`/migration?${query}`)).tenants
  expect(found.map(({ tenant }: { tenant: string }) => tenant)).toEqual(tenants)
})

test('ten thousand tenants are on pages of fifty, each below 60 KB', async () => {
  const store = createMemoryStore()
  await fillTenants(store, 10_000)
  const gateway = await startGateway({ store })
  const text = await pageOf(gateway, '/migration?sort=name&page=3')
  const headline = 'No: 10,000 of 10,000 callers still use version 1; 3,334 fail.'
  expectWords(text, headline, 'Page 3 of 200', '>tenant 00100<')
  expect(Buffer.byteLength(text)).toBeLessThan(60 * 1024)
  expect((await ask(gateway, '/migration?state=failing&q=9999')).json).toMatchObject({ found: 1 })
})

test("a caller's mistakes are no failures", async () => {
  const store = createMemoryStore()
  await fillTenants(store, 3, 'credential-wrong')
  const { json } = await ask(await startGateway({ store }), '/migration')
  const days = [{ failed: 0, mistakes: 9 }]
  expect(json).toMatchObject({ headline: 'No: 3 of 3 callers still use version 1.', days })
})

test("the kit has a tenant's own calls as version-2 code in one file, without a value of theirs", async () => {
  const { text, headers } = await ask(gateway, '/migration/acme?kit', HTML)
  expect(headers.get('content-disposition')).toBe('attachment; filename="version-2.html"')
  const programs = ['CURLOPT_TIMEOUT', 'urllib.request', 'HTTP::Tiny', 'package main']
  // Headings say what version 2 does; of the quote's fields, it has those that this tenant sends.
  const content = ['<h2>Get a quote</h2>', '&quot;pickup&quot;: &quot;10314&quot;']
  expectWords(text, 'Dear developers', ...programs, 'version 2 does not record the agent', ...content)
  // Only what needs a decision is listed, and nothing that the gateway assumed was sent.
  const [, decisions = ''] = text.split('Fields that need a decision')
  const leave = 'Leave out <code><bdi>TempShipFromCity</bdi></code>: '
  expectWords(decisions, 'PickupPhNo.', 'Foo', 'vehicle_type', leave)
  expect(decisions.match(/<tr role="row">/g)).toHaveLength(6)
  expect(text).not.toMatch(/It also sends|`No`|WTS20250216191244&quot;\.|<(script|img)/)
  expect(await ask(gateway, `${OF_HOSTILE}&kit`)).toMatchObject({ status: 200 })
  expect((await ask(gateway, '/migration/nobody?kit')).status).toBe(404)
})

test('what blocks a tenant comes first, with the field that an unknown one may stand for, and the rest is folded', async () => {
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
  const gateway = await startGateway({ store })
  const [before = '', after = ''] = (await pageOf(gateway, '/migration/acme')).split('<h2>Details</h2>')
  expectWords(before, 'Did you mean PickupZip?', 'version 2 does not record the agent')
  expect(after.match(/<details><summary>[^<]+<\/summary>/g)?.length).toBeGreaterThan(4)
  // One count everywhere.
  const listed = partOf(await pageOf(gateway, '/migration'), /<bdi>acme<\/bdi>.*?<td [^>]*class="number">(\d+)<\/td>/s)
  expect(before).toContain(`<h2>Blocks migration (${listed})</h2>`)
  const kit = (await ask(gateway, '/migration/acme?kit')).text
  expect(kit.replace(/<[^>]*>/g, '')).toContain('It also sends PickupCity (pickup.city).\n')
  // Version 2 does not do what the rest of these summaries says of version 1.
  const headings = [...kit.matchAll(/<h2>(.*)<\/h2>/g)].map(([, heading]) => heading)
  expect(headings).toEqual(['Get a quote', 'Accept a quote', 'Change a shipment', 'Fields that need a decision'])
})

test('a report is read anew after the clock of the store has jumped', async () => {
  let behindMs = 3 * DAY_MS
  const store = createMemoryStore({ now: () => Date.now() - behindMs })
  await fillTenants(store, 500)
  const gateway = await startGateway({ store })
  const asOf = async () => (await ask(gateway, '/migration')).json.generatedAt.slice(0, 10)
  const before = await asOf()
  behindMs = 0
  expect(await asOf()).not.toBe(before)
})

test('the guide and the kit say in each mode which credential is good where', async () => {
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

test.each(['/migration', '/migration/acme', OF_HOSTILE])('hostile names are text: %s', async (path) => {
  const { text, status } = await ask(gateway, path, HTML)
  expect(status).toBe(200)
  expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;')
  // No other attribute holds code or style, and the page has its own script, and no other.
  expect(text.replace('<script type="module" src="/pages.js"></script>', '')).not.toMatch(
    /<img|<[^>]+\s(on\w+|style)=|<(script|iframe|object)/i,
  )
  // What a terminal or a browser obeys.
  const all = text + (await ask(gateway, path)).text
  for (const obeyed of ['\u001b', '\u202e']) expect(all).not.toContain(obeyed)
})

test('a declared tenant has never called, and of an unknown one nothing is known', async () => {
  const gateway = await startGateway({ env: OWN })
  const { json } = await ask(gateway, '/migration')
  const verdict = { state: 'never-seen' }
  expect(json).toMatchObject({ tenants: [{ tenant: 'demo', verdict }], verdict })
  for (const path of ['/migration/nobody', '/migration/nobody.json', '/migration?tenant=', '/migration/%ff']) {
    expect((await ask(gateway, path, HTML)).status, path).toBe(404)
    expect(await ask(gateway, path), path).toMatchObject({ status: 404, json: { status: 404 } })
  }
})

test('a tenant whose name ends like that of a JSON document has a page', async () => {
  const gateway = await startGateway({ env: { ...OWN, V2_CLIENT_ID: 'shop.json' } })
  const page = async (path: string) => {
    const { status, text } = await ask(gateway, path, HTML)
    return [status, partOf(text, /<h1>(<bdi>.*<\/bdi>)/)]
  }
  expect(await page('/migration?tenant=shop.json')).toEqual([200, '<bdi>shop.json</bdi>'])
  expect(await page('/migration/shop.json.json')).toEqual([200, ''])
  expect((await page('/migration/other.json'))[0]).toBe(404)
})

/** Promise: the migration page says who still uses version 1, and what is left (contract, section 1). */

import { afterAll, describe, expect, test } from 'vitest'
import { DAY_MS } from '../../src/outside/store/scoreboard.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { named, openEdge } from '../callers/tenants-gateway.ts'
import { get, OWN, startGateway, type TestGateway } from '../gateway.ts'
import { fillCounts, fillTenants, HOSTILE } from './sample-counts.ts'

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const CSP =
  "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const HEADLINE = 'No: 3 of 6 callers still use version 1.'

const store = createMemoryStore()
await fillCounts(store)
const gateway = await startGateway({ store, closeAt: afterAll })

/** Characters of the hostile name that a terminal or a browser obeys. */
const OBEYED = ['\u001b', '\u202e']

const ask = ({ adminUrl: url }: TestGateway, path: string, headers: Readonly<Record<string, string>> = {}) =>
  get({ url }, path, headers)

/** Returns the addresses of a page's links, unescaped. */
const linksIn = (page: string) =>
  [...page.matchAll(/ href="([^"]*)"/g)].map(([, address = '']) =>
    address.replaceAll('&#39;', "'").replaceAll('&amp;', '&'),
  )

describe('/migration', () => {
  test('is JSON for programs, with a verdict for every tenant', async () => {
    const { status, json, headers } = await ask(gateway, '/migration')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toContain('application/json')
    const states = { acme: 'moving', 'calling-only': 'calling', gone: 'safe', quieter: 'quiet', '': 'safe' }
    for (const [tenant, state] of Object.entries({ ...states, [HOSTILE]: 'calling' })) {
      expect(json.tenants).toContainEqual(
        expect.objectContaining({ tenant, verdict: expect.objectContaining({ state }) }),
      )
    }
    expect(json).toMatchObject({ quietDays: 30, watchedDays: 70, verdict: { state: 'moving' }, found: 6, pages: 1 })
    expect(json.headline).toBe(HEADLINE)
    expect((await ask(gateway, '/migration.json', HTML)).json.tenants).toEqual(json.tenants)
  })

  test('is a page for browsers, which links every tenant', async () => {
    const { status, text, headers } = await ask(gateway, '/migration', HTML)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('content-security-policy')).toBe(CSP)
    expect(text).toContain('safe to switch off')
    expect(text).toContain(`>${HEADLINE}</h1>`)
    const links = linksIn(text).filter((address) => /^\/migration[/?](?!.*json)/.test(address))
    expect(links).toHaveLength(6)
    for (const link of links) expect((await ask(gateway, link, HTML)).status, link).toBe(200)
    const style = await ask(gateway, '/style.css')
    expect(style.headers.get('content-type')).toBe('text/css; charset=utf-8')
  })

  test('shows the work that is left, with version-2 equivalents, and an example of each error', async () => {
    const { json } = await ask(gateway, '/migration/acme')
    const [{ work, errors }] = json.tenants
    for (const item of [
      { name: 'CSR', blocks: 'no version-2 equal', note: 'version 2 does not record the agent' },
      { name: 'PickupPhNo.', blocks: 'loses something', equivalents: ['pickup.contact_phone'] },
      { name: 'TempShipFromPostalCode', equivalents: ['pickup'] },
      { name: 'ActionName', equivalents: ['POST /v2/quote'] },
      { name: 'vehicle_type', kind: 'assumed' },
      { name: 'Foo', kind: 'unknown', blocks: 'no version-2 equal' },
      { name: 'quote.get', kind: 'action', equivalents: ['POST /v2/quote'] },
    ]) {
      expect(work).toContainEqual(expect.objectContaining(item))
    }
    const blocking = work.map(({ blocks }: { blocks?: string }) => blocks !== undefined)
    expect(blocking).toEqual(blocking.toSorted((one: boolean, other: boolean) => Number(other) - Number(one)))
    expect(errors).toContainEqual(
      expect.objectContaining({ name: 'untranslatable', version1: 3, requestId: 'request-17' }),
    )
    const { text } = await ask(gateway, '/migration/acme', HTML)
    for (const word of ['pickup.contact_phone', 'request-17', 'OldShop/3', '192.0.2.0/24', 'all others']) {
      expect(text).toContain(word)
    }
    expect((await ask(gateway, '/migration/acme.json', HTML)).json.tenants).toHaveLength(1)
  })

  test('finds, filters and sorts tenants', async () => {
    for (const [query, tenants] of [
      ['q=ACM', ['acme']],
      ['state=safe&sort=name', ['', 'gone']],
      ['sort=calls', ['acme', 'quieter', 'calling-only', 'gone', HOSTILE, '']],
      ['q=none', []],
      ['state=odd&sort=odd&page=-1&q=quiet', ['quieter']],
    ] as const) {
      const { json } = await ask(gateway, `/migration?${query}`)
      expect(
        json.tenants.map(({ tenant }: { tenant: string }) => tenant),
        query,
      ).toEqual(tenants)
    }
  })

  test('has ten thousand tenants on pages of fifty, each below 60 KB', async () => {
    const store = createMemoryStore()
    await fillTenants(store, 10_000)
    const gateway = await startGateway({ store })
    const { text } = await ask(gateway, '/migration?sort=name&page=3', HTML)
    expect(text).toContain('No: 10,000 of 10,000 callers still use version 1; 3,334 fail.')
    expect(text).toContain('Page 3 of 200')
    expect(text).toContain('>tenant 00100<')
    expect(Buffer.byteLength(text)).toBeLessThan(60 * 1024)
    expect((await ask(gateway, '/migration?state=failing&q=9999')).json).toMatchObject({ found: 1 })
  })

  test("does not count a caller's mistakes as failures", async () => {
    const store = createMemoryStore()
    await fillTenants(store, 3, 'credential-wrong')
    const { json } = await ask(await startGateway({ store }), '/migration')
    expect(json.headline).toBe('No: 3 of 3 callers still use version 1.')
    expect(json.days).toMatchObject([{ failed: 0, mistakes: 9 }])
  })

  test("has a tenant's own calls as version-2 code in one file, without a value of theirs", async () => {
    const { text, headers } = await ask(gateway, '/migration/acme?kit', HTML)
    expect(headers.get('content-disposition')).toBe('attachment; filename="version-2.html"')
    for (const word of [
      'Dear developers',
      'CURLOPT_TIMEOUT',
      'urllib.request',
      'HTTP::Tiny',
      'package main',
      'version 2 does not record the agent',
    ]) {
      expect(text).toContain(word)
    }
    // Headings say what version 2 does; only what needs a decision is listed, and nothing that the gateway assumed was sent.
    expect(text).toContain('<h2>Get a quote</h2>')
    const [, decisions = ''] = text.split('Fields that need a decision')
    for (const word of ['PickupPhNo.', 'Foo', 'vehicle_type']) expect(decisions).toContain(word)
    expect(decisions.match(/<tr role="row">/g)).toHaveLength(6)
    expect(decisions).toContain('Leave out <code><bdi>TempShipFromCity</bdi></code>: ')
    expect(text).not.toContain('It also sends')
    for (const word of ['`No`', 'WTS20250216191244&quot;.']) expect(text).not.toContain(word)
    // Of the quote's fields, those that this tenant sends.
    expect(text).toContain('&quot;pickup&quot;: &quot;10314&quot;')
    expect(text).not.toMatch(/<(script|img)/)
    expect(await ask(gateway, `/migration?tenant=${encodeURIComponent(HOSTILE)}&kit`)).toMatchObject({ status: 200 })
    expect((await ask(gateway, '/migration/nobody?kit')).status).toBe(404)
  })

  test('shows first what blocks a tenant, with the field that an unknown one may stand for, and folds the rest', async () => {
    const store = createMemoryStore()
    await fillCounts(store)
    const day = Math.floor(store.now() / DAY_MS)
    const unknown = {
      tenant: 'acme',
      kind: 'unknown',
      action: '',
      name: 'PickUpZipCode',
      count: 1,
      example: '',
    } as const
    const at = { firstAt: day * DAY_MS, lastAt: day * DAY_MS }
    const fields = ['ActionName', 'ReferenceNumber', 'DeliveryName', 'PickupCity'].map(
      (name) => ({ ...unknown, ...at, kind: 'used', action: 'shipment.update', name }) as const,
    )
    const change = {
      tenant: 'acme',
      day,
      use: 'version-1',
      action: 'shipment.update',
      outcome: 'done',
      calls: 1,
    } as const
    const calls = [change, { ...change, action: 'quote.approve' }]
    const names = [{ ...unknown, ...at }, ...fields]
    await store.addCounts({ instance: 'typo', no: 1, days: [day], calls, names })
    const gateway = await startGateway({ store })
    const { text } = await ask(gateway, '/migration/acme', HTML)
    const [before = '', after = ''] = text.split('<h2>Details</h2>')
    expect(before).toMatch(/<h2>Blocks migration \(\d+\)<\/h2>/)
    expect(before).toContain('Did you mean PickupZip?')
    expect(before).toContain('version 2 does not record the agent')
    expect(after.match(/<details><summary>[^<]+<\/summary>/g)?.length).toBeGreaterThan(4)
    const kit = (await ask(gateway, '/migration/acme?kit')).text
    expect(/It also sends.*/.exec(kit)?.[0].replace(/<[^>]*>/g, '')).toBe('It also sends PickupCity (pickup.city).')
    // Version 2 does not do what the rest of these summaries says of version 1.
    const headings = [...kit.matchAll(/<h2>(.*)<\/h2>/g)].map(([, heading]) => heading)
    expect(headings).toEqual(['Get a quote', 'Accept a quote', 'Change a shipment', 'Fields that need a decision'])
    const { text: list } = await ask(gateway, '/migration', HTML)
    expect(list).toContain('class="share"')
    expect(list).toMatch(/>Blockers<\/th>/)
    // One count everywhere.
    const [, count] = /<h2>Blocks migration \((\d+)\)/.exec(before) ?? []
    const [, listed] = /<bdi>acme<\/bdi>.*?<td [^>]*class="number">(\d+)<\/td>/s.exec(list) ?? []
    expect(listed).toBe(count)
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
      for (const text of [(await get(gateway, '/guide', HTML)).text, (await ask(gateway, '/migration/acme?kit')).text])
        for (const word of words) expect(text).toContain(word)
    }
  })

  test('the guide names what a caller has of its own, and what version 2 does', async () => {
    const { text } = await get(gateway, '/guide', HTML)
    for (const words of ['href="/my"', 'href="/my/numbers.csv"', '/check/last', '>Change a shipment</a>'])
      expect(text).toContain(words)
    expect(text).not.toContain('stay unchanged')
  })

  test('shows hostile names as text', async () => {
    const pages = ['/migration', '/migration/acme', `/migration?tenant=${encodeURIComponent(HOSTILE)}`]
    for (const path of pages) {
      const { text, status } = await ask(gateway, path, HTML)
      expect(status).toBe(200)
      expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;')
      for (const obeyed of ['<img', ...OBEYED]) expect(text).not.toContain(obeyed)
      // No other attribute holds code or style.
      expect(text).not.toMatch(/<[^>]+\s(on\w+|style)=/)
      // The page's own script, and no other.
      expect(text.replace('<script type="module" src="/pages.js"></script>', '')).not.toMatch(
        /<(script|iframe|object)/i,
      )
      const json = (await ask(gateway, path)).text
      for (const obeyed of OBEYED) expect(json).not.toContain(obeyed)
    }
  })

  test('says that a declared tenant has never called, and that of an unknown one nothing is known', async () => {
    const gateway = await startGateway({ env: OWN })
    const { json } = await ask(gateway, '/migration')
    expect(json.tenants).toMatchObject([{ tenant: 'demo', verdict: { state: 'never-seen' } }])
    expect(json.verdict.state).toBe('never-seen')
    for (const path of ['/migration/nobody', '/migration/nobody.json', '/migration?tenant=', '/migration/%ff']) {
      expect((await ask(gateway, path, HTML)).status, path).toBe(404)
      const { status, json: problem } = await ask(gateway, path)
      expect(status, path).toBe(404)
      expect(problem).toMatchObject({ status: 404 })
    }
  })
})

test('a tenant whose name ends like that of a JSON document has a page', async () => {
  const gateway = await startGateway({ env: { ...OWN, V2_CLIENT_ID: 'shop.json' } })
  const page = async (path: string) => {
    const { status, text } = await ask(gateway, path, HTML)
    return [status, /<h1>(<bdi>.*<\/bdi>)/.exec(text)?.[1]]
  }
  expect(await page('/migration?tenant=shop.json')).toEqual([200, '<bdi>shop.json</bdi>'])
  expect(await page('/migration/shop.json.json')).toEqual([200, undefined])
  expect((await page('/migration/other.json'))[0]).toBe(404)
})

/** Promise: a caller sees its own migration, and nothing of another caller's (contract, section 12). */

import { get as httpGet } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { fromCell } from '../../src/operator/file-records.ts'
import { DAY_MS } from '../../src/outside/store/scoreboard.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { ScannedName, Store } from '../../src/outside/store/store.ts'
import { basic, get, startGateway, type TestGatewayOptions } from '../gateway.ts'
import { fillCounts } from '../pages/sample-counts.ts'

const HTML = { accept: 'text/html' }
const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
/** A client id that is an attack if it is not treated as plain text. */
const HOSTILE = `<img src=x onerror=alert(1)>"'&=HYPERLINK("x")|../acme?tenant=acme`
const CREDENTIALS = { acme: 'acme-secret', [HOSTILE]: 'hostile-secret', gone: 'gone-secret' }
const ACME = { authorization: basic('acme', 'acme-secret') }
const STRANGE = { authorization: basic(HOSTILE, 'hostile-secret') }

async function open(options: TestGatewayOptions = {}) {
  const store = createMemoryStore()
  await fillCounts(store)
  return startGateway({ store, sandbox: { credentials: CREDENTIALS }, ...options })
}

describe('/my', () => {
  test('has what the page of the operator has, and each problem once, with what to do', async () => {
    const gateway = await open({
      env: { SUNSET: '2095-01-01', RETIRED_FROM: '2096-01-01', BROWNOUTS: '2094-01-01T10:00Z/1h' },
    })
    const { status, json, headers } = await get(gateway, '/my', ACME)
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    const [operators] = (await get({ url: gateway.adminUrl }, '/migration/acme')).json.tenants
    const { generatedAt, countedWithinSeconds, problems, brownouts, sunset, retiredFrom, kit, numbers, ...same } = json
    expect(countedWithinSeconds).toBe(10)
    expect(same).toEqual(operators)
    expect({ sunset, retiredFrom, kit, numbers }).toEqual({
      sunset: '2095-01-01T00:00:00.000Z',
      retiredFrom: '2096-01-01T00:00:00.000Z',
      kit: '/my?kit',
      numbers: '/my/numbers.csv',
    })
    expect(brownouts).toEqual([{ from: '2094-01-01T10:00:00.000Z', until: '2094-01-01T11:00:00.000Z' }])
    expect(problems).toContainEqual({
      problem: 'Some fields cannot be translated',
      count: 3,
      last: expect.stringMatching(/^20/),
      todo: expect.stringContaining('/dry-run'),
    })
    expect(problems).toContainEqual({
      problem: 'quote.get CSR: no version-2 equivalent',
      count: 3,
      last: expect.stringMatching(/^20/),
      todo: 'Leave it out: version 2 does not record the agent',
    })
    // A problem that a dry run does not show has different advice; a version-2 error does not prevent the migration.
    expect(problems).toContainEqual(
      expect.objectContaining({ problem: 'Unknown number', todo: 'Check the number and VIN.' }),
    )
    expect(same.errors).toContainEqual(expect.objectContaining({ name: 'service-404', version1: 0 }))
    const names = problems.map(({ problem }: { problem: string }) => problem)
    expect(names.join()).not.toContain('404')
    expect(new Set(names).size).toBe(names.length)
  })

  test('is a page for browsers, with the kit and the numbers, and no link to other pages of the operator', async () => {
    const gateway = await open({ env: { SUNSET: '2095-01-01', WORKBENCH: 'off', BROWNOUTS: '2094-01-01T10:00Z/1h' } })
    const { status, text, headers } = await get(gateway, '/my', { ...ACME, ...HTML })
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    for (const word of [
      '<bdi>acme</bdi>',
      'Calls by day',
      'What to do',
      '/my?kit',
      '/my/numbers.csv',
      '2095-01-01',
      'legacy calls are refused, except bookings and approvals.',
      'within 10 seconds',
    ]) {
      expect(text).toContain(word)
    }
    const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link)
    expect(links.filter((link) => !/^(?:\/my|#|data:|\/style\.css|\/pages\.js)/.test(link ?? ''))).toEqual([])
    expect((await get(gateway, '/style.css')).status).toBe(200)
    const kit = await get(gateway, '/my?kit', { ...ACME, ...HTML })
    expect(kit.headers.get('content-disposition')).toContain('attachment')
    expect(kit.text).toContain('Moving <bdi>acme</bdi>')
  })

  test('says where to find both prices of a booking without a log', async () => {
    const store = createMemoryStore()
    const day = Math.floor(store.now() / DAY_MS)
    const at = { firstAt: store.now(), lastAt: store.now() }
    const price = { tenant: 'acme', kind: 'price', action: 'shipment.create', name: 'booked' } as const
    const names = [{ ...price, ...at, count: 1, example: 'request-18' }]
    await store.addCounts({ instance: 'price', no: 1, days: [day], calls: [], names })
    const gateway = await startGateway({ store, sandbox: { credentials: CREDENTIALS } })
    const { text } = await get(gateway, '/my', { ...ACME, ...HTML })
    expect(text).toContain('Bookings at a price that differs from the quote: 1.')
    for (const word of ['Transload-Price', 'request-18']) expect(text).toContain(word)
    expect(text).not.toContain('log line')
    const { json } = await get(gateway, '/my', ACME)
    expect(json.otherPrice).toEqual({ requestId: 'request-18', last: new Date(at.lastAt).toISOString() })
  })

  test('shows nothing of another caller, whatever their names are', async () => {
    const gateway = await open({ proven: false })
    for (const path of ['/my', '/my?tenant=acme', '/my?kit&tenant=acme', '/my/numbers.csv?tenant=acme']) {
      const { status, text } = await get(gateway, path, { ...STRANGE, ...HTML })
      expect(status, path).toBe(200)
      expect(text.replaceAll('../acme?tenant=acme', '')).not.toMatch(/acme|CSR|request-17|onerror=alert\(1\)>[^<]*"x"/)
      expect(text.replace('<script type="module" src="/pages.js"></script>', '')).not.toMatch(/<img|<script/)
    }
    const { json } = await get(gateway, '/my', STRANGE)
    expect(json).toMatchObject({
      tenant: HOSTILE,
      verdict: { state: 'never-seen' },
      actions: [],
      errors: [],
      fields: [],
    })
  })
})

describe('/my/numbers.csv', () => {
  const NAMES = ['=1+1', '+1', '-1', '@x', "'quoted", '\tx', 'a,b "c"', 'é;=1', 'plain']

  test("has the caller's own numbers with the service's ids, as safe cells", async () => {
    const store = createMemoryStore()
    const load = (tenant: string, name: string) =>
      ({ tenant, name, kind: 'shipment', id: ID, givenBy: 'caller' }) as const
    await store.load([...NAMES.map((name) => ({ ...load('acme', name), vin: '1FDXE4FN9PDD32477', at: 0 }))], {
      replace: false,
    })
    await store.load(
      [HOSTILE, 'acme2', 'acm', 'gone'].map((name) => ({ ...load(name, `of ${name}`), vin: '' })),
      {
        replace: false,
      },
    )
    const gateway = await startGateway({ store, sandbox: { credentials: CREDENTIALS } })
    const { status, text, headers } = await get(gateway, '/my/numbers.csv', ACME)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
    const [header, ...lines] = text.trimEnd().split('\n')
    expect(header).toBe('name,kind,vin,id,since')
    const rest = `,shipment,1FDXE4FN9PDD32477,${ID},1970-01-01T00:00:00.000Z`
    for (const line of lines) expect(line).toMatch(new RegExp(`${rest.replaceAll('.', '\\.')}$`))
    const cells = lines.map((line) => line.slice(0, -rest.length))
    for (const cell of cells) expect(cell).not.toMatch(/^"?[=+\-@\t]/)
    const written = cells.map((cell) => fromCell(cell.replace(/^"(.*)"$/, '$1').replaceAll('""', '"')))
    expect(new Set(written)).toEqual(new Set(NAMES))
    expect((await get(gateway, '/my/numbers.csv', STRANGE)).text.split('\n')).toHaveLength(3)
  })

  /** A store with a million numbers, which counts the parts that were read. */
  function large(): { readonly store: Store; readonly parts: () => number } {
    let parts = 0
    async function* scan(): AsyncGenerator<readonly ScannedName[]> {
      for (; parts < 2_000; parts += 1) {
        yield Array.from({ length: 500 }, (_, i) => {
          return {
            tenant: 'acme',
            name: `R-${parts}-${i}`,
            kind: 'shipment',
            id: ID,
            givenBy: 'caller',
            vin: '',
            at: 0,
          }
        })
      }
    }
    return { store: { ...createMemoryStore(), scan }, parts: () => parts }
  }

  test('is sent as fast as its reader reads, but does not wait forever', async () => {
    const { store, parts } = large()
    const gateway = await startGateway({ store, timeouts: { replyMs: 500 }, sandbox: { credentials: CREDENTIALS } })
    const closed = Promise.withResolvers<void>()
    const asked = httpGet(`${gateway.url}/my/numbers.csv`, { headers: ACME }, (reply) => {
      reply.once('data', () => reply.pause())
      reply.once('close', closed.resolve).on('error', () => {})
    })
    asked.on('error', () => closed.resolve())
    await vi.waitFor(() => expect(parts()).toBeGreaterThan(1))
    await gateway.logged(/call/)
    expect(parts()).toBeLessThan(1_000)
    asked.destroy()
    await closed.promise
  })

  test('a store that does not answer is an error', async () => {
    const memory = createMemoryStore()
    const gateway = await startGateway({ store: memory, sandbox: { credentials: CREDENTIALS } })
    await memory.close()
    expect((await get(gateway, '/my/numbers.csv', ACME)).status).toBe(503)
  })
})

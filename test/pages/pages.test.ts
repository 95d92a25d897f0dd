import { expect, test } from 'vitest'
import { DAY_MS } from '../../src/store/scoreboard.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { ClaimState, Store } from '../../src/store/store.ts'
import { get, startGateway } from '../gateway.ts'
import { fillCounts, HOSTILE } from './sample-counts.ts'

const NOW = Date.UTC(2031, 2, 4, 5, 6, 7)
const TODAY = Math.floor(NOW / DAY_MS)
const HTML = { accept: 'text/html' }

/** Makes a booking with an outcome, or without one; each is a minute older than the one before. */
async function addBooking(store: Store, no: number, state: ClaimState, reference = `R-${no}`): Promise<void> {
  const handle = `bk_${String(no).padStart(12, '0')}`
  const wanted = { tenant: 'acme', key: handle, handle, body: '', instance: 'i-1', reference, vin: `VIN-${no}` }
  const { claim } = await store.claim(wanted)
  if (state === 'sending') return
  const shipment = state === 'booked' ? `shipment-${no}` : ''
  await store.change(claim, { state, instance: 'i-2', shipment, reply: '', why: 'test' })
}

async function filledStore(): Promise<Store> {
  const store = createMemoryStore({ now: () => NOW })
  await fillCounts(store)
  const acme = { tenant: 'acme', day: TODAY - 1, use: 'version-1', action: 'shipment.create' } as const
  await store.addCounts({
    instance: 'sample',
    no: 2,
    days: [TODAY - 1],
    calls: [
      { ...acme, outcome: 'replayed', calls: 2 },
      { ...acme, outcome: 'untranslatable', calls: 3 },
      { ...acme, action: '', outcome: 'action-unknown', calls: 4 },
      { ...acme, use: 'dry-run', outcome: 'done', calls: 5 },
      { ...acme, use: 'version-2', action: '', outcome: 'service-404', calls: 6 },
    ],
    names: [],
  })
  const states: readonly ClaimState[] = ['unknown', 'booked', 'refused', 'freed', 'unknown']
  for (const [i, state] of states.entries()) await addBooking(store, i + 1, state)
  await addBooking(store, 6, 'unknown', HOSTILE)
  return store
}

/** Shows every row of a table but the first one as the text of its cells. */
const brief = (page: string) =>
  page.replace(/(<tbody.*?<\/tr>\n)(.*?)(<\/tbody>)/gs, (_, first: string, more: string, end: string) => {
    const cells = more.replace(/<td[^>]*>|<\/div><\/td>|<tr[^>]*>|<\/tr>/g, '').replaceAll('<div>', ' | ')
    return first + cells + end
  })

/** Returns pages as they are sent, with the headers that they have besides those of every answer. */
async function printed(adminUrl: string, asked: readonly (readonly [path: string, headers: Record<string, string>])[]) {
  const told: string[] = []
  for (const [path, headers] of asked) {
    const { status, text, headers: got } = await get({ url: adminUrl }, path, headers)
    const shown = ['content-type', 'cache-control', 'vary', 'referrer-policy', 'x-content-type-options']
    const lines = shown.flatMap((name) => (got.has(name) ? [`${name}: ${got.get(name)}`] : []))
    told.push(`GET ${path} ${headers['accept'] ?? ''}`.trim(), String(status), ...lines, '', brief(text))
  }
  return told.join('\n')
}

test('every page for operators is what it was', async () => {
  const gateway = await startGateway({
    store: await filledStore(),
    env: { BROWNOUTS: '2031-03-04T05:00Z/1h,2031-04-01T10:00Z/2h' },
  })
  // A booking under way, of a gateway that has not started yet, would have lapsed.
  await addBooking(gateway.store, 7, 'sending')
  const tenants = ['acme', 'quieter', HOSTILE, ''].map((tenant) => `/migration?tenant=${encodeURIComponent(tenant)}`)
  const text = await printed(gateway.adminUrl, [
    ...['/migration', ...tenants, '/bookings', '/style.css'].map((path) => [path, HTML] as const),
    ...['/bookings', '/migration/quieter.json'].map((path) => [path, {}] as const),
  ])
  await expect(text).toMatchFileSnapshot('pages.txt')
})

test('every page without data is what it was', async () => {
  const gateway = await startGateway({
    store: createMemoryStore({ now: () => NOW }),
    env: { V2_CLIENT_ID: 'demo', V2_CLIENT_SECRET: 'demo-secret' },
  })
  const text = await printed(gateway.adminUrl, [
    ...['/migration', '/migration/demo', '/migration/nobody', '/bookings'].map((path) => [path, HTML] as const),
    ...['/migration', '/bookings'].map((path) => [path, {}] as const),
  ])
  await expect(text).toMatchFileSnapshot('empty-pages.txt')
})

test('a tenant whose name ends like that of a JSON document has a page', async () => {
  const gateway = await startGateway({ env: { V2_CLIENT_ID: 'shop.json', V2_CLIENT_SECRET: 'demo-secret' } })
  const page = async (path: string) => {
    const { status, text } = await get({ url: gateway.adminUrl }, path, HTML)
    return [status, /<h1>(.*)<\/h1>/.exec(text)?.[1]]
  }
  expect(await page('/migration?tenant=shop.json')).toEqual([200, '<bdi>shop.json</bdi>'])
  expect(await page('/migration/shop.json.json')).toEqual([200, undefined])
  expect((await page('/migration/other.json'))[0]).toBe(404)
})

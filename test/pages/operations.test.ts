/** Promise: the admin listener shows first what waits for an operator, and how to resolve it (contract, section 11). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { book } from '../bookings/desk.ts'
import { openEdge, tenant } from '../callers/tenants-gateway.ts'
import { get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { newClaim } from '../store/samples.ts'
import { fillTenants, HOSTILE } from './sample-counts.ts'

const HTML = { accept: 'text/html' }
const ask = ({ adminUrl: url }: TestGateway, path: string, headers: Readonly<Record<string, string>> = {}) =>
  get({ url }, path, headers)
const headlineOf = async (gateway: TestGateway) => /<h1>(.*)<\/h1>/.exec((await ask(gateway, '/', HTML)).text)?.[1]

/** A gateway with a booking, one of unknown outcome and one whose reference is an attack. */
async function withBookings(env: Readonly<Record<string, string>> = {}): Promise<TestGateway> {
  const gateway = await startGateway({ env })
  await book(gateway)
  gateway.sandbox.fail({ kind: 'reset-before', on: { method: 'POST', path: '/v2/shipments' } })
  await book(gateway, { ReferenceNumber: HOSTILE.replaceAll('\u001b', '') })
  return gateway
}

const EVENT = { tenant: 'acme', shipment: 'S-1', event: 'shipment.delivered', date: '2026-03-01T10:00:00Z' } as const

/** Stores an event, and parks it for the reason. */
async function park(store: Store, outcome: string): Promise<string> {
  const { id } = await store.takeEvent({
    ...EVENT,
    digest: 'd',
    payload: '{"event":"shipment.delivered"}',
    deliver: true,
  })
  const [leased] = await store.leaseEvents('acme', 1, 60_000)
  if (leased) await store.finishTry(leased, { state: 'parked', outcome })
  return id
}

test('the home tells what was called, who was at fault, and what waits for somebody', async () => {
  const gateway = await withBookings()
  await post(gateway, '/createShipment.php', { ...bookingExample, PickupZip: '', PickupCity: '' })
  const { json } = await ask(gateway, '/')
  expect(json).toMatchObject({
    mode: 'client',
    environment: 'local',
    service: gateway.sandbox.url,
    store: { engine: 'memory', ready: true },
    circuits: [{ open: false }],
    // The test's proof of the credential asks for a shipment that there is none of.
    lastHour: { calls: 4, errors: { callers: 2, gateway: 0, service: 1 }, underWay: 0 },
    unknownBookings: { count: 1, oldest: expect.stringMatching(/Z$/) },
    events: { waiting: { count: 0 }, parked: { count: 0 } },
  })
  expect(json.lastHour.topErrors).toContainEqual({ error: 'outcome-unknown', tenant: '', count: 1 })
  const { text, headers } = await ask(gateway, '/', HTML)
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(headers.get('refresh')).toBe('30')
  for (const words of [
    'client mode',
    'href="/bookings?state=unknown"',
    'aria-label="Calls by minute',
    'untranslatable',
  ])
    expect(text).toContain(words)
})

test('the headline is true: all is well only where nothing waits', async () => {
  expect(await headlineOf(await startGateway())).toBe('Everything is working.')
  const gateway = await withBookings()
  expect(await headlineOf(gateway)).toBe('1 booking needs attention.')
  await park(gateway.store, 'connection refused')
  expect(await headlineOf(gateway)).toBe('1 booking and 1 event need attention.')
})

test('a store that is down is the headline', async () => {
  const store = createMemoryStore()
  const gateway = await startGateway({ store })
  await store.close()
  expect(await headlineOf(gateway)).toBe('The store is not ready.')
})

test.each([
  ['https://api.stage.example.com', 'test'],
  ['https://api.example.com', 'production'],
])('%s is of the environment %s, as a badge on every page says', async (serviceUrl, environment) => {
  const gateway = await startGateway({ serviceUrl })
  for (const path of ['/', '/bookings', '/settings'])
    expect((await ask(gateway, path, HTML)).text).toMatch(new RegExp(`class="pill \\w+"[^>]*>${environment}<`))
})

test('bookings are searched by reference, key, VIN and shipment, and filtered by state', async () => {
  const gateway = await withBookings()
  const { bookings, counts } = (await ask(gateway, '/bookings')).json
  expect(bookings).toHaveLength(2)
  expect(counts).toMatchObject({ unknown: 1, booked: 1, refused: 0 })
  const [, booked] = bookings
  for (const name of [
    booked.key,
    booked.reference.toLowerCase(),
    booked.vin.toLowerCase(),
    booked.shipment.toUpperCase(),
  ]) {
    const { json } = await ask(gateway, `/bookings?q=${encodeURIComponent(name)}`)
    expect(json.bookings, name).toContainEqual(booked)
  }
  const unknown = (await ask(gateway, '/bookings?state=unknown')).json.bookings
  expect(unknown).toMatchObject([{ state: 'unknown' }])
  expect((await ask(gateway, '/bookings?q=none')).json.bookings).toEqual([])
  const { text } = await ask(gateway, '/bookings', HTML)
  expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;')
  expect(text).toContain(`href="/bookings/${booked.key}"`)
  // The whole id is in the title.
  expect(text).toContain(`<code title="${booked.shipment}">${booked.shipment.slice(0, 8)}…</code>`)
  expect(text).toMatch(/Outcome unknown <span>1<\/span>.*Booked <span>1<\/span>/s)
})

test('bookings are filtered by tenant and date, on pages of fifty, the newest first', async () => {
  let now = 0
  const store = createMemoryStore({ now: () => now })
  for (let no = 0; no < 60; no += 1) {
    now = Date.parse('2026-03-01T10:00:00Z') + no * 3_600_000
    const handle = `bk_${String(no).padStart(12, '0')}`
    await store.claim(newClaim({ tenant: no % 2 ? 'odd' : 'even', key: handle, handle, reference: `R-${no}` }))
  }
  const gateway = await startGateway({ store })
  const references = async (query: string) =>
    (await ask(gateway, `/bookings?${query}`)).json.bookings.map(({ reference }: { reference: string }) => reference)
  expect(await references('tenant=odd&to=2026-03-01')).toEqual(['R-13', 'R-11', 'R-9', 'R-7', 'R-5', 'R-3', 'R-1'])
  expect(await references('tenant=even&from=2026-03-03&q=r-58')).toEqual(['R-58'])
  expect(await references('tenant=none')).toEqual([])
  const { bookings, next, counts } = (await ask(gateway, '/bookings?from=tomorrow')).json
  expect([bookings.length, bookings[0].reference, counts.unknown]).toEqual([50, 'R-59', 60])
  expect(await references(`after=${next}`)).toHaveLength(10)
  expect((await ask(gateway, '/bookings', HTML)).text).toContain('Older')
})

test('a booking has its history, and the commands that settle it', async () => {
  const gateway = await withBookings()
  const [{ key }] = (await ask(gateway, '/bookings?state=unknown')).json.bookings
  const { json } = await ask(gateway, `/bookings/${key}`)
  expect(json.booking.settle).toEqual({
    booked: `transload bookings settle ${key} --shipment-id ID`,
    notBooked: `transload bookings settle ${key} --not-booked`,
  })
  expect(json.history).toMatchObject([{ to: 'sending' }, { from: 'sending', to: 'unknown' }])
  expect((await ask(gateway, `/bookings/${key}`, HTML)).text).toContain(json.booking.settle.notBooked)
  expect((await ask(gateway, '/bookings/bk_none', HTML)).status).toBe(404)
})

test('a booking of unknown outcome is a case with all that it takes to resolve it', async () => {
  const gateway = await startGateway({ env: { ...OWN, SUPPORT_CONTACT: 'help@example.com' } })
  gateway.sandbox.fail({ kind: 'reset-before', on: { method: 'POST', path: '/v2/shipments' } })
  const answer = await book(gateway, { ReferenceNumber: "ACM-9001'; rm" }, { 'x-request-id': 'caller-1' })
  const [booking] = (await ask(gateway, '/bookings?state=unknown')).json.bookings
  expect(booking).toMatchObject({ route: 'Staten Island NY 10314 → Miami FL 33166', vehicle: '2023 FORD E450' })
  const { text } = await ask(gateway, `/bookings/${booking.key}`, HTML)
  expect(text).toMatch(/<title>ACM-9001&#39;; rm · outcome unknown · \d+ s – Transload<\/title>/)
  for (const words of [
    // What the caller has, to the letter.
    answer.json.Message,
    answer.headers.get('x-request-id') ?? expect.fail('no id'),
    'Staten Island NY 10314 → Miami FL 33166',
    'Accepted for sending.',
    'Sent; the connection broke before the answer.',
    // A reference cannot end the word of a shell.
    `&#39;${gateway.sandbox.url}/v2/shipments/ACM-9001%27%3B%20rm&#39;`,
    'that is a second one',
    // Many services find a shipment by its id alone.
    'own list of shipments',
    'A 404 proves nothing',
  ])
    expect(text).toContain(words)
  expect(text.match(/class="copy"/g)).toHaveLength(3)
  expect(text).not.toContain(OWN.V2_CLIENT_SECRET)
})

test('what failed leads to the runbook, and a tenant that fails needs attention', async () => {
  const store = createMemoryStore()
  await fillTenants(store, 4)
  const gateway = await startGateway({ store })
  expect(await headlineOf(gateway)).toBe('2 tenants are failing.')
  const { text } = await ask(gateway, '/', HTML)
  for (const words of ['tenant 00000, tenant 00003', 'href="/migration?state=failing#tenants"'])
    expect(text).toContain(words)
  expect((await ask(gateway, '/')).json).toMatchObject({ failingTenants: ['tenant 00000', 'tenant 00003'] })
  const failed = await withBookings()
  expect((await ask(failed, '/', HTML)).text).toContain('TransloadCallsFail')
})

test('events that wait and are parked are shown by tenant', async () => {
  const gateway = await startGateway()
  await gateway.store.takeEvent({ ...EVENT, digest: 'd', payload: '{}', deliver: true })
  const { json } = await ask(gateway, '/events')
  expect(json).toMatchObject({
    open: [{ tenant: 'acme', count: 1 }],
    parked: [],
    endpoints: [{ tenant: 'acme', waiting: 1 }],
  })
  expect((await ask(gateway, '/events', HTML)).text).toContain('shipment.delivered')
  expect((await ask(gateway, '/events?tenant=other')).json).toMatchObject({ open: [], endpoints: [] })
})

test('an endpoint has its address, its success, and its last answer in words', async () => {
  const callback = { callback_url: 'http://10.0.0.5/events?key=secret', callback_allow_http: true }
  const edge = await openEdge((place) => [tenant(place, 'acme', callback), tenant(place, 'two')])
  const { id } = await edge.store.takeEvent({ ...EVENT, digest: 'd', payload: '{}', deliver: true })
  await edge.logged(/an event is parked/)
  const { endpoints } = (await ask(edge, '/events')).json
  expect(endpoints).toMatchObject([
    { tenant: 'acme', url: 'http://10.0.0.5/events?***', tries: 1, delivered: 0, parked: 1 },
  ])
  const { text } = await ask(edge, '/events', HTML)
  expect(text).toContain('10.0.0.5 is private. Add it to <code>callback_networks</code>.')
  expect(text).toMatch(/<span class="pill bad">failing<\/span>/)
  expect(text).not.toContain('key=secret')
  expect((await ask(edge, '/', HTML)).text).toContain('href="/events"')
  expect((await ask(edge, `/events/${id}`, HTML)).text).toContain(`transload webhooks replay ${id}`)
})

test('an event has a page, with its payload and what to do about it', async () => {
  const gateway = await startGateway()
  const id = await park(gateway.store, 'answered 500')
  const { text } = await ask(gateway, `/events/${id}`, HTML)
  for (const words of [
    'shipment.delivered',
    '500: the endpoint refused it.',
    `transload webhooks skip ${id}`,
    '&quot;event&quot;',
  ])
    expect(text).toContain(words)
  expect((await ask(gateway, `/events/${id}`)).json).toMatchObject({ id, state: 'parked' })
  expect((await ask(gateway, '/events/msg_none')).status).toBe(404)
})

test('a browser gets an error as a page, and a program as problem details', async () => {
  const gateway = await startGateway()
  const links = async (url: string, path: string) => {
    const { status, text, headers } = await get({ url }, path, HTML)
    return [status, headers.get('content-type'), /<h1>(.*)<\/h1>/.exec(text)?.[1]]
  }
  const page = [404, 'text/html; charset=utf-8', 'Not found']
  expect(await links(gateway.adminUrl, '/nowhere')).toEqual(page)
  expect(await links(gateway.adminUrl, '/bookings/bk_none')).toEqual(page)
  expect(await links(gateway.url, '/nowhere')).toEqual(page)
  expect((await ask(gateway, '/nowhere')).json).toMatchObject({ status: 404 })
  // Version-1 callers may accept HTML, too.
  const legacy = await get(gateway, '/getShipments.php', HTML)
  expect([legacy.status, legacy.json]).toEqual([404, expect.objectContaining({ TransportationBooked: 'No' })])
  expect((await get(gateway, '/nowhere')).json).toMatchObject({ TransportationBooked: 'No' })
})

test('settings are shown as they apply', async () => {
  const gateway = await startGateway()
  const { json } = await ask(gateway, '/settings')
  // What the gateway was given counts, not what its process has.
  expect(json.settings).toContainEqual({ name: 'HOST', value: '127.0.0.1', from: 'environment' })
  expect(json.settings).toContainEqual({ name: 'V2_BASE_URL', value: gateway.sandbox.url, from: 'environment' })
  expect(json.settings).toContainEqual({ name: 'BODY_LIMIT_BYTES', value: expect.any(String), from: 'default' })
  expect((await ask(await startGateway(), '/settings', HTML)).text).toContain('<code>BODY_LIMIT_BYTES</code>')
})

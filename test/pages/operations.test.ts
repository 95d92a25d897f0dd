/** Promise: the admin listener first shows what waits for an operator, and how to resolve it (contract, section 11). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { book } from '../bookings/desk.ts'
import { openEdge, tenant } from '../callers/tenants-gateway.ts'
import { OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { newClaim } from '../store/samples.ts'
import { ask, expectWords, HTML, pageOf, partOf } from './browser.ts'
import { fillTenants, HOSTILE } from './sample-counts.ts'

const HEADLINE = /<h1>(.*)<\/h1>/
const headlineOf = async (gateway: TestGateway) => partOf(await pageOf(gateway, '/'), HEADLINE)

/** A gateway with a booking, and one with an unknown outcome. */
async function withBookings(ReferenceNumber: string, env: Readonly<Record<string, string>> = {}) {
  const gateway = await startGateway({ env })
  await book(gateway)
  gateway.sandbox.fail({ kind: 'reset-before', on: { method: 'POST' } })
  const answer = await book(gateway, { ReferenceNumber, DeliveryZip: '02134' }, { 'x-request-id': 'caller-1' })
  return { gateway, answer }
}

const EVENT = { tenant: 'acme', shipment: 'S-1', event: 'shipment.delivered', date: '2026-03-01T10:00:00Z' } as const
const takeEvent = (store: Store, payload = '{}') =>
  store.takeEvent({ ...EVENT, digest: payload, payload, deliver: true })

/** Stores an event, and parks it for a reason. */
async function park(store: Store, outcome: string): Promise<string> {
  const { id } = await takeEvent(store, '{"event":"shipment.delivered"}')
  const [leased] = await store.leaseEvents('acme', 1, 60_000)
  if (leased) await store.finishTry(leased, { state: 'parked', outcome })
  return id
}

test('the home page shows the calls, who was at fault, and what waits for an operator', async () => {
  expect(await headlineOf(await startGateway())).toBe('Everything is working.')
  const { gateway } = await withBookings('R-2')
  await post(gateway, '/createShipment.php', { ...bookingExample, PickupZip: '', PickupCity: '' })
  const { json } = await ask(gateway, '/')
  expect(json).toMatchObject({
    mode: 'client',
    environment: 'local',
    service: gateway.sandbox.url,
    store: { engine: 'memory', ready: true },
    circuits: [{ open: false }],
    // The test's proof of the credential asks for a shipment that does not exist.
    lastHour: { calls: 4, errors: { callers: 2, gateway: 0, service: 1 }, underWay: 0 },
    unknownBookings: { count: 1, oldest: expect.stringMatching(/Z$/) },
    events: { waiting: { count: 0 }, parked: { count: 0 } },
  })
  expect(json.lastHour.topErrors).toContainEqual({ error: 'outcome-unknown', tenant: '', count: 1 })
  const { text, headers } = await ask(gateway, '/', HTML)
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(headers.get('refresh')).toBe('30')
  expect(partOf(text, HEADLINE)).toBe('1 booking needs attention.')
  expectWords(
    text,
    'client mode',
    'untranslatable',
    'TransloadCallsFail',
    'href="/bookings?state=unknown"',
    'aria-label="Calls by minute',
  )
  const [{ key }] = (await ask(gateway, '/bookings?state=unknown')).json.bookings
  // The command that is shown works: in client mode, there is nobody to ask.
  expectWords(await pageOf(gateway, `/bookings/${key}`), '--shipment-id ID --unchecked')
  await park(gateway.store, 'connection refused')
  expect(await headlineOf(gateway)).toBe('1 booking and 1 event need attention.')
  await gateway.store.declareDoubt({ since: 0, until: 0 })
  expect(await headlineOf(gateway)).toBe('Bookings are in doubt.')
  await gateway.store.close()
  expect(await headlineOf(gateway)).toBe('The store is not ready.')
})

test('a tenant that fails needs attention', async () => {
  const store = createMemoryStore()
  await fillTenants(store, 4)
  const gateway = await startGateway({ store })
  expect(await headlineOf(gateway)).toBe('2 tenants are failing.')
  expectWords(await pageOf(gateway, '/'), 'tenant 00000, tenant 00003', 'href="/migration?state=failing#tenants"')
  expect((await ask(gateway, '/')).json).toMatchObject({ failingTenants: ['tenant 00000', 'tenant 00003'] })
})

test('bookings are searched by reference, key, VIN and shipment, and filtered by state', async () => {
  const { gateway } = await withBookings(HOSTILE.replaceAll('\u001b', ''))
  const search = async (query: string) => (await ask(gateway, `/bookings?${query}`)).json
  const { bookings, counts } = await search('')
  expect(bookings).toHaveLength(2)
  expect(counts).toMatchObject({ unknown: 1, booked: 1, refused: 0 })
  const [, booked] = bookings
  const { key, reference, vin, shipment } = booked
  for (const name of [key, reference.toLowerCase(), vin.toLowerCase(), shipment.toUpperCase()])
    expect((await search(`q=${encodeURIComponent(name)}`)).bookings, name).toContainEqual(booked)
  expect((await search('state=unknown')).bookings).toMatchObject([{ state: 'unknown' }])
  expect((await search('q=none')).bookings).toEqual([])
  const text = await pageOf(gateway, '/bookings')
  expectWords(
    text,
    '&lt;img src=x onerror=alert(1)&gt;',
    `href="/bookings/${key}"`,
    // The whole id is in the title.
    `<code title="${shipment}">${shipment.slice(0, 8)}…</code>`,
  )
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
  expect(await pageOf(gateway, '/bookings')).toContain('Older')
})

test('a booking with an unknown outcome is a case with its history and everything needed to resolve it', async () => {
  const { gateway, answer } = await withBookings("ACM-9001'; rm", {
    ...OWN,
    SUPPORT_CONTACT: 'help@example.com',
    V2_SHIPMENT_PATH: '/v2/shipment',
  })
  const [{ key }] = (await ask(gateway, '/bookings?state=unknown')).json.bookings
  const { booking, history } = (await ask(gateway, `/bookings/${key}`)).json
  const settle = {
    booked: `transload bookings settle ${key} --shipment-id ID`,
    notBooked: `transload bookings settle ${key} --not-booked`,
  }
  const route = 'Staten Island NY 10314 → Miami FL 02134'
  expect(booking).toMatchObject({ route, vehicle: '2023 FORD E450', settle })
  expect(history).toMatchObject([{ to: 'sending' }, { from: 'sending', to: 'unknown' }])
  const text = await pageOf(gateway, `/bookings/${key}`)
  expect(text).toMatch(/<title>ACM-9001&#39;; rm · outcome unknown · \d+ s – Transload<\/title>/)
  expectWords(
    text,
    // Exactly the text that the caller has.
    answer.json.Message,
    answer.headers.get('x-request-id') ?? expect.fail('no id'),
    route,
    'Accepted for sending.',
    'Sent. The connection broke before the service answered.',
    // A reference cannot end the word of a shell.
    `&#39;${gateway.sandbox.url}/v2/shipment/ACM-9001%27%3B%20rm&#39;`,
    settle.notBooked,
    'this makes a second one',
    // Many services find a shipment by its id alone.
    'own list of shipments',
    'A 404 proves nothing',
    'A service event settles',
    'asked for this reference, so add',
  )
  expect(text.match(/class="copy"/g)).toHaveLength(3)
  expect(text).not.toContain(OWN.V2_CLIENT_SECRET)
})

test('waiting and parked events are shown by tenant, and each has a page with the steps to take', async () => {
  const gateway = await startGateway()
  const id = await park(gateway.store, 'answered 500')
  await takeEvent(gateway.store)
  const { json } = await ask(gateway, '/events')
  expect(json.endpoints).toMatchObject([{ tenant: 'acme', waiting: 1, parked: 1 }])
  expect([json.parked, json.due]).toMatchObject([[{ id }], [EVENT]])
  expect(await pageOf(gateway, '/events')).toContain('shipment.delivered')
  expect((await ask(gateway, '/events?tenant=other')).json).toMatchObject({ open: [], endpoints: [] })
  expectWords(
    await pageOf(gateway, `/events/${id}`),
    'shipment.delivered',
    '500: the endpoint refused it.',
    `transload webhooks skip ${id}`,
    '&quot;event&quot;',
  )
  expect((await ask(gateway, `/events/${id}`)).json).toMatchObject({ id, state: 'parked' })
})

test('an endpoint has its address, its success, and its last answer in words', async () => {
  const callback = { callback_url: 'http://10.0.0.5/events?key=secret', callback_allow_http: true }
  const edge = await openEdge((place) => [tenant(place, 'acme', callback), tenant(place, 'two')])
  const { id } = await takeEvent(edge.store)
  await edge.logged(/an event is parked/)
  expect((await ask(edge, '/events')).json.endpoints).toMatchObject([
    { tenant: 'acme', url: 'http://10.0.0.5/events?***', tries: 1, delivered: 0, parked: 1 },
  ])
  const text = await pageOf(edge, '/events')
  expectWords(text, '10.0.0.5 is private. Add it to <code>callback_networks</code>.', '<span class="pill bad">failing')
  expect(text).not.toContain('key=secret')
  expect(await pageOf(edge, '/')).toContain('href="/events"')
  expect(await pageOf(edge, `/events/${id}`)).toContain(`transload webhooks replay ${id}`)
})

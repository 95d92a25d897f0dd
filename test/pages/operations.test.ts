/** Promise: the admin listener shows what waits for an operator (contract, section 11). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { book } from '../bookings/desk.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'
import { newClaim } from '../store/samples.ts'
import { HOSTILE } from './sample-counts.ts'

const HTML = { accept: 'text/html' }
const ask = ({ adminUrl: url }: TestGateway, path: string, headers: Readonly<Record<string, string>> = {}) =>
  get({ url }, path, headers)

/** A gateway with a booking, one of unknown outcome and one whose reference is an attack. */
async function withBookings(): Promise<TestGateway> {
  const gateway = await startGateway()
  await book(gateway)
  gateway.sandbox.fail({ kind: 'reset-before', on: { method: 'POST', path: '/v2/shipments' } })
  await book(gateway, { ReferenceNumber: HOSTILE.replaceAll('\u001b', '') })
  return gateway
}

test('the home tells what was called, who was at fault, and what waits for somebody', async () => {
  const gateway = await withBookings()
  await post(gateway, '/createShipment.php', { ...bookingExample, PickupZip: '', PickupCity: '' })
  const { json } = await ask(gateway, '/')
  expect(json).toMatchObject({
    mode: 'client',
    service: gateway.sandbox.url,
    store: { engine: 'memory', ready: true },
    circuits: [{ open: false }],
    // The test's proof of the credential asks for a shipment that there is none of.
    calls: { count: 4, errors: { callers: 2, gateway: 0, service: 1 }, underWay: 0 },
    unknownBookings: { count: 1, oldest: expect.stringMatching(/Z$/) },
    events: { waiting: { count: 0 }, parked: { count: 0 } },
  })
  const { text, headers } = await ask(gateway, '/', HTML)
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  for (const words of ['The gateway is well.', 'client mode', 'href="/bookings?state=unknown"', 'Mistakes of callers'])
    expect(text).toContain(words)
})

test('bookings are searched by reference, key, VIN and shipment, and filtered by state', async () => {
  const gateway = await withBookings()
  const { bookings } = (await ask(gateway, '/bookings')).json
  expect(bookings).toHaveLength(2)
  const [, booked] = bookings
  for (const name of [booked.key, booked.reference.toLowerCase(), booked.vin, booked.shipment.toUpperCase()]) {
    const { json } = await ask(gateway, `/bookings?q=${encodeURIComponent(name)}`)
    expect(json.bookings, name).toContainEqual(booked)
  }
  const unknown = (await ask(gateway, '/bookings?state=unknown')).json.bookings
  expect(unknown).toMatchObject([{ state: 'unknown' }])
  expect((await ask(gateway, '/bookings?q=none')).json.bookings).toEqual([])
  const { text } = await ask(gateway, '/bookings', HTML)
  expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;')
  expect(text).toContain(`href="/bookings/${booked.key}"`)
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

test('bookings are on pages of fifty, the newest first', async () => {
  const store = createMemoryStore()
  for (let no = 0; no < 120; no += 1) {
    const handle = `bk_${String(no).padStart(12, '0')}`
    await store.claim(newClaim({ key: handle, handle, reference: `R-${no}` }))
  }
  const gateway = await startGateway({ store })
  const keys: string[] = []
  for (let path = '/bookings'; path !== ''; ) {
    const { bookings, next } = (await ask(gateway, path)).json
    keys.push(...bookings.map(({ key }: { key: string }) => key))
    path = next ? `/bookings?after=${next}` : ''
  }
  expect(new Set(keys).size).toBe(120)
  expect((await ask(gateway, '/bookings', HTML)).text).toContain('Older')
  expect((await ask(gateway, '/bookings?q=r-77')).json.bookings).toMatchObject([{ reference: 'R-77' }])
})

test('events that wait and are parked are shown by tenant', async () => {
  const gateway = await startGateway()
  const event = { tenant: 'acme', shipment: 'S-1', event: 'shipment.delivered', date: '2026-03-01T10:00:00Z' }
  await gateway.store.takeEvent({ ...event, digest: 'd', payload: '{}', deliver: true })
  const { json } = await ask(gateway, '/events')
  expect(json).toMatchObject({ open: [{ tenant: 'acme', count: 1 }], parked: [] })
  expect((await ask(gateway, '/events', HTML)).text).toContain('shipment.delivered')
})

test('settings are shown as they apply', async () => {
  const { json } = await ask(await startGateway(), '/settings')
  expect(json.settings).toContainEqual({ name: 'BODY_LIMIT_BYTES', value: expect.any(String), from: 'default' })
  expect((await ask(await startGateway(), '/settings', HTML)).text).toContain('<code>BODY_LIMIT_BYTES</code>')
})

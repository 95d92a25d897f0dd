/** Promise: an operator finds, settles and reopens bookings, also beside a running gateway (contract, section 7). */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { book, expectBooked, expectUnknown, ON_CREATION } from '../bookings/desk.ts'
import { transload } from '../callers/commands.ts'
import { atService, folder, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { SHORT_TIMEOUT, startReceiver, untilState } from '../events/deliver.ts'
import { basic, post } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { named } from '../store/samples.ts'
import { addBooking, fillStore, handleOf, transcript } from './transcript.ts'

test('the commands about bookings print what they did', { timeout: 60_000 }, async () => {
  const place = folder()
  await fillStore(place, async (store) => {
    await addBooking(store, 1, 'booked', 'made')
    await addBooking(store, 2, 'unknown', 'timeout')
    await addBooking(store, 3, 'refused', 'answered 422', { tenant: 'other', reference: '', vin: '' })
    await addBooking(store, 4, 'freed', 'never sent')
    await addBooking(store, 5, 'booked', 'healed: webhook')
    await addBooking(store, 6, 'unknown', 'reset')
    await addBooking(store, 7, 'sending', '')
    // The same was booked again later.
    await addBooking(store, 8, 'freed', 'never sent')
    await addBooking(store, 9, 'unknown', 'timeout', { key: 'key-8' })
    const vehicle = JSON.stringify({ year: '2023', make: 'FORD', model: 'E-450' })
    await addBooking(store, 10, 'unknown', 'late', { vehicle })
    await addBooking(store, 11, 'unknown', 'gateway gateway-1 is gone')
    await addBooking(store, 12, 'freed', 'canceled')
  })
  const text = await transcript(place, [
    'bookings list',
    'bookings list --json',
    'bookings list --state unknown --tenant acme',
    'bookings list --state refused',
    'bookings list --tenant nobody',
    'bookings list --reference ref-5',
    'bookings list --since 2h --state sending --json',
    'bookings list --state unkown',
    'bookings list --state nothing',
    `bookings show ${handleOf(5)}`,
    `bookings show ${handleOf(5)} --json`,
    `bookings show ${handleOf(2)} --json`,
    'bookings show bk_none',
    `bookings settle ${handleOf(2)}`,
    `bookings settle ${handleOf(2)} --not-booked --shipment-id x`,
    `bookings settle ${handleOf(2)} --not-booked --number x`,
    `bookings settle ${handleOf(2)} --shipment-id x/y`,
    `bookings settle ${handleOf(2)} --shipment-id x --number 'x y'`,
    `bookings settle ${handleOf(1)} --not-booked`,
    `bookings settle ${handleOf(2)} --shipment-id shipment-1 --unchecked`,
    `bookings settle ${handleOf(2)} --shipment-id shipment-9 --number TL-9 --unchecked`,
    `bookings settle ${handleOf(6)} --not-booked --unchecked --yes`,
    `bookings reopen ${handleOf(6)}`,
    `bookings reopen ${handleOf(7)}`,
    'bookings reopen bk_none',
    `bookings show ${handleOf(2)}`,
    `bookings show ${handleOf(6)}`,
    'xref get TL-9 --tenant acme',
    'xref get REF-2 --tenant acme',
    `bookings show ${handleOf(8)}`,
    `bookings show ${handleOf(8)} --json`,
    `bookings settle ${handleOf(8)} --not-booked`,
    `bookings settle ${handleOf(8)} --shipment-id shipment-9 --unchecked`,
    `bookings reopen ${handleOf(8)}`,
    `bookings show ${handleOf(9)}`,
    `bookings show ${handleOf(10)}`,
    `bookings show ${handleOf(11)}`,
    `bookings show ${handleOf(12)}`,
    `bookings show ${handleOf(3)}`,
    `bookings show ${handleOf(7)}`,
  ])
  await expect(text).toMatchFileSnapshot('output/bookings.txt')
})

const KEY = handleOf(1)
const shipment = (id: string, more: object = {}) => ({
  id,
  number: 'TL-7',
  status: 'new',
  external_id: 'REF-1',
  ...more,
})

/** What the service replies to a read, by the id of the shipment: a status and a body. */
const REPLIES: Readonly<Record<string, readonly [status: number, body: unknown]>> = {
  gone: [404, { error: 'gone' }],
  removed: [410, ''],
  refused: [401, ''],
  failed: [500, ''],
  empty: [200, ''],
  html: [200, '<html>'],
  list: [200, [shipment('list')]],
  nested: [200, { data: shipment('nested') }],
  other: [200, shipment('another')],
  canceled: [200, shipment('canceled', { status: 'canceled' })],
  theirs: [200, shipment('theirs', { external_id: 'REF-9' })],
  mine: [200, shipment('mine')],
  'REF-1': [404, ''],
}

test('a settlement asks the service for the shipment, and is taken back with its names', {
  timeout: 60_000,
}, async () => {
  const place = folder()
  const asked: unknown[] = []
  const { url: V2_BASE_URL } = await openService(({ url = '', headers }, outgoing) => {
    asked.push(headers.authorization)
    const [status, body] = REPLIES[url.slice('/v2/shipments/'.length)] ?? expect.fail(url)
    outgoing.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await fillStore(place, async (store) => {
    await addBooking(store, 1, 'unknown', 'silent')
    const older = named({ kind: 'shipment', name: 'REF-1', id: 'older' })
    const vehicle = { year: '', make: '', model: '' }
    const shipment = { tenant: 'acme', id: 'older', vehicles: [{ ...vehicle, vin: 'VIN-1' }] }
    await store.put({ names: [older, { ...older, name: 'TL-7', givenBy: 'service' }], shipment })
    // The newest of the reference is another vehicle.
    const newest = { tenant: 'acme', id: 'newest', vehicles: [{ ...vehicle, vin: 'VIN-2' }] }
    await store.put({ names: [{ ...older, id: 'newest', at: 2_000 }], shipment: newest })
  })
  const names = ['xref get REF-1 --tenant acme', 'xref get TL-7 --tenant acme']
  const lines = [
    ...names,
    ...Object.keys(REPLIES).map((id) => `bookings settle ${KEY} --shipment-id ${id} --number TL-8`),
    `bookings settle ${KEY} --shipment-id mine`,
    ...names,
    `bookings reopen ${KEY}`,
    ...names,
    `bookings settle ${KEY} --not-booked`,
    `bookings settle ${KEY} --not-booked --yes`,
    `bookings reopen ${KEY}`,
    `bookings settle ${KEY} --shipment-id second --unchecked`,
    `bookings reopen ${KEY}`,
    ...names,
    `bookings show ${KEY}`,
  ]
  const env = { V2_BASE_URL, V2_SHIPMENT_PATH: '/v2/shipments', V2_CLIENT_ID: 'acme', V2_CLIENT_SECRET: 'acme-secret' }
  await expect(await transcript(place, lines, env)).toMatchFileSnapshot('output/settle.txt')
  expect(new Set(asked.splice(0))).toEqual(new Set([basic('acme', 'acme-secret')]))

  const TENANTS_FILE = join(place, 'tenants.json')
  const settle = [`bookings settle ${KEY} --shipment-id mine`]
  writeTenants(TENANTS_FILE, tenant(place, 'zenith'))
  const refused = await transcript(place, settle, { V2_BASE_URL, TENANTS_FILE })
  const told = refused + (await transcript(place, settle, { V2_BASE_URL }))
  await expect(told).toMatchFileSnapshot('output/settle-without-credential.txt')
  expect(asked).toEqual([])
  writeTenants(TENANTS_FILE, tenant(place, 'zenith'), tenant(place, 'acme'))
  expect(await transcript(place, settle, { V2_BASE_URL, TENANTS_FILE })).toContain('is booked as shipment mine')
  expect(asked).toEqual([atService('acme')])
})

test('a booking is not settled as not booked while the service has a shipment of its reference, in either spelling', async () => {
  const place = folder()
  let found: readonly [status: number, body: unknown] = [200, shipment('mine')]
  const { url: V2_BASE_URL } = await openService(({ url = '' }, outgoing) => {
    const [status, body] = url === '/v2/shipment/REF-1' ? found : [404, '']
    outgoing.writeHead(status).end(JSON.stringify(body))
  })
  await fillStore(place, (store) => addBooking(store, 1, 'unknown', 'silent'))
  const env = { V2_BASE_URL, V2_CLIENT_ID: 'acme', V2_CLIENT_SECRET: 'acme-secret' }
  const settle = (more = '') => transcript(place, [`bookings settle ${KEY} --not-booked${more}`], env)
  expect(await settle(' --yes')).toContain('settle with --shipment-id mine')
  await fillStore(place, (store) => addBooking(store, 2, 'booked', 'made', { reference: 'REF-1' }))
  found = [200, shipment('shipment-2')]
  expect(await settle(' --yes')).toContain(`which ${handleOf(2)} booked; look for VIN VIN-1`)
  found = [500, '']
  expect(await settle(' --yes')).toContain('the service answers 500 for REF-1. Nothing is settled')
  found = [200, shipment('mine', { status: 'canceled' })]
  expect(await settle()).toContain('asked for REF-1 and shows the shipment mine, which is canceled.')
  expect(await settle()).toMatch(/tenant acme, reference REF-1, VIN VIN-1, sent [\s\S]*add --yes. Nothing is settled/)
  expect(await transcript(place, [`bookings settle ${KEY} --not-booked --yes`], { V2_BASE_URL })).toContain(
    '--unchecked',
  )
  expect(await settle(' --yes')).toContain('is settled as not booked')
})

test('before a booking is settled as not booked, the command says what the service answered and what that proves', {
  timeout: 60_000,
}, async () => {
  const place = folder()
  const found = new Set<string>()
  const { url: V2_BASE_URL } = await openService(({ url = '' }, outgoing) => {
    const reference = url.slice('/v2/shipments/'.length)
    outgoing.writeHead(found.has(reference) ? 200 : 404)
    outgoing.end(JSON.stringify(shipment('other', { external_id: reference })))
  })
  await fillStore(place, async (store) => {
    await addBooking(store, 1, 'unknown', 'silent')
    await addBooking(store, 2, 'booked', 'made', { tenant: 'other' })
  })
  const env = { V2_BASE_URL, V2_CLIENT_ID: 'acme', V2_CLIENT_SECRET: 'acme-secret' }
  const settle = (more: string) => transcript(place, [`bookings settle ${KEY} --not-booked ${more}`], env)
  const asked = 'The service was asked for REF-1 and answers 404.'
  const own = "Look for REF-1 and VIN VIN-1 in the service's own list of shipments."
  const none = `${asked} That proves nothing: no other booking of acme can show that it finds references. ${own}\n`
  expect(await settle('')).toContain(none)
  await fillStore(place, async (store) => {
    await addBooking(store, 3, 'booked', 'made')
    await addBooking(store, 4, 'booked', 'made', { reference: 'TL-7' })
  })
  found.add('TL-7')
  expect(await settle('')).toContain(
    `${asked} That proves nothing: it does not find the booked TL-7, REF-3 by reference, either. ${own}\n`,
  )
  found.add('REF-3')
  const text = await settle('--yes')
  expect(text).toContain(`${asked} It finds shipments by their references: it shows that of REF-3.\n`)
  expect(text).toContain('is settled as not booked')
  await transcript(place, [`bookings reopen ${KEY}`], env)
  expect(await settle('--unchecked --yes')).toContain('The service was not asked.\n')
})

test('beside a running gateway, a booking is healed, reopened and settled', { timeout: 60_000 }, async () => {
  const place = folder()
  const gateway = await startReceiver({ store: await openStore(join(place, 'store.db')), env: SHORT_TIMEOUT })
  const bookings = async (...words: readonly string[]) => {
    const { out, err } = await transload(['bookings', ...words], place, { STORE_URL: 'store.db' })
    return out + err
  }
  gateway.sandbox.fail({ kind: 'timeout', on: ON_CREATION })
  const key = expectUnknown(await book(gateway))
  const { shipment } = await untilState(gateway.store, key, 'booked')
  expect(await bookings('show', key)).toMatch(/The service's event shows the shipment\./)
  expect(await bookings('reopen', key)).toBe(`${key} is unknown again.\n`)
  // It is not healed again.
  gateway.sandbox.advance(shipment, 'assigned')
  await gateway.sandbox.idle()
  expect(expectUnknown(await book(gateway))).toBe(key)

  await bookings('settle', key, '--shipment-id', shipment, '--number', 'TL-9', '--unchecked')
  const replayed = await book(gateway)
  expect(expectBooked(replayed, true)).toBe(shipment)
  expect(replayed.json.Message).toBe('Transportation booked: shipment number TL-9.')
  // A settled booking that was canceled since is done with.
  expect((await post(gateway, '/deleteShipment.php', { shipment_id: shipment })).status).toBe(200)
  expect(await bookings('reopen', key)).toContain(`${key} is freed; only settled bookings can be reopened`)

  const other = { ReferenceNumber: 'REF-LOST' }
  gateway.sandbox.fail({ kind: 'reset-before', on: ON_CREATION })
  await bookings('settle', expectUnknown(await book(gateway, other)), '--not-booked', '--unchecked', '--yes')
  expectBooked(await book(gateway, { ...other, DeliveryName: 'Somebody Else' }))
})

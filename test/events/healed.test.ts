/** Promise: an event settles an unknown booking, and frees the key of a canceled one (contract, sections 7 and 10). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { StoreDown } from '../../src/outside/store/store.ts'
import { reopen } from '../../src/state/bookings/settlement.ts'
import {
  begin,
  book,
  claimOf,
  creations,
  expectBooked,
  expectUnknown,
  ON_CREATION,
  OTHER_VIN,
  REFERENCE,
  shipments,
  statesOf,
} from '../bookings/desk.ts'
import { as, openEdge } from '../callers/tenants-gateway.ts'
import { basic, CLIENT, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import {
  deliver,
  deliverTo,
  EVENT,
  metric,
  RECEIVES,
  SECRET,
  SHORT_TIMEOUT,
  startReceiver,
  untilState,
  withHook,
} from './deliver.ts'

/** The service carries out the booking, but never answers. */
const SILENT = { kind: 'timeout', on: ON_CREATION } as const
/** The service carries out the booking, but its answer gets lost at once. */
const LOST = { kind: 'reset-after', on: ON_CREATION } as const
/** The service loses the request. */
const NOT_MADE = { kind: 'reset-before', on: ON_CREATION } as const

/** Opens a gateway to which only the test delivers events. */
const startQuiet = (more: object = {}) => startGateway({ env: { ...RECEIVES, ...SHORT_TIMEOUT, ...more } })

const KEYS = ['one', 'other'].map((key) => ({ 'idempotency-key': key }))

/** Books while the service's answer gets lost, and returns the key of the claim, and the shipment if one was made. */
async function bookUnknown(gateway: TestGateway, headers: Readonly<Record<string, string>> = {}, fault: Fault = LOST) {
  gateway.sandbox.fail(fault)
  const before = new Set(gateway.sandbox.shipments.keys())
  const handle = expectUnknown(await book(gateway, {}, headers))
  return { handle, id: [...gateway.sandbox.shipments.keys()].find((one) => !before.has(one)) ?? '' }
}

/** Delivers an event, and waits until the read that it causes is done. */
async function deliverAndRead(gateway: TestGateway, id: string, event: string = EVENT.event): Promise<void> {
  const read = gateway.sandbox.next(({ method, path }) => method === 'GET' && path.endsWith(`/${id}`))
  // The data of an event are not trusted.
  const data = { external_id: { old_value: null, new_value: REFERENCE } }
  await deliver(gateway, { ...EVENT, shipment_id: id, event, data })
  await read
  await gateway.sandbox.idle()
}

/** Changes a shipment at the service without an event. */
function change({ sandbox }: TestGateway, id: string, body: object): void {
  sandbox.shipments.set(id, { ...(sandbox.shipments.get(id) ?? expect.fail('no shipment')), ...body })
}

const readsOf = ({ sandbox }: Pick<TestGateway, 'sandbox'>) => sandbox.requests.filter(({ method }) => method === 'GET')
const healed = (gateway: TestGateway) => metric(gateway, 'transload_bookings_healed_total')
const lastWhy = async ({ store }: TestGateway, handle: string) => (await store.audit(handle)).at(-1)?.why

test('a booking that times out, whose event comes first, is healed; the retry gets the reply of a booking', async () => {
  const gateway = await startReceiver({ env: { UPSTREAM_TIMEOUT_MS: '1500' } })
  const usual = await book(gateway, { ReferenceNumber: 'REF-USUAL' })
  // Without an unknown booking, events cause no reads.
  await gateway.sandbox.idle()
  expect(readsOf(gateway)).toEqual([])
  const { handle } = await bookUnknown(gateway, {}, SILENT)
  const { shipment: id } = await untilState(gateway.store, handle, 'booked')
  expect(shipments(gateway, REFERENCE)).toMatchObject([{ id }])
  const retry = await book(gateway)
  expect(expectBooked(retry, true)).toBe(id)
  expect(creations(gateway)).toBe(2)
  expect(await statesOf(gateway, handle)).toEqual(['none', 'sending', 'unknown', 'booked'])
  expect(await lastWhy(gateway, handle)).toBe('healed: webhook')
  expect(gateway.lines()).toContainEqual(expect.objectContaining({ booking: handle, shipment: id, how: 'webhook' }))
  expect(await healed(gateway)).toEqual({ 'how="webhook"': 1, 'how="sweep"': 0 })
  // The answer is the one that the booking would have got, and its names resolve.
  const numberOf = ({ headers }: { readonly headers: Headers }) => headers.get('transload-shipment-number') ?? ''
  const number = gateway.sandbox.shipments.get(id)?.number ?? ''
  expect(numberOf(retry)).toBe(number)
  expect(retry.text).toBe(usual.text.replace(numberOf(usual), number))
  for (const name of [`ReferenceNumber=${REFERENCE}`, `ShipmentNumber=${number}`]) {
    expect((await get(gateway, `/getShipment.php?${name}`)).json).toMatchObject({ VinNo: bookingExample.VinNo })
  }
})

describe('what cannot be decided stays unknown:', () => {
  /** Shipments that the booking did not make, and the results of a read that stand for none. */
  const { shown, read }: { shown: Record<string, object>; read: Record<string, Fault> } = JSON.parse(
    readFileSync(join(import.meta.dirname, 'undecided.json'), 'utf8'),
  )

  /** Makes a shipment at the service that an unknown booking may or may not have made; returns the booking's key. */
  type Undecided = (gateway: TestGateway) => Promise<string>

  const changed =
    (change: (gateway: TestGateway, id: string) => void): Undecided =>
    async (gateway) => {
      const { handle, id } = await bookUnknown(gateway)
      change(gateway, id)
      await deliverAndRead(gateway, id)
      return handle
    }
  const shownAs = (body: object) => changed((gateway, id) => change(gateway, id, body))
  const readAs = (fault: Fault) =>
    changed(({ sandbox }, id) => sandbox.fail({ ...fault, on: { method: 'GET', path: `/v2/shipments/${id}` } }))
  const hadAnEvent =
    (spelled: (id: string) => string): Undecided =>
    async (gateway) => {
      // Another gateway, with a store of its own, books the same at the service.
      const elsewhere = await startGateway({ env: OWN, serviceUrl: gateway.sandbox.url })
      const id = expectBooked(await book(elsewhere))
      await deliver(gateway, { ...EVENT, shipment_id: spelled(id), event: 'shipment.created' })
      const { handle } = await bookUnknown(gateway, {}, NOT_MADE)
      await deliverAndRead(gateway, id)
      return handle
    }

  test.each<[name: string, undecided: Undecided]>([
    ...Object.entries(shown).map(([name, body]): [string, Undecided] => [name, shownAs(body)]),
    ...Object.entries(read).map(([name, fault]): [string, Undecided] => [name, readAs(fault)]),
    ['a shipment that the service does not find', changed(({ sandbox }, id) => void sandbox.shipments.delete(id))],
    [
      'two unknown bookings of one reference and VIN',
      async (gateway) => {
        const both = [await bookUnknown(gateway, KEYS[0]), await bookUnknown(gateway, KEYS[1])]
        for (const { id } of both) await deliverAndRead(gateway, id)
        expect((await gateway.store.listClaims({ state: 'unknown' })).length).toBe(2)
        return both[0]?.handle ?? ''
      },
    ],
    [
      'a shipment that another booking has',
      async (gateway) => {
        const shipment_id = expectBooked(await book(gateway, {}, KEYS[0]))
        const { handle } = await bookUnknown(gateway, KEYS[1], NOT_MADE)
        await deliver(gateway, { ...EVENT, shipment_id })
        return handle
      },
    ],
    ['a shipment that had an event before the booking', hadAnEvent((id) => id)],
    ['a shipment that had one, with its id in capitals, before the booking', hadAnEvent((id) => id.toUpperCase())],
    [
      'a shipment that a booking under way may have made',
      async (gateway) => {
        const { handle } = await bookUnknown(gateway, KEYS[0], NOT_MADE)
        const { answer } = await begin(gateway, { kind: 'delay', ms: 800 })
        const id = shipments(gateway, REFERENCE)[0]?.id ?? ''
        await deliverAndRead(gateway, id)
        expect(expectBooked(await answer)).toBe(id)
        return handle
      },
    ],
    [
      'a booking that an operator reopened',
      async (gateway) => {
        const { store } = gateway
        const { handle, id } = await bookUnknown(gateway)
        const end = { state: 'freed', instance: 'o', why: 'settled: not booked' } as const
        const settled = await store.change(await claimOf(gateway), end)
        await reopen(settled ?? expect.fail(), { store, instance: 'operator' })
        await deliverAndRead(gateway, id)
        return handle
      },
    ],
  ])('%s', async (_, undecided) => {
    const gateway = await startQuiet({ UPSTREAM_TIMEOUT_MS: '1500' })
    const handle = await undecided(gateway)
    // A later event of another shipment is read afterwards; by then, the first one is decided.
    await deliverAndRead(gateway, '88888888-2222-4333-8444-555555555555')
    expect((await gateway.store.claimByHandle(handle))?.state).toBe('unknown')
    expect(await healed(gateway)).toEqual({ 'how="webhook"': 0, 'how="sweep"': 0 })
  })
})

test('gateways that get the same events heal a booking of another one, once', async () => {
  const store = createMemoryStore()
  const booking = await startGateway({ env: { ...OWN, ...SHORT_TIMEOUT }, store })
  const env = { ...RECEIVES, ...SHORT_TIMEOUT }
  const start = () => startGateway({ env, store, serviceUrl: booking.sandbox.url })
  const others = [await start(), await start()]
  const { handle, id } = await bookUnknown(booking)
  const events = ['shipment.created', 'shipment.assigned', 'shipment.picked_up']
  await Promise.all(
    events.flatMap((event) => others.map((gateway) => deliver(gateway, { ...EVENT, event, shipment_id: id }))),
  )
  await untilState(store, handle, 'booked')
  expect(await statesOf({ store }, handle)).toEqual(['none', 'sending', 'unknown', 'booked'])
  expect(await store.eventsOfShipment(CLIENT.id, id)).toHaveLength(events.length)
  for (const gateway of [booking, ...others]) expectBooked(await book(gateway), true)
  expect(creations(booking)).toBe(1)
})

/** Starts a gateway that dies before it records a booking, with an approved quote, and another one on the same store. */
async function startDying() {
  const inner = createMemoryStore()
  const change: typeof inner.change = (claim, to, ...names) =>
    to.state === 'booked' ? Promise.reject(new StoreDown('It has died.')) : inner.change(claim, to, ...names)
  const gateway = await startGateway({ env: OWN, store: { ...inner, change } })
  const other = await startGateway({ env: RECEIVES, store: inner, serviceUrl: gateway.sandbox.url })
  await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: REFERENCE })
  await post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: REFERENCE })
  const [{ id } = expect.fail('no shipment')] = shipments(gateway)
  const bookAndDie = async () => {
    const handle = expectUnknown(await book(gateway))
    const claim = (await inner.claimByHandle(handle)) ?? expect.fail('no claim')
    await inner.change(claim, { state: 'unknown', instance: 'gateway-1', why: 'gone' })
    return handle
  }
  return { inner, gateway, other, id, bookAndDie }
}

test.each([
  ['is healed, if it was merged into the shipment of its quote', 'booked', {}, []],
  ['is healed, if its number has a newer quote', 'booked', {}, [{ TempShipToPostalCode: '60601' }]],
  ['stays unknown, if that shipment was canceled before', 'unknown', { state: 'canceled' }, []],
] as const)('a booking whose gateway died %s', async (_, state, before, newer) => {
  const { inner, gateway, other, id, bookAndDie } = await startDying()
  await deliver(other, { ...EVENT, shipment_id: id, event: 'shipment.created' })
  for (const changes of newer)
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: REFERENCE, ...changes })
  const handle = await bookAndDie()
  await inner.put({ shipment: { tenant: CLIENT.id, id, ...before } })
  await deliverAndRead({ ...other, sandbox: gateway.sandbox }, id)
  await untilState(inner, handle, state)
})

test('the VIN that a shipment had before a booking was merged into it means its vehicle, also after that booking is healed', async () => {
  const { inner, gateway, other, id, bookAndDie } = await startDying()
  await post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, VinNo: OTHER_VIN })
  const handle = await bookAndDie()
  await deliver(other, { ...EVENT, shipment_id: id })
  await untilState(inner, handle, 'booked')
  expect((await book(other, { VinNo: OTHER_VIN })).status).toBe(409)
  expect(shipments(gateway)).toHaveLength(1)
})

test('in client mode, the credential for events heals the bookings of its own Client ID, and no others', async () => {
  const rival = { authorization: basic('rival', 'rival-secret') }
  const credentials = { [CLIENT.id]: CLIENT.secret, rival: 'rival-secret' }
  const client = { WEBHOOK_CLIENT_ID: CLIENT.id, WEBHOOK_CLIENT_SECRET: CLIENT.secret }
  const env = { ...SHORT_TIMEOUT, ...client, WEBHOOK_SECRET: SECRET }
  const gateway = await startGateway({ env, sandbox: { credentials, findsByReference: true } })
  const { sandbox, store } = gateway
  // By the events of its own shipments and by a sweep.
  const theirs = await bookUnknown(gateway, rival)
  deliverTo(gateway, sandbox)
  const { handle } = await bookUnknown(gateway)
  await untilState(store, handle, 'booked')
  expectBooked(await book(gateway), true)
  sandbox.set({ webhookUrl: undefined })
  sandbox.fail(LOST)
  const late = expectUnknown(await book(gateway, { ReferenceNumber: 'REF-LATE' }))
  for (const more of [{}, client])
    await startGateway({ env: { ...SHORT_TIMEOUT, ...more }, store, serviceUrl: sandbox.url })
  await untilState(store, late, 'booked')
  expect((await store.claimByHandle(theirs.handle))?.state).toBe('unknown')
  expect(new Set(readsOf(gateway).map(({ headers }) => headers.authorization))).toEqual(new Set([basic()]))
})

test('in tenants mode, each secret names its tenant, whose own credential reads', async () => {
  const hooks = { acme: 'hook-of-acme-0123456789', zenith: 'hook-of-zenith-0123456789' }
  const edge = await openEdge((place) => Object.entries(hooks).map(([name, secret]) => withHook(place, name, secret)), {
    env: SHORT_TIMEOUT,
  })
  const hookOf = (name: keyof typeof hooks) => ({ webhookUrl: `${edge.url}/webhooks/${hooks[name]}` })
  edge.sandbox.set({ ...hookOf('acme'), webhookRetry: { attempts: 6, delayMs: 20 } })
  // The event of the second one comes with the secret of the first, who cannot read its shipment.
  const own = await bookUnknown(edge, as('acme'))
  const other = await bookUnknown(edge, as('zenith'))
  await untilState(edge.store, own.handle, 'booked')
  expect(expectBooked(await book(edge, {}, as('acme')), true)).toBe(own.id)
  expect((await edge.store.claimByHandle(other.handle))?.state).toBe('unknown')
  edge.sandbox.set(hookOf('zenith'))
  edge.sandbox.advance(other.id, 'assigned')
  await untilState(edge.store, other.handle, 'booked')
})

describe('the sweep', () => {
  const env = { ...OWN, ...SHORT_TIMEOUT }

  /** Opens another gateway on the same store, as after a restart. */
  const restart = ({ sandbox, store }: TestGateway, more: Readonly<Record<string, string>> = {}) =>
    startGateway({ env: { ...env, ...more }, store, serviceUrl: sandbox.url })

  test('after a start, a booking is found by the reference', async () => {
    const gateway = await startGateway({ env, sandbox: { findsByReference: true } })
    const { handle, id } = await bookUnknown(gateway)
    const after = await restart(gateway)
    expect((await untilState(gateway.store, handle, 'booked')).shipment).toBe(id)
    expect(expectBooked(await book(after), true)).toBe(id)
    expect(await lastWhy(gateway, handle)).toBe('healed: sweep')
    expect(await healed(after)).toMatchObject({ 'how="sweep"': 1 })
    expect(creations(gateway)).toBe(1)
  })

  test('a service that fails is left alone until the next sweep', async () => {
    const gateway = await startGateway({ env })
    gateway.sandbox.fail({ ...NOT_MADE, times: 20 })
    for (let i = 0; i < 20; i += 1) expectUnknown(await book(gateway, { ReferenceNumber: `REF-${i}` }))
    gateway.sandbox.requests.length = 0
    const body = { message: 'Pat Example cannot be found' }
    gateway.sandbox.fail({ kind: 'status', status: 500, body, times: 'always', on: { method: 'GET' } })
    const { gateway: after, lines } = await restart(gateway)
    const failed = () => lines().filter(({ msg }) => /could not be looked up/.test(String(msg))).length
    await expect.poll(failed).toBeGreaterThanOrEqual(3)
    await after.close()
    // The service's words may name a person.
    expect(JSON.stringify(lines())).not.toContain('Pat Example')
    expect(new Set(readsOf(gateway).map(({ path }) => path)).size).toBeLessThan(10)
  })

  test('a gateway that is told to stop does not wait longer than it may for a read', async () => {
    const gateway = await startGateway({ env })
    await bookUnknown(gateway, {}, NOT_MADE)
    gateway.sandbox.fail({ kind: 'timeout', times: 'always', on: { method: 'GET' } })
    const asked = gateway.sandbox.next(({ method }) => method === 'GET')
    const after = await restart(gateway, { UPSTREAM_TIMEOUT_MS: '60000', SHUTDOWN_GRACE_MS: '100' })
    await asked
    // Within the time of a test, which is half of the service's delay.
    await expect(after.gateway.close()).resolves.toBeUndefined()
  })
})

/** Promise: an event settles an unknown booking, and frees the key of a canceled one (contract, sections 7 and 10). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { reopen } from '../../src/state/bookings/settlement.ts'
import {
  begin,
  book,
  claimOf,
  creations,
  expectBooked,
  expectUnknown,
  ON_CREATION,
  REFERENCE,
  shipments,
  statesOf,
} from '../bookings/desk.ts'
import { as, openEdge } from '../callers/tenants-gateway.ts'
import { basic, CLIENT, get, OWN, startGateway, type TestGateway } from '../gateway.ts'
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

/** The service carries the booking out, and its answer is never sent. */
const SILENT = { kind: 'timeout', on: ON_CREATION } as const
/** The service carries the booking out, and its answer gets lost at once. */
const LOST = { kind: 'reset-after', on: ON_CREATION } as const
/** The service loses the request. */
const NOT_MADE = { kind: 'reset-before', on: ON_CREATION } as const

/** Opens a gateway to which the test alone delivers events. */
const startQuiet = () => startGateway({ env: { ...RECEIVES, ...SHORT_TIMEOUT } })

const rival = { authorization: basic('rival', 'rival-secret') }
const CREDENTIALS = { [CLIENT.id]: CLIENT.secret, rival: 'rival-secret' }

/** Books while the service's answer gets lost, and returns the claim and the shipment that was made. */
async function bookUnknown(
  gateway: TestGateway,
  headers: Readonly<Record<string, string>> = {},
  fault: Fault = LOST,
): Promise<{ readonly handle: string; readonly id: string }> {
  gateway.sandbox.fail(fault)
  const before = new Set(gateway.sandbox.shipments.keys())
  const handle = expectUnknown(await book(gateway, {}, headers))
  const id = [...gateway.sandbox.shipments.keys()].find((one) => !before.has(one))
  return { handle, id: id ?? expect.fail('the service made no shipment') }
}

/** Delivers an event, and waits for the read that it causes to be over. */
async function deliverAndRead(gateway: TestGateway, id: string, event: string = EVENT.event): Promise<void> {
  const read = gateway.sandbox.next(({ method, path }) => method === 'GET' && path.endsWith(`/${id}`))
  // What an event says is no fact.
  const data = { external_id: { old_value: null, new_value: REFERENCE } }
  await deliver(gateway, { ...EVENT, shipment_id: id, event, data })
  await read
  await gateway.sandbox.idle()
}

/** Changes a shipment at the service, which says nothing. */
function change({ sandbox }: TestGateway, id: string, body: object): void {
  sandbox.shipments.set(id, { ...(sandbox.shipments.get(id) ?? expect.fail('no shipment')), ...body })
}

const readsOf = ({ sandbox }: Pick<TestGateway, 'sandbox'>) => sandbox.requests.filter(({ method }) => method === 'GET')

describe('unknown bookings', () => {
  test('a booking that times out, whose event comes first, is healed; the retry gets the reply of a booking', async () => {
    const gateway = await startReceiver({ env: SHORT_TIMEOUT })
    const usual = await book(gateway, { ReferenceNumber: 'REF-USUAL' })
    const { handle, id } = await bookUnknown(gateway, {}, SILENT)
    const claim = await untilState(gateway.store, handle, 'booked')
    expect(claim.shipment).toBe(id)
    const retry = await book(gateway)
    expect(expectBooked(retry, true)).toBe(id)
    expect(creations(gateway)).toBe(2)
    expect(await statesOf(gateway, handle)).toEqual(['none', 'sending', 'unknown', 'booked'])
    expect((await gateway.store.audit(handle)).at(-1)?.why).toBe('healed: webhook')
    expect(gateway.lines()).toContainEqual(expect.objectContaining({ booking: handle, shipment: id, how: 'webhook' }))
    expect(await metric(gateway, 'transload_bookings_healed_total')).toEqual({ 'how="webhook"': 1, 'how="sweep"': 0 })
    // The answer is the one that the booking would have had, and its names resolve.
    const numberOf = ({ headers }: { readonly headers: Headers }) => headers.get('transload-shipment-number') ?? ''
    const number = gateway.sandbox.shipments.get(id)?.number ?? ''
    expect(numberOf(retry)).toBe(number)
    expect(retry.text).toBe(usual.text.replace(numberOf(usual), number))
    for (const name of [`ReferenceNumber=${REFERENCE}`, `ShipmentNumber=${number}`]) {
      expect((await get(gateway, `/getShipment.php?${name}`)).json).toMatchObject({ VinNo: bookingExample.VinNo })
    }
  })

  test('without an unknown booking, events cause no reads', async () => {
    const gateway = await startReceiver()
    const id = expectBooked(await book(gateway))
    gateway.sandbox.advance(id, 'assigned')
    await gateway.sandbox.idle()
    expect(await gateway.store.eventsOfShipment(CLIENT.id, id)).toHaveLength(2)
    expect(readsOf(gateway)).toEqual([])
  })

  describe('what cannot be decided stays unknown:', () => {
    /** Each makes a shipment at the service that an unknown booking may or may not have made. */
    async function undecided(change: (gateway: TestGateway, id: string) => void): Promise<void> {
      const gateway = await startQuiet()
      const { handle, id } = await bookUnknown(gateway)
      change(gateway, id)
      await deliverAndRead(gateway, id)
      await expectStill(gateway, handle)
    }

    async function expectStill(gateway: TestGateway, handle: string): Promise<void> {
      // A later event of another shipment is read after it: then the first one is decided.
      await deliverAndRead(gateway, '88888888-2222-4333-8444-555555555555')
      expect((await gateway.store.claimByHandle(handle))?.state).toBe('unknown')
      expect(await metric(gateway, 'transload_bookings_healed_total')).toEqual({ 'how="webhook"': 0, 'how="sweep"': 0 })
    }

    const vehicle = { id: 'v', weight: 1, height: 1, width: 1, length: 1, photos: [] }

    test.each<[name: string, body: object]>([
      ['a shipment that is canceled', { status: 'canceled' }],
      ['another reference', { external_id: 'REF-OTHER' }],
      ['the reference in another case', { external_id: REFERENCE.toLowerCase() }],
      ['another VIN', { vehicles: [{ ...vehicle, vin: '1HGCM82633A004353' }] }],
      ['no VIN', { vehicles: [vehicle] }],
      ['vehicles that are no list', { vehicles: { vin: bookingExample.VinNo } }],
      [
        'two vehicles',
        {
          vehicles: [
            { ...vehicle, vin: bookingExample.VinNo },
            { ...vehicle, id: 'w' },
          ],
        },
      ],
    ])('%s', async (_name, body) => {
      await undecided((gateway, id) => change(gateway, id, body))
    })

    test('a shipment that the service does not find', async () => {
      await undecided(({ sandbox }, id) => void sandbox.shipments.delete(id))
    })

    test.each([
      [
        'another shipment',
        { kind: 'body', body: JSON.stringify({ id: 'other', number: '1', external_id: REFERENCE }) },
      ],
      ['a page', { kind: 'not-json' }],
      ['a success that denies itself', { kind: 'body', body: '{"id":"x","success":false}' }],
    ] as const)('%s', async (_name, fault) => {
      await undecided(({ sandbox }, id) =>
        sandbox.fail({ ...fault, on: { method: 'GET', path: `/v2/shipments/${id}` } }),
      )
    })

    test('two unknown bookings of one reference and VIN', async () => {
      const gateway = await startQuiet()
      const both = [
        await bookUnknown(gateway, { 'idempotency-key': 'one' }),
        await bookUnknown(gateway, { 'idempotency-key': 'other' }),
      ]
      for (const { id } of both) await deliverAndRead(gateway, id)
      for (const { handle } of both) await expectStill(gateway, handle)
    })

    test('a shipment that another booking has', async () => {
      const gateway = await startQuiet()
      const id = expectBooked(await book(gateway, {}, { 'idempotency-key': 'made' }))
      gateway.sandbox.fail(NOT_MADE)
      const handle = expectUnknown(await book(gateway, {}, { 'idempotency-key': 'lost' }))
      await deliver(gateway, { ...EVENT, shipment_id: id })
      await expectStill(gateway, handle)
    })

    test.each([
      ['', (id: string) => id],
      [' with its id in capitals', (id: string) => id.toUpperCase()],
    ])('a shipment that had an event%s before the booking', async (_, spelled) => {
      const gateway = await startQuiet()
      // Another gateway, with a store of its own, books the same at the service.
      const elsewhere = await startGateway({ env: OWN, serviceUrl: gateway.sandbox.url })
      const id = expectBooked(await book(elsewhere))
      await deliver(gateway, { ...EVENT, shipment_id: spelled(id), event: 'shipment.created' })
      gateway.sandbox.fail(NOT_MADE)
      const handle = expectUnknown(await book(gateway))
      await deliverAndRead(gateway, id)
      await expectStill(gateway, handle)
    })

    test('a shipment that a booking under way may have made', async () => {
      const gateway = await startGateway({ env: { ...RECEIVES, ...SHORT_TIMEOUT, UPSTREAM_TIMEOUT_MS: '1500' } })
      gateway.sandbox.fail(NOT_MADE)
      const lost = expectUnknown(await book(gateway, {}, { 'idempotency-key': 'lost' }))
      const { answer } = await begin(gateway, { kind: 'delay', ms: 800 })
      const id = shipments(gateway, REFERENCE)[0]?.id ?? expect.fail('no shipment')
      await deliverAndRead(gateway, id)
      expect(expectBooked(await answer)).toBe(id)
      await expectStill(gateway, lost)
    })

    test('a booking that an operator reopened', async () => {
      const gateway = await startQuiet()
      const { handle, id } = await bookUnknown(gateway)
      const claim = await claimOf(gateway)
      const settled = await gateway.store.change(claim, { state: 'freed', instance: 'o', why: 'settled: not booked' })
      await reopen(settled ?? expect.fail(), { store: gateway.store, instance: 'operator' })
      await deliverAndRead(gateway, id)
      await expectStill(gateway, handle)
    })
  })

  test('gateways that get the same events heal a booking of another one, once', async () => {
    const store = createMemoryStore()
    const booking = await startGateway({ env: { ...OWN, ...SHORT_TIMEOUT }, store })
    const others = await Promise.all(
      [1, 2].map(() =>
        startGateway({ env: { ...RECEIVES, ...SHORT_TIMEOUT }, store, serviceUrl: booking.sandbox.url }),
      ),
    )
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

  test('in client mode, the credential for events heals the bookings of its own Client ID, and no others', async () => {
    const env = {
      ...SHORT_TIMEOUT,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_CLIENT_ID: CLIENT.id,
      WEBHOOK_CLIENT_SECRET: CLIENT.secret,
    }
    const gateway = await startGateway({ env, sandbox: { credentials: CREDENTIALS } })
    deliverTo(gateway, gateway.sandbox)
    const theirs = await bookUnknown(gateway, rival)
    const { handle } = await bookUnknown(gateway)
    await untilState(gateway.store, handle, 'booked')
    expectBooked(await book(gateway), true)
    expect((await gateway.store.claimByHandle(theirs.handle))?.state).toBe('unknown')
    expectUnknown(await book(gateway, {}, rival))
  })
})

describe('the sweep', () => {
  const env = { ...OWN, ...SHORT_TIMEOUT }

  /** Opens another gateway on the same store, as after a restart. */
  const restart = ({ sandbox, store }: TestGateway, more: Readonly<Record<string, string>> = {}) =>
    startGateway({ env: { ...env, ...more }, store, serviceUrl: sandbox.url })

  test('after a start, a booking is found by the reference', async () => {
    const gateway = await startGateway({ env, sandbox: { findsByReference: true } })
    gateway.sandbox.fail(LOST)
    const handle = expectUnknown(await book(gateway))
    const after = await restart(gateway)
    const claim = await untilState(gateway.store, handle, 'booked')
    expect(claim.shipment).toBe(shipments(gateway, REFERENCE)[0]?.id)
    expect(expectBooked(await book(after), true)).toBe(claim.shipment)
    expect((await gateway.store.audit(handle)).at(-1)?.why).toBe('healed: sweep')
    expect(await metric(after, 'transload_bookings_healed_total')).toMatchObject({ 'how="sweep"': 1 })
    expect(creations(gateway)).toBe(1)
  })

  test('a shipment that is found and is not the one of the booking changes nothing', async () => {
    const gateway = await startGateway({ env })
    const other = await book(gateway)
    const number = other.headers.get('transload-shipment-number') ?? ''
    gateway.sandbox.fail(NOT_MADE)
    // The reference is the number that the service gave another shipment.
    const handle = expectUnknown(await book(gateway, { ReferenceNumber: number }))
    const found = gateway.sandbox.next(({ method, path }) => method === 'GET' && path.endsWith(`/${number}`))
    const after = await restart(gateway)
    await found
    await gateway.sandbox.idle()
    await after.gateway.close()
    expect((await gateway.store.claimByHandle(handle))?.state).toBe('unknown')
  })

  test('a service that fails is left alone until the next sweep', async () => {
    const gateway = await startGateway({ env })
    gateway.sandbox.fail({ ...NOT_MADE, times: 20 })
    for (let i = 0; i < 20; i += 1) expectUnknown(await book(gateway, { ReferenceNumber: `REF-${i}` }))
    gateway.sandbox.requests.length = 0
    gateway.sandbox.fail({ kind: 'status', status: 500, times: 'always', on: { method: 'GET' } })
    const { gateway: after, lines } = await restart(gateway)
    const failed = () => lines().filter(({ msg }) => /could not be looked for/.test(String(msg))).length
    await expect.poll(failed).toBeGreaterThanOrEqual(3)
    await after.close()
    expect(new Set(readsOf(gateway).map(({ path }) => path)).size).toBeLessThan(10)
  })

  test('a gateway that is told to stop does not wait longer than it may for a read', async () => {
    const gateway = await startGateway({ env })
    gateway.sandbox.fail(NOT_MADE)
    expectUnknown(await book(gateway))
    gateway.sandbox.fail({ kind: 'timeout', times: 'always', on: { method: 'GET' } })
    const asked = gateway.sandbox.next(({ method }) => method === 'GET')
    const after = await restart(gateway, { UPSTREAM_TIMEOUT_MS: '60000', SHUTDOWN_GRACE_MS: '100' })
    await asked
    // Within the time of a test, which is half of what the service takes.
    await expect(after.gateway.close()).resolves.toBeUndefined()
  })

  test('in client mode, only the credential for events sweeps', async () => {
    const gateway = await startGateway({
      env: SHORT_TIMEOUT,
      sandbox: { credentials: CREDENTIALS, findsByReference: true },
    })
    gateway.sandbox.fail(LOST, LOST)
    const handle = expectUnknown(await book(gateway))
    const theirs = expectUnknown(await book(gateway, {}, rival))
    const { sandbox, store } = gateway
    sandbox.requests.length = 0
    const own = { WEBHOOK_CLIENT_ID: CLIENT.id, WEBHOOK_CLIENT_SECRET: CLIENT.secret }
    for (const more of [{}, own])
      await startGateway({ env: { ...SHORT_TIMEOUT, ...more }, store, serviceUrl: sandbox.url })
    await untilState(store, handle, 'booked')
    expect((await store.claimByHandle(theirs))?.state).toBe('unknown')
    expect(readsOf(gateway).map(({ headers }) => headers.authorization)).toEqual([basic()])
  })

  test('in tenants mode, each secret names its tenant, whose own credential reads', async () => {
    const hooks = { acme: 'hook-of-acme-0123456789', zenith: 'hook-of-zenith-0123456789' }
    const edge = await openEdge(
      (place) => Object.entries(hooks).map(([name, secret]) => withHook(place, name, secret)),
      { env: SHORT_TIMEOUT },
    )
    const webhookRetry = { attempts: 6, delayMs: 20 }
    edge.sandbox.set({ webhookUrl: `${edge.url}/webhooks/${hooks.acme}`, webhookRetry })
    edge.sandbox.fail(LOST, LOST)
    // The event of the second one comes with the secret of the first, who cannot read its shipment.
    const own = expectUnknown(await book(edge, {}, as('acme')))
    const other = expectUnknown(await book(edge, {}, as('zenith')))
    await untilState(edge.store, own, 'booked')
    expect(expectBooked(await book(edge, {}, as('acme')), true)).toBe((await edge.store.claimByHandle(own))?.shipment)
    expect((await edge.store.claimByHandle(other))?.state).toBe('unknown')
    edge.sandbox.set({ webhookUrl: `${edge.url}/webhooks/${hooks.zenith}` })
    for (const { id } of shipments(edge, REFERENCE)) edge.sandbox.advance(id, 'assigned')
    await untilState(edge.store, other, 'booked')
  })
})

describe('cancellations', () => {
  /** A booking whose shipment has sent no events, and its key. */
  async function openBooked(env: Readonly<Record<string, string>> = RECEIVES) {
    const gateway = await startGateway({ env })
    const id = expectBooked(await book(gateway))
    return { gateway, id, handle: (await claimOf(gateway)).handle }
  }

  const cancel = (gateway: TestGateway, id: string) => change(gateway, id, { status: 'canceled' })
  const remove = ({ sandbox }: TestGateway, id: string) => void sandbox.shipments.delete(id)
  const asItIs = (id: string) => id

  test.each([
    ['has canceled', 'shipment.canceled', cancel, asItIs],
    ['has canceled', 'shipment.canceled_by_carrier', cancel, asItIs],
    ['has canceled', 'shipment.canceled', cancel, (id: string) => id.toUpperCase()],
    ['does not find any more', 'shipment.canceled', remove, asItIs],
  ])('a shipment that the service %s (%s) frees the key of its booking', async (_, event, change, spelled) => {
    const { gateway, id, handle } = await openBooked()
    change(gateway, id)
    await deliver(gateway, { ...EVENT, event, shipment_id: spelled(id) })
    await untilState(gateway.store, handle, 'freed')
    expect((await gateway.store.audit(handle)).at(-1)?.why).toBe('canceled')
    expect(expectBooked(await book(gateway))).not.toBe(id)
    expect(creations(gateway)).toBe(2)
  })

  test.each([
    ['the service shows it with another status', 'shipment.canceled_by_carrier', undefined],
    ['the read fails', 'shipment.canceled', { kind: 'status', status: 500 }],
    ['the read shows something else', 'shipment.canceled', { kind: 'body', body: '{"status":"canceled"}' }],
  ] as const)('the key stays where %s', async (_, event, fault) => {
    const { gateway, id } = await openBooked()
    if (fault) gateway.sandbox.fail({ ...fault, times: 'always', on: { method: 'GET' } })
    await deliverAndRead(gateway, id, event)
    gateway.sandbox.clearFaults()
    expect(expectBooked(await book(gateway), true)).toBe(id)
    expect(creations(gateway)).toBe(1)
  })

  test('without a credential of its own, in client mode, the gateway records events and reads nothing', async () => {
    const { gateway, id } = await openBooked({ WEBHOOK_SECRET: SECRET })
    cancel(gateway, id)
    const before = gateway.sandbox.requests.length
    expect((await deliver(gateway, { ...EVENT, event: 'shipment.canceled', shipment_id: id })).status).toBe(200)
    await gateway.sandbox.idle()
    expect(await gateway.store.eventsOfShipment('', id)).toHaveLength(1)
    expect(expectBooked(await book(gateway), true)).toBe(id)
    expect(gateway.sandbox.requests.slice(before)).toEqual([])
  })
})

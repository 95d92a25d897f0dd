/** Promise: an event settles an unknown booking, and frees the key of a canceled one (contract, sections 7 and 10). */

import { describe, expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import {
  book,
  claimOf,
  creations,
  expectBooked,
  expectUnknown,
  REFERENCE,
  shipments,
  statesOf,
} from '../bookings/desk.ts'
import { as, openEdge, tenant } from '../callers/edge.ts'
import { basic, CLIENT, get, OWN, startGateway, type TestGateway } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import { deliver, deliverTo, EVENT, HOOK, metric, SECRET, SHORT_TIMEOUT, startReceiver, untilState } from './deliver.ts'

describe('unknown bookings', () => {
  const CREATION = { method: 'POST', path: /^\/v2\/shipments?$/ }
  /** The service carries the booking out, and its answer is never sent. */
  const SILENT = { kind: 'timeout', on: CREATION } as const
  /** The service carries the booking out, and its answer gets lost at once. */
  const LOST = { kind: 'reset-after', on: CREATION } as const
  /** The service loses the request. */
  const NOT_MADE = { kind: 'reset-before', on: CREATION } as const

  /** Books while the service's answer gets lost, and returns the claim and the shipment that was made. */
  async function bookUnknown(
    gateway: TestGateway,
    changes: object = {},
    headers: Readonly<Record<string, string>> = {},
    fault: Fault = LOST,
  ) {
    gateway.sandbox.fail(fault)
    const before = new Set(gateway.sandbox.shipments.keys())
    const handle = expectUnknown(await book(gateway, changes, headers))
    const id = [...gateway.sandbox.shipments.keys()].find((one) => !before.has(one))
    return { handle, id: id ?? expect.fail('the service made no shipment') }
  }

  /** Resolves when the gateway has read a shipment once more. */
  const nextRead = ({ sandbox }: TestGateway, id: string) =>
    sandbox.next(({ method, path }) => method === 'GET' && path.endsWith(`/${id}`))

  /** Delivers an event, and waits for the read that it causes to be over. */
  async function deliverAndRead(gateway: TestGateway, id: string, event = 'shipment.assigned'): Promise<void> {
    const read = nextRead(gateway, id)
    await deliver(gateway, { ...EVENT, shipment_id: id, event })
    await read
    await gateway.sandbox.idle()
  }

  const quiet = { ...SHORT_TIMEOUT, SWEEP_INTERVAL: '1h' }

  test('a booking that times out, whose event comes first, is healed; the retry gets the reply of a booking', async () => {
    const gateway = await startReceiver({ env: quiet })
    const { handle, id } = await bookUnknown(gateway, {}, {}, SILENT)
    await untilState(gateway.store, handle, 'booked')
    const retry = await book(gateway)
    expect(expectBooked(retry, true)).toBe(id)
    expect(creations(gateway)).toBe(1)
    expect(await statesOf(gateway, handle)).toEqual(['none', 'sending', 'unknown', 'booked'])
    expect((await gateway.store.audit(handle)).at(-1)?.why).toBe('healed: webhook')
    expect(gateway.lines()).toContainEqual(expect.objectContaining({ booking: handle, shipment: id, how: 'webhook' }))
    expect(await metric(gateway, 'transload_bookings_healed_total')).toEqual({ 'how="webhook"': 1, 'how="sweep"': 0 })
  })

  test('the answer is the one that the booking would have had, and its names resolve', async () => {
    const gateway = await startReceiver({ env: quiet })
    const usual = await book(gateway, { ReferenceNumber: 'REF-USUAL' })
    const { handle, id } = await bookUnknown(gateway)
    await untilState(gateway.store, handle, 'booked')
    const healed = await book(gateway)
    const number = gateway.sandbox.shipments.get(id)?.number ?? ''
    expect(healed.text).toBe(usual.text.replace(usual.headers.get('transload-shipment-number') ?? '', number))
    expect(healed.headers.get('transload-shipment-number')).toBe(number)
    for (const name of [`ReferenceNumber=${REFERENCE}`, `ShipmentNumber=${number}`]) {
      expect((await get(gateway, `/getShipment.php?${name}`)).json).toMatchObject({ VinNo: bookingExample.VinNo })
    }
    const claim = await claimOf(gateway)
    expect(claim.shipment).toBe(id)
  })

  test('only facts that were read count: an event that says nothing true changes nothing', async () => {
    const gateway = await startReceiver({ env: quiet })
    gateway.sandbox.set({ webhookUrl: undefined })
    gateway.sandbox.fail(NOT_MADE)
    const handle = expectUnknown(await book(gateway))
    const { json } = await deliver(gateway, {
      ...EVENT,
      event: 'shipment.created',
      data: { external_id: { old_value: null, new_value: REFERENCE } },
    })
    await nextReadOver(gateway)
    expect(json.duplicate).toBe(false)
    expect((await gateway.store.claimByHandle(handle))?.state).toBe('unknown')
    expectUnknown(await book(gateway))
  })

  /** Waits until the reads that events caused are over: the next one is the last of a queue of one at a time. */
  async function nextReadOver({ sandbox }: TestGateway): Promise<void> {
    await expect.poll(() => sandbox.requests.filter(({ method }) => method === 'GET').length).toBeGreaterThan(0)
    await sandbox.idle()
  }

  test('without an unknown booking, events cause no reads', async () => {
    const gateway = await startReceiver()
    const id = expectBooked(await book(gateway))
    gateway.sandbox.advance(id, 'assigned')
    await gateway.sandbox.idle()
    expect(await gateway.store.eventsOfShipment(CLIENT.id, id)).toHaveLength(2)
    expect(gateway.sandbox.requests.filter(({ method }) => method === 'GET')).toEqual([])
  })

  describe('what cannot be decided stays unknown:', () => {
    /** Each makes a shipment at the service that an unknown booking may or may not have made. */
    async function undecided(change: (gateway: TestGateway, id: string) => void | Promise<void>): Promise<void> {
      const gateway = await startReceiver({ env: quiet })
      gateway.sandbox.set({ webhookUrl: undefined })
      const { handle, id } = await bookUnknown(gateway)
      await change(gateway, id)
      await deliverAndRead(gateway, id)
      await expectStill(gateway, handle)
    }

    async function expectStill(gateway: TestGateway, handle: string): Promise<void> {
      // A later event of another shipment is read after it: then the first one is decided.
      const other = '88888888-2222-4333-8444-555555555555'
      await deliverAndRead(gateway, other)
      expect((await gateway.store.claimByHandle(handle))?.state).toBe('unknown')
      expect(await metric(gateway, 'transload_bookings_healed_total')).toEqual({ 'how="webhook"': 0, 'how="sweep"': 0 })
    }

    const changed = (body: object) => (gateway: TestGateway, id: string) => {
      const shipment = gateway.sandbox.shipments.get(id) ?? expect.fail()
      gateway.sandbox.shipments.set(id, { ...shipment, ...body })
    }
    const vehicle = { id: 'v', weight: 1, height: 1, width: 1, length: 1, photos: [] }

    test.each([
      ['a shipment that is canceled', { status: 'canceled' }],
      ['another reference', { external_id: 'REF-OTHER' }],
      ['the reference in another case', { external_id: REFERENCE.toLowerCase() }],
      ['the reference and more', { external_id: `${REFERENCE}-1` }],
      ['no reference', { external_id: undefined }],
      ['another VIN', { vehicles: [{ ...vehicle, vin: '1HGCM82633A004353' }] }],
      ['no VIN', { vehicles: [vehicle] }],
      ['no vehicle', { vehicles: [] }],
      ['vehicles that are no list', { vehicles: { vin: bookingExample.VinNo } }],
      ['a vehicle that is no object', { vehicles: [bookingExample.VinNo] }],
      ['a VIN that is no text', { vehicles: [{ ...vehicle, vin: {} }] }],
      ['a reference that is no text', { external_id: {} }],
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
      await undecided(changed(body))
    })

    test.each([
      [
        'another shipment',
        { kind: 'body', body: JSON.stringify({ id: 'other', number: '1', external_id: REFERENCE }) },
      ],
      ['an empty reply', { kind: 'empty' }],
      ['a page', { kind: 'not-json' }],
      ['a success that denies itself', { kind: 'body', body: '{"id":"x","success":false}' }],
      ['a list', { kind: 'body', body: '[]' }],
    ] as const)('%s', async (_name, fault) => {
      await undecided((gateway, id) =>
        gateway.sandbox.fail({ ...fault, on: { method: 'GET', path: `/v2/shipments/${id}` } }),
      )
    })

    test('two unknown bookings of one reference and VIN', async () => {
      const gateway = await startReceiver({ env: quiet })
      gateway.sandbox.set({ webhookUrl: undefined })
      const one = await bookUnknown(gateway, {}, { 'idempotency-key': 'one' })
      const other = await bookUnknown(gateway, {}, { 'idempotency-key': 'other' })
      await deliverAndRead(gateway, one.id)
      await deliverAndRead(gateway, other.id)
      await expectStill(gateway, one.handle)
      await expectStill(gateway, other.handle)
    })

    test('a shipment that another booking has', async () => {
      const gateway = await startReceiver({ env: quiet })
      gateway.sandbox.set({ webhookUrl: undefined })
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
      const gateway = await startReceiver({ env: quiet })
      gateway.sandbox.set({ webhookUrl: undefined })
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
      const gateway = await startReceiver({ env: { ...quiet, UPSTREAM_TIMEOUT_MS: '1500' } })
      gateway.sandbox.set({ webhookUrl: undefined })
      gateway.sandbox.fail(NOT_MADE)
      const lost = expectUnknown(await book(gateway, {}, { 'idempotency-key': 'lost' }))
      gateway.sandbox.fail({ kind: 'delay', ms: 800, on: CREATION })
      const made = gateway.sandbox.next(({ method }) => method === 'POST')
      const underWay = book(gateway, {}, { 'idempotency-key': 'slow' })
      await made
      const [shipment] = shipments(gateway, REFERENCE)
      const id = shipment?.id ?? expect.fail('no shipment')
      await deliverAndRead(gateway, id)
      expect(expectBooked(await underWay)).toBe(id)
      await expectStill(gateway, lost)
    })

    test('a booking that an operator reopened', async () => {
      const gateway = await startReceiver({ env: quiet })
      gateway.sandbox.set({ webhookUrl: undefined })
      const { handle, id } = await bookUnknown(gateway)
      const claim = await claimOf(gateway)
      const settled = await gateway.store.change(claim, { state: 'freed', instance: 'o', why: 'settled: not booked' })
      const { reopen } = await import('../../src/bookings/settlement.ts')
      await reopen(settled ?? expect.fail(), { store: gateway.store, instance: 'operator' })
      await deliverAndRead(gateway, id)
      await expectStill(gateway, handle)
    })
  })

  test('the gateway that gets the event need not be the one that booked', async () => {
    const store = createMemoryStore()
    const one = await startGateway({
      env: { ...quiet, V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret },
      store,
    })
    const other = await startReceiver({ env: quiet, store, serviceUrl: one.sandbox.url })
    deliverTo(other, one.sandbox)
    const { handle } = await bookUnknown(one)
    await untilState(store, handle, 'booked')
    expectBooked(await book(one), true)
    expectBooked(await book(other), true)
    expect(creations(one)).toBe(1)
  })

  test('two gateways that get the same events heal a booking once', async () => {
    const store = createMemoryStore()
    const one = await startReceiver({ env: quiet, store })
    const other = await startReceiver({ env: quiet, store, serviceUrl: one.sandbox.url })
    one.sandbox.set({ webhookUrl: undefined })
    const { handle, id } = await bookUnknown(one)
    const events = ['shipment.created', 'shipment.assigned', 'shipment.picked_up']
    await Promise.all(
      events.flatMap((event) => [one, other].map((gateway) => deliver(gateway, { ...EVENT, event, shipment_id: id }))),
    )
    await untilState(store, handle, 'booked')
    expect(await statesOf({ store }, handle)).toEqual(['none', 'sending', 'unknown', 'booked'])
    expect(await store.eventsOfShipment(CLIENT.id, id)).toHaveLength(events.length)
  })

  test('in client mode, the credential for events heals the bookings of its own Client ID, and no others', async () => {
    const env = { ...quiet, WEBHOOK_SECRET: SECRET, WEBHOOK_CLIENT_ID: CLIENT.id, WEBHOOK_CLIENT_SECRET: CLIENT.secret }
    const credentials = { [CLIENT.id]: CLIENT.secret, rival: 'rival-secret' }
    const gateway = await startGateway({ env, sandbox: { credentials } })
    deliverTo(gateway, gateway.sandbox)
    const rival = { authorization: basic('rival', 'rival-secret') }
    const theirs = await bookUnknown(gateway, {}, rival)
    const { handle } = await bookUnknown(gateway)
    await untilState(gateway.store, handle, 'booked')
    expectBooked(await book(gateway), true)
    expect((await gateway.store.claimByHandle(theirs.handle))?.state).toBe('unknown')
    expectUnknown(await book(gateway, {}, rival))
  })
})

describe('the sweep', () => {
  const CREATION = { method: 'POST', path: /^\/v2\/shipments?$/ }
  const LOST = { kind: 'timeout', on: CREATION } as const
  const NOT_MADE = { kind: 'timeout-unprocessed', on: CREATION } as const

  const env = { ...OWN, ...SHORT_TIMEOUT, SWEEP_INTERVAL: '1h' }

  /** Opens another gateway on the same store, as after a restart. */
  const restart = ({ sandbox, store }: TestGateway, more: Readonly<Record<string, string>> = {}) =>
    startGateway({ env: { ...env, ...more }, store, serviceUrl: sandbox.url })

  const reads = ({ sandbox }: Pick<TestGateway, 'sandbox'>) => sandbox.requests.filter(({ method }) => method === 'GET')

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
    const references = Array.from({ length: 20 }, (_, i) => `REF-${i}`)
    gateway.sandbox.fail({ ...NOT_MADE, times: references.length })
    await Promise.all(
      references.map(async (ReferenceNumber) => expectUnknown(await book(gateway, { ReferenceNumber }))),
    )
    gateway.sandbox.requests.length = 0
    gateway.sandbox.fail({ kind: 'status', status: 500, times: 'always', on: { method: 'GET' } })
    const { gateway: after, lines } = await restart(gateway)
    const failed = () => lines().filter(({ msg }) => /could not be looked for/.test(String(msg))).length
    await expect.poll(failed).toBeGreaterThanOrEqual(3)
    await after.close()
    expect(new Set(reads(gateway).map(({ path }) => path)).size).toBeLessThan(references.length / 2)
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

  test('two gateways that start at once heal every booking once', async () => {
    const store = createMemoryStore()
    const gateway = await startGateway({ env, store, sandbox: { findsByReference: true } })
    const references = Array.from({ length: 10 }, (_, i) => `REF-${i}`)
    gateway.sandbox.fail({ ...LOST, times: references.length })
    const handles = await Promise.all(
      references.map(async (ReferenceNumber) => expectUnknown(await book(gateway, { ReferenceNumber }))),
    )
    await Promise.all([restart(gateway), restart(gateway)])
    for (const handle of handles) {
      await untilState(store, handle, 'booked')
      const healed = (await store.audit(handle)).filter(({ why }) => why.startsWith('healed'))
      expect(healed).toHaveLength(1)
    }
  })

  test('in client mode, only the credential for events sweeps', async () => {
    const clientEnv = { ...SHORT_TIMEOUT, SWEEP_INTERVAL: '1h' }
    const credentials = { [CLIENT.id]: CLIENT.secret, rival: 'rival-secret' }
    const sandbox = { credentials, findsByReference: true }
    const gateway = await startGateway({ env: clientEnv, sandbox })
    gateway.sandbox.fail(LOST, LOST)
    const handle = expectUnknown(await book(gateway))
    const theirs = expectUnknown(await book(gateway, {}, { authorization: basic('rival', 'rival-secret') }))
    const { sandbox: service, store } = gateway
    gateway.sandbox.requests.length = 0
    await startGateway({ env: clientEnv, store, serviceUrl: service.url })
    const own = { WEBHOOK_CLIENT_ID: CLIENT.id, WEBHOOK_CLIENT_SECRET: CLIENT.secret }
    await startGateway({ env: { ...clientEnv, ...own }, store, serviceUrl: service.url })
    await untilState(store, handle, 'booked')
    expect((await store.claimByHandle(theirs))?.state).toBe('unknown')
    expect(reads(gateway).map(({ headers }) => headers.authorization)).toEqual([basic()])
  })

  test('in tenants mode, each secret names its tenant, whose own credential reads', async () => {
    const hooks = { acme: 'hook-of-acme-0123456789', zenith: 'hook-of-zenith-0123456789' }
    process.env['HOOK_ACME'] = hooks.acme
    process.env['HOOK_ZENITH'] = hooks.zenith
    onTestFinished(() => {
      delete process.env['HOOK_ACME']
      delete process.env['HOOK_ZENITH']
    })
    const edge = await openEdge(
      (place) => [
        tenant(place, 'acme', { webhook_secret: { env: 'HOOK_ACME' } }),
        tenant(place, 'zenith', { webhook_secret: { env: 'HOOK_ZENITH' } }),
      ],
      { env: { ...SHORT_TIMEOUT, SWEEP_INTERVAL: '1h' } },
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
  async function openBooked(gateway: TestGateway) {
    gateway.sandbox.set({ webhookUrl: undefined })
    const id = expectBooked(await book(gateway))
    const [claim] = await gateway.store.listClaims({})
    return { id, handle: claim?.handle ?? expect.fail('no claim') }
  }

  /** Lets the service cancel a shipment by itself. */
  function cancel({ sandbox }: TestGateway, id: string): void {
    const shipment = sandbox.shipments.get(id) ?? expect.fail('no shipment')
    sandbox.shipments.set(id, { ...shipment, status: 'canceled' })
  }

  const isRead = (id: string) => (request: { readonly method: string; readonly path: string }) =>
    request.method === 'GET' && request.path.toLowerCase().endsWith(`/${id}`)

  test.each([
    ['shipment.canceled', (id: string) => id],
    ['shipment.canceled_by_carrier', (id: string) => id],
    ['shipment.canceled', (id: string) => id.toUpperCase()],
  ])('a shipment that the service has canceled (%s) frees the key of its booking', async (event, spelled) => {
    const gateway = await startReceiver()
    const { id, handle } = await openBooked(gateway)
    cancel(gateway, id)
    await deliver(gateway, { ...EVENT, event, shipment_id: spelled(id) })
    await untilState(gateway.store, handle, 'freed')
    expect((await gateway.store.audit(handle)).at(-1)?.why).toBe('canceled')
    const again = expectBooked(await book(gateway))
    expect(again).not.toBe(id)
    expect(creations(gateway)).toBe(2)
  })

  test('a shipment that the service does not find any more frees it as well', async () => {
    const gateway = await startReceiver()
    const { id, handle } = await openBooked(gateway)
    gateway.sandbox.shipments.delete(id)
    await deliver(gateway, { ...EVENT, event: 'shipment.canceled', shipment_id: id })
    await untilState(gateway.store, handle, 'freed')
  })

  test.each([
    ['the service shows it with another status', 'shipment.canceled_by_carrier', undefined],
    ['the read fails', 'shipment.canceled', { kind: 'status', status: 500, times: 'always' }],
    [
      'the read shows something else',
      'shipment.canceled',
      { kind: 'body', body: '{"status":"canceled"}', times: 'always' },
    ],
  ] as const)('the key stays where %s', async (_, event, fault) => {
    const gateway = await startReceiver()
    const { id } = await openBooked(gateway)
    if (fault) gateway.sandbox.fail({ ...fault, on: { method: 'GET' } })
    const read = gateway.sandbox.next(isRead(id))
    await deliver(gateway, { ...EVENT, event, shipment_id: id })
    await read
    await gateway.sandbox.idle()
    gateway.sandbox.clearFaults()
    expect(expectBooked(await book(gateway), true)).toBe(id)
    expect(creations(gateway)).toBe(1)
  })

  test('without a credential of its own, in client mode, the gateway reads nothing', async () => {
    const gateway = await startGateway({ env: { WEBHOOK_SECRET: SECRET } })
    const { id } = await openBooked(gateway)
    cancel(gateway, id)
    const before = gateway.sandbox.requests.length
    const { status } = await deliver(gateway, { ...EVENT, event: 'shipment.canceled', shipment_id: id }, {}, HOOK)
    expect(status).toBe(200)
    await gateway.sandbox.idle()
    expect(expectBooked(await book(gateway), true)).toBe(id)
    expect(gateway.sandbox.requests.slice(before)).toEqual([])
  })
})

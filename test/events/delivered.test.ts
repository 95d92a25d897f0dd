/** Promise: a tenant gets each event in a version-1 form, signed, in order, and again until it takes it (contract, section 10). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { bookingExample, shipmentExample } from '../../mappings/booking-rows.ts'
import { signingKey } from '../../src/language/webhook-signature.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { CallbackEndpoint } from '../../src/state/events/callback.ts'
import { as, book, openEdge, quote, writeTenants } from '../callers/tenants-gateway.ts'
import { post } from '../gateway.ts'
import { newClaim, newEvent } from '../store/samples.ts'
import { withHook } from './deliver.ts'
import { endpoint, type OfficeOptions, openOffice } from './office.ts'
import { type Handle, type ReceivedDelivery, replies, startReceiver } from './receiver.ts'

const secretOf = (byte: number) => `whsec_${Buffer.alloc(24, byte).toString('base64')}`

/** Checks the signature of a delivery, and returns its body. */
const verified = (secret: string, { body, headers }: ReceivedDelivery) =>
  new Webhook(secret).verify(
    body,
    Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, String(text)])),
  )

/** Starts a receiver, and deliveries to it. */
async function openTo(handle?: Handle, given: Partial<CallbackEndpoint> = {}, options: Partial<OfficeOptions> = {}) {
  const receiver = await startReceiver(handle)
  const office = await openOffice({ endpoints: [endpoint(receiver.url, given)], ...options })
  const { received } = receiver
  /** The names of the events that have arrived. */
  const events = () => received.map(({ body }): string => JSON.parse(body).Event)
  return { ...office, receiver, received, events }
}

describe('a delivery', () => {
  const SECRETS = [1, 2].map(secretOf)
  const keys = SECRETS.flatMap((secret) => signingKey(secret) ?? [])

  test.each([
    ['json', 'application/json'],
    ['form', 'application/x-www-form-urlencoded'],
  ] as const)('as %s is signed with every secret', async (format, type) => {
    const { take, pass, received } = await openTo(undefined, { keys, format })
    const id = await take()
    await pass(0)
    const [delivery] = received
    if (!delivery) expect.fail('nothing has arrived')
    expect(delivery.headers).toMatchObject({ 'content-type': type, 'webhook-id': id })
    for (const secret of SECRETS) {
      if (format === 'json') expect(verified(secret, delivery)).toMatchObject({ Event: 'shipment.delivered' })
      // The package parses the body once the signature is right.
      else expect(() => verified(secret, delivery)).toThrow(SyntaxError)
    }
    expect(() => verified(secretOf(3), delivery)).toThrow(/signature/i)
  })

  test('every try has the same id and body, and a signature of its own time', async () => {
    const { take, pass, store, received } = await openTo(replies(500), { keys })
    const id = await take()
    await pass(0)
    // A later booking does not change what was said.
    await store.put({ names: [], shipment: { tenant: 'acme', id: 's-1', own: 'ANOTHER' } })
    await pass(6_000)
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id])
    for (const delivery of received) {
      expect(verified(SECRETS[0] ?? '', delivery)).toMatchObject({ ShipmentNumber: 'REF-s-1' })
    }
    expect(received[1]?.body).toBe(received[0]?.body)
  })

  test('a user name and a password in the address are sent as Basic authentication, and not logged', async () => {
    const receiver = await startReceiver(replies(410))
    const url = receiver.url.replace('http://', 'http://caller:pass%3Aword@')
    const { take, pass, lines } = await openOffice({ endpoints: [endpoint(`${url}?key=secret-key`)] })
    await take()
    await pass(0)
    const [delivery] = receiver.received
    expect(delivery?.headers.authorization).toBe(`Basic ${Buffer.from('caller:pass:word').toString('base64')}`)
    expect(delivery?.path).toBe('/hook?key=secret-key')
    expect(JSON.stringify(lines)).not.toMatch(/pass|secret-key/)
    expect(lines).toContainEqual(expect.objectContaining({ url: `${receiver.url}?***` }))
  })

  test.each([
    ['the caller’s own', shipmentExample.id],
    ['the same for an id in capitals', shipmentExample.id.toUpperCase()],
  ])('the numbers are %s, and changed fields have their version-1 names', async (_, shipment) => {
    const { store, pass, received } = await openTo()
    const claim = newClaim({ reference: bookingExample.ReferenceNumber, isOfReference: true })
    await store.claim(claim)
    const reply = JSON.stringify({ status: 200, headers: { 'Transload-Shipment-Number': 'TL-100001' }, body: '{}' })
    const booked = { state: 'booked', instance: 'i', shipment: shipmentExample.id, reply, why: 'made' } as const
    await store.change({ ...claim, version: 1 }, booked)
    const event = 'shipment.modified'
    const date = '2024-08-10T08:00:00+0000'
    const payload = JSON.stringify({
      shipment_id: shipmentExample.id,
      event,
      event_date: date,
      data: {
        'pickup.zipcode': { old_value: 10314, new_value: 2134 },
        'delivery.contact_name': { old_value: 'Robin Example', new_value: null },
        vehicles: {
          old_value: shipmentExample.vehicles,
          new_value: [{ ...shipmentExample.vehicles[0], make: 'Chevrolet' }],
        },
        status: { old_value: 'new', new_value: 'hold' },
        price: { old_value: 1234.5, new_value: 1300, difference: 65.5 },
        __proto__x: { old_value: 1, new_value: 2 },
      },
    })
    await store.takeEvent(newEvent({ shipment, event, date, payload }))
    await pass(0)
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({
      Event: event,
      EventDate: date,
      ShipmentNumber: 'TL-100001',
      ReferenceNumber: bookingExample.ReferenceNumber,
      Status: 'hold',
      Message: `Shipment ${bookingExample.ReferenceNumber} is hold. Its price is 1300.00.`,
      PickupZip: '02134',
      DeliveryName: '',
      Make: 'Chevrolet',
      Cost: '1300.00',
    })
  })
})

describe('whom it reaches', () => {
  const HOOK = 'hook-3f0c2a9e-of-delivery'
  const SIGNING = secretOf(7)

  /** Opens a gateway whose tenant has a callback; the stand-in delivers its events to the gateway. */
  async function openWithCallback(handle?: Handle, more: object = {}, env: Record<string, string> = {}) {
    const receiver = await startReceiver(handle)
    const withCallback = (place: string, others: object = {}) => {
      writeFileSync(join(place, 'signing'), SIGNING)
      return withHook(place, 'acme', HOOK, {
        callback_url: `${receiver.url}?key=callback-key`,
        callback_secrets: [{ file: join(place, 'signing') }],
        callback_allow_http: true,
        callback_networks: ['127.0.0.0/8'],
        ...others,
      })
    }
    const edge = await openEdge((place) => [withCallback(place, more)], { env })
    edge.sandbox.set({ webhookUrl: `${edge.url}/webhooks/${HOOK}`, webhookRetry: { attempts: 6, delayMs: 20 } })
    const { received } = receiver
    const bodyOf = (nth: number) => JSON.parse(received[nth]?.body ?? '')
    const events = () => edge.store.listEvents({})
    const metrics = async () => (await fetch(`${edge.adminUrl}/metrics`)).text()
    return { ...edge, withCallback, receiver, received, bodyOf, events, metrics }
  }

  test('the caller of a booking hears of its shipment under its own reference', async () => {
    const { received, receiver, bodyOf, events, metrics, ...edge } = await openWithCallback()
    expect((await book(edge, 'REF-1', as('acme'))).status).toBe(200)
    await receiver.count(1)
    const [delivery] = received
    expect(delivery && verified(SIGNING, delivery)).toMatchObject({
      Event: 'shipment.created',
      ReferenceNumber: 'REF-1',
      ShipmentNumber: expect.stringMatching(/^\S+$/),
      Status: 'new',
    })
    await expect.poll(async () => (await events()).map(({ state }) => state)).toEqual(['delivered'])

    const canceled = await post(edge, '/deleteShipment.php', { ReferenceNumber: 'REF-1' }, as('acme'))
    expect(canceled.status).toBe(200)
    await receiver.count(2)
    expect(bodyOf(1)).toMatchObject({ Event: 'shipment.canceled', ReferenceNumber: 'REF-1', Status: 'canceled' })
    const counted = await metrics()
    for (const secret of [HOOK, SIGNING, SIGNING.slice('whsec_'.length), 'callback-key'])
      expect(JSON.stringify(edge.lines()) + counted).not.toContain(secret)
    expect(counted).toContain('transload_delivery_tries_total{tenant="acme",outcome="delivered"}')
    expect(counted).toContain('transload_delivery_seconds_count{tenant="acme"} 2')
  })

  test('an event that tells no status has the one that the service shows, or none while it cannot be read', async () => {
    const { receiver, bodyOf, ...edge } = await openWithCallback()
    expect((await book(edge, 'REF-1', as('acme'))).status).toBe(200)
    await receiver.count(1)
    const update = (PickupName: string) =>
      post(edge, '/updateShipment.php', { ReferenceNumber: 'REF-1', PickupName }, as('acme'))
    expect((await update('Gate 2')).status).toBe(200)
    await receiver.count(2)
    const modified = { Event: 'shipment.modified', ReferenceNumber: 'REF-1' }
    expect(bodyOf(1)).toMatchObject({ ...modified, PickupName: 'Gate 2', Status: 'new' })

    const put = edge.sandbox.next(({ method }) => method === 'PUT')
    void put.then(() => edge.sandbox.fail({ kind: 'status', status: 500, times: 'always', on: { method: 'GET' } }))
    expect((await update('Gate 3')).status).toBe(200)
    await receiver.count(3)
    expect(bodyOf(2)).toMatchObject({ ...modified, PickupName: 'Gate 3' })
    expect(bodyOf(2)).not.toHaveProperty('Status')
  })

  test('an endpoint that is added to the tenants file gets the events from then on', async () => {
    const without = { callback_url: undefined, callback_secrets: undefined }
    const { receiver, bodyOf, withCallback, events, ...edge } = await openWithCallback(undefined, without)
    await book(edge, 'REF-1', as('acme'))
    await expect.poll(async () => (await events()).length).toBe(1)
    writeTenants(edge.path, withCallback(edge.place))
    edge.hangUp()
    await book(edge, 'REF-2', as('acme'))
    await receiver.count(1)
    expect(bodyOf(0).ReferenceNumber).toBe('REF-2')
    expect((await events()).map(({ state }) => state)).toContain('recorded')
  })

  test('a try that hangs at a shutdown ends with the grace of the calls, not after it, and does not count', async () => {
    const ended: string[] = []
    const hang: Handle = (outgoing) => void outgoing.once('close', () => ended.push('try'))
    const { receiver, events, ...edge } = await openWithCallback(hang, {}, { SHUTDOWN_GRACE_MS: '300' })
    await book(edge, 'REF-1', as('acme'))
    await receiver.count(1)
    edge.sandbox.fail({ kind: 'delay', ms: 60_000, times: 'always' })
    const asked = edge.sandbox.next(({ method }) => method === 'POST')
    const call = quote(edge, as('acme')).catch(() => ended.push('call'))
    await asked
    await edge.gateway.close()
    await call
    expect(ended).toEqual(['try', 'call'])
    expect(await events()).toMatchObject([{ state: 'due', failures: 0, outcome: 'interrupted by a shutdown' }])
  })

  test('a callback without secrets is said at the start', async () => {
    const { lines } = await openWithCallback(undefined, { callback_secrets: [] })
    expect(lines()).toContainEqual(expect.objectContaining({ level: 'warn', tenant: 'acme' }))
  })

  test('metrics tell of what is due and parked, and of endpoints that have stopped', async () => {
    const { metrics, ...edge } = await openWithCallback(replies(410))
    await book(edge, 'REF-1', as('acme'))
    await edge.logged(/stopped its deliveries/)
    const counted = await metrics()
    expect(counted).toContain('transload_delivery_stopped{tenant="acme"} 1')
    expect(counted).toContain('transload_delivery_events{tenant="acme",state="due"} 1')
    expect(counted).toMatch(/transload_delivery_oldest_seconds\{tenant="acme",state="due"\} \d/)
  })
})

describe('receivers that fail', () => {
  /** The tries of an event before it is parked. */
  const TRIES = 10
  const MINUTE_MS = 60_000
  const HOUR_MS = 60 * MINUTE_MS
  /** Longer than the jitter of any pause. */
  const ALMOST = 1.11

  test.each<[fault: string, handle: Handle, outcome: string]>([
    ['a server error', replies(500), 'answered 500'],
    ['a redirect', replies(302, { location: 'http://127.0.0.1:1/elsewhere' }), 'answered 302'],
    ['no answer', () => undefined, 'no whole reply within 1 s'],
    [
      'a success that ends in a reset',
      (outgoing, _, incoming) => {
        outgoing.writeHead(200, { 'content-length': '100' })
        outgoing.write('{"ok":', () => incoming.socket.resetAndDestroy())
      },
      'connection lost',
    ],
    [
      'a success whose body never ends',
      (outgoing) => void outgoing.writeHead(200, { 'content-length': '100' }).write('{"ok":'),
      'no whole reply within 1 s',
    ],
    [
      'a reply that is not HTTP',
      (_, __, incoming) => void incoming.socket.end('hello\r\n\r\n'),
      'the reply is not HTTP',
    ],
  ])('%s is a failure, and is tried again after 5 s', async (_, handle, outcome) => {
    const { take, pass, found, receiver, received } = await openTo(handle, {}, { timeoutMs: 1_000 })
    const id = await take()
    await pass(0)
    expect(await found(id)).toMatchObject({ state: 'due', failures: 1, outcome })
    await pass(4_000)
    expect(received.length).toBe(1)
    receiver.answer(replies(204))
    await pass(2_000)
    expect(await found(id)).toMatchObject({ state: 'delivered', failures: 1, outcome: 'answered 204' })
  })

  test('a long reply is not read to its end', async () => {
    let written = 0
    const { take, pass, found } = await openTo((outgoing) => {
      outgoing.writeHead(200)
      const chunk = Buffer.alloc(64 * 1024)
      const more = () => {
        while (!outgoing.destroyed && outgoing.write(chunk)) written += chunk.length
        written += chunk.length
        if (!outgoing.destroyed) outgoing.once('drain', more)
      }
      more()
    })
    const id = await take()
    await pass(0)
    expect((await found(id)).state).toBe('delivered')
    // The buffers of two sockets, and no more.
    expect(written).toBeLessThan(32 * 1024 * 1024)
  })

  test('a receiver that is down for three days gets the event in ten tries, and then it is parked', async () => {
    const { take, pass, found, lines, received } = await openTo(replies(503))
    const id = await take()
    await pass(0)
    const pauses = [5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS)]
    for (const [i, pauseMs] of pauses.entries()) {
      await pass(pauseMs * 0.89)
      expect(received.length).toBe(i + 1)
      await pass(pauseMs * (ALMOST - 0.89))
      expect(received.length).toBe(i + 2)
    }
    expect(TRIES).toBe(pauses.length + 1)
    expect(await found(id)).toMatchObject({ state: 'parked', failures: TRIES, outcome: 'answered 503' })
    await pass(1_000 * HOUR_MS)
    expect(received.length).toBe(TRIES)
    const told = lines.filter(({ msg }) => /%|parked/.test(String(msg))).map(({ level, msg }) => `${level}: ${msg}`)
    expect(told).toEqual([
      'warn: an event has used 50 % of its tries',
      'warn: an event has used 70 % of its tries',
      'warn: an event has used 90 % of its tries',
      'error: an event is parked',
    ])
  })

  test('events of a parked one are delivered, and a replay delivers that one', async () => {
    const { take, pass, found, store, receiver } = await openTo(replies(500))
    const id = await take({ event: 'shipment.created' })
    for (let i = 0; i < TRIES; i += 1) await pass(30 * HOUR_MS)
    expect((await found(id)).state).toBe('parked')
    receiver.answer(replies(200))
    const next = await take({ event: 'shipment.assigned' })
    await pass(0)
    expect((await found(next)).state).toBe('delivered')
    expect(await store.replayEvents([id])).toBe(1)
    await pass(0)
    expect(await found(id)).toMatchObject({ state: 'delivered', failures: 0 })
  })

  test('410 stops the endpoint until an operator resumes it, and events go on being stored', async () => {
    const { take, pass, found, store, lines, receiver, received } = await openTo(replies(410))
    const first = await take()
    await pass(0)
    const second = await take({ shipment: 's-2' })
    await pass(100 * HOUR_MS)
    expect(received.length).toBe(1)
    expect(await store.endpoints()).toMatchObject([{ tenant: 'acme', stopped: true }])
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'an endpoint has stopped its deliveries', level: 'error' }),
    )
    receiver.answer(replies(200))
    await store.resumeEndpoint('acme')
    await pass(0)
    for (const id of [first, second]) expect((await found(id)).state).toBe('delivered')
  })

  test.each([429, 502, 504])('%i slows the whole endpoint down, as long as it asks', async (status) => {
    const { take, pass, found, receiver, received } = await openTo(
      replies(status, { 'retry-after': '600' }),
      {},
      { slots: 1 },
    )
    await take()
    await pass(0)
    const other = await take({ shipment: 's-2' })
    await pass(590_000)
    expect(received.length).toBe(1)
    receiver.answer(replies(200))
    await pass(11_000)
    expect((await found(other)).state).toBe('delivered')
  })

  test('an event that cannot be translated is parked, and the next one of its shipment goes out', async () => {
    const { take, pass, found, lines } = await openTo()
    const broken = await take({ event: 'shipment.created', payload: '{"data":' })
    const next = await take({ event: 'shipment.assigned' })
    await pass(0)
    expect(await found(broken)).toMatchObject({ state: 'parked', outcome: 'cannot be translated' })
    expect((await found(next)).state).toBe('delivered')
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', event: broken }))
  })
})

describe('the order', () => {
  test('the events of a shipment are delivered in order, although one of them fails', async () => {
    const { take, pass, receiver, events } = await openTo(replies(500))
    const sent = ['shipment.created', 'shipment.assigned', 'shipment.picked_up']
    for (const event of sent) await take({ event })
    await pass(0)
    await pass(1_000)
    expect(events()).toEqual(['shipment.created'])
    receiver.answer(replies(200))
    await pass(10_000)
    expect(events().slice(1)).toEqual(sent)
  })

  const created = newEvent({ shipment: 's-9', date: 'now' })
  const claim = newClaim({ reference: 'REF-9', isOfReference: true })

  test.each(['sending', 'unknown'] as const)(
    'while a booking is %s, an event of an unnamed shipment waits for it',
    async (state) => {
      const { store, pass, found, received } = await openTo()
      await store.claim(claim)
      if (state === 'unknown') await store.change({ ...claim, version: 1 }, { state, instance: 'i', why: 'late' })
      const { id } = await store.takeEvent(created)
      await pass(0)
      await pass(1_000)
      expect(await found(id)).toMatchObject({ state: 'due', failures: 0, outcome: '' })
      expect(received.length).toBe(0)
      const version = state === 'unknown' ? 2 : 1
      const made = { state: 'booked', instance: 'i', shipment: 's-9', reply: '', why: 'made' } as const
      await store.change({ ...claim, version }, made)
      await pass(1_000)
      expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({ ReferenceNumber: 'REF-9' })
    },
  )

  test('an event of a shipment that no booking can have made is delivered at once, with the id of the service', async () => {
    const { store, pass, received } = await openTo()
    await store.claim({ ...claim, tenant: 'other' })
    await store.takeEvent(created)
    await pass(0)
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({
      Event: 'shipment.created',
      EventDate: 'now',
      ShipmentNumber: 's-9',
      ReferenceNumber: '',
      Status: 'new',
      Message: 'Shipment s-9 is new.',
    })
  })
})

describe('fairness', () => {
  /** Deliveries whose tries may hang, on a store with the clock of this machine. */
  const open = (...endpoints: readonly CallbackEndpoint[]) =>
    openOffice({ endpoints, timeoutMs: 600_000, store: createMemoryStore() })

  test('a thousand shipments of a receiver that never answers keep no event of another from its receiver', async () => {
    const quick = await startReceiver()
    const stuck = await startReceiver(() => undefined)
    const { take, deliveries } = await open(endpoint(stuck.url), endpoint(quick.url, { tenant: 'quick' }))
    for (let i = 0; i < 1_000; i += 1) await take({ shipment: `s-${i}` })
    deliveries.wake('acme')
    await stuck.count(8)
    for (let i = 1; i <= 200; i += 1) {
      await take({ tenant: 'quick', shipment: `q-${i}` })
      deliveries.wake('quick')
      await quick.count(i)
    }
    expect(stuck.received.length).toBe(8)
  })

  test('shipments that fail, and one whose try hangs, keep no event of another shipment of the tenant', async () => {
    const hanging = Promise.withResolvers<() => void>()
    const receiver = await startReceiver((outgoing, { body }) => {
      if (body.includes('REF-hangs')) hanging.resolve(() => outgoing.end())
      else outgoing.writeHead(body.includes('REF-fails') ? 500 : 200).end()
    })
    const { take, deliveries } = await open(endpoint(receiver.url))
    for (let i = 0; i < 4; i += 1) await take({ shipment: `fails-${i}` })
    deliveries.wake('acme')
    await deliveries.idle()
    await take({ shipment: 'hangs' })
    deliveries.wake('acme')
    const answer = await hanging.promise
    const others = await Promise.all(Array.from({ length: 20 }, (_, i) => take({ shipment: `s-${i}` })))
    deliveries.wake('acme')
    await receiver.count(4 + 1 + others.length)
    expect(receiver.received.filter(({ body }) => body.includes('REF-hangs'))).toHaveLength(1)
    answer()
  })
})

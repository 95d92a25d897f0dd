/** Promise: a tenant gets each event in version-1 form, signed, in order, and repeated until it accepts it (contract, section 10). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { signingKey } from '../../src/language/webhook-signature.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { StoreDown } from '../../src/outside/store/store.ts'
import type { CallbackEndpoint } from '../../src/state/events/callback.ts'
import { as, book, openEdge, quote, writeTenants } from '../callers/tenants-gateway.ts'
import { metricsOf, post } from '../gateway.ts'
import { ID } from '../service/calls.ts'
import { newClaim, newEvent } from '../store/samples.ts'
import { withHook } from './deliver.ts'
import { endpoint, type OfficeOptions, openOffice } from './office.ts'
import { type Handle, type ReceivedDelivery, replies, startReceiver } from './receiver.ts'

const secretOf = (byte: number) => `whsec_${Buffer.alloc(24, byte).toString('base64')}`

/** Checks the signature of a delivery, and returns its body; throws if the signature is wrong or the body is not JSON. */
const verified = (secret: string, { body, headers }: ReceivedDelivery) =>
  new Webhook(secret).verify(body, headers as Record<string, string>)

/** Starts a receiver, and deliveries to it. */
async function openTo(handle?: Handle, given: Partial<CallbackEndpoint> = {}, options: Partial<OfficeOptions> = {}) {
  const receiver = await startReceiver(handle)
  const office = await openOffice({ endpoints: [endpoint(receiver.url, given)], ...options })
  const { received } = receiver
  const bodyOf = (nth: number) => JSON.parse(received[nth]?.body ?? '')
  return { ...office, receiver, received, bodyOf }
}

describe('a delivery', () => {
  const SECRETS = [1, 2].map(secretOf)
  const keys = SECRETS.flatMap((secret) => signingKey(secret) ?? [])

  test.each([
    ['json', 'application/json'],
    ['form', 'application/x-www-form-urlencoded'],
  ] as const)('as %s is signed with every secret, and has the same id and body at every try', async (format, type) => {
    const { take, pass, store, received } = await openTo(replies(500), { keys, format })
    const id = await take()
    await pass(0)
    // A later booking does not change the event.
    await store.put({ shipment: { tenant: 'acme', id: 's-1', own: 'ANOTHER' } })
    await pass(6_000)
    expect(received).toHaveLength(2)
    for (const delivery of received) {
      expect(delivery).toMatchObject({ headers: { 'content-type': type, 'webhook-id': id }, body: received[0]?.body })
      expect(delivery.body).toContain('REF-s-1')
      for (const secret of SECRETS) {
        if (format === 'json') expect(verified(secret, delivery)).toMatchObject({ ShipmentNumber: 'REF-s-1' })
        // The package parses the body after verifying the signature.
        else expect(() => verified(secret, delivery)).toThrow(SyntaxError)
      }
      expect(() => verified(secretOf(3), delivery)).toThrow(/signature/i)
    }
  })

  test('a user name and a password in the address are sent as Basic authentication, and not logged', async () => {
    const receiver = await startReceiver(replies(410))
    const url = receiver.url.replace('http://', 'http://caller:pass%3Aword@')
    const { take, pass, lines } = await openOffice({ endpoints: [endpoint(`${url}?key=secret-key`)] })
    await take()
    await pass(0)
    const authorization = `Basic ${Buffer.from('caller:pass:word').toString('base64')}`
    expect(receiver.received).toMatchObject([{ path: '/hook?key=secret-key', headers: { authorization } }])
    expect(JSON.stringify(lines)).not.toMatch(/pass|secret-key/)
    expect(lines).toContainEqual(expect.objectContaining({ url: `${receiver.url}?***` }))
  })

  test.each([ID, ID.toUpperCase()])(
    'of a shipment that is spelled %s has the numbers of its booking',
    async (shipment) => {
      const { store, pass, bodyOf } = await openTo()
      const claim = newClaim({ isOfReference: true })
      await store.claim(claim)
      const reply = JSON.stringify({
        status: 200,
        headers: { 'Transload-Shipment-Number': 'TL%20100%C3%A9' },
        body: '{}',
      })
      const booked = { state: 'booked', instance: 'i', shipment: ID, reply, why: 'made' } as const
      await store.change({ ...claim, version: 1 }, booked)
      await store.takeEvent(newEvent({ shipment }))
      await pass(0)
      expect(bodyOf(0)).toMatchObject({ ShipmentNumber: 'TL 100é', ReferenceNumber: 'REF-1' })
    },
  )
})

describe('recipients', () => {
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
    /** Returns a delivery once it has arrived. */
    const arrived = async (nth: number) => {
      await receiver.count(nth + 1)
      return receiver.received[nth] ?? expect.fail()
    }
    const bodyOf = async (nth: number) => JSON.parse((await arrived(nth)).body)
    const events = () => edge.store.listEvents({})
    const bookAs = async (reference: string) => {
      expect((await book(edge, reference, as('acme'))).status).toBe(200)
    }
    return { ...edge, withCallback, arrived, bodyOf, events, bookAs }
  }

  test('the caller of a booking hears of its shipment under its own reference', async () => {
    const { arrived, bodyOf, bookAs, ...edge } = await openWithCallback()
    await bookAs('REF-1')
    expect(verified(SIGNING, await arrived(0))).toMatchObject({
      Event: 'shipment.created',
      ReferenceNumber: 'REF-1',
      Status: 'new',
    })

    await post(edge, '/deleteShipment.php', { ReferenceNumber: 'REF-1' }, as('acme'))
    expect(await bodyOf(1)).toMatchObject({ Event: 'shipment.canceled', ReferenceNumber: 'REF-1', Status: 'canceled' })
    await expect.poll(() => metricsOf(edge)).toContain('transload_delivery_seconds_count{tenant="acme"} 2')
    const counted = await metricsOf(edge)
    for (const secret of [HOOK, SIGNING, SIGNING.slice('whsec_'.length), 'callback-key'])
      expect(JSON.stringify(edge.lines()) + counted).not.toContain(secret)
    expect(counted).toContain('transload_delivery_tries_total{tenant="acme",outcome="delivered"}')
  })

  test('an event without a status gets the one that the service shows, or none while it cannot be read', async () => {
    const { bodyOf, bookAs, ...edge } = await openWithCallback()
    await bookAs('REF-1')
    await bodyOf(0)
    const update = (PickupName: string) =>
      post(edge, '/updateShipment.php', { ReferenceNumber: 'REF-1', PickupName }, as('acme'))
    await update('Gate 2')
    const modified = { Event: 'shipment.modified', ReferenceNumber: 'REF-1' }
    expect(await bodyOf(1)).toMatchObject({ ...modified, PickupName: 'Gate 2', Status: 'new' })

    const put = edge.sandbox.next(({ method }) => method === 'PUT')
    void put.then(() => edge.sandbox.fail({ kind: 'status', status: 500, times: 'always', on: { method: 'GET' } }))
    await update('Gate 3')
    const last = await bodyOf(2)
    expect(last).toMatchObject({ ...modified, PickupName: 'Gate 3' })
    expect(last).not.toHaveProperty('Status')
  })

  test('an endpoint that is added to the tenants file gets the events from then on; a missing secret is logged', async () => {
    const without = { callback_url: undefined, callback_secrets: undefined }
    const { bodyOf, withCallback, events, bookAs, ...edge } = await openWithCallback(undefined, without)
    await bookAs('REF-1')
    await expect.poll(async () => (await events()).length).toBe(1)
    writeTenants(edge.path, withCallback(edge.place, { callback_secrets: [] }))
    edge.hangUp()
    await edge.logged(/deliveries are not signed/)
    await bookAs('REF-2')
    expect((await bodyOf(0)).ReferenceNumber).toBe('REF-2')
    expect((await events()).map(({ state }) => state)).toContain('recorded')
  })

  test('a try that hangs at a shutdown ends with the grace period of the calls, and does not count', async () => {
    const ended: string[] = []
    const hang: Handle = (outgoing) => void outgoing.once('close', () => ended.push('try'))
    const { arrived, events, bookAs, ...edge } = await openWithCallback(hang, {}, { SHUTDOWN_GRACE_MS: '300' })
    await bookAs('REF-1')
    await arrived(0)
    edge.sandbox.fail({ kind: 'delay', ms: 60_000, times: 'always' })
    const asked = edge.sandbox.next(({ method }) => method === 'POST')
    const call = quote(edge, as('acme')).catch(() => ended.push('call'))
    await asked
    await edge.gateway.close()
    await call
    expect(ended).toEqual(['try', 'call'])
    expect(await events()).toMatchObject([{ state: 'due', failures: 0, outcome: 'interrupted by a shutdown' }])
  })

  test('metrics show what is due and parked, and the endpoints that have stopped', async () => {
    const { bookAs, logged, ...edge } = await openWithCallback(replies(410))
    await bookAs('REF-1')
    await logged(/stopped its deliveries/)
    const counted = await metricsOf(edge)
    expect(counted).toContain('transload_delivery_stopped{tenant="acme"} 1')
    expect(counted).toContain('transload_delivery_events{tenant="acme",state="due"} 1')
    expect(counted).toMatch(/transload_delivery_oldest_seconds\{tenant="acme",state="due"\} \d/)
  })
})

describe('receivers that fail', () => {
  const HOUR_MS = 3_600_000
  const HALF = { 'content-length': '100' }

  test.each<[fault: string, handle: Handle, outcome: string]>([
    ['a server error', replies(500), 'answered 500'],
    ['a redirect', replies(302, { location: 'http://127.0.0.1:1/elsewhere' }), 'answered 302'],
    ['no answer', () => undefined, 'no complete reply within 1 s'],
    ['an upgrade', replies(101, { connection: 'upgrade', upgrade: 'x' }), 'no complete reply within 1 s'],
    [
      'a success that ends in a reset',
      (outgoing, _, { socket }) => void outgoing.writeHead(200, HALF).write('{', () => socket.resetAndDestroy()),
      'connection lost',
    ],
    [
      'a success whose body never ends',
      (outgoing) => void outgoing.writeHead(200, HALF).write('{'),
      'no complete reply within 1 s',
    ],
    ['a reply that is not HTTP', (_, __, { socket }) => void socket.end('hello\r\n\r\n'), 'the reply is not HTTP'],
  ])('%s is a failure, and is retried after 5 s', async (_, handle, outcome) => {
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
    const chunk = Buffer.alloc(64 * 1024)
    const { take, pass, found } = await openTo((outgoing) => {
      const more = () => {
        do written += chunk.length
        while (!outgoing.destroyed && outgoing.write(chunk))
        if (!outgoing.destroyed) outgoing.once('drain', more)
      }
      more()
    })
    const id = await take()
    await pass(0)
    expect((await found(id)).state).toBe('delivered')
    // No more than the buffers of two sockets.
    expect(written).toBeLessThan(32 * 1024 * 1024)
  })

  test('a receiver that is down for three days gets the event in ten tries; then it is parked until it is replayed', async () => {
    const { take, pass, found, store, deliveries, lines, receiver, received } = await openTo(replies(503))
    const id = await take({ event: 'shipment.created' })
    await pass(0)
    const pauses = [5_000, 300_000, 1_800_000, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS)]
    for (const [i, pauseMs] of pauses.entries()) {
      // Just outside the jitter on both sides.
      await pass(pauseMs * 0.89)
      expect(received.length).toBe(i + 1)
      await pass(pauseMs * 0.22)
      expect(received.length).toBe(i + 2)
    }
    expect(await found(id)).toMatchObject({ state: 'parked', failures: 10, outcome: 'answered 503' })
    await pass(1_000 * HOUR_MS)
    expect(received.length).toBe(10)
    expect(lines).toMatchObject([{ level: 'error', msg: 'an event is parked' }])
    receiver.answer(replies(200))
    const next = await take({ event: 'shipment.assigned' })
    await pass(0)
    expect((await found(next)).state).toBe('delivered')
    deliveries.setEndpoints([endpoint(receiver.url, { format: 'form' })])
    expect(await store.replayEvents([id])).toBe(1)
    await pass(0)
    expect(await found(id)).toMatchObject({ state: 'delivered', failures: 0 })
    expect(received.at(-1)?.body).toMatch(/^Event=shipment.created&/)
  })

  test('an event of a tenant that has no callback any more is parked like one whose receiver never answers', async () => {
    const { take, pass, found, deliveries, store, lines } = await openTo()
    await take({ shipment: 's-2', event: 'shipment.created' })
    const ofOther = [await take({ shipment: 's-2' }), await take({ shipment: 's-3' })]
    deliveries.setEndpoints([])
    await pass(1)
    const id = await take()
    await pass(75 * HOUR_MS)
    expect((await found(id)).state).toBe('due')
    // Another gateway has given up the first event of one shipment, and is trying another's.
    const [first] = await store.leaseEvents('acme', 2, 10 * HOUR_MS)
    if (first) await store.finishTry(first, { state: 'parked', outcome: 'answered 503' })
    await pass(9 * HOUR_MS)
    for (const other of ofOther) expect((await found(other)).state).toBe('due')
    expect(await found(id)).toMatchObject({ state: 'parked', failures: 0, outcome: 'the tenant has no callback' })
    expect(lines).toMatchObject([{ msg: 'an event is parked', event: id, tenant: 'acme' }])
  })

  test('410 stops the endpoint until an operator resumes it, but events are still stored', async () => {
    const { take, pass, found, store, receiver, received } = await openTo(replies(410))
    const first = await take()
    await pass(0)
    const second = await take({ shipment: 's-2' })
    await pass(100 * HOUR_MS)
    expect(received.length).toBe(1)
    expect(await store.endpoints()).toMatchObject([{ tenant: 'acme', stopped: true }])
    receiver.answer(replies(200))
    await store.resumeEndpoint('acme')
    await pass(0)
    for (const id of [first, second]) expect((await found(id)).state).toBe('delivered')
  })

  test.each([429, 502, 504])('%i slows the whole endpoint down, as long as it asks', async (status) => {
    const slow = replies(status, { 'retry-after': '600' })
    const { take, pass, found, receiver, received } = await openTo(slow, {}, { slots: 1 })
    await take()
    await pass(0)
    const other = await take({ shipment: 's-2' })
    await pass(590_000)
    expect(received.length).toBe(1)
    receiver.answer(replies(200))
    await pass(11_000)
    expect((await found(other)).state).toBe('delivered')
  })

  test('an event whose delivery could not be recorded is delivered again, under the same id', async () => {
    let now = 0
    const store = createMemoryStore({ now: () => now })
    let isDown = true
    const failing: typeof store = {
      ...store,
      finishTry: async (...end) => {
        if (isDown) throw new StoreDown('The disk is full.')
        return store.finishTry(...end)
      },
    }
    const { take, pass, found, lines, received } = await openTo(undefined, {}, { store: failing, leaseMs: 2_000 })
    const id = await take()
    await pass(0)
    expect(lines).toMatchObject([{ level: 'warn', msg: 'deliveries are waiting for the store' }])
    isDown = false
    now += 1_500
    await pass(0)
    expect([received.length, (await found(id)).state]).toEqual([1, 'due'])
    now += 501
    await pass(0)
    expect((await found(id)).state).toBe('delivered')
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id])
  })

  test('an event that cannot be translated, or names nothing, is parked, and the next one of its shipment goes out', async () => {
    const { take, pass, found, lines } = await openTo()
    const broken = await take({ payload: '{"data":' })
    const next = await take({ event: 'shipment.assigned' })
    const nameless = await take({ shipment: '' })
    await pass(0)
    expect(await found(broken)).toMatchObject({ state: 'parked', outcome: 'cannot be translated' })
    expect((await found(next)).state).toBe('delivered')
    expect((await found(nameless)).outcome).toMatch(/no usable shipment_id/)
    expect(lines).toMatchObject([{ level: 'error', event: broken }])
  })
})

describe('the order', () => {
  test('the events of a shipment are delivered in order, although one of them fails', async () => {
    const { take, pass, receiver, received, bodyOf } = await openTo(replies(500))
    const sent = ['shipment.created', 'shipment.assigned', 'shipment.picked_up']
    for (const event of sent) await take({ event })
    await pass(0)
    await pass(1_000)
    expect(received.length).toBe(1)
    receiver.answer(replies(200))
    await pass(10_000)
    expect(received.map((_, i) => bodyOf(i).Event)).toEqual([sent[0], ...sent])
  })

  const created = newEvent({ shipment: 's-9', date: 'now' })
  const claim = newClaim({ reference: 'REF-9', isOfReference: true })

  test.each([
    ['sending', 1],
    ['unknown', 2],
  ] as const)('while a booking is %s, an event of an unnamed shipment waits for it', async (state, version) => {
    const { store, pass, found, received, bodyOf } = await openTo()
    await store.claim(claim)
    if (state === 'unknown') await store.change({ ...claim, version: 1 }, { state, instance: 'i', why: 'late' })
    const { id } = await store.takeEvent(created)
    await pass(0)
    await pass(15_000)
    expect(await found(id)).toMatchObject({ state: 'due', failures: 0, outcome: '' })
    expect(received.length).toBe(0)
    const made = { state: 'booked', instance: 'i', shipment: 's-9', reply: '', why: 'made' } as const
    await store.change({ ...claim, version }, made)
    await pass(1_000)
    expect(bodyOf(0)).toMatchObject({ ReferenceNumber: 'REF-9' })
  })

  test('an event of a shipment that no booking can have made is delivered at once, with the number of its quote or its own id', async () => {
    const { store, pass, bodyOf } = await openTo()
    await store.claim({ ...claim, tenant: 'other' })
    await store.takeEvent(created)
    await pass(0)
    expect(bodyOf(0)).toMatchObject({ ShipmentNumber: 's-9', ReferenceNumber: '' })
    await store.put({ quote: { tenant: 'acme', id: 's-9', own: 'WTS-9' } })
    await store.takeEvent({ ...created, date: 'later' })
    await pass(0)
    expect(bodyOf(1).ShipmentNumber).toBe('WTS-9')
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
    for (let i = 1; i <= 50; i += 1) {
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
    for (let i = 0; i < 20; i += 1) await take({ shipment: `s-${i}` })
    deliveries.wake('acme')
    await receiver.count(25)
    expect(receiver.received.filter(({ body }) => body.includes('REF-hangs'))).toHaveLength(1)
    answer()
  })
})

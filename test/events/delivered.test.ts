/** Promise: a tenant gets each event in a version-1 form, signed, in order, and again until it takes it (contract, section 10). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { bookingExample, shipmentExample } from '../../mappings/booking-rows.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { signingKey } from '../../src/webhook-signature.ts'
import { as, book, openEdge, quote, tenant, writeTenants } from '../callers/edge.ts'
import { post } from '../gateway.ts'
import { endpoint, openOffice } from './office.ts'
import { type Handle, replies, startReceiver } from './receiver.ts'

describe('a delivery', () => {
  const SECRETS = [1, 2].map((byte) => `whsec_${Buffer.alloc(24, byte).toString('base64')}`)
  const keys = SECRETS.flatMap((secret) => signingKey(secret) ?? [])

  const headersOf = (headers: object) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('webhook-')))

  test.each(['json', 'form'] as const)('a delivery as %s is signed with every secret', async (format) => {
    const receiver = await startReceiver()
    const { take, pass } = await openOffice({ endpoints: [endpoint(receiver.url, { keys, format })] })
    const id = await take()
    await pass(0)
    const [delivery] = receiver.received
    expect(delivery?.headers['content-type']).toBe(
      format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
    )
    expect(delivery?.headers['webhook-id']).toBe(id)
    for (const secret of SECRETS) {
      const verify = () => new Webhook(secret).verify(delivery?.body ?? '', headersOf(delivery?.headers ?? {}))
      if (format === 'json') expect(verify()).toMatchObject({ Event: 'shipment.delivered' })
      // The package parses the body once the signature is right.
      else expect(verify).toThrow(SyntaxError)
    }
    const stranger = new Webhook(`whsec_${Buffer.alloc(24, 3).toString('base64')}`)
    expect(() => stranger.verify(delivery?.body ?? '', headersOf(delivery?.headers ?? {}))).toThrow(/signature/i)
  })

  test('every try has the same id and body, and a signature of its own time', async () => {
    const receiver = await startReceiver(replies(500))
    const { take, pass, store } = await openOffice({ endpoints: [endpoint(receiver.url, { keys })] })
    await take()
    await pass(0)
    // A later booking does not change what was said.
    await store.put({ links: [], thing: { tenant: 'acme', id: 's-1', own: 'ANOTHER', facts: null } })
    await pass(6_000)
    const [first, second] = receiver.received
    expect(second?.body).toBe(first?.body)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    for (const { body, headers } of receiver.received) {
      expect(new Webhook(SECRETS[0] ?? '').verify(body, headersOf(headers))).toMatchObject({
        ShipmentNumber: 'REF-s-1',
      })
    }
  })

  test('without a secret, a delivery has an id and a time, and no signature', async () => {
    const receiver = await startReceiver()
    const { take, pass } = await openOffice({ endpoints: [endpoint(receiver.url)] })
    const id = await take()
    await pass(0)
    const headers = receiver.received[0]?.headers
    expect(headers?.['webhook-id']).toBe(id)
    expect(headers?.['webhook-timestamp']).toMatch(/^\d+$/)
    expect(headers).not.toHaveProperty('webhook-signature')
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

  /** The fields of a booking, with the names under which the caller booked. */
  async function booked(store: Awaited<ReturnType<typeof openOffice>>['store']): Promise<void> {
    const claim = { tenant: 'acme', key: 'k', handle: 'bk_1', body: '', instance: 'i', vin: '' }
    await store.claim({ ...claim, reference: bookingExample.ReferenceNumber })
    const reply = JSON.stringify({ status: 200, headers: { 'Transload-Shipment-Number': 'TL-100001' }, body: '{}' })
    await store.change(
      { ...claim, version: 1 },
      { state: 'booked', instance: 'i', shipment: shipmentExample.id, reply, why: 'made' },
    )
  }

  const modified = JSON.stringify({
    shipment_id: shipmentExample.id,
    event: 'shipment.modified',
    event_date: '2024-08-10T08:00:00+0000',
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

  test.each([
    ['the caller’s own', shipmentExample.id],
    ['the same for an id in capitals', shipmentExample.id.toUpperCase()],
  ])('the numbers are %s, and changed fields have their version-1 names', async (_, shipment) => {
    const receiver = await startReceiver()
    const { store, pass } = await openOffice({ endpoints: [endpoint(receiver.url)] })
    await booked(store)
    await store.takeEvent({
      tenant: 'acme',
      shipment,
      event: 'shipment.modified',
      date: '2024-08-10T08:00:00+0000',
      digest: '',
      payload: modified,
      deliver: true,
    })
    await pass(0)
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toEqual({
      Event: 'shipment.modified',
      EventDate: '2024-08-10T08:00:00+0000',
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
  const SIGNING = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

  /** Opens a gateway whose tenant has a callback; the stand-in delivers its events to the gateway. */
  async function openWithCallback(callbackUrl: string, more: object = {}, env: Record<string, string> = {}) {
    const edge = await openEdge((place) => [withCallback(place, callbackUrl, more)], { env })
    edge.sandbox.set({ webhookUrl: `${edge.url}/webhooks/${HOOK}`, webhookRetry: { attempts: 6, delayMs: 20 } })
    return edge
  }

  function withCallback(place: string, callbackUrl: string, more: object = {}) {
    const files = { hook: HOOK, signing: SIGNING }
    for (const [name, secret] of Object.entries(files)) writeFileSync(join(place, name), secret)
    return tenant(place, 'acme', {
      webhook_secret: { file: join(place, 'hook') },
      callback_url: callbackUrl,
      callback_secrets: [{ file: join(place, 'signing') }],
      callback_allow_http: true,
      callback_networks: ['127.0.0.0/8'],
      ...more,
    })
  }

  test('the caller of a booking hears of its shipment under its own reference', async () => {
    const receiver = await startReceiver()
    const edge = await openWithCallback(`${receiver.url}?key=callback-key`)
    expect((await book(edge, 'REF-1', as('acme'))).status).toBe(200)
    await receiver.count(1)
    const [delivery] = receiver.received
    const headers = Object.fromEntries(
      Object.entries(delivery?.headers ?? {}).map(([name, text]) => [name, String(text)]),
    )
    expect(new Webhook(SIGNING).verify(delivery?.body ?? '', headers)).toMatchObject({
      Event: 'shipment.created',
      ReferenceNumber: 'REF-1',
      ShipmentNumber: expect.stringMatching(/^\S+$/),
      Status: 'new',
    })
    await expect.poll(async () => (await edge.store.listEvents({})).map(({ state }) => state)).toEqual(['delivered'])

    const canceled = await post(edge, '/deleteShipment.php', { ReferenceNumber: 'REF-1' }, as('acme'))
    expect(canceled.status).toBe(200)
    await receiver.count(2)
    expect(JSON.parse(receiver.received[1]?.body ?? '')).toMatchObject({
      Event: 'shipment.canceled',
      ReferenceNumber: 'REF-1',
      Status: 'canceled',
    })
    const said = JSON.stringify(edge.lines()) + (await (await fetch(`${edge.adminUrl}/metrics`)).text())
    for (const secret of [HOOK, SIGNING, SIGNING.slice('whsec_'.length), 'callback-key'])
      expect(said).not.toContain(secret)
    expect(said).toContain(
      'transload_delivery_tries_total{tenant=\\"acme\\",outcome=\\"delivered\\"}'.replaceAll('\\', ''),
    )
    expect(said).toMatch(/transload_delivery_seconds_count\{tenant="acme"\} 2/)
  })

  test('an event that tells no status has the one that the service shows, or none while it cannot be read', async () => {
    const receiver = await startReceiver()
    const edge = await openWithCallback(receiver.url)
    expect((await book(edge, 'REF-1', as('acme'))).status).toBe(200)
    await receiver.count(1)
    const update = (PickupName: string) =>
      post(edge, '/updateShipment.php', { ReferenceNumber: 'REF-1', PickupName }, as('acme'))
    expect((await update('Gate 2')).status).toBe(200)
    await receiver.count(2)
    const modified = { Event: 'shipment.modified', ReferenceNumber: 'REF-1', PickupName: 'Gate 2' }
    expect(JSON.parse(receiver.received[1]?.body ?? '')).toMatchObject({ ...modified, Status: 'new' })

    const put = edge.sandbox.next(({ method }) => method === 'PUT')
    void put.then(() => edge.sandbox.fail({ kind: 'status', status: 500, times: 'always', on: { method: 'GET' } }))
    expect((await update('Gate 3')).status).toBe(200)
    await receiver.count(3)
    const third = JSON.parse(receiver.received[2]?.body ?? '')
    expect(third).toMatchObject({ ...modified, PickupName: 'Gate 3' })
    expect(third).not.toHaveProperty('Status')
  })

  test('an endpoint that is added to the tenants file gets the events from then on', async () => {
    const receiver = await startReceiver()
    const edge = await openWithCallback(receiver.url, { callback_url: undefined, callback_secrets: undefined })
    await book(edge, 'REF-1', as('acme'))
    await expect.poll(async () => (await edge.store.listEvents({})).length).toBe(1)
    writeTenants(edge.path, withCallback(edge.place, receiver.url))
    edge.hangUp()
    await book(edge, 'REF-2', as('acme'))
    await receiver.count(1)
    expect(receiver.received[0]?.body).toContain('REF-2')
    const events = await edge.store.listEvents({})
    expect(events.map(({ state }) => state).toSorted()).toContain('recorded')
  })

  test('a try that hangs at a shutdown ends with the grace of the calls, not after it', async () => {
    const ended: string[] = []
    const receiver = await startReceiver((outgoing) => void outgoing.once('close', () => ended.push('try')))
    const edge = await openWithCallback(receiver.url, {}, { SHUTDOWN_GRACE_MS: '300' })
    await book(edge, 'REF-1', as('acme'))
    await receiver.count(1)
    edge.sandbox.fail({ kind: 'delay', ms: 60_000, times: 'always' })
    const asked = edge.sandbox.next(({ method }) => method === 'POST')
    const call = quote(edge, as('acme')).catch(() => ended.push('call'))
    await asked
    await edge.gateway.close()
    await call
    expect(ended).toEqual(['try', 'call'])
  })

  test('a callback without secrets is said at the start', async () => {
    const receiver = await startReceiver()
    const edge = await openWithCallback(receiver.url, { callback_secrets: [] })
    expect(edge.lines()).toContainEqual(expect.objectContaining({ level: 'warn', tenant: 'acme' }))
  })

  test('metrics tell of what is due and parked, and of endpoints that have stopped', async () => {
    const receiver = await startReceiver(replies(410))
    const edge = await openWithCallback(receiver.url)
    await book(edge, 'REF-1', as('acme'))
    await edge.logged(/stopped its deliveries/)
    const metrics = await (await fetch(`${edge.adminUrl}/metrics`)).text()
    expect(metrics).toContain('transload_delivery_stopped{tenant="acme"} 1')
    expect(metrics).toContain('transload_delivery_events{tenant="acme",state="due"} 1')
    expect(metrics).toMatch(/transload_delivery_oldest_seconds\{tenant="acme",state="due"\} \d/)
  })
})

describe('receivers that fail', () => {
  /** The tries of an event before it is parked. */
  const TRIES = 10
  const MINUTE_MS = 60_000
  const HOUR_MS = 60 * MINUTE_MS
  /** Longer than the jitter of any pause. */
  const ALMOST = 1.11

  const failing: readonly { readonly fault: string; readonly handle: Handle; readonly outcome: string }[] = [
    { fault: 'a server error', handle: replies(500), outcome: 'answered 500' },
    { fault: 'a refusal', handle: replies(400), outcome: 'answered 400' },
    {
      fault: 'a redirect',
      handle: replies(302, { location: 'http://127.0.0.1:1/elsewhere' }),
      outcome: 'answered 302',
    },
    { fault: 'a permanent redirect', handle: replies(308, { location: '/elsewhere' }), outcome: 'answered 308' },
    { fault: 'not modified', handle: replies(304), outcome: 'answered 304' },
    { fault: 'no answer', handle: () => undefined, outcome: 'no whole reply within 1 s' },
    {
      fault: 'a success that ends in a reset',
      handle: (outgoing, _, incoming) => {
        outgoing.writeHead(200, { 'content-length': '100' })
        outgoing.write('{"ok":', () => incoming.socket.resetAndDestroy())
      },
      outcome: 'connection lost',
    },
    {
      fault: 'a success whose body never ends',
      handle: (outgoing) => void outgoing.writeHead(200, { 'content-length': '100' }).write('{"ok":'),
      outcome: 'no whole reply within 1 s',
    },
    {
      fault: 'a connection that closes',
      handle: (_, __, incoming) => incoming.socket.destroy(),
      outcome: 'connection lost',
    },
    {
      fault: 'a reply that is not HTTP',
      handle: (_, __, incoming) => void incoming.socket.end('hello\r\n\r\n'),
      outcome: 'the reply is not HTTP',
    },
  ]

  test.each(failing)('$fault is a failure, and is tried again after 5 s', async ({ handle, outcome }) => {
    const receiver = await startReceiver(handle)
    const { take, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)], timeoutMs: 1_000 })
    const id = await take()
    await pass(0)
    expect(await found(id)).toMatchObject({ state: 'due', failures: 1, outcome })
    await pass(4_000)
    expect(receiver.received.length).toBe(1)
    receiver.answer(replies(204))
    await pass(2_000)
    expect(await found(id)).toMatchObject({ state: 'delivered', failures: 1, outcome: 'answered 204' })
    const [first, second] = receiver.received
    expect(second?.body).toBe(first?.body)
    expect(second?.headers['webhook-id']).toBe(id)
  })

  test('a long reply is not read to its end', async () => {
    let written = 0
    const receiver = await startReceiver((outgoing) => {
      outgoing.writeHead(200)
      const chunk = Buffer.alloc(64 * 1024)
      const more = () => {
        while (!outgoing.destroyed && outgoing.write(chunk)) written += chunk.length
        written += chunk.length
        if (!outgoing.destroyed) outgoing.once('drain', more)
      }
      more()
    })
    const { take, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)] })
    const id = await take()
    await pass(0)
    expect((await found(id)).state).toBe('delivered')
    // The buffers of two sockets, and no more.
    expect(written).toBeLessThan(32 * 1024 * 1024)
  })

  test('a receiver that is down for three days gets the event in ten tries, and then it is parked', async () => {
    const receiver = await startReceiver(replies(503))
    const { take, pass, found, lines } = await openOffice({ endpoints: [endpoint(receiver.url)] })
    const id = await take()
    await pass(0)
    const pauses = [5_000, 5 * MINUTE_MS, 30 * MINUTE_MS, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS)]
    for (const [i, pauseMs] of pauses.entries()) {
      await pass(pauseMs * 0.89)
      expect(receiver.received.length).toBe(i + 1)
      await pass(pauseMs * (ALMOST - 0.89))
      expect(receiver.received.length).toBe(i + 2)
    }
    expect(TRIES).toBe(pauses.length + 1)
    expect(await found(id)).toMatchObject({ state: 'parked', failures: TRIES, outcome: 'answered 503' })
    await pass(1_000 * HOUR_MS)
    expect(receiver.received.length).toBe(TRIES)
    const told = lines.filter(({ msg }) => /%|parked/.test(String(msg))).map(({ level, msg }) => `${level}: ${msg}`)
    expect(told).toEqual([
      'warn: an event has used 50 % of its tries',
      'warn: an event has used 70 % of its tries',
      'warn: an event has used 90 % of its tries',
      'error: an event is parked',
    ])
  })

  test('events of a parked one are delivered, and a replay delivers that one', async () => {
    const receiver = await startReceiver(replies(500))
    const { take, pass, found, store } = await openOffice({ endpoints: [endpoint(receiver.url)] })
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
    const receiver = await startReceiver(replies(410))
    const { take, pass, found, store, lines } = await openOffice({ endpoints: [endpoint(receiver.url)] })
    const first = await take()
    await pass(0)
    const second = await take({ shipment: 's-2' })
    await pass(100 * HOUR_MS)
    expect(receiver.received.length).toBe(1)
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
    const receiver = await startReceiver(replies(status, { 'retry-after': '600' }))
    const { take, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)], slots: 1 })
    await take()
    await pass(0)
    const other = await take({ shipment: 's-2' })
    await pass(590_000)
    expect(receiver.received.length).toBe(1)
    receiver.answer(replies(200))
    await pass(11_000)
    expect((await found(other)).state).toBe('delivered')
  })

  test('a shutdown interrupts a try, which does not count', async () => {
    const receiver = await startReceiver(() => undefined)
    const { take, deliveries, found } = await openOffice({ endpoints: [endpoint(receiver.url)], timeoutMs: 60_000 })
    const id = await take()
    deliveries.wake('acme')
    await receiver.count(1)
    await deliveries.close(10)
    expect(await found(id)).toMatchObject({ state: 'due', failures: 0, outcome: 'interrupted by a shutdown' })
    expect(receiver.received.length).toBe(1)
    deliveries.wake('acme')
    await deliveries.idle()
    expect(receiver.received.length).toBe(1)
  })

  test('an event that cannot be translated is parked, and the next one of its shipment goes out', async () => {
    const receiver = await startReceiver()
    const { take, pass, found, lines } = await openOffice({ endpoints: [endpoint(receiver.url)] })
    const broken = await take({ event: 'shipment.created', payload: '{"data":' })
    const next = await take({ event: 'shipment.assigned' })
    await pass(0)
    expect(await found(broken)).toMatchObject({ state: 'parked', outcome: 'cannot be translated' })
    expect((await found(next)).state).toBe('delivered')
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', event: broken }))
  })
})

describe('the order', () => {
  const eventOf = (body: string): string => JSON.parse(body).Event

  test('the events of a shipment are delivered in order, although one of them fails', async () => {
    const receiver = await startReceiver()
    const { take, pass } = await openOffice({ endpoints: [endpoint(receiver.url)] })
    receiver.answer(replies(500))
    for (const event of ['shipment.created', 'shipment.assigned', 'shipment.picked_up']) await take({ event })
    await pass(0)
    await pass(1_000)
    expect(receiver.received.map(({ body }) => eventOf(body))).toEqual(['shipment.created'])
    receiver.answer(replies(200))
    await pass(10_000)
    expect(receiver.received.map(({ body }) => eventOf(body)).slice(1)).toEqual([
      'shipment.created',
      'shipment.assigned',
      'shipment.picked_up',
    ])
  })

  test('a shipment that fails holds up no other', async () => {
    const receiver = await startReceiver((outgoing, { body }) => {
      outgoing.writeHead(body.includes('"REF-s-1"') ? 500 : 200).end()
    })
    const { take, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)] })
    const stuck = await take()
    const others = await Promise.all(Array.from({ length: 20 }, (_, i) => take({ shipment: `s-${i + 2}` })))
    await pass(0)
    expect((await found(stuck)).state).toBe('due')
    for (const id of others) expect((await found(id)).state).toBe('delivered')
  })

  test('one event of a shipment is under way at a time, over two processes', async () => {
    let underWay = 0
    let most = 0
    const receiver = await startReceiver((outgoing) => {
      underWay += 1
      most = Math.max(most, underWay)
      setImmediate(() => {
        underWay -= 1
        outgoing.end()
      })
    })
    const one = await openOffice({ endpoints: [endpoint(receiver.url)] })
    const other = await openOffice({ endpoints: [endpoint(receiver.url)], store: one.store })
    const sent = Array.from({ length: 40 }, (_, i) => `event.${i}`)
    for (const event of sent) await one.take({ event })
    await Promise.all([one.pass(0), other.pass(0)])
    while (receiver.received.length < sent.length) await Promise.all([one.pass(0), other.pass(0)])
    expect(receiver.received.map(({ body }) => eventOf(body))).toEqual(sent)
    expect(most).toBe(1)
  })

  const created = {
    tenant: 'acme',
    shipment: 's-9',
    event: 'shipment.created',
    date: 'now',
    digest: '',
    payload: '{}',
    deliver: true,
  }

  const claim = { tenant: 'acme', key: 'k', handle: 'bk_1', body: '', instance: 'i', reference: 'REF-9', vin: '' }

  test.each(['sending', 'unknown'] as const)(
    'while a booking is %s, an event of an unnamed shipment waits for it',
    async (state) => {
      const receiver = await startReceiver()
      const { store, pass, found } = await openOffice({ endpoints: [endpoint(receiver.url)] })
      await store.claim(claim)
      if (state === 'unknown') await store.change({ ...claim, version: 1 }, { state, instance: 'i', why: 'late' })
      const { id } = await store.takeEvent(created)
      await pass(0)
      await pass(1_000)
      expect(await found(id)).toMatchObject({ state: 'due', failures: 0, outcome: '' })
      expect(receiver.received.length).toBe(0)
      const version = state === 'unknown' ? 2 : 1
      const made = { state: 'booked', instance: 'i', shipment: 's-9', reply: '', why: 'made' } as const
      await store.change({ ...claim, version }, made)
      await pass(1_000)
      expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ ReferenceNumber: 'REF-9' })
    },
  )

  const NAMELESS = {
    Event: 'shipment.created',
    EventDate: 'now',
    ShipmentNumber: 's-9',
    ReferenceNumber: '',
    Status: 'new',
    Message: 'Shipment s-9 is new.',
  }

  test('an event of a shipment that no booking can have made is delivered at once, with the id of the service', async () => {
    const receiver = await startReceiver()
    const { store, pass } = await openOffice({ endpoints: [endpoint(receiver.url)] })
    await store.claim({ ...claim, tenant: 'other' })
    await store.takeEvent(created)
    await pass(0)
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toEqual(NAMELESS)
  })
})

describe('fairness', () => {
  const STUCK = 1_000
  const EVENTS = 200

  test('a thousand shipments of a receiver that never answers keep no event of another from its receiver', async () => {
    const quick = await startReceiver()
    const stuck = await startReceiver(() => undefined)
    const endpoints = [endpoint(stuck.url), endpoint(quick.url, { tenant: 'quick' })]
    const office = await openOffice({ endpoints, timeoutMs: 600_000, store: createMemoryStore() })
    for (let i = 0; i < STUCK; i += 1) await office.take({ shipment: `s-${i}` })
    office.deliveries.wake('acme')
    await stuck.count(8)
    for (let i = 1; i <= EVENTS; i += 1) {
      await office.take({ tenant: 'quick', shipment: `q-${i}` })
      office.deliveries.wake('quick')
      await quick.count(i)
    }
    expect(stuck.received.length).toBe(8)
  })

  test('one slot is left for every tenant, however many are stuck', async () => {
    const stuck = await startReceiver(() => undefined)
    const tenants = Array.from({ length: 60 }, (_, i) => `t${i}`)
    const endpoints = tenants.map((tenant) => endpoint(stuck.url, { tenant }))
    const office = await openOffice({ endpoints, timeoutMs: 600_000, store: createMemoryStore() })
    for (const tenant of tenants) for (let i = 0; i < 8; i += 1) await office.take({ tenant, shipment: `s-${i}` })
    for (const tenant of tenants) office.deliveries.wake(tenant)
    await stuck.count(60 + 256)
    const late = await startReceiver()
    office.deliveries.setEndpoints([...endpoints, endpoint(late.url, { tenant: 'late' })])
    await office.take({ tenant: 'late' })
    office.deliveries.wake('late')
    await late.count(1)
    expect(stuck.received.length).toBeGreaterThanOrEqual(60 + 256)
  })

  test('shipments that fail, and one whose try hangs, keep no event of another shipment of the tenant', async () => {
    const hanging = Promise.withResolvers<() => void>()
    const receiver = await startReceiver((outgoing, { body }) => {
      if (body.includes('REF-hangs')) hanging.resolve(() => outgoing.end())
      else outgoing.writeHead(body.includes('REF-fails') ? 500 : 200).end()
    })
    const office = await openOffice({
      endpoints: [endpoint(receiver.url)],
      timeoutMs: 600_000,
      store: createMemoryStore(),
    })
    for (let i = 0; i < 4; i += 1) await office.take({ shipment: `fails-${i}` })
    office.deliveries.wake('acme')
    await office.deliveries.idle()
    await office.take({ shipment: 'hangs' })
    office.deliveries.wake('acme')
    const answer = await hanging.promise
    const others = await Promise.all(Array.from({ length: 20 }, (_, i) => office.take({ shipment: `s-${i}` })))
    office.deliveries.wake('acme')
    await receiver.count(4 + 1 + others.length)
    expect(receiver.received.filter(({ body }) => body.includes('REF-hangs'))).toHaveLength(1)
    answer()
  })
})

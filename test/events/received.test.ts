/** Promise: an event is answered once it is durable, and stored once (contract, section 10). */

import { once } from 'node:events'
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { request as requestOverUndici } from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../src/language/errors.ts'
import { isText } from '../../src/language/mapping/fields.ts'
import type { NewEvent } from '../../src/outside/store/events.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { StoreDown } from '../../src/outside/store/store.ts'
import { EVENT_LIMIT_BYTES, type ReceivedEvent, readEvent } from '../../src/state/events/receive.ts'
import { openEdge, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { CLIENT, get, post, startGateway } from '../gateway.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'
import { deliver, EVENT, HOOK, metric, SECRET, startReceiver, withHook } from './deliver.ts'

describe('over HTTP', () => {
  const NINE = [
    'created',
    'modified',
    'assigned',
    'picked_up',
    'delivered',
    'canceled_by_carrier',
    'canceled',
    'rate_approved',
    'bol_available',
  ].map((name) => `shipment.${name}`)

  test('the nine events and an unknown one are stored as they came, and counted', async () => {
    const gateway = await startReceiver()
    const events = [...NINE, 'shipment.teleported'].map((event) => ({ ...EVENT, event }))
    for (const event of events) expect((await deliver(gateway, event)).status).toBe(200)
    const stored = await gateway.store.eventsOfShipment(CLIENT.id, EVENT.shipment_id)
    expect(stored.map(({ event, date, payload }) => ({ event, date, payload: JSON.parse(payload) }))).toEqual(
      events.map((event) => ({ event: event.event, date: EVENT.event_date, payload: event })),
    )
    expect(stored.map(({ state }) => state)).toEqual(events.map(() => 'recorded'))
    const counts = await metric(gateway, 'transload_webhook_events_total')
    expect(counts).toMatchObject({
      ...Object.fromEntries(NINE.map((event) => [`event="${event}",result="stored"`, 1])),
      'event="other",result="stored"': 1,
    })
  })

  test('a copy is a duplicate, whatever the order of its members; another date or other data is another event', async () => {
    const gateway = await startReceiver()
    const event = {
      ...EVENT,
      data: { price: { old_value: 1.5, new_value: 2 }, note: { old_value: null, new_value: 'x' } },
    }
    const copy = `{ "data" : {"note":{"new_value":"x","old_value":null},"price":{"new_value":2,"old_value":1.5}},
    "event_date":"${EVENT.event_date}", "event":"${EVENT.event}","shipment_id":"${EVENT.shipment_id}" }`
    const first = await deliver(gateway, event)
    expect(first.json).toEqual({ id: expect.stringMatching(/^msg_/), duplicate: false })
    expect((await deliver(gateway, copy)).json).toEqual({ id: first.json.id, duplicate: true })
    const others = [
      { ...event, data: { ...event.data, price: { old_value: 1.5, new_value: 3 } } },
      { ...event, event_date: '2024-08-10T08:00:01+0000' },
      { ...event, event: 'shipment.delivered' },
      { ...event, shipment_id: '11111111-2222-4333-8444-555555555556' },
      { ...event, data: null },
    ]
    for (const other of others) expect((await deliver(gateway, other)).json.duplicate).toBe(false)
    // No data, and none written out, is the same.
    expect((await deliver(gateway, { ...EVENT })).json.duplicate).toBe(true)
    expect(await metric(gateway, 'transload_webhook_events_total')).toMatchObject({
      [`event="${EVENT.event}",result="duplicate"`]: 2,
    })
  })

  const malformed: readonly (readonly [name: string, body: string, words: RegExp])[] = [
    ['nothing', '', /is not JSON/],
    ['half of it', JSON.stringify(EVENT).slice(0, 40), /is not JSON: it ends too early/],
    ['a form', 'event=shipment.created', /is not JSON/],
    ['a text', '"shipment.created"', /is not a JSON object/],
    ['null', 'null', /is not a JSON object/],
    ['a hundred levels and one', `{"data":${'['.repeat(101)}${']'.repeat(101)}}`, /is not JSON: it nests deeper/],
  ]

  test('what is no JSON object is refused with a clear line', async () => {
    const gateway = await startReceiver()
    for (const [name, body, words] of malformed) {
      const answer = await deliver(gateway, body)
      expect(answer.status, name).toBe(400)
      expect(answer.headers.get('content-type')).toContain('application/problem+json')
      expect(answer.json, name).toMatchObject({
        type: 'urn:transload:error:event-unreadable',
        detail: expect.stringMatching(words),
      })
    }
    expect(await gateway.store.listEvents({})).toEqual([])
    expect(await metric(gateway, 'transload_webhook_events_total')).toMatchObject({
      'event="",result="malformed"': malformed.length,
    })
  })

  const { shipment_id: SHIPMENT, event: NAME, event_date: DATE } = EVENT
  const otherShapes: readonly (readonly [name: string, body: object, fault: string, kept?: object])[] = [
    ['another shape', { type: 'shipment.created', object: { id: 'S-1' } }, 'shipment_id, event, event_date'],
    ['a list', [EVENT], 'shipment_id, event, event_date'],
    ['no shipment', { ...EVENT, shipment_id: undefined }, 'shipment_id', { event: NAME, date: DATE }],
    ['a shipment of dots', { ...EVENT, shipment_id: '..' }, 'shipment_id'],
    ['a shipment with a control character', { ...EVENT, shipment_id: 'a\u001bb' }, 'shipment_id'],
    ['a long shipment', { ...EVENT, shipment_id: 'x'.repeat(129) }, 'shipment_id'],
    ['no event', { ...EVENT, event: null }, 'event', { shipment: SHIPMENT, event: 'unnamed' }],
    ['an event with a line end', { ...EVENT, event: 'shipment.created\n' }, 'event'],
    ['no date', { ...EVENT, event_date: '' }, 'event_date', { shipment: SHIPMENT, event: NAME, date: '' }],
    ['data that is a text', { ...EVENT, data: 'price' }, 'data', { shipment: SHIPMENT, event: NAME, date: DATE }],
  ]

  test('an event of another shape is kept as it came, and parked for the operator', async () => {
    const callback = { callback_url: 'https://acme.example.com/' }
    const gateway = await openEdge((place) => [withHook(place, 'acme', SECRET, callback)])
    for (const [name, body, fault, kept = {}] of otherShapes) {
      const answer = await deliver(gateway, body)
      expect([answer.status, answer.json.duplicate], name).toEqual([200, false])
      expect((await deliver(gateway, body)).json, name).toEqual({ id: answer.json.id, duplicate: true })
      const stored = await gateway.store.findEvent(answer.json.id)
      const outcome = `another shape: no usable ${fault}`
      expect(stored, name).toMatchObject({ state: 'parked', outcome, ...kept })
      expect(JSON.parse(stored?.payload ?? ''), name).toEqual(JSON.parse(JSON.stringify(body)))
      const told = { level: 'error', event: answer.json.id, tenant: 'acme', fault: outcome }
      expect(gateway.lines()).toContainEqual(expect.objectContaining(told))
    }
    expect(await gateway.store.openEvents()).toMatchObject([
      { tenant: 'acme', state: 'parked', count: otherShapes.length },
    ])
  })

  test('an event of more than 64 KiB is too large, also where few bytes inflate to it', async () => {
    const gateway = await startReceiver()
    const fits = JSON.stringify({ ...EVENT, data: { note: 'x'.repeat(65_000) } })
    const tooLarge = JSON.stringify({ ...EVENT, data: { note: 'x'.repeat(66_000) } })
    expect((await deliver(gateway, fits)).status).toBe(200)
    expect((await deliver(gateway, tooLarge)).status).toBe(413)
    expect((await deliver(gateway, gzipSync(tooLarge), { 'content-encoding': 'gzip' })).status).toBe(413)
  })

  const wrongPaths = [
    `/webhooks/${SECRET}x`,
    `/webhooks/${SECRET.slice(0, -1)}`,
    '/webhooks/',
    `/webhooks/${SECRET}/${SECRET}`,
    `/webhooks/x/../${SECRET}x`,
    `/WEBHOOKS/${SECRET}`,
  ]

  test('a wrong secret is answered like any other unknown path, and its body is not read', async () => {
    const gateway = await startReceiver()
    const unknown = await post(gateway, '/no/such/path', EVENT)
    expect(unknown.status).toBe(404)
    for (const path of wrongPaths) {
      const answer = await deliver(gateway, '{"not even": JSON', {}, path)
      expect([path, answer.status, answer.text]).toEqual([path, 404, unknown.text])
    }
    expect((await get(gateway, HOOK)).text).toBe(unknown.text)
    expect(await gateway.store.listEvents({})).toEqual([])
    // Like every path of a gateway without a secret.
    expect((await deliver(await startGateway(), EVENT)).text).toBe(unknown.text)
  })

  test('a wrong secret is refused before its body arrives', async () => {
    const { url } = await startReceiver()
    const headers = { 'content-length': '60000' }
    const wrong = request(`${url}/webhooks/${SECRET}x`, { method: 'POST', headers })
    const answered = once(wrong, 'response')
    wrong.flushHeaders()
    const [answer] = await answered
    expect(answer.statusCode).toBe(404)
    wrong.destroy()
  })

  test('in fixed mode, an event comes under any host name, from programs and pages alike', async () => {
    const gateway = await startReceiver()
    const headers = { host: 'gateway.example.com', origin: 'https://service.example.com' }
    const { statusCode, body } = await requestOverUndici(gateway.url + HOOK, {
      method: 'POST',
      headers,
      body: JSON.stringify(EVENT),
    })
    await body.dump()
    expect(statusCode).toBe(200)
  })

  test('the secret is in no log line, metric or answer', async () => {
    const gateway = await startReceiver({ env: { LOG_LEVEL: 'trace' } })
    const answers = [
      await deliver(gateway, EVENT),
      await deliver(gateway, 'x'),
      await deliver(gateway, EVENT, {}, `${HOOK}/more`),
      await deliver(gateway, EVENT, { 'content-encoding': 'zip' }),
      await get(gateway, HOOK),
    ]
    const said = answers.map(({ text, headers }) => text + JSON.stringify([...headers])).join()
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    expect(JSON.stringify(gateway.lines()) + metrics + said).not.toContain(SECRET)
    expect(gateway.lines()).toContainEqual(
      expect.objectContaining({ path: '/webhooks/***', method: 'POST', status: 200, tenant: CLIENT.id }),
    )
  })

  test('an event is answered once it is durable: a store that is down is 503, and the copy that follows is stored', async () => {
    const store = createMemoryStore()
    let isDown = true
    const failing = {
      ...store,
      takeEvent: async (event: NewEvent) => {
        if (isDown) throw new StoreDown('The disk is full.')
        return store.takeEvent(event)
      },
    }
    const gateway = await startReceiver({ store: failing })
    const answer = await deliver(gateway, EVENT)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await metric(gateway, 'transload_webhook_events_total')).toMatchObject({ 'event="",result="failed"': 1 })
    isDown = false
    expect((await deliver(gateway, EVENT)).json.duplicate).toBe(false)
  })

  test('no answer leaves before the event is durable', async () => {
    const store = createMemoryStore()
    const order: string[] = []
    const asked = Promise.withResolvers<void>()
    const durable = Promise.withResolvers<void>()
    const slow = {
      ...store,
      takeEvent: async (event: NewEvent) => {
        asked.resolve()
        await durable.promise
        order.push('durable')
        return store.takeEvent(event)
      },
    }
    const gateway = await startReceiver({ store: slow })
    const answer = deliver(gateway, EVENT).then(() => order.push('answered'))
    await asked.promise
    // A whole other call is answered in between.
    expect((await get(gateway, '/healthz')).status).toBe(200)
    order.push('another call')
    durable.resolve()
    await answer
    expect(order).toEqual(['another call', 'durable', 'answered'])
  })

  test('more than a thousand events of a source in a second are a flood', { timeout: 60_000 }, async () => {
    const gateway = await startReceiver()
    // No time passes: what a source may send is not renewed.
    const now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    onTestFinished(() => clock.mockRestore())
    const statuses: number[] = []
    let next = 0
    const sender = async () => {
      while (next < 1_010) {
        next += 1
        statuses.push((await deliver(gateway, { ...EVENT, event_date: `date ${next}` })).status)
      }
    }
    await Promise.all(Array.from({ length: 20 }, sender))
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
    expect(await gateway.store.listEvents({ limit: 2_000 })).toHaveLength(1_000)
  })

  describe('with a signing secret', () => {
    const signing = `whsec_${Buffer.alloc(24, 3).toString('base64')}`
    const other = `whsec_${Buffer.alloc(24, 4).toString('base64')}`
    const start = () => startReceiver({ env: { WEBHOOK_SIGNING_SECRET: `${other},${signing}` } })

    function signed(body: string, at = new Date(), secret = signing): Record<string, string> {
      return {
        'webhook-id': 'msg_of_the_service',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(secret).sign('msg_of_the_service', at, body),
      }
    }

    test('a signed event is stored, with any of the secrets', async () => {
      const gateway = await start()
      const body = JSON.stringify(EVENT)
      expect((await deliver(gateway, body, signed(body))).status).toBe(200)
      expect((await deliver(gateway, body, signed(body, new Date(), other))).status).toBe(200)
    })

    test('an event that is not signed as it must be is refused, and the log says why', async () => {
      const gateway = await start()
      const body = JSON.stringify(EVENT)
      const stranger = `whsec_${Buffer.alloc(24, 5).toString('base64')}`
      const refused: readonly (readonly [Record<string, string>, string])[] = [
        [{}, 'missing'],
        [signed(body, new Date(), stranger), 'wrong'],
        [signed(`${body} `), 'wrong'],
        [signed(body, new Date(Date.now() - 400_000)), 'too old'],
      ]
      for (const [headers, fault] of refused) {
        const answer = await deliver(gateway, body, headers)
        expect([answer.status, answer.json.detail]).toEqual([403, expect.stringContaining(`is ${fault}.`)])
        expect(gateway.lines()).toContainEqual(expect.objectContaining({ fault, tenant: CLIENT.id }))
      }
      expect(await gateway.store.listEvents({})).toEqual([])
      expect(await metric(gateway, 'transload_webhook_events_total')).toMatchObject({
        'event="",result="wrong-signature"': refused.length,
      })
    })
  })
})

describe('laws', () => {
  /** Returns an event; undefined if it is refused in the way of the gateway. */
  function read(bytes: Uint8Array): ReceivedEvent | undefined {
    try {
      return readEvent(Buffer.from(bytes))
    } catch (error) {
      if (error instanceof GatewayError && (error.status === 400 || error.status === 413)) return undefined
      throw error
    }
  }

  function expectStorable({ payload, fault = '', ...texts }: ReceivedEvent): void {
    for (const text of [...Object.values(texts), payload, fault]) expect(isText(text)).toBe(true)
    expect(Object.values(texts).join('')).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
    expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(EVENT_LIMIT_BYTES)
    expect(JSON.parse(payload)).toBeTypeOf('object')
  }

  test('whatever members come, an event is storable or refused', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string(),
      fc.constantFrom('shipment.created', 'a', '..', ''),
    )
    const member = fc.oneof(text, fc.jsonValue(), fc.integer(), fc.constant(undefined))
    const event = fc.record(
      { shipment_id: member, event: member, event_date: member, data: member },
      { requiredKeys: [] },
    )
    let stored = 0
    expectLaw(
      fc.property(event, (value) => {
        const found = read(Buffer.from(JSON.stringify(value)))
        if (!found) return
        stored += 1
        expectStorable(found)
      }),
      runs(3_000, 50_000),
    )
    expect(stored).toBeGreaterThan(0)
  })

  test('whatever its data, an event has one digest, whose value depends on nothing else', () => {
    const head = { shipment_id: 'x', event: 'shipment.modified', event_date: 'y' }
    expectLaw(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (data) => {
        const one = read(Buffer.from(JSON.stringify({ ...head, data })))
        const other = read(Buffer.from(JSON.stringify({ data, more: 1, ...head, event_date: 'z' }, null, 1)))
        expect(one).toBeDefined()
        expect(other?.digest).toBe(one?.digest)
        if (one) expectStorable(one)
      }),
      runs(200, 5_000),
    )
  })
})

test('in tenants mode, an event belongs to the tenant of its secret, which changes without a restart', async () => {
  const [acme, zenith] = ['hook-of-acme-0123456789', 'hook-of-zenith-0123456789']
  const edge = await openEdge((place) => [
    withHook(place, 'acme', acme),
    withHook(place, 'zenith', `${zenith},hook-of-zenith-to-come`),
    tenant(place, 'silent'),
  ])
  const statuses = (...secrets: readonly string[]) =>
    Promise.all(secrets.map(async (secret) => (await deliver(edge, EVENT, {}, `/webhooks/${secret}`)).status))
  expect(await statuses(zenith, 'hook-of-zenith-to-come')).toEqual([200, 200])
  expect(await edge.store.listEvents({})).toMatchObject([{ tenant: 'zenith', shipment: EVENT.shipment_id }])
  expect(await statuses(acme, 'hook-of-acme-9876543210')).toEqual([200, 404])
  expect(await edge.store.listEvents({ tenant: 'acme' })).toHaveLength(1)
  writeTenants(edge.path, withHook(edge.place, 'acme', 'hook-of-acme-9876543210'))
  edge.hangUp()
  expect(await statuses(acme, 'hook-of-acme-9876543210')).toEqual([404, 200])
})

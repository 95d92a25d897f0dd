/** Promise: an event is acknowledged once it is durable, and stored only once (contract, section 10). */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../src/language/errors.ts'
import { isText } from '../../src/language/mapping/fields.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { StoreDown } from '../../src/outside/store/store.ts'
import { EVENT_LIMIT_BYTES, readEvent } from '../../src/state/events/receive.ts'
import { atOnce, counted, openEdge, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { CLIENT, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { anyCharacter, expectLaw } from '../laws.ts'
import { runs } from '../size.ts'
import { deliver, EVENT, HOOK, metric, SECRET, startReceiver, withHook } from './deliver.ts'

/** Bodies that are refused, and those that are kept with a fault. */
const { malformed, otherShapes } = JSON.parse(readFileSync(join(import.meta.dirname, 'received.json'), 'utf8'))

const countsOf = (gateway: TestGateway) => metric(gateway, 'transload_webhook_events_total')

test('the nine events and an unknown one are stored as received, and counted', async () => {
  const gateway = await startReceiver()
  const names = 'created modified assigned picked_up delivered canceled_by_carrier canceled rate_approved bol_available'
    .split(' ')
    .map((name) => `shipment.${name}`)
  const events = [...names, 'shipment.teleported'].map((event) => ({ ...EVENT, event }))
  for (const event of events) expect((await deliver(gateway, event)).status).toBe(200)
  const stored = await gateway.store.eventsOfShipment(CLIENT.id, EVENT.shipment_id)
  expect(stored.map((one) => ({ ...one, payload: JSON.parse(one.payload) }))).toMatchObject(
    events.map((payload) => ({ event: payload.event, date: EVENT.event_date, payload, state: 'recorded' })),
  )
  expect(await countsOf(gateway)).toMatchObject({ 'result="stored"': events.length })
})

test('a copy is a duplicate, whatever the order of its members; another date or other data is another event', async () => {
  const gateway = await startReceiver()
  const event = {
    ...EVENT,
    data: { price: { old_value: 1.5, new_value: 2 }, note: { old_value: null, new_value: 'x' } },
  }
  const copy = `{ "more": 1, "data" : {"note":{"new_value":"x","old_value":null},"price":{"new_value":2,"old_value":1.5}},
    "event_date":"${EVENT.event_date}", "event":"${EVENT.event}","shipment_id":"${EVENT.shipment_id}" }`
  const first = await deliver(gateway, event)
  expect(first.json).toEqual({ id: expect.stringMatching(/^msg_/), duplicate: false })
  expect((await deliver(gateway, copy)).json).toEqual({ id: first.json.id, duplicate: true })
  const others = [
    { data: { ...event.data, price: { old_value: 1.5, new_value: 3 } } },
    { event_date: '2024-08-10T08:00:01+0000' },
    { event: 'shipment.delivered' },
    { shipment_id: '11111111-2222-4333-8444-555555555556' },
    { data: null },
  ]
  for (const other of others) expect((await deliver(gateway, { ...event, ...other })).json.duplicate).toBe(false)
  // Absent data and null are the same.
  expect((await deliver(gateway, EVENT)).json.duplicate).toBe(true)
  expect(await countsOf(gateway)).toMatchObject({ 'result="duplicate"': 2 })
})

test('a body that is not a JSON object is refused with a clear line', async () => {
  const gateway = await startReceiver()
  const deep = { body: `{"data":${'['.repeat(101)}${']'.repeat(101)}}`, detail: 'is not JSON: it nests deeper' }
  for (const { body, detail } of [...malformed, deep]) {
    const { status, headers, json } = await deliver(gateway, body)
    expect([status, headers.get('content-type')]).toEqual([400, 'application/problem+json; charset=utf-8'])
    const type = 'urn:transload:error:event-unreadable'
    expect(json).toMatchObject({ type, detail: expect.stringContaining(detail) })
  }
  expect(await gateway.store.listEvents({})).toEqual([])
  expect(await countsOf(gateway)).toMatchObject({ 'result="malformed"': malformed.length + 1 })
})

test('an event of another shape is kept as received, and parked for the operator', async () => {
  const callback = { callback_url: 'https://acme.example.com/' }
  const gateway = await openEdge((place) => [withHook(place, 'acme', SECRET, callback)])
  for (const { what, body, fault, kept } of otherShapes) {
    const { status, json } = await deliver(gateway, body)
    expect([status, json.duplicate], what).toEqual([200, false])
    expect((await deliver(gateway, body)).json, what).toEqual({ id: json.id, duplicate: true })
    const stored = await gateway.store.findEvent(json.id)
    const outcome = `unknown shape: no usable ${fault}`
    expect(stored, what).toMatchObject({ state: 'parked', outcome, ...kept })
    expect(JSON.parse(stored?.payload ?? ''), what).toEqual(body)
    const told = { level: 'error', event: json.id, tenant: 'acme', fault: outcome }
    expect(gateway.lines()).toContainEqual(expect.objectContaining(told))
  }
  expect(await gateway.store.openEvents()).toMatchObject([{ state: 'parked', count: otherShapes.length }])
})

test('a wrong secret is answered like any other unknown path, before its body arrives', async () => {
  const gateway = await startReceiver()
  const unknown = await post(gateway, '/no/such/path', EVENT)
  expect(unknown.status).toBe(404)
  const secrets = [`${SECRET}x`, SECRET.slice(0, -1), '', `${SECRET}/${SECRET}`, `x/../${SECRET}x`]
  for (const path of [...secrets.map((secret) => `/webhooks/${secret}`), `/WEBHOOKS/${SECRET}`]) {
    const answer = await deliver(gateway, '{"not even": JSON', {}, path)
    expect([path, answer.status, answer.text]).toEqual([path, 404, unknown.text])
  }
  expect((await get(gateway, HOOK)).text).toBe(unknown.text)
  expect(await gateway.store.listEvents({})).toEqual([])
  // Like every path of a gateway without a secret.
  expect((await deliver(await startGateway(), EVENT)).text).toBe(unknown.text)

  const wrong = request(`${gateway.url}${HOOK}x`, { method: 'POST', headers: { 'content-length': '60000' } })
  const answered = once(wrong, 'response')
  wrong.flushHeaders()
  expect((await answered)[0].statusCode).toBe(404)
  wrong.destroy()
})

test('the secret is in no log line, metric or answer', async () => {
  const gateway = await startReceiver({ env: { LOG_LEVEL: 'trace' } })
  const answers = [
    await deliver(gateway, EVENT),
    await deliver(gateway, 'x'),
    await deliver(gateway, EVENT, {}, `${HOOK}/more`),
    await deliver(gateway, EVENT, { 'content-encoding': 'zip' }),
    await get(gateway, HOOK),
    await get({ url: gateway.adminUrl }, '/metrics'),
  ]
  const said = answers.map(({ text, headers }) => text + JSON.stringify([...headers])).join()
  expect(JSON.stringify(gateway.lines()) + said).not.toContain(SECRET)
  expect(gateway.lines()).toContainEqual(
    expect.objectContaining({ path: '/webhooks/***', method: 'POST', status: 200, tenant: CLIENT.id }),
  )
})

test('an event is answered once it is durable, and not before: a store that is down is 503', async () => {
  const store = createMemoryStore()
  const asked = Promise.withResolvers<void>()
  let durable = Promise.withResolvers<void>()
  const order: string[] = []
  const slow: typeof store = {
    ...store,
    takeEvent: async (event) => {
      asked.resolve()
      await durable.promise
      order.push('durable')
      return store.takeEvent(event)
    },
  }
  const gateway = await startReceiver({ store: slow })
  durable.promise.catch(() => undefined)
  durable.reject(new StoreDown('The disk is full.'))
  const down = await deliver(gateway, EVENT)
  expect([down.status, down.headers.get('retry-after')]).toEqual([503, '5'])
  expect(await countsOf(gateway)).toMatchObject({ 'result="failed"': 1 })

  durable = Promise.withResolvers()
  const copy = deliver(gateway, EVENT).finally(() => order.push('answered'))
  await asked.promise
  // A whole other call is answered meanwhile.
  expect((await get(gateway, '/healthz')).status).toBe(200)
  order.push('another call')
  durable.resolve()
  expect((await copy).json.duplicate).toBe(false)
  expect(order).toEqual(['another call', 'durable', 'answered'])
})

test('more than a thousand events of a source in a second are a flood', { timeout: 60_000 }, async () => {
  const gateway = await startReceiver()
  // No time passes, so the allowance of a source is not renewed.
  const now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  const queue = Array.from({ length: 1_010 }, (_, i) => `date ${i}`).values()
  const statuses: number[] = []
  await atOnce(20, async () => {
    for (const event_date of queue) statuses.push((await deliver(gateway, { ...EVENT, event_date })).status)
  })
  expect(counted(statuses)).toEqual({ 200: 1_000, 429: 10 })
})

describe('with signing secrets', () => {
  const [signing, other, stranger] = [3, 4, 5].map((byte) => `whsec_${Buffer.alloc(24, byte).toString('base64')}`)
  const body = JSON.stringify(EVENT)
  const start = () => startReceiver({ env: { WEBHOOK_SIGNING_SECRET: `${other},${signing}` } })

  function signed(secret = signing, at = new Date()): Record<string, string> {
    return {
      'webhook-id': 'msg_of_the_service',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(secret ?? '').sign('msg_of_the_service', at, body),
    }
  }

  test('an event that is signed with any of them is stored', async () => {
    const gateway = await start()
    for (const secret of [signing, other]) expect((await deliver(gateway, body, signed(secret))).status).toBe(200)
  })

  test('an event that is not properly signed is refused, and the log says why', async () => {
    const gateway = await start()
    const refused = [
      [body, {}, 'missing'],
      [body, signed(stranger), 'wrong'],
      [`${body} `, signed(), 'wrong'],
      [body, signed(signing, new Date(Date.now() - 400_000)), 'too old'],
    ] as const
    for (const [text, headers, fault] of refused) {
      const { status, json } = await deliver(gateway, text, headers)
      expect([status, json.detail]).toEqual([403, expect.stringContaining(`is ${fault}.`)])
      expect(gateway.lines()).toContainEqual(expect.objectContaining({ fault, tenant: CLIENT.id }))
    }
    expect(await gateway.store.listEvents({})).toEqual([])
    expect(await countsOf(gateway)).toMatchObject({ 'result="wrong-signature"': refused.length })
  })
})

test('whatever members come, an event is storable or refused', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.string(),
    fc.constantFrom('shipment.created', 'a', '..', ''),
  )
  const member = fc.oneof(text, fc.jsonValue(), fc.integer(), fc.constant(undefined))
  const data = fc.oneof(member, fc.dictionary(fc.string(), fc.jsonValue()))
  const event = fc.record({ shipment_id: member, event: member, event_date: member, data }, { requiredKeys: [] })
  let stored = 0
  expectLaw(
    fc.property(event, (value) => {
      try {
        const { payload, fault = '', ...texts } = readEvent(Buffer.from(JSON.stringify(value)))
        for (const text of [...Object.values(texts), payload, fault]) expect(isText(text)).toBe(true)
        expect(Object.values(texts).join('')).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
        expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(EVENT_LIMIT_BYTES)
        expect(JSON.parse(payload)).toBeTypeOf('object')
        stored += 1
      } catch (error) {
        if (!(error instanceof GatewayError && (error.status === 400 || error.status === 413))) throw error
      }
    }),
    runs(200, 50_000),
  )
  expect(stored).toBeGreaterThan(0)
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

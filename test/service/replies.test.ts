/** Promise: replies that are late, cut, huge or odd are answered as what they are (contract, section 9). */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import { openProxy, type Trouble } from './proxy.ts'

const QUOTE = '/getShippingQuote.php'
const NUMBER = quoteExample.ShipmentNumber
const REFERENCE = bookingExample.ReferenceNumber

const quote = (gateway: Pick<TestGateway, 'url'>, number: string = NUMBER) =>
  post(gateway, QUOTE, { ...quoteExample, ShipmentNumber: number })
const book = (gateway: Pick<TestGateway, 'url'>, reference: string = REFERENCE) =>
  post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: reference })
const read = (gateway: TestGateway) => get(gateway, `/getShipment.php?ReferenceNumber=${REFERENCE}`)
const update = (gateway: TestGateway) =>
  post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, PickupName: 'X' })
const cancel = (gateway: TestGateway) => post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })
const approve = (gateway: TestGateway) => post(gateway, QUOTE, { ActionName: 'Accept Rate', ShipmentNumber: NUMBER })

/** A gateway that reaches the stand-in through a proxy. */
async function openTroubled(env: Readonly<Record<string, string>> = {}) {
  const { sandbox } = await startGateway()
  const proxy = await openProxy(sandbox)
  return { proxy, gateway: { ...(await startGateway({ env: { ...OWN, ...env }, serviceUrl: proxy.url })), sandbox } }
}

describe('a way to the service that is merely bad', () => {
  test.each([
    { kind: 'slice' },
    { kind: 'limit', bytesPerSecond: 5_000 },
    { kind: 'delay', ms: 100 },
  ] satisfies Trouble[])('is good enough: $kind', async (trouble) => {
    const { proxy, gateway } = await openTroubled()
    proxy.make(trouble)
    expect((await quote(gateway)).status).toBe(200)
    expect((await book(gateway)).status).toBe(200)
    expect((await read(gateway)).json.ReferenceNumber).toBe(REFERENCE)
    expect((await update(gateway)).status).toBe(200)
    expect((await cancel(gateway)).status).toBe(200)
    const sent = gateway.sandbox.requests.map(
      ({ method, path }) => `${method} ${path.split('/').slice(0, 3).join('/')}`,
    )
    expect(sent).toEqual([
      'POST /v2/quote',
      'POST /v2/shipments',
      'GET /v2/shipments',
      'GET /v2/shipments',
      'PUT /v2/shipments',
      'DELETE /v2/shipments',
      'GET /v2/shipments',
    ])
  })
})

describe('bytes before the reply', () => {
  const INTERIM = [
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 102 Processing\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\nContent-Type: text/html\r\n\r\n',
    'HTTP/1.1 199 Whatever\r\nContent-Length: 5\r\n\r\n',
  ]

  test.each([...INTERIM, INTERIM.join('')])('is not the reply: %j', async (bytes) => {
    const { proxy, gateway } = await openTroubled()
    proxy.make({ kind: 'interim', bytes })
    expect((await quote(gateway)).status).toBe(200)
    expect((await book(gateway)).json.TransportationBooked).toBe('Yes')
    const { status, headers, json } = await get(gateway, '/v2/shipments/nobody')
    expect([status, headers.get('link'), headers.get('content-type')]).toEqual([
      404,
      null,
      expect.stringMatching(/json/),
    ])
    expect(json).toBeDefined()
  })
})

describe('a way to the service that breaks', () => {
  test.each([
    ['reset', 0],
    ['reset-reply', 3],
    ['half-close', 3],
  ] as const)('%s: a quote is tried three times, a booking once and never again', async (kind, arrived) => {
    const { proxy, gateway } = await openTroubled()
    proxy.make({ kind })
    expect((await quote(gateway)).status).toBe(502)
    expect(proxy.connections()).toBe(3)
    expect(gateway.sandbox.requests).toHaveLength(arrived)

    const first = await book(gateway)
    expect(first.status).toBe(503)
    expect(first.json.TransportationBooked).toBe('Unknown')
    expect(proxy.connections()).toBe(4)
    proxy.make({ kind: 'none' })
    // A booking that may have been made is not sent again, even if the connection works again.
    expect((await book(gateway)).json.TransportationBooked).toBe('Unknown')
    expect(proxy.connections()).toBe(4)
    expect(gateway.sandbox.requests.filter(({ path }) => path === '/v2/shipments')).toHaveLength(
      kind === 'reset' ? 0 : 1,
    )
  })
})

describe('the deadline', () => {
  const env = { UPSTREAM_TIMEOUT_MS: '600' }

  // Without a deadline, each of these would be answered in the end, with 200.
  test.each([
    { kind: 'delay', ms: 8_000 },
    { kind: 'limit', bytesPerSecond: 20 },
  ] satisfies Trouble[])('holds against $kind', async (trouble) => {
    const { proxy, gateway } = await openTroubled(env)
    expect((await book(gateway, 'BEFORE')).status).toBe(200)
    proxy.make(trouble)
    for (const call of [quote(gateway), get(gateway, '/getShipment.php?ReferenceNumber=BEFORE')]) {
      expect((await call).status).toBe(504)
    }
    const answer = await book(gateway)
    expect([answer.status, answer.json.TransportationBooked]).toEqual([503, 'Unknown'])
    expect(gateway.sandbox.requests.filter(({ method }) => method === 'POST')).toHaveLength(3)
  })

  test('counts the retries in', async () => {
    const gateway = await startGateway({ env })
    gateway.sandbox.fail({ kind: 'status', status: 503, times: 1 }, { kind: 'timeout', times: 'always' })
    expect((await quote(gateway)).status).toBe(504)
    expect(gateway.sandbox.requests).toHaveLength(2)
  })

  test('leaves no time for a service that wants to be asked later', async () => {
    const gateway = await startGateway({ env })
    gateway.sandbox.fail({ kind: 'status', status: 503, headers: { 'retry-after': '60' }, times: 'always' })
    const answer = await quote(gateway)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '60'])
    expect(gateway.sandbox.requests).toHaveLength(1)
  })

  test('is long enough for one that wants to be asked in a second', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ kind: 'status', status: 503, headers: { 'retry-after': '1' }, times: 1 })
    expect((await quote(gateway)).status).toBe(200)
    const [first, second] = gateway.sandbox.requests.map(({ at }) => at.getTime())
    expect(second).toBeGreaterThanOrEqual((first ?? Number.NaN) + 1_000)
  })
})

describe('retries', () => {
  const busy: Fault = { kind: 'status', status: 503, times: 'always' }
  test.each([
    ['a quote', quote, 'POST', 3],
    ['reading', read, 'GET', 3],
    ['canceling', cancel, 'DELETE', 3],
    ['updating', update, 'PUT', 1],
    ['approving', approve, 'POST', 1],
    ['booking', (gateway: TestGateway) => book(gateway, 'NEW'), 'POST', 1],
  ] as const)('%s', async (_, make, method, times) => {
    const gateway = await startGateway()
    expect((await quote(gateway)).status).toBe(200)
    expect((await book(gateway)).status).toBe(200)
    // An approval of a quote that is booked already would not be sent.
    if (make === approve) await cancel(gateway)
    const before = gateway.sandbox.requests.length
    gateway.sandbox.fail({ ...busy, on: { method } })
    expect((await make(gateway)).status).toBe(503)
    expect(gateway.sandbox.requests.slice(before).filter((request) => request.method === method)).toHaveLength(times)
  })

  test('is a fifth of the traffic at most', async () => {
    const CALLS = 200
    const FAILING_OF_FIVE = 2
    let count = 0
    const service = await openService((incoming, outgoing) => {
      incoming.resume()
      count += 1
      if (count % 5 < FAILING_OF_FIVE) return void outgoing.writeHead(502).end()
      outgoing
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ shipment_id: `q-${count}`, price: 1 }))
    })
    const gateway = await startGateway({ serviceUrl: service.url, env: OWN })
    const queue = Array.from({ length: CALLS }, (_, i) => i).values()
    const statuses: number[] = []
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (const i of queue) statuses.push((await quote(gateway, `N-${i}`)).status)
      }),
    )
    const retries = service.requests.length - CALLS
    expect(retries).toBeLessThanOrEqual(0.2 * CALLS)
    expect(retries).toBeGreaterThanOrEqual(10)
    expect(statuses.filter((status) => status === 502).length).toBeGreaterThan(0)
  })

  test('is ten calls in any case', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail(busy)
    for (const i of [1, 2, 3, 4, 5]) expect((await quote(gateway, `N-${i}`)).status).toBe(503)
    expect(gateway.sandbox.requests).toHaveLength(15)
    expect((await quote(gateway, 'N-6')).status).toBe(503)
    expect(gateway.sandbox.requests).toHaveLength(16)
  })
})

describe('connections', () => {
  test('are never shared by two credentials', async () => {
    const used = new Map<IncomingMessage['socket'], Set<string>>()
    const service = await openService((incoming, outgoing) => {
      incoming.resume()
      const seen = used.get(incoming.socket) ?? new Set()
      used.set(incoming.socket, seen.add(String(incoming.headers.authorization)))
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{"shipment_id":"q","price":1}')
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    const ask = (i: number) => {
      const authorization = basic(`client-${i % 5}`, 'secret')
      return i % 2 ? post(gateway, QUOTE, quoteExample, { authorization }) : get(gateway, '/v2/x', { authorization })
    }
    for (let round = 0; round < 4; round += 1) {
      const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => ask(i)))
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    }
    expect([...used.values()].filter((seen) => seen.size > 1)).toEqual([])
    // They are used again, though.
    expect(used.size).toBeLessThan(service.requests.length)
  })

  test('are at most UPSTREAM_CONNECTIONS for a credential', async () => {
    const used = new Set<IncomingMessage['socket']>()
    const held: ServerResponse[] = []
    const service = await openService((incoming, outgoing) => {
      incoming.resume()
      used.add(incoming.socket)
      held.push(outgoing)
      if (service.requests.length < 3) return
      for (const one of held.splice(0)) {
        one.writeHead(200, { 'content-type': 'application/json' }).end('{"shipment_id":"q","price":1}')
      }
    })
    const gateway = await startGateway({ env: { ...OWN, UPSTREAM_CONNECTIONS: '3' }, serviceUrl: service.url })
    await Promise.all(Array.from({ length: 30 }, (_, i) => quote(gateway, `N-${i}`)))
    expect(service.requests).toHaveLength(30)
    expect(used.size).toBe(3)
  })
})

describe('a reply that is too large', () => {
  test.each([
    { kind: 'huge', megabytes: 20 },
    { kind: 'gzip', megabytes: 200 },
  ] satisfies Fault[])('is 502, and takes no memory: $kind', async (fault) => {
    const gateway = await startGateway()
    expect((await quote(gateway)).status).toBe(200)
    gateway.sandbox.fail({ ...fault, times: 'always' })
    expect((await quote(gateway)).status).toBe(502)
    const booking = await book(gateway)
    expect([booking.status, booking.json.TransportationBooked]).toEqual([503, 'Unknown'])
  })
})

/** Promise: metrics count calls, bookings and waits, in a bounded number of series (contract, section 1). */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { beginCall } from '../../src/observe/call.ts'
import { createGauges, createMeters } from '../../src/observe/meters.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { operationOf } from '../../src/service/exchange.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { StoreDown } from '../../src/store/store.ts'
import { book } from '../bookings/desk.ts'
import { get, OWN, post, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { scrapeOfBusy } from '../monitoring.ts'

const INCOMING = new IncomingMessage(new Socket())

/** The lines of a scrape. */
const scrape = async ({ adminUrl }: { readonly adminUrl: string }) =>
  (await (await fetch(`${adminUrl}/metrics`)).text()).split('\n')

test('calls, requests to the service and operations of the store add up over calls and scrapes', async () => {
  const gateway = await startGateway({ env: OWN })
  const round = async () => {
    for (let i = 0; i < 3; i += 1) await post(gateway, '/getShippingQuote.php', { ...quoteExample, Foo: '1', Bar: '2' })
    for (let i = 0; i < 2; i += 1) await post(gateway, '/createShipment.php', { PickupZip: 'nowhere' })
    gateway.sandbox.fail({ kind: 'status', status: 503, times: 1 })
    await post(gateway, '/quotes/GETSHIPPINGQUOTE.php/', quoteExample)
    await get(gateway, '/getShipment.php?ReferenceNumber=NOBODY')
    await get(gateway, '/v2/shipments/none')
    return scrape(gateway)
  }
  for (const times of [1, 2]) {
    const lines = await round()
    const quotes = `route="/legacy/getShippingQuote.php",action="quote.get",status="200",error="",tenant=""`
    const refused = `route="/legacy/createShipment.php",action="shipment.create",status="422",error="untranslatable",tenant=""`
    for (const counted of [
      `calls_total{${quotes}} ${4 * times}`,
      `calls_total{${refused}} ${2 * times}`,
      `unknown_fields_total{action="quote.get"} ${6 * times}`,
      `call_seconds_count{action="quote.get"} ${4 * times}`,
      `gateway_seconds_count{action="shipment.create"} ${2 * times}`,
      `service_seconds_count{operation="POST /v2/quote",status="2xx"} ${4 * times}`,
      `service_seconds_count{operation="POST /v2/quote",status="5xx"} ${times}`,
      `service_seconds_count{operation="GET /v2/shipments/{id}",status="4xx"} ${2 * times}`,
      `service_seconds_count{operation="passed through",status="4xx"} ${times}`,
      `service_retries_total ${times}`,
      `store_seconds_count{operation="put"} ${4 * times}`,
    ])
      expect(lines).toContain(`transload_${counted}`)
    // The fields that no mapping knows are not named.
    expect(lines.join('\n')).not.toMatch(/Foo|Bar/)
  }
})

test('calls and requests that are under way or wait for a connection are shown', async () => {
  const held = Promise.withResolvers<void>()
  const service = await openService((_, outgoing) => void held.promise.then(() => outgoing.end()))
  const gateway = await startGateway({ env: { ...OWN, UPSTREAM_CONNECTIONS: '1' }, serviceUrl: service.url })
  const calls = [1, 2, 3].map(() => get(gateway, '/v2/shipments/none'))
  await expect
    .poll(() => scrape(gateway))
    .toEqual(
      expect.arrayContaining([
        'transload_calls_under_way 3',
        'transload_service_connections 1',
        'transload_service_requests_under_way 1',
        'transload_service_requests_queued 2',
        'transload_store_operations_under_way 0',
      ]),
    )
  held.resolve()
  await Promise.all(calls)
  expect(await scrape(gateway)).toContain('transload_calls_under_way 0')
})

test('bookings are counted by outcome, and those that are pending are shown', async () => {
  const gateway = await startGateway({ env: { UPSTREAM_TIMEOUT_MS: '300' } })
  await book(gateway)
  await book(gateway)
  gateway.sandbox.fail({ kind: 'status', status: 422, on: { method: 'POST' }, times: 1 })
  await book(gateway, { ReferenceNumber: 'R-2' })
  gateway.sandbox.fail({ kind: 'timeout', on: { method: 'POST' }, times: 1 })
  await book(gateway, { ReferenceNumber: 'R-3' })
  const lines = await scrape(gateway)
  for (const outcome of ['made', 'replayed', 'refused', 'unknown']) {
    expect(lines).toContain(`transload_bookings_total{outcome="${outcome}"} 1`)
  }
  expect(lines).toContain('transload_bookings{state="unknown"} 1')
  expect(lines).toContain('transload_bookings{state="sending"} 0')
})

test('a store that is down has no bookings to count', async () => {
  const listClaims = () => Promise.reject(new StoreDown('the disk is full'))
  const gateway = await startGateway({ store: { ...createMemoryStore(), listClaims } })
  expect((await scrape(gateway)).filter((line) => line.startsWith('transload_bookings{'))).toEqual([])
})

test('an open circuit is shown', async () => {
  const gateway = await startGateway({ env: OWN })
  gateway.sandbox.fail({ kind: 'status', status: 503, times: 'always' })
  const isOpen = async () =>
    (await scrape(gateway)).includes(`transload_circuit_open{service="${gateway.sandbox.url}"} 1`)
  await post(gateway, '/getShippingQuote.php', quoteExample)
  expect(await isOpen()).toBe(false)
  for (let i = 0; i < 20; i += 1) await post(gateway, '/getShippingQuote.php', quoteExample)
  expect(await isOpen()).toBe(true)
})

test('a scrape has numbers only, also the first one', async () => {
  const gateway = await startGateway()
  const { headers } = await fetch(`${gateway.adminUrl}/metrics`)
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  for (const lines of [await scrape(gateway), await scrape(gateway)]) {
    expect(lines.filter((line) => / nan$/i.test(line))).toEqual([])
    expect(lines.join('\n')).toMatch(/^transload_event_loop_delay_seconds_count \d+$/m)
  }
})

test('durations are in seconds, and a call without an action has none', async () => {
  const meters = createMeters(false)
  meters.countRequest('GET /v2/x', 204, 5_000)
  meters.countRequest('GET /v2/x', undefined, 1_000)
  meters.countStore('put', 2_500)
  meters.countLoopDelay(50)
  meters.countCall({ ...beginCall(INCOMING), route: '/*' }, 404, 60_000, 50_000)
  const { text } = await createMetrics({ counted: meters.all }).scrape()
  expect(text.match(/^transload_\w+_sum.*$/gm)).toEqual([
    'transload_call_seconds_sum{action=""} 60',
    'transload_gateway_seconds_sum{action=""} 50',
    'transload_service_seconds_sum{operation="GET /v2/x",status="2xx"} 5',
    'transload_service_seconds_sum{operation="GET /v2/x",status="none"} 1',
    'transload_store_seconds_sum{operation="put"} 2.5',
    'transload_event_loop_delay_seconds_sum 0.05',
  ])
})

test('what all processes see alike does not add up', () => {
  const gauges = createGauges({
    version: '1.2.3',
    usage: { connections: 0, calls: 0, bodyBytes: 0 },
    upstream: () => ({ connections: 0, running: 0, queued: 0 }),
    circuits: () => [],
    store: createMemoryStore(),
  })
  expect(gauges.filter(({ aggregator }) => aggregator !== 'sum').map(({ name }) => name)).toEqual([
    ...['transload_build_info', 'transload_circuit_open', 'transload_bookings'],
  ])
})

test('whatever callers send, the number of series is bounded', async () => {
  const meters = createMeters(false)
  const text = fc.string({ unit: 'binary' })
  const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE')
  for (const [tenant, own, verb] of fc.sample(fc.tuple(text, text, method), { numRuns: 5_000, seed: 7 })) {
    const call = { ...beginCall(INCOMING), route: '/legacy/getShipment.php', tenant, own, action: 'shipment.get' }
    meters.countCall(call, 200, 1, 1)
    for (const path of [`/v2/shipments/${own}`, `/v2/quote/${own}`, `/v2/quote/${own}/approve`, own]) {
      meters.countRequest(operationOf(verb, path), 200, 1)
    }
  }
  const scraped = JSON.stringify(await Promise.all(meters.all.map(({ get: read }) => read())))
  // Four methods at some five paths, each with fourteen lines of a histogram.
  expect(scraped.split('"labels"').length).toBeLessThan(500)
})

describe('names', () => {
  /** Returns the gateway's own metrics of a scrape, without values: those of Node and of the process come with a package. */
  const ownMetrics = (text: string) =>
    text
      .split('\n\n')
      .filter((metric) => metric.startsWith('# HELP transload_'))
      .map((metric) => [...new Set(metric.split('\n').map(seriesOf))].join('\n'))
      .sort()
      .map((metric) => metric.replace(/_bucket\{le="([^"]+)",?(.*)\}(?:\n.*_bucket\{le="([^"]+)",?\2\})+/g, bounds))
      .join('\n\n')

  /** Returns a line without its value, and without labels that differ from run to run. */
  const seriesOf = (line: string) =>
    line.startsWith('#')
      ? line
      : line.replace(/ \S+$/, '').replace(/(version="|node="|service="|operation=")[^"]*"/g, '$1…"')

  /** Shows the buckets of a histogram in one line. */
  function bounds(buckets: string, _first: string, labels: string): string {
    const all = [...buckets.matchAll(/le="([^"]+)"/g)].map(([, bound]) => bound)
    return `_bucket{${labels}} le ${all.join(' ')}`
  }

  test('every metric has the name, the help, the type and the labels that it had', async () => {
    await expect(ownMetrics(await scrapeOfBusy())).toMatchFileSnapshot('metrics.txt')
  })
})

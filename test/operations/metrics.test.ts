/** Promise: metrics count calls, bookings and waits, in a bounded number of series (contract, section 1). */

import { rmSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { beginCall } from '../../src/observe/call.ts'
import { createGauges, createMeters, type GaugeSources } from '../../src/observe/meters.ts'
import { operationOf } from '../../src/service/exchange.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreDown } from '../../src/store/store.ts'
import { book } from '../bookings/desk.ts'
import { newFolder } from '../command.ts'
import { get, OWN, post, startGateway } from '../gateway.ts'

describe('metrics', () => {
  const INCOMING = new IncomingMessage(new Socket())

  const scrape = async (adminUrl: string) => {
    const response = await fetch(`${adminUrl}/metrics`)
    return { type: response.headers.get('content-type') ?? '', lines: (await response.text()).split('\n') }
  }

  describe('the metrics', () => {
    test('count calls by route, action, status and error', async () => {
      const gateway = await startGateway()
      await post(gateway, '/quotes/GETSHIPPINGQUOTE.php/', quoteExample)
      await post(gateway, '/createShipment.php', { PickupZip: 'nowhere' })
      const { type, lines } = await scrape(gateway.adminUrl)
      expect(type).toContain('text/plain')
      expect(lines).toContain(
        'transload_calls_total{route="/legacy/getShippingQuote.php",action="quote.get",status="200",error="",tenant=""} 1',
      )
      expect(lines).toContain(
        'transload_calls_total{route="/legacy/createShipment.php",action="shipment.create",status="422",error="untranslatable",tenant=""} 1',
      )
      expect(lines).toContain('transload_call_seconds_count{action="quote.get"} 1')
    })

    test('add up over calls, and over scrapes', async () => {
      const gateway = await startGateway({ env: OWN })
      const round = async () => {
        for (let i = 0; i < 3; i += 1)
          await post(gateway, '/getShippingQuote.php', { ...quoteExample, Foo: '1', Bar: '2' })
        for (let i = 0; i < 2; i += 1) await post(gateway, '/createShipment.php', { PickupZip: 'nowhere' })
        gateway.sandbox.fail({ kind: 'status', status: 503, times: 1 })
        await post(gateway, '/getShippingQuote.php', quoteExample)
        return (await scrape(gateway.adminUrl)).lines
      }
      for (const times of [1, 2]) {
        const lines = await round()
        const quotes = `route="/legacy/getShippingQuote.php",action="quote.get",status="200",error="",tenant=""`
        const refused = `route="/legacy/createShipment.php",action="shipment.create",status="422",error="untranslatable",tenant=""`
        expect(lines).toContain(`transload_calls_total{${quotes}} ${4 * times}`)
        expect(lines).toContain(`transload_calls_total{${refused}} ${2 * times}`)
        expect(lines).toContain(`transload_unknown_fields_total{action="quote.get"} ${6 * times}`)
        expect(lines).toContain(`transload_call_seconds_count{action="quote.get"} ${4 * times}`)
        expect(lines).toContain(`transload_gateway_seconds_count{action="shipment.create"} ${2 * times}`)
        expect(lines).toContain(`transload_service_seconds_count{operation="POST /v2/quote",status="2xx"} ${4 * times}`)
        expect(lines).toContain(`transload_service_seconds_count{operation="POST /v2/quote",status="5xx"} ${times}`)
        expect(lines).toContain(`transload_service_retries_total ${times}`)
        expect(lines).toContain(`transload_store_seconds_count{operation="put"} ${4 * times}`)
      }
    })

    test('count the fields that no mapping knows, and do not name them', async () => {
      const gateway = await startGateway()
      await post(gateway, '/getShippingQuote.php', { ...quoteExample, Foo: '1', Bar: '2' })
      const { lines } = await scrape(gateway.adminUrl)
      expect(lines).toContain('transload_unknown_fields_total{action="quote.get"} 2')
      expect(lines.join('\n')).not.toMatch(/Foo|Bar/)
    })

    test('get no new series from values of callers', async () => {
      const gateway = await startGateway({ proven: false })
      for (const path of ['/a.php', '/b.php', '/v2/c', '/v2/d', '/%zz']) await get(gateway, path)
      const { lines } = await scrape(gateway.adminUrl)
      const routes = lines
        .filter((line) => line.startsWith('transload_calls_total'))
        .map((line) => /route="([^"]*)"/.exec(line)?.[1])
      expect(new Set(routes)).toEqual(new Set(['/*', '/service', '/unreadable']))
    })

    test('are not on the public listener', async () => {
      const gateway = await startGateway()
      expect((await get(gateway, '/metrics')).status).toBe(404)
    })

    test('time the service, the store and the gateway apart', async () => {
      const gateway = await startGateway({ env: OWN })
      await post(gateway, '/getShippingQuote.php', quoteExample)
      await get(gateway, '/getShipment.php?ReferenceNumber=NOBODY')
      await get(gateway, '/v2/shipments/none')
      const { lines } = await scrape(gateway.adminUrl)
      expect(lines).toContain('transload_service_seconds_count{operation="POST /v2/quote",status="2xx"} 1')
      expect(lines).toContain('transload_service_seconds_count{operation="GET /v2/shipments/{id}",status="4xx"} 2')
      expect(lines).toContain('transload_service_seconds_count{operation="passed through",status="4xx"} 1')
      expect(lines).toContain('transload_store_seconds_count{operation="put"} 1')
      expect(lines).toContain('transload_gateway_seconds_count{action="quote.get"} 1')
      expect(lines).toContain('transload_store_operations_under_way 0')
      expect(lines.join('\n')).toMatch(/^transload_service_connections [1-9]$/m)
      expect(lines).toContain('transload_service_requests_under_way 0')
      expect(lines).toContain('transload_service_requests_queued 0')
    })

    test('have durations in seconds, and no action for a call that has none', async () => {
      const meters = createMeters(false)
      meters.countRequest('GET /v2/x', 204, 5_000)
      meters.countRequest('GET /v2/x', undefined, 1_000)
      meters.countStore('put', 2_500)
      meters.countLoopDelay(50)
      meters.countCall({ ...beginCall(INCOMING), route: '/*' }, 404, 60_000, 50_000)
      // The form that prom-client asks for.
      const read = (await Promise.all(meters.all.map((metric) => metric.get()))) as readonly {
        readonly values: readonly { readonly metricName?: string; readonly labels: object; readonly value: number }[]
      }[]
      const sums = read
        .flatMap(({ values }) => values)
        .filter(({ metricName }) => metricName?.endsWith('_sum'))
        .map(({ metricName, labels, value }) => [metricName, ...Object.values(labels), value])
      expect(sums).toEqual([
        ['transload_call_seconds_sum', '', 60],
        ['transload_gateway_seconds_sum', '', 50],
        ['transload_service_seconds_sum', 'GET /v2/x', '2xx', 5],
        ['transload_service_seconds_sum', 'GET /v2/x', 'none', 1],
        ['transload_store_seconds_sum', 'put', 2.5],
        ['transload_event_loop_delay_seconds_sum', 0.05],
      ])
      expect(read[0]?.values).toEqual([
        { labels: { route: '/*', action: '', status: '404', error: '', tenant: '' }, value: 1 },
      ])
    })

    test('count bookings by outcome, and show those that are pending', async () => {
      const gateway = await startGateway({ env: { UPSTREAM_TIMEOUT_MS: '300' } })
      await book(gateway)
      await book(gateway)
      gateway.sandbox.fail({ kind: 'status', status: 422, on: { method: 'POST' }, times: 1 })
      await book(gateway, { ReferenceNumber: 'R-2' })
      gateway.sandbox.fail({ kind: 'timeout', on: { method: 'POST' }, times: 1 })
      await book(gateway, { ReferenceNumber: 'R-3' })
      const { lines } = await scrape(gateway.adminUrl)
      for (const outcome of ['made', 'replayed', 'refused', 'unknown']) {
        expect(lines).toContain(`transload_bookings_total{outcome="${outcome}"} 1`)
      }
      expect(lines).toContain('transload_bookings{state="unknown"} 1')
      expect(lines).toContain('transload_bookings{state="sending"} 0')
    })

    test('show retries and an open circuit', async () => {
      const gateway = await startGateway({ env: OWN })
      gateway.sandbox.fail({ kind: 'status', status: 503, times: 'always' })
      await post(gateway, '/getShippingQuote.php', quoteExample)
      const first = await scrape(gateway.adminUrl)
      expect(first.lines).toContain('transload_service_retries_total 2')
      expect(first.lines).toContain(`transload_circuit_open{service="${gateway.sandbox.url}"} 0`)
      for (let i = 0; i < 20; i += 1) await post(gateway, '/getShippingQuote.php', quoteExample)
      expect((await scrape(gateway.adminUrl)).lines).toContain(
        `transload_circuit_open{service="${gateway.sandbox.url}"} 1`,
      )
    })

    test('have numbers only, also in the first scrape', async () => {
      const gateway = await startGateway()
      for (const { lines } of [await scrape(gateway.adminUrl), await scrape(gateway.adminUrl)]) {
        expect(lines.filter((line) => / nan$/i.test(line))).toEqual([])
        expect(lines.join('\n')).toMatch(/^transload_event_loop_delay_seconds_count \d+$/m)
      }
    })
  })

  describe('the number of series is bounded', () => {
    const INPUTS = 5_000

    test('whatever callers send', async () => {
      const meters = createMeters(false)
      const text = fc.string({ unit: 'binary' })
      const sent = fc.sample(fc.tuple(text, text, fc.constantFrom('GET', 'POST', 'PUT', 'DELETE')), {
        numRuns: INPUTS,
        seed: 7,
      })
      for (const [tenant, id, method] of sent) {
        const call = {
          ...beginCall(INCOMING),
          route: '/legacy/getShipment.php',
          tenant,
          own: id,
          action: 'shipment.get',
        }
        meters.countCall(call, 200, 1, 1)
        for (const path of [`/v2/shipments/${id}`, `/v2/quote/${id}`, `/v2/quote/${id}/approve`, id]) {
          meters.countRequest(operationOf(method, path), 200, 1)
        }
      }
      const scraped = JSON.stringify(await Promise.all(meters.all.map(({ get: read }) => read())))
      // Four methods at some five paths, each with fourteen lines of a histogram.
      expect(scraped.split('"labels"').length).toBeLessThan(500)
    })
  })
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
    const folder = newFolder('metrics')
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const gateway = await startGateway({
      env: { ...OWN, V2_TOKEN: 'oauth2', BROWNOUTS: '2091-01-12T15:00Z/1h' },
      store: await openStore(join(folder, 'test.db')),
    })
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, Foo: '1' })
    await book(gateway)
    await get(gateway, '/getShipment.php?ReferenceNumber=NOBODY')
    const scraped = await fetch(`${gateway.adminUrl}/metrics`)
    expect(scraped.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    await expect(ownMetrics(await scraped.text())).toMatchFileSnapshot('metrics.txt')
  })
})

describe('gauges', () => {
  const asked: unknown[] = []
  const claims = { sending: 2, unknown: 3 } as const

  const SOURCES: GaugeSources = {
    version: '1.2.3',
    usage: { connections: 1, calls: 2, bodyBytes: 3 },
    upstream: () => ({ connections: 4, running: 5, queued: 6 }),
    circuits: () => [
      ['http://a.example.com', true],
      ['http://b.example.com', false],
    ],
    store: {
      listClaims: async (filter = {}) => {
        asked.push(filter)
        return Array(filter.state === 'sending' || filter.state === 'unknown' ? claims[filter.state] : 0)
      },
    },
  }

  /** Reads gauges: the name, how the values of several processes become one, and the values. */
  const read = (sources: GaugeSources) =>
    Promise.all(
      createGauges(sources).map(async ({ name, get }) => {
        const { aggregator, values, ...about } = Object(await get())
        expect(about).toEqual({
          name,
          help: expect.stringMatching(/^[A-Z].+\.$/),
          type: expect.stringMatching(/^(gauge|counter)$/),
        })
        return [name, aggregator, values]
      }),
    )

  test('the gauges read what is there; what all processes see alike does not add up', async () => {
    const plain = (value: number) => [{ labels: {}, value }]
    expect(await read(SOURCES)).toEqual([
      ['transload_build_info', 'max', [{ labels: { version: '1.2.3', node: process.versions.node }, value: 1 }]],
      ['transload_connections', 'sum', plain(1)],
      ['transload_calls_under_way', 'sum', plain(2)],
      ['transload_body_bytes', 'sum', plain(3)],
      ['transload_service_connections', 'sum', plain(4)],
      ['transload_service_requests_under_way', 'sum', plain(5)],
      ['transload_service_requests_queued', 'sum', plain(6)],
      [
        'transload_circuit_open',
        'max',
        [
          { labels: { service: 'http://a.example.com' }, value: 1 },
          { labels: { service: 'http://b.example.com' }, value: 0 },
        ],
      ],
      [
        'transload_bookings',
        'max',
        [
          { labels: { state: 'sending' }, value: 2 },
          { labels: { state: 'unknown' }, value: 3 },
        ],
      ],
    ])
    expect(asked).toEqual([
      { state: 'sending', limit: 1_000 },
      { state: 'unknown', limit: 1_000 },
    ])
  })

  test('a store that is down has no bookings to count', async () => {
    const listClaims = () => Promise.reject(new StoreDown('the disk is full'))
    const all = await read({ ...SOURCES, store: { listClaims } })
    expect(all.at(-1)).toEqual(['transload_bookings', 'max', []])
  })
})

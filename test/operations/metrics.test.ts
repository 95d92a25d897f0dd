/** Promise: metrics count calls, bookings and waits, in a bounded number of series (contract, section 1). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { book } from '../bookings/desk.ts'
import { get, metricsOf, OWN, post, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { anyCharacter } from '../laws.ts'
import { scrapeOfBusy } from '../monitoring.ts'

/** The lines of a scrape. */
const scrape = async (gateway: { readonly adminUrl: string }) => (await metricsOf(gateway)).split('\n')

test('calls, requests to the service and operations of the store add up over calls and scrapes', async () => {
  const gateway = await startGateway({ env: OWN })
  const round = async () => {
    for (let i = 0; i < 3; i += 1) await post(gateway, '/getShippingQuote.php', { ...quoteExample, Foo: '1', Bar: '2' })
    for (let i = 0; i < 2; i += 1) await post(gateway, '/createShipment.php', { PickupZip: 'nowhere' })
    gateway.sandbox.fail({ kind: 'status', status: 503, times: 1 })
    await post(gateway, '/quotes/GETSHIPPINGQUOTE.php/', quoteExample)
    await get(gateway, '/getShipment.php?ReferenceNumber=NOBODY')
    gateway.sandbox.fail({ kind: 'status', status: 401, times: 1 })
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
      `credential_refusals_total ${times}`,
      `store_seconds_count{operation="put"} ${4 * times}`,
    ])
      expect(lines).toContain(`transload_${counted}`)
    // Fields that no mapping knows are not named.
    expect(lines.join('\n')).not.toMatch(/Foo|Bar/)
  }
})

test('calls and requests that are in progress or wait for a connection are shown', async () => {
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

test('a scrape, even the first one, has only numbers', async () => {
  const gateway = await startGateway()
  gateway.sandbox.fail({ kind: 'status', status: 401, times: 1 })
  await get(gateway, '/v2/shipments/none')
  const { headers } = await fetch(`${gateway.adminUrl}/metrics`)
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  for (const lines of [await scrape(gateway), await scrape(gateway)]) {
    expect(lines.filter((line) => / nan$/i.test(line))).toEqual([])
    expect(lines).toContain('transload_credential_refusals_total 0')
    expect(lines.join('\n')).toMatch(/^transload_event_loop_delay_seconds_count \d+$/m)
  }
})

test('whatever callers send, the number of series is bounded', async () => {
  const gateway = await startGateway({ env: OWN })
  const text = fc.string({ unit: anyCharacter, minLength: 1 })
  const ids = fc.sample(text, { numRuns: 100, seed: 7 }).map((id) => encodeURIComponent(id.toWellFormed()))
  for (const id of ids) {
    await get(gateway, `/getShipment.php?ReferenceNumber=${id}`)
    await get(gateway, `/v2/shipments/${id}`)
    await get(gateway, `/${id}`)
  }
  expect((await scrape(gateway)).filter((line) => line.startsWith('transload_')).length).toBeLessThan(320)
})

/** Returns a line without its value, its bucket, and labels that differ from run to run. */
const seriesOf = (line: string) =>
  line.startsWith('#')
    ? line
    : line
        .replace(/ \S+$/, '')
        .replace(/\ble="[^"]*",?/, '')
        .replace(/(version="|node="|service="|operation=")[^"]*"/g, '$1…"')

test('the name, the help, the type and the labels of every metric have not changed', async () => {
  const own = (await scrapeOfBusy())
    .split('\n\n')
    .filter((metric) => metric.startsWith('# HELP transload_'))
    .map((metric) => [...new Set(metric.split('\n').map(seriesOf))].join('\n'))
  await expect(own.sort().join('\n\n')).toMatchFileSnapshot('metrics.txt')
})

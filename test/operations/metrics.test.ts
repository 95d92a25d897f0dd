/** Promise: metrics count calls, bookings and waits, in a bounded number of series (contract, section 1). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { get, metricsOf, OWN, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { anyCharacter } from '../laws.ts'
import { scrapeOfBusy } from '../monitoring.ts'

/** The lines of a scrape. */
const scrape = async (gateway: { readonly adminUrl: string }) => (await metricsOf(gateway)).split('\n')

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

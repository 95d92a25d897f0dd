/** Promise: a brownout survives a restart, and a tenant can have its own (contract, section 9). */

import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { book, expectBooked } from '../bookings/desk.ts'
import { as, known, openEdge, tenant } from '../callers/tenants-gateway.ts'
import { metricsOf, post, startGateway, type TestGateway } from '../gateway.ts'

const START = Date.UTC(2027, 0, 12, 15)
const HOUR = 3_600_000
const BROWNOUTS = '2027-01-12T15:00Z/1h'

const quote = (gateway: Pick<TestGateway, 'url'>, headers = {}) =>
  post(gateway, '/getShippingQuote.php', quoteExample, headers)

test('a brownout survives a restart', async () => {
  const env = { BROWNOUTS }
  const store = createMemoryStore({ now: () => START + HOUR / 2 })
  const first = await startGateway({ env, store, proven: false })
  expect((await quote(first)).headers.get('retry-after')).toBe('1800')
  await first.gateway.close()
  const second = await startGateway({ env, store, proven: false })
  expect((await quote(second)).headers.get('retry-after')).toBe('1800')
  expect(second.lines()).toContainEqual(
    expect.objectContaining({ msg: 'a brownout has begun: legacy calls are refused', level: 'warn' }),
  )
})

test('a tenant has its own brownouts, bookings, sunset and guide', async () => {
  const clock = { now: START }
  const edge = await openEdge(
    (place) => [
      tenant(place, 'acme'),
      tenant(place, 'spared', { brownouts: 'none' }),
      tenant(place, 'late', {
        brownouts: '2027-01-12T16:00Z/1h',
        brownout_bookings: true,
        sunset: '2027-12-31',
        migration_guide_url: 'https://example.com/late',
      }),
    ],
    {
      env: { BROWNOUTS, SUNSET: '2027-06-30' },
      now: () => clock.now,
      sandbox: { credentials: known('acme', 'spared', 'late') },
    },
  )
  const statuses = async () =>
    Promise.all(['acme', 'spared', 'late'].map(async (name) => (await quote(edge, as(name))).status))
  expect(await statuses()).toEqual([503, 200, 200])
  expectBooked(await book(edge, {}, as('acme')))
  clock.now = START + HOUR
  expect(await statuses()).toEqual([200, 200, 503])
  expect((await book(edge, {}, as('late'))).status).toBe(503)
  const { headers } = await quote(edge, as('late'))
  expect(headers.get('sunset')).toBe('Fri, 31 Dec 2027 00:00:00 GMT')
  expect(headers.get('link')).toBe(
    '<https://example.com/late>; rel="deprecation"; type="text/html", <https://example.com/late>; rel="sunset"; type="text/html", </reference#brownout>; rel="help"',
  )
  expect((await quote(edge, as('acme'))).headers.get('sunset')).toBe('Wed, 30 Jun 2027 00:00:00 GMT')
  const page = await (await fetch(`${edge.adminUrl}/migration`, { headers: { accept: 'text/html' } })).text()
  expect(page).toMatch(/2027-01-12 16:00[\s\S]*2027-01-12 17:00[\s\S]*<bdi>late<\/bdi>[\s\S]*active/)
  const metrics = await metricsOf(edge)
  expect(metrics).toContain('transload_brownout_active{tenant="late"} 1')
  expect(metrics).toContain('transload_brownout_active{tenant="acme"} 0')
  expect(metrics).toContain(`transload_brownout_end_timestamp_seconds{tenant="late"} ${(START + 2 * HOUR) / 1000}`)
  expect(metrics).not.toMatch(/transload_brownout_\w+\{tenant="spared"\} 1/)
})

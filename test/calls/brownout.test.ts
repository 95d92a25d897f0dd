/** Promise: in a brownout, legacy calls are refused, and nothing is sent (contract, section 3). */

import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { book, creations, expectBooked } from '../bookings/desk.ts'
import { as, known, openEdge, tenant } from '../callers/tenants-gateway.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'

const START = Date.UTC(2027, 0, 12, 15)
const HOUR = 3_600_000
const BROWNOUTS = '2027-01-12T15:00Z/1h'

/** Opens a gateway whose clock the test sets. */
async function open(env: Readonly<Record<string, string>> = {}) {
  const clock = { now: START - 1 }
  const gateway = await startGateway({ env: { BROWNOUTS, ...env }, now: () => clock.now })
  return { gateway, clock }
}

const quote = (gateway: Pick<TestGateway, 'url'>, headers = {}) =>
  post(gateway, '/getShippingQuote.php', quoteExample, headers)

describe('in a brownout', () => {
  test('legacy calls are refused from its start to its end, and nothing is sent', async () => {
    const { gateway, clock } = await open({ SUNSET: '2027-06-30', MIGRATION_GUIDE_URL: 'https://example.com/guide' })
    expect((await quote(gateway)).status).toBe(200)
    const sent = gateway.sandbox.requests.length
    clock.now = START
    const refused = await quote(gateway)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('3600')
    expect(refused.headers.get('sunset')).toBe('Wed, 30 Jun 2027 00:00:00 GMT')
    expect(refused.json).toEqual({
      Cost: '',
      ShipmentNumber: quoteExample.ShipmentNumber,
      Message:
        'Version 1 is being retired and is switched off until 2027-01-12 16:00 UTC as a test. Nothing was sent. It ends on 2027-06-30. Move to version 2: read https://example.com/guide.',
    })
    clock.now = START + HOUR - 1
    const last = await get(gateway, '/getShipment.php?ReferenceNumber=R-1')
    expect([last.status, last.headers.get('retry-after')]).toEqual([503, '1'])
    expect(last.json.TransportationBooked).toBe('Unknown')
    expect(gateway.sandbox.requests).toHaveLength(sent)
    clock.now = START + HOUR
    expect((await quote(gateway)).status).toBe(200)
    expect(gateway.lines().filter(({ error }) => error === 'brownout')).toHaveLength(2)
  })

  test('so are version-2 bodies on legacy paths; dry runs, /v2/ and the own pages go on', async () => {
    const { gateway, clock } = await open()
    clock.now = START
    expect((await post(gateway, '/getShippingQuote.php', { pickup: '10314', delivery: '33166' })).status).toBe(503)
    expect((await post(gateway, '/updateShipment.php', { id: 'x', customer: {} })).status).toBe(503)
    expect((await post(gateway, '/dry-run/getShippingQuote.php', quoteExample)).json.ok).toBe(true)
    expect((await post(gateway, '/v2/quote', { pickup: '10314', delivery: '33166' })).status).toBe(200)
    expect((await get(gateway, '/readyz')).status).toBe(200)
  })

  test('callers that read only 200s are told with 200', async () => {
    const { gateway, clock } = await open({ ERROR_STATUS: 'ok' })
    clock.now = START
    const refused = await quote(gateway)
    expect([refused.status, refused.json.Cost, refused.json.Message]).toEqual([
      200,
      '',
      expect.stringMatching(/being retired.*ask the operator of this gateway how\.$/),
    ])
  })

  test('bookings and approvals go on unless they are asked for', async () => {
    const { gateway, clock } = await open()
    const { ShipmentNumber } = (await quote(gateway)).json
    clock.now = START
    expectBooked(await book(gateway))
    const approval = await post(gateway, '/getShippingQuote.php', { ActionName: 'Approve Rate', ShipmentNumber })
    expect([approval.status, approval.json.TransportationBooked]).toEqual([200, 'Yes'])
    const update = await post(gateway, '/updateShipment.php', { ReferenceNumber: 'R-1', PickupCity: 'Dallas' })
    expect(update.status).toBe(503)
  })

  test('bookings that are asked for are refused, and never the replay of one that was made', async () => {
    const { gateway, clock } = await open({ BROWNOUT_BOOKINGS: 'true' })
    const { ShipmentNumber } = (await quote(gateway)).json
    const made = expectBooked(await book(gateway))
    clock.now = START
    expect(expectBooked(await book(gateway), true)).toBe(made)
    const fresh = await book(gateway, { ReferenceNumber: 'R-2' })
    expect([fresh.status, fresh.json.TransportationBooked]).toEqual([503, 'No'])
    const approval = await post(gateway, '/getShippingQuote.php', { ActionName: 'Approve Rate', ShipmentNumber })
    expect(approval.status).toBe(503)
    expect((await post(gateway, '/createShipment.php', { customer: {}, pickup: {} })).status).toBe(503)
    expect(creations(gateway)).toBe(1)
    // A key that is taken stays what it is; a refused booking leaves none.
    expect((await book(gateway, { PickupCity: 'Elsewhere' })).status).toBe(409)
    expect(await gateway.store.listClaims({})).toHaveLength(1)
    clock.now = START + HOUR
    expectBooked(await book(gateway, { ReferenceNumber: 'R-2' }))
  })

  test('a booking whose outcome is unknown stays unknown', async () => {
    const { gateway, clock } = await open({ BROWNOUT_BOOKINGS: 'true', UPSTREAM_TIMEOUT_MS: '300' })
    gateway.sandbox.fail({ kind: 'timeout', times: 1 })
    expect((await book(gateway)).json.TransportationBooked).toBe('Unknown')
    clock.now = START
    const again = await book(gateway)
    expect([again.status, again.json.TransportationBooked]).toEqual([503, 'Unknown'])
  })
})

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
  const metrics = await (await fetch(`${edge.adminUrl}/metrics`)).text()
  expect(metrics).toContain('transload_brownout_active{tenant="late"} 1')
  expect(metrics).toContain('transload_brownout_active{tenant="acme"} 0')
  expect(metrics).toContain(`transload_brownout_end_timestamp_seconds{tenant="late"} ${(START + 2 * HOUR) / 1000}`)
  expect(metrics).not.toMatch(/transload_brownout_\w+\{tenant="spared"\} 1/)
})

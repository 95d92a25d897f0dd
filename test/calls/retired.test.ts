/** Promise: from `RETIRED_FROM` on, every legacy call is 410, and nothing is looked up or sent (contract, section 9). */

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { openSqliteStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { book, expectBooked, REFERENCE } from '../bookings/desk.ts'
import { transload } from '../callers/commands.ts'
import { as, folder, known, openEdge, tenant, writeTenants } from '../callers/tenants-gateway.ts'
import { basic, get, post, startGateway } from '../gateway.ts'

const END = Date.UTC(2027, 5, 30)
const DAY = 86_400_000
const GUIDE = 'https://example.com/guide'

async function open(env: Readonly<Record<string, string>> = {}) {
  const clock = { now: END - 1 }
  const gateway = await startGateway({
    env: { RETIRED_FROM: '2027-06-30', MIGRATION_GUIDE_URL: GUIDE, ...env },
    now: () => clock.now,
    countsEveryMs: 20,
  })
  return { gateway, clock }
}

const migration = async ({ adminUrl }: { readonly adminUrl: string }, accept: string) =>
  (await fetch(`${adminUrl}/migration`, { headers: { accept } })).text()

describe('from the end of version 1 on', () => {
  test('every legacy call is 410 in its own shape, nothing is sent, and who calls is on the migration page', async () => {
    const { gateway, clock } = await open({ BROWNOUTS: '2027-06-30T00:00Z/1h' })
    expectBooked(await book(gateway))
    const sent = gateway.sandbox.requests.length
    clock.now = END
    const Message = `Version 1 ended on 2027-06-30, so nothing was sent. Move to version 2: read ${GUIDE}.`
    const Unknown = { Message, TransportationBooked: 'Unknown' }
    const quote = await post(gateway, '/getShippingQuote.php', quoteExample)
    expect(quote.json).toEqual({ Cost: '', ShipmentNumber: quoteExample.ShipmentNumber, Message })
    const others = [
      // The replay of a booking that was made, too: it may stand.
      await book(gateway),
      await post(gateway, '/createShipment.php', { customer: {}, pickup: {} }),
      await post(gateway, '/createShipment.php', { ActionName: 'unheard of' }),
      await post(gateway, '/updateShipment.php', { ReferenceNumber: REFERENCE, PickupCity: 'Dallas' }),
      await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE }),
      await get(gateway, `/getShipment.php?ReferenceNumber=${REFERENCE}`),
    ]
    // A version-2 body is answered with problem details.
    const gone = { type: 'urn:transload:error:retired', title: 'Version 1 has ended', status: 410, detail: Message }
    expect(others.map(({ json }) => json)).toEqual(others.map((_, i) => (i === 1 ? gone : Unknown)))
    expect([quote, ...others].map(({ status }) => status)).toEqual(Array(others.length + 1).fill(410))
    expect(quote.headers.get('deprecation')).toMatch(/^@/)
    expect(gateway.sandbox.requests).toHaveLength(sent)
    expect(await gateway.store.listClaims({})).toHaveLength(1)
    await expect.poll(() => migration(gateway, 'text/html')).toContain('still calling after the end')
    // The counts are stored in batches, and the page may have been read between two.
    await expect.poll(() => migration(gateway, 'application/json')).toContain('7 version-1 calls')
    const { headline, tenants } = JSON.parse(await migration(gateway, 'application/json'))
    expect(headline).toBe('No: 1 of 1 caller still uses version 1; 1 after the end.')
    expect(tenants[0].verdict).toMatchObject({
      state: 'after-end',
      reasons: [expect.stringContaining('7 version-1 calls')],
    })
  })

  test('callers without a good credential get their 401 as before', async () => {
    const { gateway, clock } = await open()
    clock.now = END
    expect((await post(gateway, '/getShippingQuote.php', quoteExample, { authorization: '' })).status).toBe(401)
    const wrong = { authorization: basic('stranger', 'wrong') }
    expect((await post(gateway, '/getShippingQuote.php', quoteExample, wrong)).status).toBe(401)
  })

  test('/v2/, dry runs, the workbench and the guide go on', async () => {
    const { gateway, clock } = await open()
    clock.now = END
    expect((await post(gateway, '/v2/quote', { pickup: '10314', delivery: '33166' })).status).toBe(200)
    expect((await post(gateway, '/dry-run/getShippingQuote.php', quoteExample)).json.ok).toBe(true)
    const page = { accept: 'text/html' }
    expect((await get(gateway, '/', page)).status).toBe(200)
    expect((await get(gateway, '/guide', page)).text).toContain('2027-06-30')
  })

  test('callers that read only 200s are told with 200; an instant is told to the minute', async () => {
    const { gateway, clock } = await open({ ERROR_STATUS: 'ok', RETIRED_FROM: '2027-06-30T12:00Z' })
    clock.now = END + DAY
    const { status, json } = await post(gateway, '/getShippingQuote.php', quoteExample)
    expect([status, json.Cost, json.Message]).toEqual([
      200,
      '',
      expect.stringContaining('ended on 2027-06-30 12:00 UTC, so nothing was sent'),
    ])
  })
})

test('a tenant has its own end, `never` exempts it, and a reload takes the end back', async () => {
  let place = ''
  const edge = await openEdge(
    (at) => {
      place = at
      return [
        tenant(at, 'acme'),
        tenant(at, 'spared', { retired_from: 'never' }),
        tenant(at, 'late', { retired_from: '2027-07-30' }),
      ]
    },
    { env: { RETIRED_FROM: '2027-06-30' }, now: () => END, sandbox: { credentials: known('acme', 'spared', 'late') } },
  )
  const status = async (name: string) => (await post(edge, '/getShippingQuote.php', quoteExample, as(name))).status
  expect([await status('acme'), await status('spared'), await status('late')]).toEqual([410, 200, 200])
  // What cannot be read, too: the caller is known.
  expect((await post(edge, '/getShippingQuote.php', '[]', as('acme'))).status).toBe(410)
  writeTenants(join(place, 'tenants.json'), tenant(place, 'acme', { retired_from: 'never' }))
  await expect.poll(() => status('acme')).toBe(200)
})

test('the check warns of an end that does not fit the announced one, and of callers that it cuts off', async () => {
  const place = folder()
  const env = { V2_BASE_URL: 'https://service.example.com', STORE_URL: join(place, 'store.db') }
  const warnings = async (more: object) => {
    const { err } = await transload(['check'], place, { ...env, ...more })
    return err.split('\n').filter((line) => /SUNSET|RETIRED_FROM/.test(line))
  }
  const store = await openSqliteStore({ path: env.STORE_URL })
  const now = Date.now()
  const used = (name: string, lastAt: number) =>
    ({
      tenant: name,
      kind: 'use',
      action: '',
      name: 'version-1',
      count: 1,
      firstAt: lastAt,
      lastAt,
      example: '',
    }) as const
  const names = [used('recent', now), used('gone', now - 29 * DAY)]
  await store.addCounts({ instance: 'i', no: 1, days: [], calls: [], names })
  await store.close()
  expect(await warnings({ SUNSET: '2026-01-02' })).toEqual([
    'warning: SUNSET of all callers has passed without RETIRED_FROM: version-1 calls still work',
  ])
  expect(await warnings({ SUNSET: '2093-01-02', RETIRED_FROM: '2093-01-01' })).toEqual([
    'warning: SUNSET of all callers is after RETIRED_FROM: callers are told a later end',
    'warning: RETIRED_FROM cuts off 1 of the callers of the last 28 days: recent',
  ])
  expect(await warnings({ RETIRED_FROM: '2025-12-31' })).toEqual([expect.stringContaining('2026-01-01')])
  writeTenants(join(place, 'tenants.json'), tenant(place, 'recent', { retired_from: 'never' }))
  expect(await warnings({ RETIRED_FROM: '2093-01-01', TENANTS_FILE: 'tenants.json' })).toEqual([])
})

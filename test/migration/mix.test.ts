import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import type { NameKind } from '../../src/store/scoreboard.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { size } from '../size.ts'

const LONG_MS = 300_000
const ACME = { authorization: basic('acme', 'acme-secret'), 'user-agent': 'OldShop/3.2' }
const OTHER = { authorization: basic('other', 'other-secret'), 'user-agent': 'Script/1' }
const CREDENTIALS = { acme: 'acme-secret', other: 'other-secret' }

/** Closes the gateway, which stores its counts, and returns them. */
async function countsOf({ gateway, store }: TestGateway, tenant: string) {
  await gateway.close()
  const calls = await store.callCounts([tenant], 0)
  const names = await store.nameCounts(tenant)
  return {
    calls: Object.fromEntries(
      calls.map(({ use, action, outcome, calls: count }) => [[use, action, outcome].join(' '), count]),
    ),
    /** Added up over actions. */
    names: (kind: NameKind) => {
      const sums: Record<string, number> = {}
      for (const count of names) if (count.kind === kind) sums[count.name] = (sums[count.name] ?? 0) + count.count
      return sums
    },
  }
}

const quoteOf = (gateway: TestGateway, headers: Readonly<Record<string, string>>, more: object = {}) =>
  post(gateway, '/getShippingQuote.php', { ...quoteExample, ...more }, headers)

const book = (gateway: TestGateway, reference: string, more: object = {}) =>
  post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: reference, ...more }, ACME)

describe('calls of a known mix', () => {
  test('are counted one by one', { timeout: LONG_MS }, async () => {
    const gateway = await startGateway({ sandbox: { credentials: CREDENTIALS } })
    const rounds = size(4, 500)
    for (let i = 0; i < rounds; i += 1) {
      await quoteOf(gateway, ACME, { Foo: 'bar', TempShipFromPostalCode: '544' })
      await quoteOf(gateway, ACME, { EquipmentType: '' })
      await quoteOf(gateway, OTHER)
      await book(gateway, `REF-${i}`, { 'PickupPhNo.': '718-555-0100 x12', DeliveryZip: '33166-1234' })
      await book(gateway, `REF-${i}`, { 'PickupPhNo.': '718-555-0100 x12', DeliveryZip: '33166-1234' })
      await book(gateway, `BAD-${i}`, { PickupZip: 'nowhere' })
      await get(gateway, `/getShipment.php?ReferenceNumber=none-${i}`, ACME)
      await get(gateway, '/v2/shipments/none', ACME)
      await post(
        gateway,
        '/getShippingQuote.php',
        { pickup: '10314', delivery: '33166', vehicle_type: 'car', transport_type: 'open' },
        ACME,
      )
      // None of these is a use of a caller.
      await post(gateway, '/dry-run/createShipment.php', bookingExample, ACME)
      await quoteOf(gateway, { authorization: basic('acme', 'wrong') })
      await quoteOf(gateway, { authorization: basic('stranger', 'wrong') })
      await get(gateway, '/createShipment.php', ACME)
      await get(gateway, '/healthz')
      await get(gateway, '/openapi.json')
    }
    // The calls that proved the credentials before the test.
    const other = await countsOf(gateway, 'other')
    expect(other.calls).toEqual({ 'version-1 quote.get done': rounds, 'version-1 shipment.get number-unknown': 1 })
    const acme = await countsOf(gateway, 'acme')
    expect(acme.calls).toEqual({
      'version-1 quote.get done': 2 * rounds,
      'version-1 shipment.create done': rounds,
      'version-1 shipment.create replayed': rounds,
      'version-1 shipment.create untranslatable': rounds,
      'version-1 shipment.get number-unknown': rounds + 1,
      'version-1 version-2 body done': rounds,
      'version-2  service-404': rounds,
    })
    expect(acme.names('unknown')).toEqual({ Foo: rounds })
    expect(acme.names('lossy')).toEqual({ 'PickupPhNo.': 2 * rounds, DeliveryZip: 2 * rounds })
    expect(acme.names('assumed')).toEqual({ TempShipFromPostalCode: rounds, transport_type: expect.any(Number) })
    expect(acme.names('agent')).toMatchObject({ 'OldShop/3': 8 * rounds })
    expect(acme.names('network')).toEqual({ '127.0.0.0/24': 8 * rounds + 1 })
    expect(acme.names('use')).toEqual({ 'version-1': 7 * rounds + 1, 'version-2': rounds })
    expect(acme.names('error')).toEqual({
      untranslatable: rounds,
      'number-unknown': rounds + 1,
      'service-404': rounds,
    })
    expect(acme.names('used')).toMatchObject({
      ReferenceNumber: 4 * rounds + 1,
      VinNo: 3 * rounds,
      EquipmentType: rounds,
    })
    expect(acme.names('unused')).toMatchObject({ CSR: 2 * rounds })
    expect((await gateway.store.countedTenants()).map(({ tenant, name }) => [tenant, name])).toEqual([
      ['acme', 'version-1'],
      ['acme', 'version-2'],
      ['other', 'version-1'],
    ])
  })

  test('of strangers leave nothing in the store', async () => {
    const gateway = await startGateway({ sandbox: { credentials: CREDENTIALS }, proven: false })
    for (let i = 0; i < 20; i += 1) {
      await quoteOf(gateway, { authorization: basic(`stranger-${i}`, 'wrong'), 'user-agent': `evil${i}` })
      await get(gateway, '/v2/shipments/none', { authorization: basic(`stranger-${i}`, 'wrong') })
      await get(gateway, '/v2/shipments/none', { authorization: `Bearer stranger-${i}` })
      await post(gateway, '/createShipment.php', '{', { authorization: basic(`stranger-${i}`, 'wrong') })
    }
    await gateway.gateway.close()
    expect(await gateway.store.countedTenants()).toEqual([])
    expect(await gateway.store.callCounts([''], 0)).toEqual([])
  })

  test('include the dry runs of callers that the gateway itself knows, apart', async () => {
    const gateway = await startGateway({ env: { V2_CLIENT_ID: 'demo', V2_CLIENT_SECRET: 'demo-secret' } })
    await post(gateway, '/dry-run/createShipment.php', bookingExample)
    await post(gateway, '/createShipment.php', bookingExample)
    const { calls, names } = await countsOf(gateway, 'demo')
    expect(calls).toEqual({ 'dry-run shipment.create done': 1, 'version-1 shipment.create done': 1 })
    expect(names('used')).toMatchObject({ PickupZip: 1 })
  })

  test('are stored while the gateway runs, too', async () => {
    const gateway = await startGateway({ countsEveryMs: 1 })
    await quoteOf(gateway, {})
    for (;;) {
      const [stored] = (await gateway.store.callCounts(['demo'], 0)).filter(({ action }) => action === 'quote.get')
      if (stored) return expect(stored.calls).toBe(1)
      await nextTurn()
    }
  })
})

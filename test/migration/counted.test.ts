/** Promise: calls of known callers are counted once, and nothing of strangers is kept (contract, section 1). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { loadMappings } from '../../mappings/load.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { sortFields } from '../../src/language/mapping/fields.ts'
import { DAY_MS, type NameKind } from '../../src/outside/store/scoreboard.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/outside/store/store.ts'
import { createLog } from '../../src/runtime/log.ts'
import { type CountedCall, createCounts, DONE, openUseCounts } from '../../src/state/uses/counts.ts'
import { basic, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { size } from '../size.ts'

const { actions } = await loadMappings()
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
      await get(gateway, '/createShipment.php', ACME)
      // Counted separately, because the service has accepted its credential.
      await post(gateway, '/dry-run/createShipment.php', bookingExample, ACME)
      // None of these counts as use by a caller.
      await quoteOf(gateway, { authorization: basic('acme', 'wrong') })
      await quoteOf(gateway, { authorization: basic('stranger', 'wrong') })
      await get(gateway, '/healthz')
      await get(gateway, '/openapi.json')
    }
    // The calls that proved the credentials before the test.
    const other = await countsOf(gateway, 'other')
    expect(other.calls).toEqual({ 'version-1 quote.get done': rounds, 'version-1 shipment.get number-unknown': 1 })
    const acme = await countsOf(gateway, 'acme')
    expect(acme.calls).toEqual({
      'dry-run shipment.create done': rounds,
      'version-1  method-wrong': rounds,
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
    expect(acme.names('assumed')).toEqual({
      TempShipFromPostalCode: rounds,
      transport_type: expect.any(Number),
      'vehicles[0].type': expect.any(Number),
    })
    expect(acme.names('agent')).toMatchObject({ 'OldShop/3': 9 * rounds })
    expect(acme.names('network')).toEqual({ '127.0.0.0/24': 9 * rounds + 1 })
    expect(acme.names('use')).toEqual({ 'dry-run': rounds, 'version-1': 8 * rounds + 1, 'version-2': rounds })
    expect(acme.names('error')).toEqual({
      untranslatable: rounds,
      'method-wrong': rounds,
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
      ['acme', 'dry-run'],
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

  test('separately include the dry runs of callers that the gateway itself knows', async () => {
    const gateway = await startGateway({ env: OWN })
    await post(gateway, '/dry-run/createShipment.php', bookingExample)
    await post(gateway, '/createShipment.php', bookingExample)
    const { calls, names } = await countsOf(gateway, 'demo')
    expect(calls).toEqual({ 'dry-run shipment.create done': 1, 'version-1 shipment.create done': 1 })
    expect(names('used')).toMatchObject({ PickupZip: 1 })
  })
})
describe('the recorder', () => {
  const NOON = 20_000.5 * DAY_MS

  const quote = actions.get('quote.get')
  if (!quote) throw new Error('there is no quote.get')

  const call: CountedCall = {
    use: 'version-1',
    action: 'quote.get',
    outcome: DONE,
    requestId: 'r-1',
    agent: 'curl/8.5.0',
    source: '192.0.2.7',
    request: undefined,
    notes: [],
    isOtherPrice: false,
  }

  test('resends a batch whose receipt was lost; it is added once, and the loss is reported once', async () => {
    const store = createMemoryStore({ now: () => NOON })
    const errors: string[] = []
    const { promise: failed, resolve } = Promise.withResolvers<void>()
    let left = 3
    const addCounts: Store['addCounts'] = async (batch) => {
      await store.addCounts(batch)
      left -= 1
      if (left >= 0) throw new StoreDown('The connection was lost.')
    }
    const write = (line: string) => {
      const { msg, err } = JSON.parse(line)
      errors.push(`${msg}: ${err.message}`)
      resolve()
    }
    const log = createLog('warn', { write })
    const recorder = openUseCounts({ store: { ...store, addCounts }, log, instance: 'test', everyMs: 1 })
    for (let i = 0; i < 5; i += 1) recorder.count('acme', call)
    await failed
    recorder.count('acme', call)
    for (let i = 0; i < 3; i += 1) await recorder.close()
    expect(errors).toEqual(['the counts of calls could not be stored: The connection was lost.'])
    expect(await store.callCounts(['acme'], 0)).toMatchObject([{ calls: 6 }])
  })

  test('has bounds for any number of fields, tenants, agents and networks', () => {
    const counts = createCounts(() => NOON)
    const taken = () => {
      const batches = [...counts.take()]
      return { calls: batches.flatMap(({ calls }) => calls), names: batches.flatMap(({ names }) => names) }
    }
    const withFields = (...names: readonly string[]) => ({
      compiled: quote,
      fields: sortFields(
        quote.fields,
        names.map((name) => [name, 'value']),
      ),
    })
    const many = size(20_000, 100_000)
    for (let i = 0; i < many; i += 1) {
      counts.add(`tenant ${i}`, {
        ...call,
        request: withFields(`Field ${i}`, `More ${i}`, `Most ${i}`, `All ${i}`),
        agent: `agent${i}/${i}.1`,
        source: `10.${i % 250}.${Math.floor(i / 250) % 250}.1`,
      })
      counts.add('acme', { ...call, request: withFields(`Field ${i}`), agent: `agent${i}/${i}.1` })
    }
    const { calls, names } = taken()
    expect(new Set(calls.map(({ tenant }) => tenant)).size).toBe(10_001)
    expect(calls.reduce((all, count) => all + count.calls, 0)).toBe(2 * many)
    const chosen = names.filter(({ kind, name }) => ['unknown', 'agent', 'network'].includes(kind) && name !== '')
    expect(chosen).toHaveLength(50_000)
    const ofAcme = (kind: string) => names.filter((count) => count.tenant === 'acme' && count.kind === kind)
    expect(ofAcme('unknown')).toHaveLength(101)
    expect(ofAcme('agent')).toHaveLength(21)
    expect(ofAcme('unknown').reduce((all, { count }) => all + count, 0)).toBe(many)
    // Counts that were taken are not repeated, and make room for other names.
    expect(taken()).toEqual({ calls: [], names: [] })
    counts.add('acme', call)
    expect(taken().names.map(({ name }) => name)).toContain('curl/8')
  })
})

/** Promise: calls of known callers are counted once, and of strangers nothing is kept (contract, section 1). */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { sortFields } from '../../src/mapping/fields.ts'
import {
  type CountedCall,
  createCounts,
  DONE,
  NO_NAME,
  networkOf,
  productOf,
  startRecorder,
  storableName,
  storableTenant,
} from '../../src/migration/counts.ts'
import { dayText, percent, plural } from '../../src/migration/report.ts'
import { DAY_MS, type NameKind } from '../../src/store/scoreboard.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { size } from '../size.ts'
import { taken } from './taken.ts'

const { actions } = await loadMappings()

describe('a known mix', () => {
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
})

describe('the recorder', () => {
  const NOON = 20_000.5 * DAY_MS
  /** Longer than any test: batches are stored by `close` alone. */
  const NEVER_MS = 1_000_000

  const quote = actions.get('quote.get')
  if (!quote) throw new Error('there is no quote.get')

  const call = (change: Partial<CountedCall> = {}): CountedCall => ({
    use: 'version-1',
    action: 'quote.get',
    outcome: DONE,
    requestId: 'r-1',
    agent: 'curl/8.5.0',
    source: '192.0.2.7',
    request: undefined,
    notes: [],
    ...change,
  })

  const withFields = (...names: readonly string[]): CountedCall =>
    call({
      request: {
        compiled: quote,
        fields: sortFields(
          quote.fields,
          names.map((name) => [name, 'value']),
        ),
      },
    })

  function recorderOn(store: Store, errors: unknown[] = []) {
    return startRecorder({
      store,
      // Each process has another one.
      instance: crypto.randomUUID(),
      onError: (error) => errors.push(error),
      everyMs: NEVER_MS,
    })
  }

  describe('a store that fails', () => {
    /** A store that adds a batch and fails to say so, as a lost connection does. */
    function forgetful(failures: number): Store {
      const store = createMemoryStore({ now: () => NOON })
      let left = failures
      return {
        ...store,
        addCounts: async (batch) => {
          await store.addCounts(batch)
          left -= 1
          if (left >= 0) throw new StoreDown('The connection was lost.')
        },
      }
    }

    test('gets the batch again, and adds it once', async () => {
      const store = forgetful(1)
      const errors: unknown[] = []
      const { promise, resolve } = Promise.withResolvers<void>()
      const recorder = startRecorder({
        store,
        instance: 'test',
        everyMs: 1,
        onError: (error) => {
          errors.push(error)
          recorder.count('acme', call())
          resolve()
        },
      })
      for (let i = 0; i < 5; i += 1) recorder.count('acme', call())
      await promise
      await recorder.close()
      expect(errors).toHaveLength(1)
      expect(await store.callCounts(['acme'], 0)).toMatchObject([{ calls: 6 }])
    })

    test('is reported once, not with every try', async () => {
      const store = forgetful(3)
      const errors: unknown[] = []
      const recorder = startRecorder({
        store,
        instance: 'test',
        everyMs: 1,
        onError: (e) => errors.push(e),
      })
      recorder.count('acme', call())
      await expect.poll(() => store.watchedDays()).toEqual([20_000])
      await recorder.close()
      await recorder.close()
      await recorder.close()
      expect(errors).toHaveLength(1)
      expect(await store.callCounts(['acme'], 0)).toMatchObject([{ calls: 1 }])
    })

    test('does not keep a process from ending', async () => {
      const store = forgetful(Number.POSITIVE_INFINITY)
      const errors: unknown[] = []
      const recorder = recorderOn(store, errors)
      recorder.count('acme', call())
      await recorder.close()
      expect(errors).toHaveLength(1)
    })

    test('that refuses a batch for good does not get it again', async () => {
      const memory = createMemoryStore({ now: () => NOON })
      let isFirst = true
      const store: Store = {
        ...memory,
        addCounts: async (batch) => {
          if (!isFirst) return memory.addCounts(batch)
          isFirst = false
          throw new Error('The store refused a write.')
        },
      }
      const errors: unknown[] = []
      const { promise, resolve } = Promise.withResolvers<void>()
      const recorder = startRecorder({
        store,
        instance: 'test',
        everyMs: 1,
        onError: (error) => {
          errors.push(error)
          resolve()
        },
      })
      recorder.count('acme', call({ outcome: 'lost' }))
      await promise
      recorder.count('acme', call())
      await recorder.close()
      expect(await memory.callCounts(['acme'], 0)).toMatchObject([{ outcome: DONE, calls: 1 }])
      expect(errors).toHaveLength(1)
    })
  })

  describe('bounds', () => {
    test('hold for any number of fields, tenants, agents and networks', () => {
      const counts = createCounts(() => NOON)
      const many = size(20_000, 100_000)
      for (let i = 0; i < many; i += 1) {
        counts.add(`tenant ${i}`, {
          ...withFields(`Field ${i}`),
          agent: `agent${i}/${i}.1`,
          source: `10.${i % 250}.${Math.floor(i / 250) % 250}.1`,
        })
        counts.add('acme', { ...withFields(`Field ${i}`), agent: `agent${i}/${i}.1` })
      }
      const { calls, names } = taken(counts)
      expect(new Set(calls.map(({ tenant }) => tenant)).size).toBeLessThanOrEqual(10_001)
      expect(calls.reduce((all, count) => all + count.calls, 0)).toBe(2 * many)
      const chosen = names.filter(({ kind, name }) => ['unknown', 'agent', 'network'].includes(kind) && name !== '')
      expect(chosen.length).toBeLessThanOrEqual(50_000)
      const ofAcme = (kind: string) => names.filter((count) => count.tenant === 'acme' && count.kind === kind)
      expect(ofAcme('unknown').length).toBeLessThanOrEqual(101)
      expect(ofAcme('agent').length).toBeLessThanOrEqual(21)
      expect(ofAcme('unknown').reduce((all, { count }) => all + count, 0)).toBe(many)
      expect(taken(counts)).toEqual({ calls: [], names: [] })
    })
  })

  test.each([
    ['curl/8.5.0', 'curl/8'],
    ['Mozilla/5.0 (X11; Linux x86_64) Gecko', 'Mozilla/5'],
    ['PHP', 'PHP'],
    ['Java/v17.0.1', 'Java/17'],
    ['', 'none'],
    ['(odd)', 'none'],
    ['x'.repeat(1_000), `${'x'.repeat(63)}…`],
  ])('the product of %s is %s', (agent, product) => {
    expect(productOf(agent)).toBe(product)
  })

  test.each([
    ['192.0.2.77', '192.0.2.0/24'],
    ['2001:db8:1:2::/64', '2001:db8:1:2::/64'],
    ['', 'unknown'],
  ])('the network of %s is %s', (source, network) => {
    expect(networkOf(source)).toBe(network)
  })
})

describe('bounds', () => {
  const TODAY = 20_000
  const AT = (TODAY + 0.25) * DAY_MS

  const CALL: CountedCall = {
    use: 'version-1',
    action: 'quote.get',
    outcome: 'done',
    requestId: 'request-1',
    agent: 'OldShop/3.1 (PHP)',
    source: '192.0.2.17',
    request: undefined,
    notes: [],
  }

  /** Counts calls, each a second after the one before, and returns what is to be stored. */
  function counted(calls: readonly Partial<CountedCall & { readonly tenant: string }>[]) {
    let at = AT
    const counts = createCounts(() => at)
    for (const { tenant = 'acme', ...call } of calls) {
      counts.add(tenant, { ...CALL, ...call })
      at += 1_000
    }
    return taken(counts)
  }

  /** The names of a kind, each with its action, count, times after `AT` and example. */
  const namesOf = ({ names }: ReturnType<typeof counted>, kind: string) =>
    names
      .filter((name) => name.kind === kind)
      .map(({ name, action, count, firstAt, lastAt, example }) => [
        name,
        action,
        count,
        firstAt - AT,
        lastAt - AT,
        example,
      ])

  test('what was taken is not counted again', () => {
    const counts = createCounts(() => AT)
    counts.add('acme', CALL)
    expect(taken(counts).calls).toHaveLength(1)
    expect(taken(counts)).toEqual({ calls: [], names: [] })
  })

  describe('the memory is bounded', () => {
    test('for tenants: those beyond 10,000 are counted together', () => {
      const { calls } = counted([
        ...Array.from({ length: 10_002 }, (_, no) => ({ tenant: `t${no}` })),
        { tenant: 't0' },
        { tenant: 't1' },
      ])
      expect(calls).toHaveLength(10_001)
      expect(calls[0]).toMatchObject({ tenant: 't0', calls: 2 })
      expect(calls.at(-1)).toMatchObject({ tenant: NO_NAME, calls: 2 })
    })

    test('for names of each kind: those beyond twice what the store keeps are counted together', () => {
      const taken = counted(Array.from({ length: 103 }, (_, no) => ({ agent: `Agent${no}` })))
      const names = namesOf(taken, 'agent')
      expect(names.map(([name]) => name)).toEqual([...Array.from({ length: 20 }, (_, no) => `Agent${no}`), ''])
      expect(names.at(-1)?.[2]).toBe(83)
    })

    test('for names of all tenants together: those beyond 50,000 are counted together, of each tenant', () => {
      const { names } = counted(
        Array.from({ length: 5_000 }, (_, no) => ({ tenant: `t${no % 2_500}`, agent: `A${no}`, source: `${no}` })),
      )
      expect(names.filter(({ kind, name }) => kind === 'agent' && name === '')).toEqual([])
      const more = counted(
        Array.from({ length: 60_000 }, (_, no) => ({ tenant: `t${no % 6_000}`, agent: `A${no}`, source: '' })),
      ).names
      const own = more.filter(({ kind, name }) => (kind === 'agent' || kind === 'network') && name !== '')
      expect(own).toHaveLength(50_000)
    })
  })

  test('a user agent is counted as its product and major version, a source as its network', () => {
    const agents = [
      'curl/8.5.0',
      'OldShop/v3',
      'Mozilla/5.0 (X11)',
      'java',
      ' x/12345678',
      '',
      '(odd)',
      `${'y'.repeat(300)}/2`,
    ]
    expect(agents.map(productOf)).toEqual([
      'curl/8',
      'OldShop/3',
      'Mozilla/5',
      'java',
      'x/123456',
      'none',
      'none',
      `${'y'.repeat(63)}…`,
    ])
    expect(['192.0.2.17', '2001:db8::/64', ''].map(networkOf)).toEqual(['192.0.2.0/24', '2001:db8::/64', 'unknown'])
    // What is remembered is forgotten again, and found again.
    expect(Array.from({ length: 2_500 }, (_, no) => productOf(`a${no}/1`)).at(-1)).toBe('a2499/1')
    expect(productOf('curl/8.5.0')).toBe('curl/8')
  })

  test('a name is stored in a form that every store keeps', () => {
    expect(storableName('x'.repeat(64))).toBe('x'.repeat(64))
    expect(storableName('x'.repeat(65))).toBe(`${'x'.repeat(63)}…`)
    expect(storableTenant('x'.repeat(256))).toBe('x'.repeat(256))
    expect(storableTenant('x'.repeat(257))).toBe(`${'x'.repeat(255)}…`)
    expect(storableName('a\0b\ud800')).toBe('a�b�')
  })

  test('the words of a report', () => {
    expect([0, 1, 2].map((count) => plural(count, 'call'))).toEqual(['0 calls', '1 call', '2 calls'])
    expect([0, 0.0421, 1 / 3, 1].map(percent)).toEqual(['0 %', '4.2 %', '33.3 %', '100 %'])
    expect(dayText(20_000)).toBe('2024-10-04')
  })
})

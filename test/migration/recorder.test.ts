import { describe, expect, test } from 'vitest'
import { loadMappings } from '../../src/config/mappings.ts'
import { sortFields } from '../../src/mapping/fields.ts'
import {
  type CountedCall,
  createCounts,
  DONE,
  networkOf,
  productOf,
  startRecorder,
} from '../../src/migration/counts.ts'
import { DAY_MS } from '../../src/store/scoreboard.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import { size } from '../size.ts'
import { taken } from './taken.ts'

const NOON = 20_000.5 * DAY_MS
/** Longer than any test: batches are stored by `close` alone. */
const NEVER_MS = 1_000_000

const { actions } = await loadMappings()
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

import { expect, test } from 'vitest'
import { createStatusCache } from '../../src/calls/status-cache.ts'
import type { Account } from '../../src/service/account.ts'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const OTHER_ID = '00000000-0000-4000-8000-00000000000a'
const MINUTE_MS = 60_000
/** More than the cache keeps in bytes, as characters. */
const TOO_LARGE = 9 * 1024 * 1024

// The cache compares accounts, and reads nothing of them.
const [one, other] = [{ tenant: 'one' }, { tenant: 'other' }] as unknown as readonly [Account, Account]

function cacheWith(...ids: readonly string[]) {
  const cache = createStatusCache(MINUTE_MS)
  for (const id of ids) {
    const reading = cache.begin(id, one)
    reading.keep({ id }, 100)
    reading.end()
  }
  return cache
}

test('a shipment is found in any case, by the account that it was shown to', () => {
  const cache = cacheWith(ID)
  expect(cache.find(ID.toUpperCase(), one)).toEqual({ id: ID })
  expect(cache.find(ID, other)).toBeUndefined()
  expect(cache.find(OTHER_ID, one)).toBeUndefined()
  expect(cacheWith(ID.toUpperCase()).find(ID, one)).toEqual({ id: ID.toUpperCase() })
})

test('every answer is counted by its source', async () => {
  const cache = cacheWith(ID)
  for (const account of [one, one, other]) cache.find(ID, account)
  const { name, help } = cache.metric
  expect([name, help]).toEqual(['transload_status_cache_total', 'Reads of shipments by source of the answer.'])
  expect(await cache.metric.get()).toMatchObject({
    values: [
      { labels: { answer: 'cache' }, value: 2 },
      { labels: { answer: 'service' }, value: 1 },
    ],
  })
})

test('a shipment is dropped by its id, in any case, and others stay', () => {
  const cache = cacheWith(ID, OTHER_ID)
  cache.drop(ID.toUpperCase())
  expect(cache.find(ID, one)).toBeUndefined()
  expect(cache.find(OTHER_ID, one)).toEqual({ id: OTHER_ID })
})

test.each(['TL-1', `x${ID}`, `${ID}x`, ID.slice(1)])('by the number %s, any shipment may be meant', (number) => {
  const cache = cacheWith(ID, OTHER_ID)
  const reading = cache.begin('a-third', one)
  cache.drop(number)
  reading.keep({}, 100)
  for (const id of [ID, OTHER_ID, 'a-third']) expect(cache.find(id, one)).toBeUndefined()
})

test('what was read before a change is not kept', () => {
  const cache = cacheWith()
  const [first, second, another] = [cache.begin(ID, one), cache.begin(ID, other), cache.begin(OTHER_ID, one)]
  cache.drop(ID)
  const afterwards = cache.begin(ID, one)
  first.keep({ is: 'old' }, 100)
  first.end()
  second.keep({ is: 'old' }, 100)
  expect(cache.find(ID, one)).toBeUndefined()
  expect(cache.find(ID, other)).toBeUndefined()
  afterwards.keep({ is: 'new' }, 100)
  another.keep({ is: 'another' }, 100)
  expect(cache.find(ID, one)).toEqual({ is: 'new' })
  expect(cache.find(OTHER_ID, one)).toEqual({ is: 'another' })
})

test('a reading that has ended does not hide one that goes on', () => {
  const cache = cacheWith()
  const [ended, underWay] = [cache.begin(ID, one), cache.begin(ID, one)]
  ended.end()
  ended.end()
  cache.drop(ID)
  underWay.keep({}, 100)
  expect(cache.find(ID, one)).toBeUndefined()
})

test('an empty reply may be kept, and one that is too large may not', () => {
  const cache = cacheWith()
  cache.begin(ID, one).keep('empty', 0)
  cache.begin(OTHER_ID, one).keep('large', TOO_LARGE)
  expect(cache.find(ID, one)).toBe('empty')
  expect(cache.find(OTHER_ID, one)).toBeUndefined()
})

import { describe, expect, test } from 'vitest'
import { thingKey } from '../../src/store/cache.ts'
import { createNotifiedCache, notificationsOf } from '../../src/store/postgres/cache.ts'
import { thing } from './samples.ts'

/** A cache of one thing, and a read of it that the test answers. */
function openCache() {
  const cache = createNotifiedCache(undefined)
  const key = thingKey('acme', 'id-1')
  const entry = cache.thingEntry('acme', 'id-1')
  const read = () => {
    const answer = Promise.withResolvers<ReturnType<typeof thing> | undefined>()
    let asked = false
    const found = cache.read(key, entry, () => {
      asked = true
      return answer.promise
    })
    return { found, asked: () => asked, answer }
  }
  /** Reads once more: what the cache has, or `asks`. */
  const cached = async () => {
    const again = read()
    again.answer.resolve(undefined)
    const found = await again.found
    return again.asked() ? 'asks' : found?.own
  }
  return { cache, key, read, cached }
}

const own = (text: string) => thing({ own: text })

describe('a read of PostgreSQL', () => {
  test('is kept, and answers the next one', async () => {
    const { read, cached, cache } = openCache()
    const first = read()
    first.answer.resolve(own('A'))
    expect((await first.found)?.own).toBe('A')
    expect(await cached()).toBe('A')
    expect(cache.lookups()).toEqual({ hits: 1, misses: 1 })
  })

  test.each([
    ['of its key', (cache: ReturnType<typeof openCache>) => cache.cache.notified(cache.key)],
    ['of several keys', (cache: ReturnType<typeof openCache>) => cache.cache.notified(`t3:xyz\n${cache.key}`)],
    ['of everything', (cache: ReturnType<typeof openCache>) => cache.cache.notified('*')],
    ['that the connection is lost', (cache: ReturnType<typeof openCache>) => cache.cache.dropAll()],
    ['of an own write', (cache: ReturnType<typeof openCache>) => cache.cache.drop(cache.key)],
  ])('that is overtaken by a notice %s is answered and not kept', async (_, notice) => {
    const opened = openCache()
    const { read, cached } = opened
    const slow = read()
    notice(opened)
    slow.answer.resolve(own('old'))
    expect((await slow.found)?.own).toBe('old')
    expect(await cached()).toBe('asks')
  })

  test('is kept in spite of a notice of another key', async () => {
    const { cache, read, cached } = openCache()
    const slow = read()
    cache.notified('t4:acmeid-2')
    slow.answer.resolve(own('A'))
    await slow.found
    expect(await cached()).toBe('A')
  })

  test('that began before another one of its key does not replace its result', async () => {
    const { read, cached } = openCache()
    const [older, newer] = [read(), read()]
    newer.answer.resolve(own('new'))
    await newer.found
    older.answer.resolve(own('old'))
    expect((await older.found)?.own).toBe('old')
    expect(await cached()).toBe('new')
  })

  test('after a notice is kept, even while the one before it still runs', async () => {
    const { cache, key, read, cached } = openCache()
    const older = read()
    cache.notified(key)
    const newer = read()
    older.answer.resolve(own('old'))
    await older.found
    newer.answer.resolve(own('new'))
    await newer.found
    expect(await cached()).toBe('new')
  })

  test('that fails keeps nothing, and does not stand in the way of the next', async () => {
    const { read, cached } = openCache()
    const failing = read()
    failing.answer.reject(new Error('gone'))
    await expect(failing.found).rejects.toThrow('gone')
    expect(await cached()).toBe('asks')
    const next = read()
    next.answer.resolve(own('A'))
    await next.found
    expect(await cached()).toBe('A')
  })

  test('of what is not there keeps nothing', async () => {
    const { read, cached } = openCache()
    const nothing = read()
    nothing.answer.resolve(undefined)
    expect(await nothing.found).toBeUndefined()
    expect(await cached()).toBe('asks')
  })

  test('is dropped by a later notice', async () => {
    const { cache, key, read, cached } = openCache()
    const first = read()
    first.answer.resolve(own('A'))
    await first.found
    cache.notified(key)
    expect(await cached()).toBe('asks')
  })
})

describe('the notices of a write', () => {
  const MOST_BYTES = 7_900
  const ofIds = (...ids: readonly string[]) => notificationsOf(ids.map((id) => ({ tenant: 'a', id })))
  const PREFIX = thingKey('a', '').length

  test('name each thing once', () => {
    expect(ofIds()).toEqual([])
    expect(ofIds('1', '2', '1')).toEqual([`${thingKey('a', '1')}\n${thingKey('a', '2')}`])
  })

  test('are as few as fit, and none is longer than PostgreSQL takes', () => {
    const half = 'x'.repeat(MOST_BYTES / 2 - PREFIX - 1)
    const fits = [`${half}1`.slice(1), `${half}2`]
    expect(ofIds(...fits).map((payload) => Buffer.byteLength(payload))).toEqual([MOST_BYTES])
    expect(ofIds(`${half}1`, `${half}22`)).toHaveLength(2)
    const many = ofIds(...Array.from({ length: 2_000 }, (_, i) => `id-${i}`))
    for (const payload of many) expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(MOST_BYTES)
    expect(many.flatMap((payload) => payload.split('\n'))).toHaveLength(2_000)
  })

  test.each([
    ['with a line break', 'a\nb'],
    ['that is too long', 'x'.repeat(MOST_BYTES)],
    ['that is too long in bytes', 'ü'.repeat(MOST_BYTES / 2)],
  ])('are one of everything where there is an id %s', (_, id) => {
    expect(ofIds('1', id, '2')).toEqual(['*'])
  })

  test('of the longest id that fits name it', () => {
    const longest = 'x'.repeat(MOST_BYTES - PREFIX)
    expect(ofIds(longest)).toEqual([thingKey('a', longest)])
  })
})

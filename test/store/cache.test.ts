import { describe, expect, test } from 'vitest'
import { createCache, linksKey, thingKey } from '../../src/store/cache.ts'
import { link, thing } from './samples.ts'

describe('the cache', () => {
  test('keeps an entry until it is removed', () => {
    const cache = createCache()
    cache.keepLinks('acme', 'Q-1', [link()])
    cache.keepThing(thing())
    expect(cache.links('acme', 'Q-1')).toEqual([link()])
    expect(cache.thing('acme', 'id-1')).toEqual(thing())
    cache.drop(linksKey('acme', 'Q-1'))
    expect(cache.links('acme', 'Q-1')).toBeUndefined()
    cache.drop(thingKey('acme', 'id-1'))
    expect(cache.thing('acme', 'id-1')).toBeUndefined()
  })

  test('never keeps that there is nothing', () => {
    const cache = createCache()
    cache.keepLinks('acme', 'Q-1', [])
    expect(cache.links('acme', 'Q-1')).toBeUndefined()
  })

  test('distinguishes tenants, names and things, even if their texts join to the same text', () => {
    const keys = [
      linksKey('a', 'bc'),
      linksKey('ab', 'c'),
      linksKey('', 'abc'),
      linksKey('1:a', 'b'),
      linksKey('1', ':ab'),
      thingKey('a', 'bc'),
    ]
    expect(new Set(keys).size).toBe(keys.length)
  })

  test('holds about as many bytes as configured, and nothing with 0', () => {
    const BYTES = 100_000
    const cache = createCache(BYTES)
    const names = Array.from({ length: 1_000 }, (_, index) => `N-${index}`)
    for (const name of names) cache.keepLinks('acme', name, [link({ name })])
    const kept = names.filter((name) => cache.links('acme', name) !== undefined)
    expect(kept.length).toBeGreaterThan(50)
    expect(kept.length).toBeLessThan(300)
    expect(kept.at(-1)).toBe('N-999')
    const none = createCache(0)
    none.keepThing(thing())
    expect(none.thing('acme', 'id-1')).toBeUndefined()
  })
})

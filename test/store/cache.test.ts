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

  test('returns an entry only if it is current, and asks only where there is one', () => {
    const cache = createCache()
    let asked = 0
    const is = (current: boolean) => () => {
      asked += 1
      return current
    }
    expect([cache.links('acme', 'Q-1', is(true)), cache.thing('acme', 'id-1', is(true)), asked]).toEqual([
      ...[undefined, undefined, 0],
    ])
    cache.keepLinks('acme', 'Q-1', [link()])
    cache.keepThing(thing())
    expect([cache.links('acme', 'Q-1', is(false)), cache.thing('acme', 'id-1', is(false)), asked]).toEqual([
      ...[undefined, undefined, 2],
    ])
    expect([cache.links('acme', 'Q-1', is(true)), cache.thing('acme', 'id-1', is(true))]).toEqual([[link()], thing()])
    expect(cache.lookups()).toEqual({ hits: 2, misses: 4 })
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

  test('counts the text of an entry, and about what its objects take', () => {
    const keepLinks = (bytes: number) => {
      const cache = createCache(bytes)
      cache.keepLinks('acme', 'Q-1', [link(), link({ kind: 'shipment' })])
      return cache.links('acme', 'Q-1') !== undefined
    }
    expect([keepLinks(300 + 3 + 2 * 150 + 126 + 129), keepLinks(300 + 3 + 2 * 150 + 126 + 129 - 1)]).toEqual([
      true,
      false,
    ])
    const keepThing = (bytes: number) => {
      const cache = createCache(bytes)
      cache.keepThing(thing())
      return cache.thing('acme', 'id-1') !== undefined
    }
    expect([keepThing(300 + 150 + 75 + 82), keepThing(300 + 150 + 75 + 82 - 1)]).toEqual([true, false])
  })

  test('holds sixteen mebibytes by default', () => {
    const MIB = 1024 * 1024
    const cache = createCache()
    const big = (id: string) => thing({ id, own: 'x'.repeat(MIB - 1_000) })
    const kept = (count: number) => {
      for (let i = 0; i < count; i += 1) cache.keepThing(big(`id-${i}`))
      return cache.thing('acme', 'id-0') !== undefined
    }
    expect(kept(16)).toBe(true)
    expect(kept(17)).toBe(false)
  })

  test('counts the look-ups that found something, and those that did not', () => {
    const cache = createCache()
    expect(cache.lookups()).toEqual({ hits: 0, misses: 0 })
    cache.links('acme', 'Q-1')
    cache.thing('acme', 'id-1')
    cache.keepThing(thing())
    cache.thing('acme', 'id-1')
    cache.keepLinks('acme', 'Q-1', [link()])
    for (const _ of [1, 2]) cache.links('acme', 'Q-1')
    expect(cache.lookups()).toEqual({ hits: 3, misses: 2 })
    cache.clear()
    cache.thing('acme', 'id-1')
    expect(cache.lookups()).toEqual({ hits: 3, misses: 3 })
  })

  test('keeps a thing without facts', () => {
    const cache = createCache()
    cache.keepThing(thing({ facts: null }))
    expect(cache.thing('acme', 'id-1')?.facts).toBeNull()
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

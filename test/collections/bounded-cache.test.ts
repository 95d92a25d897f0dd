import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBoundedCache } from '../../src/collections/bounded-cache.ts'

test('a bounded cache keeps the entries that were used last', () => {
  const uses = fc.array(fc.record({ key: fc.nat({ max: 9 }), sets: fc.boolean() }), { maxLength: 60 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), uses, (most, steps) => {
      const cache = createBoundedCache<number, number>(most)
      /** The entry that was used last comes last. */
      let model: (readonly [key: number, value: number])[] = []
      for (const [step, { key, sets }] of steps.entries()) {
        const before = model.find(([known]) => known === key)
        if (sets) cache.set(key, step)
        else expect(cache.get(key)).toBe(before?.[1])
        const now = sets ? ([key, step] as const) : before
        if (now) model = [...model.filter(([known]) => known !== key), now].slice(-most)
      }
      expect([...cache.entries()].reverse()).toEqual(model)
    }),
  )
})

test('an entry of a bounded cache ends with its time', () => {
  const cache = createBoundedCache<string, string>(2, { ttl: 60_000 })
  cache.set('key', 'value')
  expect(cache.getRemainingTTL('key')).toBeGreaterThan(59_000)
  expect(createBoundedCache<string, string>(2).set('key', 'value').getRemainingTTL('key')).toBe(
    Number.POSITIVE_INFINITY,
  )
})

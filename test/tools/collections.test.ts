/** Promise: lists, caches and locks keep what they were given. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBoundedCache, createKeyedMutex, createUnorderedList } from '../../src/tools/collections.ts'

test('a list holds what was added and not taken', () => {
  const { add, take, size, items } = createUnorderedList<string>()
  const [a, b, c] = [add('a'), add('b'), add('c')]
  expect([size(), items()]).toEqual([3, ['a', 'b', 'c']])
  take(a)
  expect([size(), items()]).toEqual([2, ['c', 'b']])
  take(a)
  expect(items()).toEqual(['c', 'b'])
  take(b)
  take(c)
  expect([size(), items()]).toEqual([0, []])
  take(c)
  add('d')
  expect(items()).toEqual(['d'])
})

test('items may be taken while the list is read', () => {
  const { add, take, items } = createUnorderedList<string>()
  const held = ['a', 'b', 'c'].map(add)
  const seen: string[] = []
  for (const item of items()) {
    seen.push(item)
    for (const one of held) take(one)
  }
  expect(seen).toEqual(['a', 'b', 'c'])
})

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

/** Work that begins when the mutex lets it, and ends when the test does. */
function worksOf() {
  const mutex = createKeyedMutex()
  const begun: string[] = []
  const start = (key: string, name: string) => {
    const held = Promise.withResolvers<string>()
    const done = mutex(key, () => {
      begun.push(name)
      return held.promise
    })
    return { ...held, done }
  }
  return { begun, start }
}

test('work of one key is in sequence, also where some comes while other work waits; other keys do not wait', async () => {
  const { begun, start } = worksOf()
  const first = start('a', 'first')
  const second = start('a', 'second')
  const other = start('b', 'other')
  other.resolve('o')
  expect(await other.done).toBe('o')
  expect(begun).toEqual(['first', 'other'])
  first.resolve('1')
  expect(await first.done).toBe('1')
  const third = start('a', 'third')
  const last = start('c', 'last')
  last.resolve('l')
  await last.done
  expect(begun).toEqual(['first', 'other', 'second', 'last'])
  second.resolve('2')
  third.resolve('3')
  expect([await second.done, await third.done]).toEqual(['2', '3'])
  expect(begun.at(-1)).toBe('third')
})

test('work that fails rejects for itself alone', async () => {
  const { start } = worksOf()
  const [first, second] = [start('a', 'first'), start('a', 'second')]
  second.resolve('2')
  first.reject(new Error('no'))
  await expect(first.done).rejects.toThrow('no')
  expect(await second.done).toBe('2')
})

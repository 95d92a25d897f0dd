/** Promise: lists, caches and locks keep what they were given. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createBoundedCache, createKeyedMutex, createUnorderedList } from '../../src/runtime/collections.ts'

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
  const cache = createBoundedCache<string, number>(2)
  for (const [no, key] of ['a', 'b'].entries()) cache.set(key, no)
  cache.get('a')
  cache.set('c', 2)
  expect([...cache.entries()]).toEqual([
    ['c', 2],
    ['a', 0],
  ])
})

test('work of one key is in sequence, after work that fails, and where more comes while other work waits', async () => {
  const mutex = createKeyedMutex()
  const begun: string[] = []
  const start = (name: string) => {
    const held = Promise.withResolvers<void>()
    const work = () => {
      begun.push(name)
      return held.promise
    }
    return { ...held, done: mutex('key', work) }
  }
  const [first, second] = [start('first'), start('second')]
  first.reject(new Error('no'))
  await expect(first.done).rejects.toThrow('no')
  const third = start('third')
  await nextTurn()
  expect(begun).toEqual(['first', 'second'])
  second.resolve()
  third.resolve()
  await Promise.all([second.done, third.done])
  expect(begun).toEqual(['first', 'second', 'third'])
})

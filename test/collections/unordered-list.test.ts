import { expect, test } from 'vitest'
import { createUnorderedList } from '../../src/collections/unordered-list.ts'

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

import { expect, test } from 'vitest'
import { endOfStep, keyOfPlace, oldestOf, placeOf, rowsOf } from '../../src/store/pruning.ts'

const row = (at: number) => ({ at, place: `after ${at}` })

test('a step over claims looks at fifty rows, and one over another table at two hundred', () => {
  const tables = ['claims', 'audit', 'links', 'things', 'uses', 'instances'] as const
  expect(tables.map(rowsOf)).toEqual([50, 200, 200, 200, 200, 200])
})

test('a step ends with its numbers, the oldest row that stays, and the place of the next one', () => {
  const rows = [row(5), row(3), row(8)]
  expect(endOfStep(rows, [row(5), row(3)], 3)).toEqual({ looked: 3, pruned: 1, oldest: 3, next: 'after 8' })
  expect(endOfStep(rows, [], 3)).toEqual({ looked: 3, pruned: 3, oldest: undefined, next: 'after 8' })
  // Fewer than it looks at: they are the last ones.
  expect(endOfStep(rows, rows, 4)).toEqual({ looked: 3, pruned: 0, oldest: 3, next: undefined })
  expect(endOfStep([], [], 4)).toEqual({ looked: 0, pruned: 0, oldest: undefined, next: undefined })
})

test('a place is read as it was written, and without one a step begins at the first row', () => {
  expect(keyOfPlace(placeOf(5, 'Q-1', 2, ''), [-1, '', -1, ''])).toEqual([5, 'Q-1', 2, ''])
  expect(keyOfPlace(undefined, [-1])).toEqual([-1])
})

test('the oldest of no rows is none', () => {
  expect([oldestOf([]), oldestOf([row(7)]), oldestOf([row(7), row(2), row(9)])]).toEqual([undefined, 7, 2])
})

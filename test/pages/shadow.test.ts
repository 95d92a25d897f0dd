import { expect, test } from 'vitest'
import { readShadow } from '../../src/pages/shadow.ts'
import { createMemoryStore } from '../../src/store/memory.ts'
import { DAY_MS } from '../../src/store/scoreboard.ts'

const DAY = 20_000

test('the fields of all days are added up, those that differ most first', async () => {
  const store = createMemoryStore({ now: () => DAY * DAY_MS })
  const count = (field: string, differs: number, day = DAY) => ({
    day,
    action: 'quote.get',
    field,
    equal: 1,
    differs,
    noise: 0,
  })
  const fields = [count('A', 2, DAY - 1), count('A', 2), count('B', 1), count('C', 9), count('D', 0), count('E', 5)]
  await store.addComparisons({ instance: 'g1', no: 1, fields, differences: [] })
  const shown = await readShadow(store)
  expect(shown?.fields.map(({ field, differs }) => [field, differs])).toEqual([
    ['C', 9],
    ['E', 5],
    ['A', 4],
    ['B', 1],
    ['D', 0],
  ])
})

import { expect, test } from 'vitest'
import { readShadow, shadowSection } from '../../src/pages/shadow.ts'
import type { Difference, FieldCount } from '../../src/store/comparisons.ts'
import { createMemoryStore } from '../../src/store/memory.ts'
import { DAY_MS } from '../../src/store/scoreboard.ts'

const TODAY = 20_000
const OLDEST = TODAY - 6

const count = (day: number, field: string, equal: number, differs: number, noise = 0): FieldCount => ({
  day,
  action: 'quote.get',
  field,
  equal,
  differs,
  noise,
})

const difference = (at: number, more: Partial<Difference> = {}): Difference => ({
  action: 'quote.get',
  field: 'Price',
  native: '9.99',
  translated: '9',
  requestId: 'r-1',
  at,
  ...more,
})

async function shown(fields: readonly FieldCount[], differences: readonly Difference[] = []) {
  const store = createMemoryStore({ now: () => (TODAY + 0.5) * DAY_MS })
  await store.addComparisons({ instance: 'test', no: 1, fields, differences })
  const shadow = await readShadow(store)
  return { shadow, page: String(shadowSection(shadow)) }
}

test('the counts of seven days are added up by field, those that differ most first', async () => {
  const { shadow, page } = await shown([
    count(OLDEST - 1, 'Price', 100, 100),
    count(OLDEST, 'Status', 1, 0, 2),
    count(OLDEST, 'Price', 1, 1, 1),
    count(TODAY, 'Price', 2, 3, 4),
  ])
  expect(shadow).toEqual({
    days: 7,
    fields: [
      { action: 'quote.get', field: 'Price', equal: 3, differs: 4, noise: 5 },
      { action: 'quote.get', field: 'Status', equal: 1, differs: 0, noise: 2 },
    ],
    differences: [],
  })
  expect(page).toContain('In the last 7 days, 50 % of the compared fields were equal.')
  expect(page).not.toContain('Differences, the newest first')
})

test('the differences of seven days are shown, with what is absent', async () => {
  const at = OLDEST * DAY_MS
  const { shadow, page } = await shown(
    [count(TODAY, 'Price', 0, 3)],
    [
      difference(at - 1, { requestId: 'too-old' }),
      difference(at, { native: '', requestId: 'r-1' }),
      difference(at + 1_000, { translated: '', requestId: 'r-2' }),
    ],
  )
  expect(shadow?.differences.map(({ requestId, at: when }) => [requestId, when])).toEqual([
    ['r-2', new Date(at + 1_000).toISOString()],
    ['r-1', new Date(at).toISOString()],
  ])
  const codes = [...page.matchAll(/<code>([^<]*)<\/code>/g)].map(([, code]) => code)
  expect(codes).toEqual(['9.99', 'absent', 'absent', '9'])
})

test('thirty differences are shown at most', async () => {
  const many = Array.from({ length: 40 }, (_, i) => difference(TODAY * DAY_MS + i, { field: `F${i % 4}` }))
  expect((await shown([count(TODAY, 'Price', 0, 40)], many)).shadow?.differences).toHaveLength(30)
})

test('noise alone is no comparable field, and without comparisons nothing is shown', async () => {
  expect((await shown([count(TODAY, 'Price', 0, 0, 1)])).page).toContain('In the last 7 days, no field was comparable.')
  expect((await shown([])).page).toBe('')
})

test('the fields that differ most come first, whatever their order in the store', async () => {
  const differing = { A: 4, B: 1, C: 9, D: 0, E: 5 }
  const { shadow } = await shown(Object.entries(differing).map(([field, differs]) => count(TODAY, field, 1, differs)))
  expect(shadow?.fields.map(({ field }) => field)).toEqual(['C', 'E', 'A', 'B', 'D'])
})

import { expect, onTestFinished, test, vi } from 'vitest'
import { quoteGet } from '../../mappings/quote-get.ts'
import type { ComparedField } from '../../src/compare/answers.ts'
import { comparisonsOf } from '../../src/compare/same.ts'
import { createBudget } from '../../src/shadow/budget.ts'
import { startShadowRecorder } from '../../src/shadow/recorder.ts'
import type { Difference } from '../../src/store/comparisons.ts'
import { createMemoryStore } from '../../src/store/memory.ts'
import { DAY_MS } from '../../src/store/scoreboard.ts'
import { StoreDown } from '../../src/store/store.ts'

const DAY = 20_000
const PATIENCE_MS = 10_000

const field = (name: string, verdict: ComparedField['verdict']): ComparedField => ({
  field: name,
  verdict,
  native: 'a',
  translated: 'aa',
})

function startRecorder(failures: readonly Error[] = []) {
  let at = DAY * DAY_MS
  const store = createMemoryStore({ now: () => at })
  const left = [...failures]
  const told: Difference[] = []
  const dropped: number[] = []
  const errors: unknown[] = []
  const recorder = startShadowRecorder({
    store: {
      ...store,
      addComparisons: async (batch) => {
        const failure = left.shift()
        // The outage strikes after the commit, and before its acknowledgment.
        if (failure instanceof StoreDown) await store.addComparisons(batch)
        if (failure) throw failure
        await store.addComparisons(batch)
      },
      dropComparisons: async (beforeDay) => {
        dropped.push(beforeDay)
        await store.dropComparisons(beforeDay)
      },
    },
    instance: 'g1',
    keptDays: 2,
    everyMs: 5,
    onFirst: (difference) => void told.push(difference),
    onError: (error) => void errors.push(error),
  })
  onTestFinished(() => recorder.close())
  const pass = (days: number) => {
    at += days * DAY_MS
  }
  return { store, recorder, told, dropped, errors, pass }
}

test('results add up by field, and the first difference of each field is told', async () => {
  const { store, recorder, told, errors } = startRecorder()
  recorder.add(quoteGet, 'r1', [field('Cost', 'differs'), field('ShipmentNumber', 'equal')])
  recorder.add(quoteGet, 'r2', [field('Cost', 'differs'), field('ShipmentNumber', 'noise')])
  recorder.add(quoteGet, 'r3', [field('X-1', 'differs'), field('X-2', 'equal')])
  await recorder.close()
  expect(await store.comparedFields(DAY)).toEqual([
    { day: DAY, action: 'quote.get', field: '(other field)', equal: 1, differs: 1, noise: 0 },
    { day: DAY, action: 'quote.get', field: 'Cost', equal: 0, differs: 2, noise: 0 },
    { day: DAY, action: 'quote.get', field: 'ShipmentNumber', equal: 1, differs: 0, noise: 1 },
  ])
  expect((await store.differences()).map(({ requestId }) => requestId)).toEqual(['r3', 'r2', 'r1'])
  expect(told.map(({ requestId }) => requestId)).toEqual(['r1', 'r3'])
  expect(errors).toEqual([])
})

test('an outage loses nothing and counts nothing twice; it is told once', async () => {
  const outages = [new StoreDown('the disk is full'), new StoreDown('the disk is full')]
  const { store, recorder, errors } = startRecorder(outages)
  recorder.add(quoteGet, 'r1', [field('Cost', 'differs')])
  await vi.waitFor(() => expect(errors).toHaveLength(1), PATIENCE_MS)
  recorder.add(quoteGet, 'r2', [field('Cost', 'differs')])
  await vi.waitFor(async () => expect(await store.differences()).toHaveLength(2), PATIENCE_MS)
  expect(await store.comparedFields(DAY)).toMatchObject([{ differs: 2 }])
  expect(errors).toHaveLength(1)
})

test('a batch that the store refuses is lost, and the next one is not', async () => {
  const { store, recorder, errors } = startRecorder([new Error('refused')])
  recorder.add(quoteGet, 'r1', [field('Cost', 'differs')])
  await vi.waitFor(() => expect(errors).toHaveLength(1), PATIENCE_MS)
  recorder.add(quoteGet, 'r2', [field('Cost', 'equal')])
  await recorder.close()
  expect(await store.comparedFields(DAY)).toMatchObject([{ equal: 1, differs: 0 }])
})

test('results are dropped after the days that they are kept', async () => {
  const { store, recorder, dropped, pass } = startRecorder()
  recorder.add(quoteGet, 'r1', [field('Cost', 'differs')])
  await vi.waitFor(async () => expect(await store.differences()).toHaveLength(1), PATIENCE_MS)
  pass(3)
  await vi.waitFor(async () => expect(await store.differences()).toEqual([]), PATIENCE_MS)
  expect(await store.comparedFields(0)).toEqual([])
  recorder.add(quoteGet, 'r2', [field('Cost', 'equal')])
  await recorder.close()
  // Once a day is enough.
  expect(dropped).toEqual([DAY - 2, DAY + 1])
})

test('two hundred differences wait to be stored at most, and all are counted', async () => {
  const { store, recorder, told } = startRecorder()
  const fields = [...comparisonsOf(quoteGet.reply).keys(), 'Another'].map((name) => field(name, 'differs'))
  const rounds = Math.ceil(250 / fields.length)
  for (let no = 0; no < rounds; no += 1) recorder.add(quoteGet, `r${no}`, fields)
  await recorder.close()
  const counts = await store.comparedFields(DAY)
  expect(counts.map(({ differs }) => differs)).toEqual(fields.map(() => rounds))
  expect(told.map(({ requestId }) => requestId)).toEqual(fields.map(() => 'r0'))
  const last = Math.max(...(await store.differences()).map(({ requestId }) => Number(requestId.slice(1))))
  expect(last).toBe(Math.ceil(200 / fields.length) - 1)
})

test('a budget admits so many a second, and no more after a long pause', () => {
  let now = 0
  const admits = createBudget(3, () => now)
  const admitted = () => Array.from({ length: 10 }, admits).filter(Boolean).length
  expect(admitted()).toBe(3)
  now = 500
  expect(admitted()).toBe(1)
  now = 1_000
  expect(admitted()).toBe(2)
  now = 3_600_000
  expect(admitted()).toBe(3)
})

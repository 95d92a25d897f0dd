import { expect, test } from 'vitest'
import { pruneRound, type TableRound, unhurried } from '../../src/pruning/round.ts'
import type { PruneStep, PruneStepEnd, Pruning } from '../../src/store/pruning.ts'

const TABLES = ['claims', 'audit', 'links', 'things', 'uses', 'instances']
const LAST: PruneStepEnd = { looked: 0, pruned: 0, oldest: undefined, next: undefined }

/** A store whose links take three steps. */
function open() {
  const steps: PruneStep[] = []
  const rounds: object[] = []
  const ofLinks: readonly PruneStepEnd[] = [
    { looked: 200, pruned: 150, oldest: 50, next: 'a' },
    { looked: 200, pruned: 0, oldest: 20, next: 'b' },
    { looked: 7, pruned: 7, oldest: undefined, next: undefined },
  ]
  const store: Pruning = {
    noteUses: () => expect.fail('no use is noted'),
    prune: async (step) => {
      steps.push(step)
      return step.table === 'links' ? (ofLinks[[undefined, 'a', 'b'].indexOf(step.after)] ?? LAST) : LAST
    },
    endRound: async (round) => void rounds.push(round),
    rounds: () => expect.fail('no round is read'),
    size: () => expect.fail('no size is read'),
  }
  return { steps, rounds, store }
}

const none = (table: string) => ({ table, rows: 0, oldest: undefined })

test('a round goes over every table step by step, and records its end and its oldest row', async () => {
  const { steps, rounds, store } = open()
  const done: TableRound[] = []
  const result = await pruneRound(store, { olderThanMs: 9, onStep: (step) => done.push(step) })
  expect(steps.map(({ table, after }) => [table, after])).toEqual([
    ['claims', undefined],
    ['audit', undefined],
    ['links', undefined],
    ['links', 'a'],
    ['links', 'b'],
    ['things', undefined],
    ['uses', undefined],
    ['instances', undefined],
  ])
  expect(steps.every(({ olderThanMs, dryRun }) => olderThanMs === 9 && dryRun === false)).toBe(true)
  expect(rounds).toEqual(TABLES.map((table) => (table === 'links' ? { table, rows: 250, oldest: 20 } : none(table))))
  expect(done.filter(({ table }) => table === 'links')).toEqual([
    { table: 'links', looked: 200, pruned: 150, oldest: 50 },
    { table: 'links', looked: 400, pruned: 150, oldest: 20 },
    { table: 'links', looked: 407, pruned: 157, oldest: 20 },
  ])
  expect(result?.map(({ table, pruned }) => [table, pruned])).toEqual(
    TABLES.map((table) => [table, table === 'links' ? 157 : 0]),
  )
})

test('a dry run asks for no deletion, and records nothing', async () => {
  const { steps, rounds, store } = open()
  await pruneRound(store, { olderThanMs: 9, dryRun: true })
  expect(steps.every(({ dryRun }) => dryRun)).toBe(true)
  expect(rounds).toEqual([])
})

test('a round that is stopped ends before its next step, and its table is not recorded', async () => {
  const { steps, rounds, store } = open()
  expect(await pruneRound(store, { olderThanMs: 9, mayGoOn: () => steps.length < 4 })).toBeUndefined()
  expect(steps).toHaveLength(4)
  expect(rounds).toEqual([none('claims'), none('audit')])
})

test('a round pauses between the steps of a table, with the time of the step and what it deleted', async () => {
  const { store } = open()
  const pauses: (readonly [number, number])[] = []
  await pruneRound(store, { olderThanMs: 9, pause: async (tookMs, pruned) => pauses.push([tookMs, pruned]) })
  expect(pauses.map(([, pruned]) => pruned)).toEqual([150, 0])
  for (const [tookMs] of pauses) expect(tookMs).toBeLessThan(1_000)
  for (const [tookMs] of pauses) expect(tookMs).toBeGreaterThanOrEqual(0)
})

test.each([
  [1, 0, 4],
  [0.1, 0, 2],
  [1, 1, 20],
  [3, 1, 30],
])('after a step of %d ms that deleted %i rows, a round waits %i ms', async (tookMs, pruned, waitMs) => {
  const begun = performance.now()
  await unhurried(tookMs, pruned)
  const passed = performance.now() - begun
  // Node's timers may be a millisecond early.
  expect(passed).toBeGreaterThan(waitMs - 1.5)
})

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/observe/log.ts'
import { pruneRound } from '../../src/pruning/round.ts'
import { type ScheduledPruning, startPruning } from '../../src/pruning/schedule.ts'
import { createMemoryStore } from '../../src/store/memory.ts'
import { openStore } from '../../src/store/open.ts'
import { PRUNE_CLAIMS, PRUNE_ROWS } from '../../src/store/pruning.ts'
import type { Store } from '../../src/store/store.ts'
import { newFolder } from '../command.ts'
import { link, newClaim, scanned } from '../store/samples.ts'

const DAY_MS = 86_400_000
const KEEP_MS = 400 * DAY_MS
const LINKS = 3 * PRUNE_ROWS + 1
const CLAIMS = 2 * PRUNE_CLAIMS
const SOON = { timeout: 20_000, interval: 5 }

/** A file with old rows, and a clock that a test moves. */
async function oldFile() {
  const folder = newFolder('pruning')
  const clock = { at: 1_790_000_000_000 }
  const stores: Store[] = []
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()))
    rmSync(folder, { recursive: true, force: true })
  })
  const open = async () => {
    const store = await openStore(join(folder, 'store.db'), { now: () => clock.at })
    stores.push(store)
    return store
  }
  const store = await open()
  const { at: _, ...given } = link()
  await store.load(
    Array.from({ length: LINKS }, (_, index) => ({ ...given, name: `N-${index}` })),
    { replace: false },
  )
  const claims = Array.from({ length: CLAIMS }, (_, index) => store.claim(newClaim({ key: `K-${index}` })))
  await Promise.all(
    claims.map(async (claimed) =>
      store.change((await claimed).claim, { state: 'booked', instance: 'g', shipment: '', why: 'answered' }),
    ),
  )
  return { clock, store, open }
}

const log = createLog('silent')
const lookEveryMs = 5
/** The rows that a gateway has deleted, by table. */
async function countsOf({ metrics }: ScheduledPruning) {
  const counter = metrics.find(({ name }) => name === 'transload_store_pruned_rows_total')
  const reported = (await counter?.get()) ?? expect.fail('no counter')
  // The form that prom-client reports.
  return (reported as { readonly values: readonly { readonly labels: object; readonly value: number }[] }).values
}
const linksLeft = async (store: Store) => (await scanned(store)).length

test('a round deletes all that is old, once a day', async () => {
  const { clock, store } = await oldFile()
  const steps: string[] = []
  let looks = 0
  const counting: Store = {
    ...store,
    rounds: () => {
      looks += 1
      return store.rounds()
    },
    prune: (step) => {
      steps.push(step.table)
      return store.prune(step)
    },
  }
  const pruning = startPruning({ store: counting, keepMs: KEEP_MS, log, lookEveryMs })
  onTestFinished(() => pruning.close())
  const roundsEnded = async () => (await store.rounds()).map(({ endedAt }) => endedAt)
  const allAt = (at: number) => Array.from({ length: 6 }, () => at)

  // Everything is young.
  await expect.poll(roundsEnded, SOON).toEqual(allAt(clock.at))
  expect(await linksLeft(store)).toBe(LINKS)
  const looked = steps.length
  clock.at += DAY_MS - 1
  // The next round is due a day after the last one.
  const seen = looks
  await expect.poll(() => looks, SOON).toBeGreaterThan(seen + 3)
  expect(steps.length).toBe(looked)
  clock.at += KEEP_MS
  await expect.poll(roundsEnded, SOON).toEqual(allAt(clock.at))
  expect(await linksLeft(store)).toBe(0)
  expect(await store.listClaims({})).toEqual([])
  expect(steps.filter((table) => table === 'links').length).toBeGreaterThan(LINKS / PRUNE_ROWS)
  const counted = await countsOf(pruning)
  expect(counted).toContainEqual({ labels: { table: 'links' }, value: LINKS })
  expect(counted).toContainEqual({ labels: { table: 'claims' }, value: CLAIMS })
})

test('of several gateways, one prunes', async () => {
  const { clock, store, open } = await oldFile()
  const others = [store, await open(), await open()]
  clock.at += KEEP_MS + 1
  const all = others.map((one) => startPruning({ store: one, keepMs: KEEP_MS, log, lookEveryMs }))
  onTestFinished(async () => void (await Promise.all(all.map((one) => one.close()))))
  await expect.poll(() => store.rounds(), SOON).toHaveLength(6)
  await Promise.all(all.map((one) => one.close()))
  const counted = await Promise.all(all.map(countsOf))
  const sums = counted.map((values) => values.reduce((sum, { value }) => sum + value, 0))
  expect(sums.sort((one, other) => one - other)).toEqual([0, 0, LINKS + CLAIMS])
})

test('the end of a gateway stops a round after the step that is under way', async () => {
  const { clock, store } = await oldFile()
  clock.at += KEEP_MS + 1
  let closed: Promise<void> | undefined
  const pruning = startPruning({
    keepMs: KEEP_MS,
    log,
    lookEveryMs,
    store: {
      ...store,
      prune: (step) => {
        closed ??= pruning.close()
        return store.prune(step)
      },
    },
  })
  await expect.poll(() => closed !== undefined, SOON).toBe(true)
  await closed
  expect(await store.rounds()).toEqual([])
  expect(await store.listClaims({})).toHaveLength(CLAIMS - PRUNE_CLAIMS)
  // The next round starts over.
  await pruneRound(store, { olderThanMs: KEEP_MS })
  expect(await store.listClaims({})).toEqual([])
})

test('a round is due until its last table has ended, and is logged if it has deleted something', async () => {
  const clock = { at: 1_790_000_000_000 }
  const store = createMemoryStore({ now: () => clock.at })
  const lines: Readonly<Record<string, unknown>>[] = []
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) })
  // As a round leaves it that was cut off.
  await store.endRound({ table: 'claims', rows: 0, oldest: undefined })
  const roundOf = async () => {
    const before = clock.at
    const pruning = startPruning({ store, keepMs: KEEP_MS, log, lookEveryMs })
    const ended = async () => (await store.rounds()).find(({ table }) => table === 'instances')?.endedAt
    await expect.poll(ended, SOON).toBe(before)
    await pruning.close()
  }
  await roundOf()
  expect(lines).toEqual([])
  await store.put({ links: [link(), link({ name: 'Q-2' })] })
  clock.at += KEEP_MS + 1
  await roundOf()
  expect(lines).toMatchObject([{ msg: 'old rows were deleted from the store', level: 'info', pruned: { links: 2 } }])
})

test('a clock that jumps by 500 days and back deletes nothing, and is told', async () => {
  const { clock, store } = await oldFile()
  const before = clock.at
  const told: string[] = []
  let looks = 0
  const watched: Store = {
    ...store,
    listClaims: (filter) => {
      looks += 1
      // The clock is wrong at one look.
      clock.at = looks === 2 ? before + 500 * DAY_MS : before
      return store.listClaims(filter)
    },
  }
  const log = createLog('info', { write: (line) => void told.push(JSON.parse(line).msg) })
  const pruning = startPruning({ store: watched, keepMs: KEEP_MS, log, lookEveryMs })
  onTestFinished(() => pruning.close())
  await expect.poll(() => looks, SOON).toBeGreaterThan(6)
  expect(await store.listClaims({})).toHaveLength(CLAIMS)
  expect(await linksLeft(store)).toBe(LINKS)
  expect(told).toContain('the clock of the store has jumped, so nothing old is deleted now')
})

import { setTimeout as delay } from 'node:timers/promises'
import { oldestOf, PRUNED_TABLES, type PrunedTable, type Pruning } from '../store/pruning.ts'

/** The result of a round over one table. */
export interface TableRound {
  readonly table: PrunedTable
  readonly looked: number
  readonly pruned: number
  /** The time of the oldest row that stays, of those looked at. */
  readonly oldest: number | undefined
}

/** How a round is run. */
export interface RoundOptions {
  readonly olderThanMs: number
  /** Counts, and deletes nothing. @default false */
  readonly dryRun?: boolean
  /** Leaves the store to others for a time between two steps, given how long the last one took. @default no pause */
  readonly pause?: (tookMs: number) => Promise<unknown>
  /** Asked before each step. @default always */
  readonly mayGoOn?: () => boolean
  readonly onStep?: (done: TableRound) => void
}

/** A pause at least, and ten times the last step: pruning takes less than a tenth of the store's time. */
const LEAST_PAUSE_MS = 20
const PAUSE_FACTOR = 10

/** Waits between two steps of a round that has time. */
export const unhurried = (tookMs: number): Promise<void> => delay(Math.max(LEAST_PAUSE_MS, PAUSE_FACTOR * tookMs))

/** Runs one round: every table, step by step. Returns undefined if it was stopped; the next round then starts over. */
export async function pruneRound(store: Pruning, options: RoundOptions): Promise<readonly TableRound[] | undefined> {
  const rounds: TableRound[] = []
  for (const table of PRUNED_TABLES) {
    const round = await pruneTable(store, table, options)
    if (!round) return undefined
    const { looked, pruned, oldest } = round
    if (!options.dryRun) await store.endRound({ table, rows: looked - pruned, oldest })
    rounds.push(round)
  }
  return rounds
}

async function pruneTable(
  store: Pruning,
  table: PrunedTable,
  { olderThanMs, dryRun = false, pause = async () => {}, mayGoOn = () => true, onStep = () => {} }: RoundOptions,
): Promise<TableRound | undefined> {
  let done: TableRound = { table, looked: 0, pruned: 0, oldest: undefined }
  for (let after: string | undefined; ; ) {
    if (!mayGoOn()) return undefined
    const begun = performance.now()
    const { looked, pruned, oldest, next } = await store.prune({ table, olderThanMs, after, dryRun })
    const times = [done.oldest ?? [], oldest ?? []].flat().map((at) => ({ at }))
    done = { table, looked: done.looked + looked, pruned: done.pruned + pruned, oldest: oldestOf(times) }
    onStep(done)
    if (next === undefined) return done
    after = next
    await pause(performance.now() - begun)
  }
}

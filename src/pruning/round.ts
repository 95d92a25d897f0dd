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
  /** Leaves the store to others for a time between two steps. @default no pause */
  readonly pause?: (tookMs: number, pruned: number) => Promise<unknown>
  /** Asked before each step. @default always */
  readonly mayGoOn?: () => boolean
  readonly onStep?: (done: TableRound) => void
}

/** After a step that deleted rows: pruning takes less than a tenth of the store's time. */
const PAUSE_AFTER_DELETING = { leastMs: 20, factor: 10 }
/** After a step that only looked: most rows are young, and all of them are looked at every day. */
const PAUSE_AFTER_LOOKING = { leastMs: 2, factor: 4 }

/** Waits between two steps of a round that has time. */
export function unhurried(tookMs: number, pruned: number): Promise<void> {
  const { leastMs, factor } = pruned > 0 ? PAUSE_AFTER_DELETING : PAUSE_AFTER_LOOKING
  return delay(Math.max(leastMs, factor * tookMs))
}

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
    await pause(performance.now() - begun, pruned)
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../../language/config/config.ts'
import { sizeGauge } from '../../outside/store/observed.ts'
import { PRUNED_TABLES, type PrunedTable, type PruneStepEnd } from '../../outside/store/pruning.ts'
import { COUNTED_DAYS, DAY_MS } from '../../outside/store/scoreboard.ts'
import type { Store } from '../../outside/store/store.ts'
import type { Logger } from '../../runtime/log.ts'
import { createCounter } from '../../runtime/metrics.ts'
import { oneAtATime } from '../../runtime/time.ts'

/** How a table is pruned. */
interface PruneOptions {
  readonly olderThanMs: number
  /** Leaves the store to others between two steps. */
  readonly pause: (tookMs: number) => Promise<unknown>
  /** Checked before each step. @default always */
  readonly mayGoOn?: () => boolean
}

/** Prunes a table step by step; returns the number of pruned rows. */
export async function pruneTable(
  store: Store,
  table: PrunedTable,
  { olderThanMs, pause, mayGoOn = () => true }: PruneOptions,
): Promise<number> {
  let pruned = 0
  let end: PruneStepEnd | undefined
  while (end?.more !== false && mayGoOn()) {
    const begun = performance.now()
    end = await store.prune({ table, olderThanMs, after: end?.after })
    pruned += end.pruned
    if (end.more) await pause(performance.now() - begun)
  }
  return pruned
}

const LOOK_EVERY_MS = 3_600_000
const FINISHED_EVENT_DAYS = 30
/** The pause between two steps: pruning takes less than a tenth of the store's time. */
const PAUSE = { leastMs: 20, factor: 10 }

/** Deletes old rows periodically. */
export function openPruning({
  config,
  store,
  log,
  lookEveryMs = LOOK_EVERY_MS,
}: {
  readonly config: Config
  readonly store: Store
  readonly log: Logger
  /** How often a gateway prunes. @default once an hour */
  readonly lookEveryMs: number | undefined
}) {
  const counter = createCounter(
    'transload_store_pruned_rows_total',
    'Old rows that this gateway has deleted from the store.',
    ['table'],
    PRUNED_TABLES.map((table) => [table]),
  )
  const keptMs = (table: PrunedTable): number => {
    // Every use of a quote also checks its age.
    if (table === 'facts') return config.QUOTE_MEMORY
    if (table === 'events') return FINISHED_EVENT_DAYS * DAY_MS
    return (table === 'counts' ? COUNTED_DAYS : config.BOOKING_DAYS) * DAY_MS
  }
  let lookedAt = performance.now()
  let closing = false

  async function prune(): Promise<void> {
    const now = performance.now()
    await store.turnDay(now - lookedAt)
    lookedAt = now
    const gone: Partial<Record<PrunedTable, number>> = {}
    for (const table of PRUNED_TABLES) {
      const pruned = await pruneTable(store, table, {
        olderThanMs: keptMs(table),
        pause: (tookMs) => delay(Math.max(PAUSE.leastMs, PAUSE.factor * tookMs)),
        mayGoOn: () => !closing,
      })
      counter.add(pruned, table)
      if (pruned > 0) gone[table] = pruned
    }
    if (Object.keys(gone).length > 0) log.info({ pruned: gone }, 'old rows were deleted from the store')
  }

  const rounds = oneAtATime(() =>
    prune().catch((err: unknown) => log.warn({ err }, 'old rows could not be deleted from the store')),
  )
  const timer = setInterval(rounds.run, lookEveryMs)

  return {
    metrics: [counter.metric, sizeGauge(store)],
    /** Stops after the current step. */
    async close(): Promise<void> {
      closing = true
      clearInterval(timer)
      await rounds.current()
    },
  }
}

import type { Logger } from '../observe/log.ts'
import { type CountedMetric, createLabeledCounter, type Gauge } from '../observe/metrics.ts'
import { PRUNED_TABLES } from '../store/pruning.ts'
import { LockTimeout, type Store } from '../store/store.ts'
import { sizeGauges } from './metrics.ts'
import { pruneRound, unhurried } from './round.ts'

/** The pruning of a gateway. */
export interface ScheduledPruning {
  readonly metrics: readonly (Gauge | CountedMetric)[]
  /** Stops after the step that is under way. */
  readonly close: () => Promise<void>
}

export interface PruningDeps {
  readonly store: Store
  /** How long finished bookings and unused numbers are kept. */
  readonly keepMs: number
  readonly log: Logger
  /** How often a gateway looks if a round is due. @default once an hour */
  readonly lookEveryMs?: number | undefined
}

const LOOK_EVERY_MS = 3_600_000
/** A round begins so long after the last one has ended, of whichever gateway. */
const ROUND_EVERY_MS = 86_400_000
/** Another gateway that prunes has the lock for the whole round. */
const LOCK_WAIT_MS = 1_000
const LAST_TABLE = PRUNED_TABLES.at(-1)

/** A clock that is set by less than this between two looks makes no young row old. */
const STEADY_MS = 60_000

/** Returns a function that tells if a clock went on as time did since the last look; one that jumps makes young rows look old. */
export function steadiness(now: () => number, monotonicNow = () => performance.now()): () => boolean {
  const offset = () => now() - monotonicNow()
  let last = offset()
  return () => {
    const before = last
    last = offset()
    return Math.abs(last - before) < STEADY_MS
  }
}

/** Prunes the store once a day, by one gateway of all that share it. */
export function startPruning({ store, keepMs, log, lookEveryMs = LOOK_EVERY_MS }: PruningDeps): ScheduledPruning {
  const counter = createLabeledCounter(
    'transload_store_pruned_rows_total',
    'Old rows that this gateway has deleted from the store.',
    PRUNED_TABLES.map((table) => ({ table })),
  )
  let closing = false
  let running: Promise<void> | undefined

  async function isDue(): Promise<boolean> {
    const last = (await store.rounds()).find(({ table }) => table === LAST_TABLE)
    return last === undefined || store.now() - last.endedAt >= ROUND_EVERY_MS
  }

  const isSteady = steadiness(store.now)

  async function prune(): Promise<void> {
    const [newest] = await store.listClaims({ newest: true, limit: 1 })
    if (!isSteady() || (newest && newest.createdAt > store.now() + STEADY_MS)) {
      log.warn('the clock of the store has jumped, so nothing old is deleted now')
      return
    }
    if (!(await isDue())) return
    await store.exclusive('pruning', LOCK_WAIT_MS, async (isHeld) => {
      // Another gateway may have ended a round while this one waited.
      if (!(await isDue())) return
      const counted = new Map<string, number>()
      const rounds = await pruneRound(store, {
        olderThanMs: keepMs,
        pause: unhurried,
        mayGoOn: () => !closing && isHeld() && isSteady(),
        onStep: ({ table, pruned }) => {
          counter.count({ table }, pruned - (counted.get(table) ?? 0))
          counted.set(table, pruned)
        },
      })
      const pruned = Object.fromEntries(
        rounds?.flatMap((one) => (one.pruned > 0 ? [[one.table, one.pruned]] : [])) ?? [],
      )
      if (Object.keys(pruned).length > 0) log.info({ pruned }, 'old rows were deleted from the store')
    })
  }

  const look = (): void => {
    running ??= prune()
      .catch((err: unknown) => {
        if (!(err instanceof LockTimeout)) log.warn({ err }, 'old rows could not be deleted from the store')
      })
      .finally(() => {
        running = undefined
      })
  }
  const timer = setInterval(look, lookEveryMs)

  return {
    metrics: [counter.metric, ...sizeGauges(store)],
    async close() {
      closing = true
      clearInterval(timer)
      await running
    },
  }
}

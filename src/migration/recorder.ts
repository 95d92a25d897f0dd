import { DAY_MS, type Scoreboard } from '../store/scoreboard.ts'
import { StoreDown } from '../store/store.ts'
import { createCounts } from './counts.ts'
import type { CountedCall } from './tally.ts'

/** How often counts are stored: a process that is killed loses those since. */
const STORE_EVERY_MS = 10_000
/** How long the end of a process waits for its last counts. */
export const LAST_WAIT_MS = 5_000

/** Counts calls and stores the counts. */
export interface Recorder {
  readonly count: (tenant: string, call: CountedCall) => void
  /** Stores the last counts. */
  readonly close: () => Promise<void>
}

export interface RecorderDeps {
  readonly store: Scoreboard & { readonly now: () => number }
  /** The name of this process among those that share the store. */
  readonly instance: string
  /** How long counts are kept. */
  readonly keptDays: number
  /** Called when counts cannot be stored any more. They are kept while the store is down; a batch that it refuses is lost. */
  readonly onError: (error: unknown) => void
  /** @default 10000 */
  readonly everyMs?: number | undefined
}

type Batch = Parameters<Scoreboard['addCounts']>[0]

/** Starts to count calls. */
export function startRecorder({
  store,
  instance,
  keptDays,
  onError,
  everyMs = STORE_EVERY_MS,
}: RecorderDeps): Recorder {
  const counts = createCounts(store.now)
  let no = 0
  let watched = -1
  let droppedOn = -1
  /** The batch that could not be stored, or not provably; the store ignores one that it has already. */
  let unstored: Batch | undefined
  let storing: Promise<void> | undefined
  let isFailing = false

  function nextBatch(): Batch | undefined {
    const today = dayOf(store.now())
    const { calls, names } = counts.take()
    if (calls.length === 0 && watched === today) return undefined
    no += 1
    return { instance, no, days: [...new Set([...calls.map(({ day }) => day), today])], calls, names }
  }

  async function storeAll(): Promise<void> {
    // A batch that failed is sent again first, as it was.
    for (const next of [() => unstored, nextBatch]) {
      const batch = next()
      if (!batch) continue
      unstored = batch
      try {
        await store.addCounts(batch)
      } catch (error) {
        // Only an outage ends: a batch that the store refuses would keep all later ones waiting.
        if (!(error instanceof StoreDown)) unstored = undefined
        throw error
      }
      unstored = undefined
      watched = Math.max(...batch.days)
    }
    const today = dayOf(store.now())
    if (droppedOn === today) return
    await store.dropCounts(today - keptDays)
    droppedOn = today
  }

  const storeOnce = (): Promise<void> => {
    storing ??= storeAll()
      .then(
        () => {
          isFailing = false
        },
        (error: unknown) => {
          if (!isFailing) onError(error)
          isFailing = true
        },
      )
      .finally(() => {
        storing = undefined
      })
    return storing
  }
  const timer = setInterval(storeOnce, everyMs)
  timer.unref()

  return {
    count: counts.add,
    async close() {
      clearInterval(timer)
      await within(LAST_WAIT_MS, async () => {
        await storing
        await storeOnce()
      })
    },
  }
}

const dayOf = (at: number) => Math.floor(at / DAY_MS)

/** Waits for work, but not longer than this. */
export async function within(limitMs: number, work: () => Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, limitMs)
  await Promise.race([work(), promise])
  clearTimeout(timer)
}

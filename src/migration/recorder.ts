import { createBatchWrite, storePeriodically } from '../store/periodic.ts'
import { DAY_MS, type Scoreboard } from '../store/scoreboard.ts'
import { createCounts } from './counts.ts'
import type { CountedCall } from './tally.ts'

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
export function startRecorder({ store, instance, keptDays, onError, everyMs }: RecorderDeps): Recorder {
  const counts = createCounts(store.now)
  let no = 0
  let watched = -1
  let droppedOn = -1

  function nextBatch(): Batch | undefined {
    const today = dayOf(store.now())
    const { calls, names } = counts.take()
    if (calls.length === 0 && watched === today) return undefined
    no += 1
    return { instance, no, days: [...new Set([...calls.map(({ day }) => day), today])], calls, names }
  }

  const writeBatches = createBatchWrite(nextBatch, async (batch) => {
    await store.addCounts(batch)
    watched = Math.max(...batch.days)
  })

  async function storeAll(): Promise<void> {
    await writeBatches()
    const today = dayOf(store.now())
    if (droppedOn === today) return
    await store.dropCounts(today - keptDays)
    droppedOn = today
  }

  const { close } = storePeriodically(storeAll, { onError, everyMs })
  return { count: counts.add, close }
}

const dayOf = (at: number) => Math.floor(at / DAY_MS)

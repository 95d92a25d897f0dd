import { StoreDown } from './store.ts'

/** How often what a process has gathered is stored: one that is killed loses the rest. */
const STORE_EVERY_MS = 10_000
/** How long the end of a process waits for its last write. */
const LAST_WAIT_MS = 5_000

export interface PeriodicOptions {
  /** Called with the first failure in a row. */
  readonly onError: (error: unknown) => void
  /** @default 10000 */
  readonly everyMs?: number | undefined
}

/** Runs a write again and again, never twice at once; `close` runs it a last time. */
export function storePeriodically(
  write: () => Promise<void>,
  { onError, everyMs = STORE_EVERY_MS }: PeriodicOptions,
): { readonly close: () => Promise<void> } {
  let storing: Promise<void> | undefined
  let isFailing = false
  const storeOnce = (): Promise<void> => {
    storing ??= write()
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
    async close() {
      clearInterval(timer)
      await within(LAST_WAIT_MS, async () => {
        await storing
        await storeOnce()
      })
    },
  }
}

/** Writes batches one by one. After an outage the same batch is written again: the store ignores one that it has already. */
export function createBatchWrite<Batch>(
  next: () => Batch | undefined,
  write: (batch: Batch) => Promise<void>,
): () => Promise<void> {
  /** The batch that could not be stored, or not provably. */
  let unstored: Batch | undefined
  return async () => {
    for (const take of [() => unstored, next]) {
      const batch = take()
      if (!batch) continue
      unstored = batch
      try {
        await write(batch)
      } catch (error) {
        // Only an outage ends: a batch that the store refuses would keep all later ones waiting.
        if (!(error instanceof StoreDown)) unstored = undefined
        throw error
      }
      unstored = undefined
    }
  }
}

/** Waits for work, but not longer than this. */
async function within(limitMs: number, work: () => Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, limitMs)
  await Promise.race([work(), promise])
  clearTimeout(timer)
}

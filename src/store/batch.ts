/** The settings of a batcher. */
export interface BatchOptions<T> {
  /** The most batches that run at once. */
  readonly concurrency: number
  readonly maxItems: number
  /** Processes all items, or none. */
  readonly run: (items: readonly T[]) => Promise<void>
  /** Tells if one invalid item failed the batch; then each item is tried by itself. */
  readonly isInvalidItem: (error: unknown) => boolean
}

interface Waiting<T> {
  readonly item: T
  resolve(): void
  reject(error: unknown): void
}

/** Processes items in batches: those that arrive while all batches are busy share the next one. */
export function createBatcher<T>({
  concurrency,
  maxItems,
  run,
  isInvalidItem,
}: BatchOptions<T>): (item: T) => Promise<void> {
  let waiting: Waiting<T>[] = []
  let running = 0

  function start(): void {
    if (running >= concurrency || waiting.length === 0) return
    running += 1
    const batch = waiting.slice(0, maxItems)
    waiting = waiting.slice(maxItems)
    void settle(batch).finally(() => {
      running -= 1
      start()
    })
    start()
  }

  async function settle(batch: readonly Waiting<T>[]): Promise<void> {
    try {
      await run(batch.map(({ item }) => item))
      for (const { resolve } of batch) resolve()
    } catch (error) {
      if (batch.length > 1 && isInvalidItem(error)) for (const one of batch) await settle([one])
      else for (const { reject } of batch) reject(error)
    }
  }

  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiting.push({ item, resolve, reject })
    // After the current call stack: items that are added together share a batch.
    queueMicrotask(start)
    return promise
  }
}

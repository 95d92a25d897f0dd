/** How a batcher works. */
export interface BatchOptions<T> {
  /** How many batches are under way at once. */
  readonly lanes: number
  /** How many items a batch has at most. */
  readonly most: number
  /** Does them all, or none. */
  readonly run: (items: readonly T[]) => Promise<void>
  /** Whether a batch failed by the fault of one of its items, so that each is worth trying by itself. */
  readonly isOwnFault: (error: unknown) => boolean
}

interface Waiting<T> {
  readonly item: T
  resolve(): void
  reject(error: unknown): void
}

/** Does what comes together in one go: whatever arrives while the lanes are full shares the next batch. */
export function createBatcher<T>({ lanes, most, run, isOwnFault }: BatchOptions<T>): (item: T) => Promise<void> {
  let waiting: Waiting<T>[] = []
  let underWay = 0

  function start(): void {
    if (underWay >= lanes || waiting.length === 0) return
    underWay += 1
    const batch = waiting.slice(0, most)
    waiting = waiting.slice(most)
    void settle(batch).finally(() => {
      underWay -= 1
      start()
    })
    start()
  }

  async function settle(batch: readonly Waiting<T>[]): Promise<void> {
    try {
      await run(batch.map(({ item }) => item))
      for (const { resolve } of batch) resolve()
    } catch (error) {
      if (batch.length > 1 && isOwnFault(error)) for (const one of batch) await settle([one])
      else for (const { reject } of batch) reject(error)
    }
  }

  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiting.push({ item, resolve, reject })
    // One turn later, so that calls of the same turn begin together.
    queueMicrotask(start)
    return promise
  }
}

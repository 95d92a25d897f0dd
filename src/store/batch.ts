/** The longest wait for others. */
const GATHER_MS = 5

/** Calls `then` once a turn of the event loop adds no other item: those that arrive one after the other share what they cost. */
export function afterGathering(count: () => number, then: () => void): void {
  const until = performance.now() + GATHER_MS
  let gathered = 0
  const look = (): void => {
    if (count() === gathered || performance.now() > until) then()
    else {
      gathered = count()
      setImmediate(look)
    }
  }
  setImmediate(look)
}

/** Returns the answer to an item of a batch, by its index. */
export type AnswerOf<R> = (index: number) => R

/** The settings of a batcher. */
export interface BatchOptions<T, R> {
  /** The most batches that run at once. */
  readonly concurrency: number
  readonly maxItems: number
  /** Processes all items, or none. */
  readonly run: (items: readonly T[]) => Promise<AnswerOf<R>>
  /** Tells if one item failed the batch, of which nothing was done; then each item is tried by itself. */
  readonly isInvalidItem: (error: unknown) => boolean
  /**
   * Returns the key of an item: those of one key never share a batch.
   * @default any items may share a batch
   */
  readonly keyOf?: (item: T) => string
}

interface Waiting<T, R> {
  readonly item: T
  resolve(answer: R): void
  reject(error: unknown): void
}

/** Processes items in batches: those that arrive one after the other, or while all batches are busy, share the next one. */
export function createBatcher<T, R = void>({
  concurrency,
  maxItems,
  run,
  isInvalidItem,
  keyOf,
}: BatchOptions<T, R>): (item: T) => Promise<R> {
  let waiting: Waiting<T, R>[] = []
  let running = 0
  let isGathering = false

  function gather(): void {
    if (isGathering || running >= concurrency || waiting.length === 0) return
    isGathering = true
    afterGathering(() => waiting.length, start)
  }

  function start(): void {
    isGathering = false
    running += 1
    void settle(next()).finally(() => {
      running -= 1
      gather()
    })
    gather()
  }

  /** Takes the items of the next batch. */
  function next(): readonly Waiting<T, R>[] {
    const batch: Waiting<T, R>[] = []
    const later: Waiting<T, R>[] = []
    const keys = keyOf && new Set<string>()
    for (const one of waiting) {
      const key = keyOf?.(one.item)
      if (batch.length === maxItems || (key !== undefined && keys?.has(key))) later.push(one)
      else {
        batch.push(one)
        if (key !== undefined) keys?.add(key)
      }
    }
    waiting = later
    return batch
  }

  async function settle(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const answerOf = await run(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) resolve(answerOf(index))
    } catch (error) {
      if (batch.length > 1 && isInvalidItem(error)) await settleEach(batch)
      else for (const { reject } of batch) reject(error)
    }
  }

  /** Tries each item by itself: in their order where it may matter, else at once, because one of them may take long. */
  async function settleEach(batch: readonly Waiting<T, R>[]): Promise<void> {
    if (keyOf) await Promise.all(batch.map((one) => settle([one])))
    else for (const one of batch) await settle([one])
  }

  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<R>()
    waiting.push({ item, resolve, reject })
    gather()
    return promise
  }
}

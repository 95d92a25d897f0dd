/** Reads of shipments that events triggered: few at once, and one of each shipment. */
export interface ReadQueue {
  /** Queues a read. A shipment that is waiting is read once; one that is being read is read again. */
  readonly add: (tenant: string, shipment: string) => void
  /** How many shipments wait. */
  readonly waiting: () => number
  /** Drops what waits, and resolves when no read is under way. */
  readonly close: () => Promise<void>
}

export interface ReadQueueOptions {
  /** Reads one shipment; rejects if it should be tried again. */
  readonly read: (tenant: string, shipment: string) => Promise<void>
  /** Called with the error of the last try. */
  readonly onGivenUp: (shipment: ReadTask, error: unknown) => void
  /** Called when the queue begins to be full; what comes then is dropped. */
  readonly onFull: () => void
  /** @default 4 */
  readonly concurrency?: number
  /** @default 10,000 */
  readonly limit?: number
  /** The pauses before the second and later tries. @default 5 s and 30 s */
  readonly pausesMs?: readonly number[]
}

/** A shipment that is to be read. */
export interface ReadTask {
  readonly tenant: string
  readonly shipment: string
}

const CONCURRENCY = 4
const LIMIT = 10_000
const PAUSES_MS: readonly number[] = [5_000, 30_000]

/** Makes a queue. It forgets at a restart; the sweep reads lost shipments of unknown bookings. */
export function createReadQueue({
  read,
  onGivenUp,
  onFull,
  concurrency = CONCURRENCY,
  limit = LIMIT,
  pausesMs = PAUSES_MS,
}: ReadQueueOptions): ReadQueue {
  const waiting = new Map<string, ReadTask & { readonly tries: number }>()
  /** The shipments that are being read; true if another event came meanwhile. */
  const reading = new Map<string, boolean>()
  const underWay = new Set<Promise<void>>()
  const pauses = new Set<NodeJS.Timeout>()
  let isClosed = false
  let isFull = false

  function enqueue(task: ReadTask, tries: number): void {
    if (isClosed) return
    const key = JSON.stringify([task.tenant, task.shipment])
    if (reading.has(key)) return void reading.set(key, true)
    if (waiting.has(key)) return
    if (waiting.size + pauses.size >= limit) return void full()
    isFull = false
    waiting.set(key, { ...task, tries })
    start()
  }

  function full(): void {
    if (!isFull) onFull()
    isFull = true
  }

  function start(): void {
    for (const [key, task] of waiting) {
      if (reading.size >= concurrency) return
      waiting.delete(key)
      reading.set(key, false)
      const run = work(key, task).finally(() => underWay.delete(run))
      underWay.add(run)
    }
  }

  async function work(key: string, { tries, ...task }: ReadTask & { readonly tries: number }): Promise<void> {
    let failure: { readonly error: unknown } | undefined
    try {
      await read(task.tenant, task.shipment)
    } catch (error) {
      failure = { error }
    }
    const isWantedAgain = reading.get(key) === true
    reading.delete(key)
    if (isWantedAgain) enqueue(task, 0)
    else if (failure) later(task, tries, failure.error)
    start()
  }

  function later(task: ReadTask, tries: number, error: unknown): void {
    const pauseMs = pausesMs[tries]
    if (pauseMs === undefined) return void onGivenUp(task, error)
    if (isClosed) return
    const timer = setTimeout(() => {
      pauses.delete(timer)
      enqueue(task, tries + 1)
    }, pauseMs)
    pauses.add(timer)
  }

  return {
    add: (tenant, shipment) => enqueue({ tenant, shipment }, 0),
    waiting: () => waiting.size + pauses.size,
    close: async () => {
      isClosed = true
      waiting.clear()
      for (const timer of pauses) clearTimeout(timer)
      await Promise.all(underWay)
    },
  }
}

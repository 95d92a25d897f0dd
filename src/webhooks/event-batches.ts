/** The shipments of events that were stored, in batches: one look at the unknown bookings serves many events. */
export interface EventBatches {
  readonly add: (tenant: string, shipment: string) => void
  /** Drops what waits, and resolves when no batch is under way. */
  readonly close: () => Promise<void>
}

export interface EventBatchesOptions {
  /** Called with the shipments of one tenant, after the events of all of them were stored. */
  readonly process: (tenant: string, shipments: ReadonlySet<string>) => Promise<void>
  /** Called when a batch has no more room; the sweep looks at what it lacks. */
  readonly onFull: () => void
  /** @default 10,000 */
  readonly limit?: number
  /** The pause between two batches. @default 100 ms */
  readonly pauseMs?: number
}

const LIMIT = 10_000
const PAUSE_MS = 100

/** Makes the batches. The first event is processed at once, and those of the pause after it together. */
export function createEventBatches({
  process,
  onFull,
  limit = LIMIT,
  pauseMs = PAUSE_MS,
}: EventBatchesOptions): EventBatches {
  let waiting = new Map<string, Set<string>>()
  let count = 0
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function add(tenant: string, shipment: string): void {
    if (isClosed) return
    const shipments = waiting.get(tenant) ?? new Set()
    if (shipments.has(shipment) || count > limit) return
    count += 1
    if (count > limit) return void onFull()
    waiting.set(tenant, shipments.add(shipment))
    if (!running && !timer) run()
  }

  function run(): void {
    const batch = waiting
    waiting = new Map()
    count = 0
    running = Promise.all([...batch].map(([tenant, shipments]) => process(tenant, shipments))).then(() => {
      running = undefined
      if (isClosed) return
      timer = setTimeout(() => {
        timer = undefined
        if (count > 0) run()
      }, pauseMs)
    })
  }

  return {
    add,
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      await running
    },
  }
}

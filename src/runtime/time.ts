/** A point in time on two clocks. */
export interface Moment {
  /** In milliseconds of `performance.now()`. */
  readonly monotonic: number
  /** In milliseconds since 1970. */
  readonly wall: number
}

export function currentMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() }
}

/**
 * Returns the time since a moment, in milliseconds: the longer time of the two clocks. The monotonic clock stands still while the machine
 * is suspended, and the wall clock can be set back.
 */
export function elapsedSince({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall)
}

const SHORTEST_MS = 100
const LONGEST_MS = 5_000

/** Returns the backoff before the next attempt: doubling, bounded, and with jitter to spread gateways out. */
export function backoffMs(failures: number, longestMs: number = LONGEST_MS): number {
  const longest = Math.min(longestMs, SHORTEST_MS * 2 ** Math.max(0, failures - 1))
  return longest * (0.5 + Math.random() / 2)
}

/** Resolves when the work does, or after a timeout in milliseconds. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, over]).finally(() => clearTimeout(timer))
}

/** Makes work that runs only once at a time: a request during a run shares that run. */
export function oneAtATime<T>(work: () => Promise<T>) {
  let running: Promise<T> | undefined
  return {
    run(): Promise<T> {
      running ??= work().finally(() => {
        running = undefined
      })
      return running
    },
    /** Returns the run that is under way; undefined if there is none. */
    current: (): Promise<T> | undefined => running,
  }
}

let endOfThisTurn: Promise<void> | undefined

/**
 * Resolves at the end of this turn of the event loop. Answers that are written then leave right after each other, because most of a write's
 * cost is waking the receiving process (docs/architecture.md).
 */
export function endOfTurn(): Promise<void> {
  if (endOfThisTurn) return endOfThisTurn
  const { promise, resolve } = Promise.withResolvers<void>()
  endOfThisTurn = promise
  setImmediate(() => {
    endOfThisTurn = undefined
    resolve()
  })
  return promise
}

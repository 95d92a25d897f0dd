import { createUnorderedList, type Held } from '../unordered-list.ts'

/** Something that has to be over at some time, in milliseconds of `performance.now()`. */
export interface Waiting {
  readonly deadline: number
  /** Called once, soon after the deadline, unless it was taken off before. */
  readonly late: () => void
}

/** Watches over what is under way. */
export interface Deadlines {
  readonly add: (waiting: Waiting) => Held<Waiting>
  readonly take: (held: Held<Waiting>) => void
}

/** Makes a watch with one timer for all: a timer for each would cost every call, and nearly none ever goes off. */
export function createDeadlines(): Deadlines {
  const all = createUnorderedList<Waiting>()
  let timer: NodeJS.Timeout | undefined
  /** When the timer goes off: at the earliest deadline of those that were there when it was set, or came since. */
  let lookAt = Number.POSITIVE_INFINITY

  function setTimer(at: number): void {
    clearTimeout(timer)
    lookAt = at
    // What is under way keeps the process alive by its connection.
    timer = setTimeout(look, Math.ceil(Math.max(0, at - performance.now()))).unref()
  }

  function look(): void {
    const now = performance.now()
    let earliest = Number.POSITIVE_INFINITY
    for (const waiting of all.items()) {
      if (waiting.deadline <= now) waiting.late()
      else earliest = Math.min(earliest, waiting.deadline)
    }
    lookAt = earliest
    if (earliest < Number.POSITIVE_INFINITY) setTimer(earliest)
  }

  return {
    add: (waiting) => {
      if (waiting.deadline < lookAt) setTimer(waiting.deadline)
      return all.add(waiting)
    },
    take: all.take,
  }
}

import { createUnorderedList, type ListItem } from './collections.ts'

/** Work with a deadline, in milliseconds of `performance.now()`. */
export interface Waiting {
  readonly deadline: number
  /** Called once, soon after the deadline, unless the work was removed before. */
  readonly late: () => void
}

/** Watches the deadlines of all calls with one timer, because a timer for each would cost every call, and almost none would fire. */
export function createDeadlines() {
  const all = createUnorderedList<Waiting>()
  let timer: NodeJS.Timeout | undefined
  /** When the timer fires: at the earliest deadline known when it was set, or added since. */
  let lookAt = Number.POSITIVE_INFINITY

  function setTimer(at: number): void {
    clearTimeout(timer)
    lookAt = at
    // The work's connection keeps the process alive, so the timer need not.
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
    add: (waiting: Waiting): ListItem<Waiting> => {
      if (waiting.deadline < lookAt) setTimer(waiting.deadline)
      return all.add(waiting)
    },
    take: all.take,
  }
}

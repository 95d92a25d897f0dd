import { createBag, type Held } from '../bag.ts'

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

const LOOK_EVERY_MS = 10

/** Makes a watch with one timer for all: a timer for each would cost every call, and nearly none ever goes off. */
export function createDeadlines(): Deadlines {
  const all = createBag<Waiting>()
  let looking = false

  const look = () => {
    const now = performance.now()
    for (const waiting of all.items()) if (waiting.deadline <= now) waiting.late()
    looking = all.size() > 0
    if (looking) setTimeout(look, LOOK_EVERY_MS)
  }

  return {
    add: (waiting) => {
      if (!looking) setTimeout(look, LOOK_EVERY_MS)
      looking = true
      return all.add(waiting)
    },
    take: all.take,
  }
}

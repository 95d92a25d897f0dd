import type { StoredEvent, TryOutcome } from '../store/events.ts'
import type { Reply } from './post.ts'
import { pauseAfter, retryAfterMs, slowdownAfter } from './schedule.ts'

export interface EndedTry {
  readonly event: Pick<StoredEvent, 'failures'>
  readonly reply: Reply
  /** How many replies in a row, this one included, have asked for fewer deliveries. */
  readonly slowReplies: number
  readonly now: number
}

const GONE = 410
/** Statuses that ask for fewer deliveries. */
const SLOW_DOWN: ReadonlySet<number> = new Set([429, 502, 504])

/** Tells if a reply asks for fewer deliveries. */
export function asksToSlowDown(reply: Reply): boolean {
  return reply.kind === 'answered' && SLOW_DOWN.has(reply.status)
}

/** Decides what becomes of an event after a try. */
export function verdictOf({ event, reply, slowReplies, now }: EndedTry): TryOutcome {
  switch (reply.kind) {
    case 'refused':
      return { state: 'parked', outcome: reply.reason }
    case 'failed':
      return nextTry(event, reply.reason, 0)
    case 'answered': {
      const { status } = reply
      const outcome = `answered ${status}`
      if (status >= 200 && status < 300) return { state: 'delivered', outcome }
      if (status === GONE) return { state: 'due', outcome, endpoint: { stop: true } }
      const waitMs = retryAfterMs(reply.retryAfter, now)
      const next = nextTry(event, outcome, waitMs)
      return asksToSlowDown(reply) ? { ...next, endpoint: { pauseMs: slowdownAfter(slowReplies, waitMs) } } : next
    }
    default:
      return reply satisfies never
  }
}

function nextTry({ failures }: EndedTry['event'], outcome: string, waitMs: number): TryOutcome {
  const retryInMs = pauseAfter(failures + 1, waitMs)
  return retryInMs === undefined ? { state: 'parked', outcome } : { state: 'due', outcome, retryInMs }
}

import { NoReply, type UpstreamReply } from './upstream.ts'

/** Makes an attempt again where that can do no harm and may help, as long as few others have to. */
export type Retry = (attempt: () => Promise<UpstreamReply>, deadline: number) => Promise<UpstreamReply>

const TRIES = 3
const BACKOFF_MS = 100
/** What a retry needs at least of the call's own time to be worth making. */
const WORTHWHILE_MS = 50
const WINDOW_MS = 10_000
/** Retries may be a fifth of the traffic of a window, and ten in any case: more would keep a failing service down. */
const SHARE = 0.2
const ALWAYS_ALLOWED = 10

const TEMPORARY = new Set([502, 503, 504])

/** Makes the retries of one service, with one budget for all its callers. */
export function createRetry(): Retry {
  const budget = createBudget()
  return async (attempt, deadline) => {
    budget.called()
    for (let tries = 1; ; tries += 1) {
      const outcome = await attempt().catch((error: unknown) => error)
      const pauseMs = BACKOFF_MS * 2 ** (tries - 1) * (0.5 + Math.random())
      const hopeless = tries === TRIES || performance.now() + pauseMs + WORTHWHILE_MS > deadline
      if (hopeless || !isTemporary(outcome) || asksToWait(outcome, deadline) || !budget.takes()) return settled(outcome)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}

function settled(outcome: unknown): UpstreamReply {
  if (isReply(outcome)) return outcome
  throw outcome
}

const isReply = (outcome: unknown): outcome is UpstreamReply =>
  typeof outcome === 'object' && outcome !== null && !(outcome instanceof Error) && 'status' in outcome

function isTemporary(outcome: unknown): boolean {
  if (outcome instanceof NoReply) return outcome.silence === 'unsent' || outcome.silence === 'lost'
  return isReply(outcome) && TEMPORARY.has(outcome.status)
}

/** A service that names a time beyond this call's own is not asked again by this call. */
function asksToWait(outcome: unknown, deadline: number): boolean {
  const seconds = isReply(outcome) ? Number(outcome.headers['retry-after'] ?? 0) : 0
  return seconds > 0 && performance.now() + seconds * 1000 > deadline
}

/** Counts calls and retries in windows; the last whole window and the running one together are what counts. */
function createBudget() {
  let began = performance.now()
  let now = { calls: 0, retries: 0 }
  let before = { calls: 0, retries: 0 }
  const turn = () => {
    const age = performance.now() - began
    if (age < WINDOW_MS) return
    before = age < 2 * WINDOW_MS ? now : { calls: 0, retries: 0 }
    now = { calls: 0, retries: 0 }
    began = performance.now()
  }
  return {
    called: () => {
      turn()
      now.calls += 1
    },
    takes: () => {
      turn()
      const retries = before.retries + now.retries
      if (retries >= Math.max(ALWAYS_ALLOWED, SHARE * (before.calls + now.calls))) return false
      now.retries += 1
      return true
    },
  }
}

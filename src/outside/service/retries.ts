import type { IncomingHttpHeaders } from 'node:http'
import { NoReply, type Silence } from './exchange.ts'
import type { UpstreamReply } from './reply.ts'

/** Retries an attempt if that is harmless and may help, within a budget. */
export type Retry = (attempt: () => Promise<UpstreamReply>, deadline: number) => Promise<UpstreamReply>

const TRIES = 3
const BACKOFF_MS = 100
/** The least time that a call must have left for a retry. */
const WORTHWHILE_MS = 50
const WINDOW_SECONDS = 10
/** Retries may be a fifth of a window's traffic, and always ten. More would keep a failing service down. */
const SHARE = 0.2
const ALWAYS_ALLOWED = 10

/** The statuses of a failing service; a failure may be temporary. */
export const FAILURES: ReadonlySet<number> = new Set([502, 503, 504])

/** Makes the retries for one service, with one budget for all callers; `onRetry` is called before each retry. */
export function createRetry(onRetry = () => {}): Retry {
  const budget = createBudget()
  return async (attempt, deadline) => {
    budget.slice().calls += 1
    /** The outcome of the last attempt that was sent. A later attempt that was not sent proves nothing about it. */
    let left: AttemptOutcome | undefined
    for (let tries = 1; ; tries += 1) {
      let outcome: AttemptOutcome
      let isTemporary: boolean
      try {
        const reply = await attempt()
        outcome = { reply }
        left = outcome
        isTemporary = FAILURES.has(reply.status)
      } catch (error) {
        outcome = { error }
        const silence = error instanceof NoReply ? error.silence : undefined
        if (silence !== undefined && LEFT.has(silence)) left = outcome
        else if (left) outcome = left
        isTemporary = silence === 'unsent' || silence === 'lost'
      }
      if (isTemporary && tries < TRIES) {
        const pauseMs = Math.max(BACKOFF_MS * 2 ** (tries - 1) * (0.5 + Math.random()), askedPauseMs(outcome.reply))
        if (performance.now() + pauseMs + WORTHWHILE_MS <= deadline && budget.takes()) {
          onRetry()
          await new Promise((resolve) => setTimeout(resolve, pauseMs))
          continue
        }
      }
      if (outcome.reply) return outcome.reply
      throw outcome.error
    }
  }
}

/** The result of an attempt. */
type AttemptOutcome =
  | { readonly reply: UpstreamReply; readonly error?: undefined }
  | { readonly reply?: undefined; readonly error: unknown }

/** The reasons why a request that was sent gets no whole reply. */
const LEFT: ReadonlySet<Silence> = new Set(['late', 'lost', 'too-large'])

/** Seconds, or a date in one of the forms of RFC 9110, 5.6.7. Anything else must not be repeated in an answer. */
const SECONDS = /^\d{1,9}$/
const DATE = /^(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? [\w: -]{17,25}$/

/** Returns how long a reply asks the client to wait. */
export function timeAsked({ 'retry-after': header = '' }: IncomingHttpHeaders): string | undefined {
  // A header that is sent twice is a list.
  const asked = String(header).trim()
  return SECONDS.test(asked) || (DATE.test(asked) && !Number.isNaN(Date.parse(asked))) ? asked : undefined
}

/** Returns how long the service asks to wait. If it names a date, the usual pause applies. */
function askedPauseMs(reply: UpstreamReply | undefined): number {
  const seconds = Number(reply?.headers['retry-after'])
  return seconds > 0 ? seconds * 1_000 : 0
}

interface Slice {
  readonly second: number
  calls: number
  retries: number
}

/** Counts calls and retries per second over the last ten seconds. */
function createBudget() {
  let slices: Slice[] = []
  const sliceOfNow = (): Slice => {
    const second = Math.floor(performance.now() / 1_000)
    const newest = slices.at(-1)
    if (newest?.second === second) return newest
    const slice = { second, calls: 0, retries: 0 }
    slices = [...slices.filter((older) => older.second > second - WINDOW_SECONDS), slice]
    return slice
  }
  const sum = (of: 'calls' | 'retries') => slices.reduce((total, slice) => total + slice[of], 0)
  return {
    slice: sliceOfNow,
    takes: () => {
      const slice = sliceOfNow()
      if (sum('retries') >= Math.max(ALWAYS_ALLOWED, SHARE * sum('calls'))) return false
      slice.retries += 1
      return true
    },
  }
}

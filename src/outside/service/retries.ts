import type { IncomingHttpHeaders } from 'node:http'
import { gatewayError, retryAfter } from '../../language/errors.ts'
import { NoReply, type Silence, type UpstreamReply } from './exchange.ts'

/** Repeats an attempt if that is harmless and may help, within a budget. */
export type Retry = (attempt: () => Promise<UpstreamReply>, deadline: number) => Promise<UpstreamReply>

/** Reports whether a request may be sent twice: reads, quotes and cancels may; updates and bookings never. */
export const isSafeToRepeat = (method: string, path: string): boolean =>
  method === 'GET' || method === 'DELETE' || path === '/v2/quote'

const TRIES = 3
const BACKOFF_MS = 100
/** The least time that must remain of a call for a retry. */
const WORTHWHILE_MS = 50
const WINDOW_SECONDS = 10
/** Retries may be a fifth of the traffic of a window, and always ten: more would keep a failing service down. */
const SHARE = 0.2
const ALWAYS_ALLOWED = 10

/** The statuses of a service that fails; a failure may be temporary. */
const FAILURES = new Set([502, 503, 504])

/** Makes the retries of one service, with one budget for all callers; `onRetry` is called before each repetition. */
export function createRetry(onRetry = () => {}): Retry {
  const budget = createBudget()
  return async (attempt, deadline) => {
    budget.slice().calls += 1
    /** The outcome of the last attempt that left: one that did not leave proves nothing about those before it. */
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

/** The reasons why nothing comes back of a request that left. */
const LEFT: ReadonlySet<Silence> = new Set(['late', 'lost', 'too-large'])

/** Seconds, or a date in one of the forms of RFC 9110, 5.6.7; anything else must not be repeated in an answer. */
const SECONDS = /^\d{1,9}$/
const DATE = /^(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? [\w: -]{17,25}$/

/** Returns the time that a reply asks to wait. */
export function timeAsked({ 'retry-after': header = '' }: IncomingHttpHeaders): string | undefined {
  // A header that was sent twice is a list.
  const asked = String(header).trim()
  return SECONDS.test(asked) || (DATE.test(asked) && !Number.isNaN(Date.parse(asked))) ? asked : undefined
}

/** A service that names a number of seconds is not asked earlier; one that names a date is asked at the usual time. */
function askedPauseMs(reply: UpstreamReply | undefined): number {
  const seconds = Number(reply?.headers['retry-after'])
  return seconds > 0 ? seconds * 1_000 : 0
}

interface Slice {
  readonly second: number
  calls: number
  retries: number
}

/** Counts calls and retries second by second, over the last ten. */
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

/** Keeps calls away from a failing service, and sends one probe now and then. */
export interface Circuit {
  readonly isOpen: () => boolean
  /**
   * Returns whether a call is the probe of an open circuit; throws if it may not be made. A call that does not count is never
   * the probe.
   */
  readonly admit: (counts: boolean) => boolean
  /** Notes what came of a call that counts. A resource that the gateway itself lacks proves nothing about the service. */
  readonly note: (outcome: UpstreamReply | NoReply, isProbe: boolean) => void
}

const WINDOW_MS = 10_000
/** Fewer calls in a window prove nothing. */
const LEAST_CALLS = 20
const FAILED_SHARE = 0.5
const OPEN_MS = 5_000
const LEAST_WAIT_MS = 1_000

/** Makes the circuit breaker of one service address; it opens after sustained failure. */
export function createCircuit(): Circuit {
  let windowAt = performance.now()
  let calls = 0
  let failures = 0
  /** When an open circuit lets a probe through; undefined while it is closed. */
  let probeAt: number | undefined

  return {
    isOpen: () => probeAt !== undefined,
    admit: (counts) => {
      if (probeAt === undefined) return false
      const now = performance.now()
      if (now < probeAt || !counts) throw open(Math.max(probeAt - now, LEAST_WAIT_MS))
      // If the probe never reports back, another one is sent later.
      probeAt = now + OPEN_MS
      return true
    },
    note: (outcome, isProbe) => {
      if (outcome instanceof NoReply && outcome.isOurs) return
      // Calls that were under way when the circuit opened prove nothing new.
      if (probeAt !== undefined && !isProbe) return
      const failed = outcome instanceof NoReply || FAILURES.has(outcome.status)
      const now = performance.now()
      if (isProbe || now - windowAt > WINDOW_MS) {
        calls = 0
        failures = 0
        windowAt = now
      }
      if (isProbe) {
        probeAt = failed ? now + OPEN_MS : undefined
        return
      }
      calls += 1
      if (failed) failures += 1
      if (calls >= LEAST_CALLS && failures / calls >= FAILED_SHARE) probeAt = now + OPEN_MS
    },
  }
}

const open = (leftMs: number) => gatewayError('circuit-open', {}, retryAfter(Math.ceil(leftMs / 1000)))

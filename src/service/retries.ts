import type { IncomingHttpHeaders } from 'node:http'
import { type GatewayError, gatewayError } from '../errors.ts'
import { NoReply, type Silence, type UpstreamReply } from './exchange.ts'

/** Repeats an attempt if that is harmless and may help, within a budget. */
export type Retry = (attempt: () => Promise<UpstreamReply>, deadline: number) => Promise<UpstreamReply>

const TRIES = 3
const BACKOFF_MS = 100
/** The least time that must remain of a call for a retry. */
const WORTHWHILE_MS = 50
const WINDOW_SECONDS = 10
/** Retries may be a fifth of the traffic of a window, and always ten: more would keep a failing service down. */
const SHARE = 0.2
const ALWAYS_ALLOWED = 10

const TEMPORARY = new Set([502, 503, 504])

/** Makes the retries of one service, with one budget for all callers; `onRetry` is called before each repetition. */
export function createRetry(onRetry = () => {}): Retry {
  const budget = createBudget()
  return async (attempt, deadline) => {
    budget.called()
    /** The outcome of the last attempt that left. */
    let left: unknown
    for (let tries = 1; ; tries += 1) {
      let outcome: unknown
      try {
        outcome = await attempt()
      } catch (error) {
        outcome = error
      }
      const isLast = !isTemporary(outcome)
      // An attempt that did not leave proves nothing about those before it.
      if (hasLeft(outcome)) left = outcome
      else outcome = left ?? outcome
      if (isLast) return settled(outcome)
      const pauseMs = Math.max(BACKOFF_MS * 2 ** (tries - 1) * (0.5 + Math.random()), askedPauseMs(outcome))
      const hopeless = tries === TRIES || performance.now() + pauseMs + WORTHWHILE_MS > deadline
      if (hopeless || !budget.takes()) return settled(outcome)
      onRetry()
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

/** The reasons why nothing comes back of a request that left. */
const LEFT: ReadonlySet<Silence> = new Set(['late', 'lost', 'too-large'])

const hasLeft = (outcome: unknown) => isReply(outcome) || (outcome instanceof NoReply && LEFT.has(outcome.silence))

function isTemporary(outcome: unknown): boolean {
  if (outcome instanceof NoReply) return outcome.silence === 'unsent' || outcome.silence === 'lost'
  return isReply(outcome) && TEMPORARY.has(outcome.status)
}

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
function askedPauseMs(outcome: unknown): number {
  const seconds = isReply(outcome) ? Number(outcome.headers['retry-after']) : 0
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
  const current = (): Slice => {
    const second = Math.floor(performance.now() / 1_000)
    const newest = slices.at(-1)
    if (newest?.second === second) return newest
    const slice = { second, calls: 0, retries: 0 }
    slices = [...slices.filter((older) => older.second > second - WINDOW_SECONDS), slice]
    return slice
  }
  const sum = (of: 'calls' | 'retries') => slices.reduce((total, slice) => total + slice[of], 0)
  return {
    called: () => {
      current().calls += 1
    },
    takes: () => {
      const slice = current()
      if (sum('retries') >= Math.max(ALWAYS_ALLOWED, SHARE * sum('calls'))) return false
      slice.retries += 1
      return true
    },
  }
}

/**
 * Keeps calls away from a failing service, and sends one probe now and then. A call that does not count neither opens
 * nor closes the circuit.
 */
export type Circuit = (attempt: () => Promise<UpstreamReply>, counts?: boolean) => Promise<UpstreamReply>

const WINDOW_MS = 10_000
/** Fewer calls in a window prove nothing. */
const LEAST_CALLS = 20
const FAILED_SHARE = 0.5
const OPEN_MS = 5_000
const LEAST_WAIT_MS = 1_000

const FAILURES = new Set([502, 503, 504])

/** Makes the circuit breaker of one service address; it opens after sustained failure. `onChange` learns its state. */
export function createCircuit(onChange: (isOpen: boolean) => void = () => {}): Circuit {
  let windowAt = performance.now()
  let calls = 0
  let failures = 0
  /** When an open circuit lets a probe through; undefined while it is closed. */
  let probeAt: number | undefined

  /** Returns whether the call is the probe of an open circuit; throws if it may not be made. */
  const admit = (counts: boolean) => {
    if (probeAt === undefined) return false
    const now = performance.now()
    if (now < probeAt || !counts) throw open(Math.max(probeAt - now, LEAST_WAIT_MS))
    // If the probe never reports back, another one is sent later.
    probeAt = now + OPEN_MS
    return true
  }
  const note = (failed: boolean, isProbe: boolean) => {
    // Calls that were under way when the circuit opened prove nothing new.
    if (probeAt !== undefined && !isProbe) return
    const now = performance.now()
    if (isProbe || now - windowAt > WINDOW_MS) {
      calls = 0
      failures = 0
      windowAt = now
    }
    if (isProbe) {
      probeAt = failed ? now + OPEN_MS : undefined
      if (!failed) onChange(false)
      return
    }
    calls += 1
    if (failed) failures += 1
    if (calls < LEAST_CALLS || failures / calls < FAILED_SHARE) return
    probeAt = now + OPEN_MS
    onChange(true)
  }

  return async (attempt, counts = true) => {
    const isProbe = admit(counts)
    if (!counts) return attempt()
    try {
      const reply = await attempt()
      note(FAILURES.has(reply.status), isProbe)
      return reply
    } catch (error) {
      // A resource that the gateway itself lacks proves nothing about the service.
      if (error instanceof NoReply && !error.isOurs) note(true, isProbe)
      throw error
    }
  }
}

function open(leftMs: number): GatewayError {
  return gatewayError('circuit-open', {}, { headers: { 'Retry-After': String(Math.ceil(leftMs / 1000)) } })
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** The pauses before the second and each later try: 75 hours and 35 minutes in all. */
const PAUSES_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
]

/** The tries of a delivery; after the last one, the event is parked. */
export const TRIES = PAUSES_MS.length + 1

/** Pauses differ by up to this share, to spread out the deliveries of an endpoint that was down. */
const JITTER = 0.1
const LONGEST_RETRY_AFTER_MS = 24 * HOUR_MS

/** Returns the pause after this many failures; undefined after the last try. An endpoint may ask for a longer one. */
export function pauseAfter(failures: number, retryAfterMs = 0, random = Math.random): number | undefined {
  const pauseMs = PAUSES_MS[failures - 1]
  if (pauseMs === undefined) return undefined
  const spread = pauseMs * (1 + JITTER * (2 * random() - 1))
  return Math.round(Math.max(spread, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS)))
}

/** The shares of the tries after which operators are warned. */
const WARN_AT_PERCENT: readonly number[] = [50, 70, 90]

/** Returns the percentage of which operators are warned after this many failures; undefined after the others. */
export function warningAt(failures: number): number | undefined {
  return WARN_AT_PERCENT.find((percent) => failures === Math.round((TRIES * percent) / 100))
}

const FIRST_SLOWDOWN_MS = 5 * SECOND_MS
const LONGEST_SLOWDOWN_MS = 5 * MINUTE_MS

/** Returns how long an endpoint pauses after this many replies in a row that ask for fewer deliveries. */
export function slowdownAfter(replies: number, retryAfterMs = 0): number {
  const growing = Math.min(FIRST_SLOWDOWN_MS * 2 ** (replies - 1), LONGEST_SLOWDOWN_MS)
  return Math.max(growing, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS))
}

/** Reads a `Retry-After` header, in seconds or as a date (RFC 9110); 0 if there is none that can be read. */
export function retryAfterMs(header: unknown, now: number): number {
  if (typeof header !== 'string') return 0
  if (/^\d{1,9}$/.test(header)) return Number(header) * SECOND_MS
  const until = Date.parse(header)
  return Number.isNaN(until) ? 0 : Math.max(0, until - now)
}

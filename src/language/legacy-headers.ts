import type { Answer } from './answer.ts'
import { errorTable } from './errors.ts'

/** When version 1 was deprecated: 1 January 2026. */
export const DEPRECATED_AT = Date.UTC(2026, 0, 1)

/** The notice about the end of version 1 that a caller gets. */
export interface Deprecation {
  /** The headers of every reply on a legacy path. */
  readonly headers: Answer['headers']
  /** The announced end of version 1. */
  readonly sunset: Date | undefined
  /** When every legacy call starts to be refused. */
  readonly retiredFrom: Date | undefined
  /** The address of the migration guide. */
  readonly guide: string | undefined
  /** The brownouts, in order and without overlap. */
  readonly windows: readonly BrownoutWindow[]
  /** True if brownouts also refuse new bookings. */
  readonly coversBookings: boolean
}

/** Makes a caller's deprecation with its headers: RFC 9745 (Deprecation), RFC 8594 (Sunset) and their links. */
export function deprecationOf(notice: Omit<Deprecation, 'headers'>): Deprecation {
  const { sunset, guide } = notice
  const relations = ['deprecation', ...(sunset ? ['sunset'] : [])]
  return {
    ...notice,
    headers: {
      Deprecation: `@${DEPRECATED_AT / 1000}`,
      ...(sunset && { Sunset: sunset.toUTCString() }),
      ...(guide && { Link: relations.map((rel) => `<${guide}>; rel="${rel}"; type="text/html"`).join(', ') }),
    },
  }
}

/** A time in which legacy calls are refused, in milliseconds since 1970: from `start` until just before `end`. */
export interface BrownoutWindow {
  readonly start: number
  readonly end: number
}

/** Why legacy calls are refused at a moment: version 1 has ended, or there is a brownout, which may spare bookings. */
type Closure =
  | { readonly kind: 'retired'; readonly since: Date }
  | { readonly kind: 'brownout'; readonly window: BrownoutWindow }

/** Decides whether legacy calls are refused at a moment. */
export function closureAt({ retiredFrom, windows }: Deprecation, now: number): Closure | undefined {
  if (retiredFrom && retiredFrom.getTime() <= now) return { kind: 'retired', since: retiredFrom }
  const window = windows.length === 0 ? undefined : windowAt(windows, now)
  return window && { kind: 'brownout', window }
}

/** Says which legacy calls are refused at a moment; undefined if none are. */
export function closureNotice(deprecation: Deprecation, now: number): string | undefined {
  const closure = closureAt(deprecation, now)
  if (!closure) return undefined
  return closure.kind === 'retired'
    ? `Version 1 has ended: since ${minuteOf(closure.since.getTime())}, all version-1 calls get ${errorTable.retired.status}.`
    : `In a brownout until ${minuteOf(closure.window.end)}, all version-1 calls${deprecation.coversBookings ? '' : ' except bookings and approvals'} get ${errorTable.brownout.status}.`
}

const MINUTE_CHARACTERS = 16

export const minuteOf = (moment: number): string =>
  `${new Date(moment).toISOString().slice(0, MINUTE_CHARACTERS).replace('T', ' ')} UTC`

const HOUR_MS = 3_600_000
const DAYS_BETWEEN_STEPS = 7
/** The lengths of a ladder's windows, which start a week apart at the same time of day. */
const LADDER_HOURS = [1, 1, 4, 4, 8, 8, 24, 24]

export function windowFrom(start: LocalTime, lengthMs: number): BrownoutWindow {
  const from = momentOf(start)
  return { start: from, end: from + lengthMs }
}

/** Returns the windows of a ladder that begins at a time. */
export function ladderFrom(start: LocalTime): readonly BrownoutWindow[] {
  return LADDER_HOURS.map((hours, step) => windowFrom(daysLater(start, step * DAYS_BETWEEN_STEPS), hours * HOUR_MS))
}

/** Returns the window at a time, if there is one. */
export function windowAt(windows: readonly BrownoutWindow[], now: number): BrownoutWindow | undefined {
  return windows.find(({ start, end }) => start <= now && now < end)
}

/** Returns the windows that are not over. */
export function windowsToCome(windows: readonly BrownoutWindow[], now: number): readonly BrownoutWindow[] {
  return windows.filter(({ end }) => now < end)
}

/** A date and a time of day on the clocks of a time zone. */
interface LocalTime {
  /** The clock's fields as if it showed UTC, in milliseconds since 1970. */
  readonly clock: number
  readonly zone: Zone
}

/** An offset from UTC in minutes, or the name of a time zone such as `America/New_York`. */
type Zone = number | string

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const LOCAL_TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)?(?:(Z)|([+-])(\d\d):(\d\d)|\[([\w/+-]+)\])$/
const HOUR_MINUTES = 60
/** No time zone is further from UTC. */
const MAX_OFFSET_MINUTES = 14 * HOUR_MINUTES

/**
 * Reads `2027-01-12T15:00Z`, `2027-01-12T15:00-05:00` or `2027-01-12T15:00[America/New_York]` (RFC 9557); undefined for
 * anything else, including days that do not exist.
 */
export function parseLocalTime(text: string): LocalTime | undefined {
  const [, day = '', time = '', seconds = ':00', utc, sign, hours, minutes, name] = LOCAL_TIME.exec(text) ?? []
  const written = `${day}T${time}${seconds}`
  const clock = Date.parse(`${written}.000Z`)
  // `Date.parse` accepts 29 February in any year, and 24:00.
  if (Number.isNaN(clock) || new Date(clock).toISOString() !== `${written}.000Z`) return undefined
  if (name !== undefined) return isZone(name) ? { clock, zone: name } : undefined
  const offset = utc ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * HOUR_MINUTES + Number(minutes))
  if (Math.abs(offset) > MAX_OFFSET_MINUTES || Number(minutes) >= HOUR_MINUTES) return undefined
  return { clock, zone: offset }
}

/** Returns the same time of day, some days later. */
function daysLater({ clock, zone }: LocalTime, days: number): LocalTime {
  return { clock: clock + days * DAY_MS, zone }
}

/**
 * Returns the moment at which clocks show a local time, in milliseconds since 1970; the first one if they show it twice. A time that they
 * skip is counted from before the change, and so comes that much later.
 */
export function momentOf({ clock, zone }: LocalTime): number {
  if (typeof zone === 'number') return clock - zone * MINUTE_MS
  const before = clock - offsetAt(zone, clock - DAY_MS)
  const after = clock - offsetAt(zone, clock + DAY_MS)
  const shown = [before, after].filter((moment) => moment + offsetAt(zone, moment) === clock)
  return shown.length > 0 ? Math.min(...shown) : before
}

function isZone(name: string): boolean {
  try {
    return !Number.isNaN(offsetAt(name, 0))
  } catch {
    return false
  }
}

/** Returns how far the clocks of a zone are ahead of UTC at a moment, in milliseconds. */
function offsetAt(timeZone: string, moment: number): number {
  // Every build of Node knows English, and `Date.parse` reads this format even in five-digit years.
  const shown = new Date(moment).toLocaleString('en-US', { timeZone, hourCycle: 'h23' })
  return Date.parse(`${shown} UTC`) - Math.floor(moment / 1000) * 1000
}

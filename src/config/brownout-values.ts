import { z } from 'zod'
import { type BrownoutWindow, ladderFrom, windowFrom } from '../deprecation/brownouts.ts'
import { DEPRECATED_AT } from '../deprecation/deprecation.ts'
import { parseLocalTime } from '../deprecation/moment.ts'
import { day, duration, list } from './values.ts'

/** The day on which version 1 ends. RFC 9745 does not allow one before the deprecation. */
export const sunset = day.refine(
  (end) => end.getTime() >= DEPRECATED_AT,
  'must not be before 2026-01-01, when version 1 was deprecated (RFC 9745)',
)

const SHORTEST_MS = 60_000
const LONGEST_MS = 7 * 86_400_000

/** Windows such as `2027-01-12T15:00Z/1h` and ladders such as `2027-01-12T09:00[America/New_York]/ladder`, or `none`. */
export const brownouts = list.transform((entries, ctx): readonly BrownoutWindow[] => {
  const fail = (message: string) => {
    ctx.issues.push({ code: 'custom', message, input: entries })
    return z.NEVER
  }
  if (entries.join() === 'none') return []
  const read = entries.map((entry) => ({ entry, windows: windowsOf(entry) }))
  const wrong = read.filter(({ windows }) => windows === undefined).map(({ entry }) => entry)
  if (entries.length === 0 || wrong.length > 0) return fail(`${FORM}${wrong.length > 0 ? `, not ${wrong.join()}` : ''}`)
  const windows = read.flatMap((one) => one.windows ?? []).sort((one, other) => one.start - other.start)
  const overlap = windows.find(({ start }, i) => start < (windows[i - 1]?.end ?? start))
  return overlap ? fail(`has two windows at ${new Date(overlap.start).toISOString()}; leave one out`) : windows
})

const FORM =
  'must list windows of 1m to 7d such as 2027-01-12T15:00Z/1h, and ladders such as 2027-01-12T09:00[America/New_York]/ladder'

/** Returns the windows of an entry; undefined for one that cannot be read. */
function windowsOf(entry: string): readonly BrownoutWindow[] | undefined {
  // The name of a zone may contain a slash.
  const slash = entry.lastIndexOf('/')
  const start = parseLocalTime(entry.slice(0, slash))
  const length = entry.slice(slash + 1)
  if (!start) return undefined
  if (length === 'ladder') return ladderFrom(start)
  const lengthMs = duration.safeParse(length).data
  return lengthMs !== undefined && lengthMs >= SHORTEST_MS && lengthMs <= LONGEST_MS
    ? [windowFrom(start, lengthMs)]
    : undefined
}

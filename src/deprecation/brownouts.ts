import { daysLater, type LocalTime, momentOf } from './moment.ts'

/** A time in which legacy calls are refused, in milliseconds since 1970: from `start`, and before `end`. */
export interface BrownoutWindow {
  readonly start: number
  readonly end: number
}

const HOUR_MS = 3_600_000
const DAYS_BETWEEN_STEPS = 7
/** The lengths of a ladder's windows, which begin a week apart at the same time of day. */
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

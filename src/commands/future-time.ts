import { day, duration } from '../config/values.ts'

/** Reads a date, or a duration from now on, as milliseconds since 1970; undefined if the text is neither. */
export function futureTime(text: string, now: number): number | undefined {
  const later = duration.safeParse(text)
  if (later.success) return now + later.data
  return day.safeParse(text).data?.getTime()
}

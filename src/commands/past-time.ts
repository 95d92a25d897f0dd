import { day, duration } from '../config/values.ts'

/** Reads a date, or a duration before now, as milliseconds since 1970; undefined if the text is neither. */
export function pastTime(text: string, now: number): number | undefined {
  const ago = duration.safeParse(text)
  if (ago.success) return now - ago.data
  return day.safeParse(text).data?.getTime()
}

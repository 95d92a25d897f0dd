const MOMENT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2})?(?:\.\d{1,9})?(?:(Z)|([+-]\d{2}):?(\d{2}))?$/

/** A date as the service writes it: UTC, whole seconds, an offset without a colon. */
export function serviceDate(date: Date): string {
  return `${date.toISOString().slice(0, 19)}+0000`
}

/** Reads a date-time with or without an offset (then UTC) and milliseconds; undefined if it is none. */
export function readServiceDate(text: string): Date | undefined {
  const parts = MOMENT.exec(text)
  if (!parts) return undefined
  const [, day, minutes, seconds = ':00', , hours, rest] = parts
  const date = new Date(`${day}T${minutes}${seconds}${hours ? `${hours}:${rest}` : 'Z'}`)
  return Number.isNaN(date.getTime()) ? undefined : date
}

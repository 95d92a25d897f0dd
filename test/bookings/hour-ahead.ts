/* To be imported before a program: its clock is an hour ahead. */
const HOUR_MS = 3_600_000
const RealDate = Date

class DateAhead extends RealDate {
  constructor(...given: readonly unknown[]) {
    // All forms of arguments are passed on as they are.
    super(...((given.length === 0 ? [DateAhead.now()] : given) as [number]))
  }

  static override now(): number {
    return RealDate.now() + HOUR_MS
  }
}

globalThis.Date = DateAhead as DateConstructor

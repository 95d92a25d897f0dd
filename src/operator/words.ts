import { type ErrorCode, errorTable } from '../language/errors.ts'
import { escapeControls } from '../language/text/service-text.ts'
import { DAY_MS, OTHER_NAMES } from '../outside/store/scoreboard.ts'
import type { AuditEntry, ClaimState } from '../outside/store/store.ts'

/* Words of pages, commands and reports. */

/** Writes a number with commas between thousands. */
export const grouped = (value: number): string => value.toLocaleString('en-US')

/** Writes the first letter as a capital. */
export const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** The end of a noun for so many things. */
export const ending = (count: number): string => (count === 1 ? '' : 's')

/** Writes a number with a noun, whose plural has an `s`. */
export const plural = (value: number, noun: string): string => `${grouped(value)} ${noun}${ending(value)}`

/** Names a tenant; those whose calls had no name are one. */
export const tenantName = (tenant: string): string => (tenant === OTHER_NAMES ? 'callers without a name' : tenant)

/** Names the first of some things. */
export const firstNames = (names: readonly string[], most: number): string =>
  names.slice(0, most).join(', ') + (names.length > most ? ', …' : '')

/** Adds up a figure of all rows. */
export const total = <Figure extends string>(
  rows: readonly Readonly<Record<Figure, number>>[],
  figure: Figure,
): number => rows.reduce((sum, row) => sum + row[figure], 0)

/** Sorts rows by a figure, the largest first. */
export const largestFirst =
  <Figure extends string>(figure: Figure) =>
  (one: Readonly<Record<Figure, number>>, other: Readonly<Record<Figure, number>>): number =>
    other[figure] - one[figure]

/** Returns the title of an error; one that the table lacks is its own title. */
export const errorTitle = (code: string): string =>
  Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode].title : code

/** `Book a shipment`: the title in an action's summary. The rest of it says what version 1 does. */
export const shortSummary = ({ summary }: { readonly summary: string }): string => summary.split(/[.:]/, 1)[0] ?? ''

/** Writes a time (milliseconds since 1970) in ISO 8601. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** Returns rows as lines whose columns begin at the same place, with control characters as a terminal shows them. */
export function aligned(given: readonly (readonly string[])[]): readonly string[] {
  const rows = given.map((row) => row.map(escapeControls))
  const widths: number[] = []
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length)
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** Returns lines below a title; none without lines. */
export const titled = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length > 0 ? ['', title, ...lines.map((line) => `  ${line}`)] : []

const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** Writes a duration in its largest unit: `40 s`, `12 min`, `5 h`; in days from the second one on. */
export function durationOf(ms: number): string {
  const units = [
    [2 * DAY_MS, DAY_MS, 'days'],
    [HOUR_MS, HOUR_MS, 'h'],
    [MINUTE_MS, MINUTE_MS, 'min'],
  ] as const
  const [, unit, name] = units.find(([from]) => ms >= from) ?? [0, SECOND_MS, 's']
  return `${grouped(Math.max(0, Math.floor(ms / unit)))} ${name}`
}

/** The states of a booking as people call them. */
export const STATES: Readonly<Record<ClaimState, string>> = {
  unknown: 'Outcome unknown',
  sending: 'Sending',
  booked: 'Booked',
  refused: 'Refused',
  freed: 'Canceled or not booked',
}

/** Returns the state of one booking: a key is free because its shipment was canceled, or because there was none. */
export const stateOf = ({ state, shipment }: { readonly state: ClaimState; readonly shipment: string }): string =>
  state !== 'freed' ? STATES[state] : shipment === '' ? 'Not booked' : 'Canceled'

const REASONS: Readonly<Record<string, string>> = {
  claimed: 'Accepted for sending.',
  made: 'The service made the shipment.',
  late: 'Sent. The service did not answer in time.',
  lost: 'Sent. The connection broke before the service answered.',
  'too-large': 'Sent. The reply was too large to read.',
  'never sent': 'Nothing was sent.',
  'nothing was booked': 'The service booked nothing.',
  canceled: 'The shipment is canceled or gone.',
  gone: 'The shipment is canceled or gone.',
  'may have been booked before the store was restored': 'It may have been booked before the store was restored.',
  'healed: webhook': "The service's event shows the shipment.",
  'healed: sweep': 'A lookup at the service found the shipment.',
  'settled: booked': 'An operator settled it as booked.',
  'settled: not booked': 'An operator settled it as not booked.',
  reopened: 'An operator undid the settlement.',
}

/** Tells an entry in the history of a booking as a sentence. */
export function sentenceOf({ to, why }: Pick<AuditEntry, 'to' | 'why'>): string {
  const [, status] = /^answered (\d+)$/.exec(why) ?? []
  if (status !== undefined)
    return `The service answered ${status}${to === 'refused' ? ', so nothing was booked' : ', which proves nothing'}.`
  const [, gone] = /^gateway (.+) is gone$/s.exec(why) ?? []
  if (gone !== undefined) return `Gateway ${gone} ended before it received the answer.`
  return Object.hasOwn(REASONS, why) ? (REASONS[why] ?? why) : `${STATES[to]}: ${why}.`
}

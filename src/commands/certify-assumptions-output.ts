import { type Area, type Assumption, assumptions } from '../certify/assumptions.ts'
import type { CleanedUp } from '../certify/journal.ts'
import { type Allowed, type Change, forbidden, type Result, type Results } from '../certify/run.ts'
import type { Verdict } from '../certify/seen.ts'

const VERDICTS: readonly Verdict[] = ['confirmed', 'contradicted', 'cannot tell', 'not tried']
const VERDICT_CHARACTERS = Math.max(...VERDICTS.map((verdict) => verdict.length))
const ID_CHARACTERS = Math.max(...assumptions.map(({ id }) => id.length))
const INDENT = ' '.repeat(VERDICT_CHARACTERS + ID_CHARACTERS + 6)

/** Returns the lines of one result; one that contradicts says what to do. */
export function resultLines({ id, sentence, otherwise }: Assumption, { verdict, seen }: Result): readonly string[] {
  const line = `  ${verdict.padEnd(VERDICT_CHARACTERS)}  ${id.padEnd(ID_CHARACTERS)}  ${sentence} (${seen})`
  return verdict === 'contradicted' ? [line, `${INDENT}→ ${otherwise}`] : [line]
}

const byId = new Map(assumptions.map((assumption) => [assumption.id, assumption]))

/** Returns a result with its sentence, and what to do if it contradicts. */
export function resultJson({ id, verdict, seen }: Result): object {
  const { sentence, otherwise } = byId.get(id) ?? {}
  return { id, sentence, verdict, seen, ...(verdict === 'contradicted' && { otherwise }) }
}

/** Counts the results by verdict. */
export function summaryLine(results: readonly Result[]): string {
  const counts = VERDICTS.map(
    (verdict) => `${results.filter((result) => result.verdict === verdict).length} ${verdict}`,
  )
  return `${results.length} assumptions: ${counts.join(', ')}.`
}

/** Says what a clean-up did. */
export function cleanedUpLines({ canceled, left }: CleanedUp): readonly string[] {
  return [
    `Canceled ${canceled} test ${canceled === 1 ? 'booking' : 'bookings'}.`,
    ...left.map((line) => `May be left at the service: ${line}`),
    ...(left.length > 0 ? ['"transload certify assumptions --clean-up" tries again.'] : []),
  ]
}

/** Lists what differs from an earlier run. */
export function changeLines({ at }: Results, changes: readonly Change[]): readonly string[] {
  if (changes.length === 0) return [`Nothing has changed since ${at}.`]
  return [
    `Changed since ${at}:`,
    ...changes.map(({ id, before, now }) => {
      const was = before === undefined ? 'not known' : `${before.verdict} (${before.seen})`
      return `  ${id.padEnd(ID_CHARACTERS)}  ${was} → ${now.verdict} (${now.seen})`
    }),
  ]
}

/** Lists what would be tried. */
export function planLines(
  areas: readonly Area[],
  wanted: readonly Assumption[],
  allowed: Allowed,
  service: string,
): readonly string[] {
  const tried = wanted.filter((assumption) => forbidden(assumption, allowed) === undefined)
  const books = tried.filter(({ effect }) => effect === 'bookings').length
  return [
    `Would try ${tried.length} of ${wanted.length} assumptions at ${service}; ${books} of them make test bookings. Nothing is sent now.`,
    ...areas.flatMap(({ title, assumptions: all }) => {
      const own = all.filter((assumption) => wanted.includes(assumption))
      return own.length === 0 ? [] : ['', title, ...own.flatMap((assumption) => plannedLines(assumption, allowed))]
    }),
  ]
}

function plannedLines(assumption: Assumption, allowed: Allowed): readonly string[] {
  const { id, how, effect, requests } = assumption
  const reason = forbidden(assumption, allowed)
  const what = reason === undefined ? effect : `not tried: ${reason}`
  return [`  ${id.padEnd(ID_CHARACTERS)}  ${how} (${what})`, `  ${' '.repeat(ID_CHARACTERS)}  ${requests.join(', ')}`]
}

/** Returns an assumption with what would be done for it. */
export function plannedJson(assumption: Assumption, allowed: Allowed): object {
  const { id, sentence, how, effect, requests } = assumption
  const reason = forbidden(assumption, allowed)
  return { id, sentence, how, effect, requests, isTried: reason === undefined, ...(reason !== undefined && { reason }) }
}

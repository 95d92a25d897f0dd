import { dayText, percent, plural } from './wording.ts'

/** The calls of a tenant on a day. */
export interface DayUse {
  /** In days since 1970, UTC. */
  readonly day: number
  readonly version1: number
  readonly version2: number
  /** Version-1 and version-2 calls that ended with an error. */
  readonly refused: number
}

/** The facts that a verdict rests on. */
export interface Evidence {
  readonly today: number
  /** The days on which a gateway counted, in order. */
  readonly watched: readonly number[]
  /** How many watched days without a version-1 call make it safe to switch version 1 off. */
  readonly quietDays: number
  /** The days of the last version-1 and version-2 call; undefined if there was none. */
  readonly lastVersion1: number | undefined
  readonly lastVersion2: number | undefined
  /** The last four weeks at least. */
  readonly days: readonly DayUse[]
}

export const verdictStates = {
  failing: 'failing',
  calling: 'calling',
  moving: 'moving',
  quiet: 'quiet',
  'never-seen': 'never seen',
  safe: 'safe to switch off',
} as const

export type VerdictState = keyof typeof verdictStates

/** If version 1 can be switched off for a tenant, and why. */
export interface Verdict {
  readonly state: VerdictState
  /** The day since when the state holds, where it has one. */
  readonly since: string | undefined
  readonly reasons: readonly string[]
}

const WEEK_DAYS = 7
const WEEKS = 4
/** The part of calls that may be refused before a tenant counts as failing. */
const MOST_REFUSED = 0.05
/** A share of version 2 that moves by less in four weeks is steady. */
const STEADY = 0.05

/** Decides on one tenant. */
export function verdictOf(evidence: Evidence): Verdict {
  const { lastVersion1, lastVersion2, watched } = evidence
  if (lastVersion1 === undefined && lastVersion2 === undefined) return neverSeen(watched)
  return silence(evidence) ?? failing(evidence) ?? moving(evidence) ?? calling(evidence)
}

function neverSeen([first]: readonly number[]): Verdict {
  const reason =
    first === undefined
      ? 'It has never called, but no gateway has watched yet: that proves nothing.'
      : `It has never called since ${dayText(first)}, when the gateway began to watch. It may still have callers elsewhere.`
  return { state: 'never-seen', since: first === undefined ? undefined : dayText(first), reasons: [reason] }
}

/** Returns the verdict on a tenant that has stopped to use version 1; undefined if it has not. */
function silence({ today, watched, quietDays, lastVersion1, days }: Evidence): Verdict | undefined {
  const quiet = watched.filter((day) => day <= today && (lastVersion1 === undefined || day > lastVersion1))
  const [firstQuiet = today] = quiet
  const recently = lastVersion1 !== undefined && today - lastVersion1 < Math.min(WEEK_DAYS, quietDays)
  if (recently) return undefined
  const last =
    lastVersion1 === undefined
      ? `It has sent no version-1 call since ${dayText(firstQuiet)}, when the gateway began to watch`
      : `Its last version-1 call was on ${dayText(lastVersion1)}`
  const since = dayText(lastVersion1 ?? firstQuiet)
  const version2 = sum(days, today, 0, 'version2')
  const other = version2 > 0 ? [`It sent ${plural(version2, 'version-2 call')} in the last seven days.`] : []
  if (quiet.length >= quietDays) {
    const reason = `${last}, and the gateway has watched for ${plural(quiet.length, 'day')} since.`
    return { state: 'safe', since, reasons: [reason, ...other] }
  }
  const reason = `${last}. It is safe to switch off after ${plural(quietDays, 'watched day')} without one; so far there are ${quiet.length}.`
  return { state: 'quiet', since, reasons: [reason, ...other] }
}

function failing({ today, days }: Evidence): Verdict | undefined {
  const refused = sum(days, today, 0, 'refused')
  const all = sum(days, today, 0, 'version1') + sum(days, today, 0, 'version2')
  if (all === 0 || refused / all <= MOST_REFUSED) return undefined
  const reason = `${refused} of ${plural(all, 'call')} in the last seven days ended with an error (${percent(refused / all)}; the limit is ${percent(MOST_REFUSED)}).`
  return { state: 'failing', since: undefined, reasons: [reason, ...usage(today, days)] }
}

function moving({ today, days }: Evidence): Verdict | undefined {
  const shares = weeklyShares(today, days)
  const inUse = shares.some((share) => share !== undefined && share > 0)
  return inUse ? { state: 'moving', since: undefined, reasons: usage(today, days) } : undefined
}

function calling({ today, days, lastVersion1 }: Evidence): Verdict {
  const last = lastVersion1 === undefined ? '' : `; the last version-1 call was on ${dayText(lastVersion1)}`
  const version1 = sumOfWeeks(days, today, 'version1')
  const reason = `It uses version 1 alone: ${plural(version1, 'call')} in the last four weeks${last}.`
  return { state: 'calling', since: undefined, reasons: [reason] }
}

/** Describes the share of version 2 and its trend. */
function usage(today: number, days: readonly DayUse[]): readonly string[] {
  const version1 = sumOfWeeks(days, today, 'version1')
  const version2 = sumOfWeeks(days, today, 'version2')
  if (version2 === 0) return [`It uses version 1 alone: ${plural(version1, 'call')} in the last four weeks.`]
  const known = weeklyShares(today, days).filter((share) => share !== undefined)
  const [first = 0] = known
  const last = known.at(-1) ?? 0
  const trend = last - first > STEADY ? 'rising' : first - last > STEADY ? 'falling' : 'steady'
  const whole = `${percent(version2 / (version1 + version2))} of its ${plural(version1 + version2, 'call')} in the last four weeks use version 2`
  return [
    `${whole}; the share is ${trend}, from ${percent(first)} in the first of these weeks to ${percent(last)} in the last.`,
  ]
}

/** Returns the share of version 2 in each of the last four weeks, the oldest first; undefined for a week without calls. */
export function weeklyShares(today: number, days: readonly DayUse[]): readonly (number | undefined)[] {
  return Array.from({ length: WEEKS }, (_, i) => {
    const weeksAgo = WEEKS - 1 - i
    const version2 = sum(days, today, weeksAgo, 'version2')
    const all = version2 + sum(days, today, weeksAgo, 'version1')
    return all === 0 ? undefined : version2 / all
  })
}

function sum(days: readonly DayUse[], today: number, weeksAgo: number, what: Exclude<keyof DayUse, 'day'>): number {
  const last = today - weeksAgo * WEEK_DAYS
  return days.reduce((all, day) => (day.day > last - WEEK_DAYS && day.day <= last ? all + day[what] : all), 0)
}

function sumOfWeeks(days: readonly DayUse[], today: number, what: Exclude<keyof DayUse, 'day'>): number {
  return Array.from({ length: WEEKS }, (_, i) => sum(days, today, i, what)).reduce((all, week) => all + week, 0)
}

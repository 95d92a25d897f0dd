import { DAY_MS } from '../../outside/store/scoreboard.ts'
import { firstNames, grouped, isoTime, plural, total } from '../words.ts'

/* The verdict on a tenant, or on all: if version 1 can be switched off, and why. */

/** So many watched days without a version-1 call make it safe to switch version 1 off. */
export const QUIET_DAYS = 30
/** The calls of a day that a verdict rests on. */
export type DayUse = Readonly<Record<'day' | 'version1' | 'version2' | 'failed' | 'afterEnd', number>>

/** The facts that a verdict rests on. */
export interface Evidence {
  readonly today: number
  /** The days on which a gateway counted, in order. */
  readonly watched: readonly number[]
  /** The days of the last version-1 and version-2 call; undefined if there was none. */
  readonly lastVersion1: number | undefined
  readonly lastVersion2: number | undefined
  /** The last four weeks at least. */
  readonly days: readonly DayUse[]
}

export const verdictStates = {
  'after-end': 'still calling after the end',
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
/** The part of calls that may fail before a tenant counts as failing. */
const MOST_FAILED = 0.05
/** A share of version 2 that moves by less in four weeks is steady. */
const STEADY = 0.05

/** Decides on one tenant. */
export function verdictOf(evidence: Evidence): Verdict {
  const { today, lastVersion1, lastVersion2, days } = evidence
  if (lastVersion1 === undefined && lastVersion2 === undefined) return neverSeen(evidence)
  if (lastVersion1 === undefined || today - lastVersion1 >= WEEK_DAYS) return silence(evidence)
  const { all, failed, afterEnd } = sumOf(lastDays(days, today))
  const verdict = (state: VerdictState, ...reasons: readonly string[]) => ({ state, since: undefined, reasons })
  if (afterEnd > 0) {
    const reason = `${plural(afterEnd, 'version-1 call')} in the last seven days came after the end of version 1 and got 410.`
    return verdict('after-end', reason)
  }
  if (all > 0 && failed / all > MOST_FAILED) {
    const reason = `${grouped(failed)} of ${plural(all, 'call')} in the last seven days failed (${percent(failed / all)}; the limit is ${percent(MOST_FAILED)}). Caller errors do not count.`
    return verdict('failing', reason, usage(evidence))
  }
  return verdict(sumOf(lastDays(days, today, WEEKS)).version2 > 0 ? 'moving' : 'calling', usage(evidence))
}

/** Adds the calls of days up, with the share of version 2: null without calls. */
export function sumOf(days: readonly DayUse[]) {
  const [version1, version2] = [total(days, 'version1'), total(days, 'version2')]
  const all = version1 + version2
  const share = all === 0 ? null : version2 / all
  return { version1, version2, all, share, failed: total(days, 'failed'), afterEnd: total(days, 'afterEnd') }
}

export function neverSeen({ watched: [first] }: Pick<Evidence, 'watched'>): Verdict {
  const since = first === undefined ? undefined : dayText(first)
  const reason =
    since === undefined
      ? 'No call is known, but no gateway has been watching yet, so that proves nothing.'
      : `No call has come since ${since}, when the gateway began watching. There may still be callers elsewhere.`
  return { state: 'never-seen', since, reasons: [reason] }
}

/** Returns the verdict on a tenant that has stopped to use version 1. */
function silence({ today, watched, lastVersion1, days }: Evidence): Verdict {
  const quiet = watched.filter((day) => day <= today && (lastVersion1 === undefined || day > lastVersion1))
  const since = dayText(lastVersion1 ?? quiet[0] ?? today)
  const last =
    lastVersion1 === undefined
      ? `No version-1 call has come since ${since}, when the gateway began watching`
      : `The last version-1 call was on ${since}`
  const { version2 } = sumOf(lastDays(days, today))
  const other =
    version2 > 0
      ? [`In the last seven days, there ${version2 === 1 ? 'was' : 'were'} ${plural(version2, 'version-2 call')}.`]
      : []
  if (quiet.length >= QUIET_DAYS) {
    const reason = `${last}, and the gateway has watched for ${plural(quiet.length, 'day')} since.`
    return { state: 'safe', since, reasons: [reason, ...other] }
  }
  const reason = `${last}. It is safe to switch off after ${plural(QUIET_DAYS, 'watched day')} without one; so far: ${quiet.length}.`
  return { state: 'quiet', since, reasons: [reason, ...other] }
}

/** Describes the share of version 2 and its trend. */
function usage({ today, days, lastVersion1 }: Evidence): string {
  const { version2, all, share } = sumOf(lastDays(days, today, WEEKS))
  if (version2 === 0 || share === null) {
    const last = lastVersion1 === undefined ? '' : `; the last version-1 call was on ${dayText(lastVersion1)}`
    return `Only version 1 is used: ${plural(all, 'call')} in the last four weeks${last}.`
  }
  const known = weeklyShares(today, days).filter((share) => share !== null)
  const [first, last] = [known[0] ?? 0, known.at(-1) ?? 0]
  const trend = last - first > STEADY ? 'rising' : first - last > STEADY ? 'falling' : 'steady'
  const whole = `${percent(share)} of ${plural(all, 'call')} in the last four weeks ${all === 1 ? 'uses' : 'use'} version 2`
  if (known.length < 2) return `${whole}, all in one week.`
  return `${whole}. The share is ${trend}, from ${percent(first)} in the first week to ${percent(last)} in the last.`
}

/** Returns the share of version 2 in each of the last four weeks, the oldest first; null for a week without calls. */
export const weeklyShares = (today: number, days: readonly DayUse[]): readonly (number | null)[] =>
  Array.from({ length: WEEKS }, (_, i) => sumOf(lastDays(days, today - (WEEKS - 1 - i) * WEEK_DAYS)).share)

/** Returns the days of the weeks that end on a day. */
const lastDays = (days: readonly DayUse[], until: number, weeks = 1): readonly DayUse[] =>
  days.filter(({ day }) => day > until - weeks * WEEK_DAYS && day <= until)

/** How many tenants a reason lists. */
const MOST_UNSEEN = 10

/**
 * Decides on all tenants together, whose own verdicts these are, and answers in a sentence if version 1 can be switched off. Silence of the
 * others proves nothing about a tenant that never called.
 */
export function verdictOnAll(evidence: Evidence, verdicts: readonly Verdict[], unseen: readonly string[]) {
  /** How many tenants have each verdict. */
  const states: Partial<Record<VerdictState, number>> = {}
  for (const { state } of verdicts) states[state] = (states[state] ?? 0) + 1
  const { state, since, reasons } = verdictOf(evidence)
  const more = `${plural(unseen.length, 'tenant')} never called, which proves nothing: ${firstNames(unseen, MOST_UNSEEN)}.`
  const verdict =
    unseen.length === 0
      ? { state, since, reasons }
      : { state: state === 'safe' ? ('quiet' as const) : state, since, reasons: [...reasons, more] }
  return { headline: headlineOf(states, verdicts.length, verdict.state, evidence), verdict, states }
}

function headlineOf(
  states: Readonly<Partial<Record<VerdictState, number>>>,
  count: number,
  state: VerdictState,
  { watched }: Evidence,
): string {
  const { 'after-end': late = 0, failing = 0, calling = 0, moving = 0, quiet = 0, 'never-seen': unseen = 0 } = states
  const users = late + failing + calling + moving
  const all = plural(count, 'caller')
  if (users > 0) {
    const failures = failing > 0 ? `; ${grouped(failing)} ${failing === 1 ? 'fails' : 'fail'}` : ''
    const ended = late > 0 ? `; ${grouped(late)} after the end` : ''
    return `No: ${grouped(users)} of ${all} still ${users === 1 ? 'uses' : 'use'} version 1${failures}${ended}.`
  }
  if (watched.length === 0) return 'Not known yet: no gateway has counted a call.'
  const days = plural(QUIET_DAYS, 'watched day')
  if (state === 'safe') return `Yes: none of ${all} has used version 1 for ${days}.`
  const stopped = quiet > 0 && `${grouped(quiet)} of ${all} stopped less than ${days} ago`
  const silent = unseen > 0 && `${grouped(unseen)} never called`
  const reasons = [stopped, silent].filter((reason) => reason !== false)
  return `Not yet: no tenant uses version 1 now${reasons.length > 0 ? `, but ${reasons.join(', and ')}` : ''}.`
}

/** Returns a day since 1970 as `2026-11-22`. */
export const dayText = (day: number): string => isoTime(day * DAY_MS).slice(0, 'yyyy-mm-dd'.length)

/** Returns a share as `4.2 %`; only none is `0 %`, and only all is `100 %`. */
export function percent(share: number): string {
  const tenths = Math.round(share * 1_000)
  return `${(share > 0 && share < 1 ? Math.min(999, Math.max(1, tenths)) : tenths) / 10} %`
}

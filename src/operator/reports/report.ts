import { type ErrorCode, faultOf } from '../../language/errors.ts'
import type { Action } from '../../language/mapping/action.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import { ACTION_NAME } from '../../language/mapping/compile.ts'
import { meantField } from '../../language/mapping/fields.ts'
import type { Row } from '../../language/mapping/row.ts'
import { fieldsOf, placesOf } from '../../language/mapping/row-parts.ts'
import {
  type CallCount,
  DAY_MS,
  type NameCount,
  type NameKind,
  OTHER_NAMES,
  type Scoreboard,
  type Use,
} from '../../outside/store/scoreboard.ts'
import { DONE, REPLAYED, VERSION_2_BODY } from '../../state/uses/counts.ts'
import { plural } from '../words.ts'

/** How many days the pictures and the tables of a report show. */
export const DAYS_SHOWN = 90

/** The tenants that still use version 1, and the fields that keep them there. */
export interface MigrationReport {
  readonly generatedAt: string
  /** The first day on which a gateway counted; undefined if none did. */
  readonly watchedSince: string | undefined
  readonly watchedDays: number
  readonly quietDays: number
  /** The answer to the question whether version 1 can be switched off; undefined in a report on one tenant. */
  readonly headline: string | undefined
  /** On the tenant that the report is about, else on all together. */
  readonly verdict: Verdict
  readonly tenants: readonly TenantReport[]
}

export interface ReportDeps {
  readonly store: Scoreboard & { readonly now: () => number }
  readonly catalog: Catalog
  /** The tenants that the gateway knows by name, whether or not they have called. */
  readonly tenants: readonly string[]
}

/** The figures of all tenants together. */
export interface Overview {
  readonly generatedAt: string
  /** The first day on which a gateway counted; undefined if none did. */
  readonly watchedSince: string | undefined
  readonly watchedDays: number
  readonly quietDays: number
  /** The answer to the question whether version 1 can be switched off, in a sentence. */
  readonly headline: string
  readonly verdict: Verdict
  /** How many tenants have each verdict. */
  readonly states: Readonly<Partial<Record<VerdictState, number>>>
  /** The calls of all tenants by day. */
  readonly days: readonly ShownDay[]
  /** The one that called last first. */
  readonly tenants: readonly TenantSummary[]
}

/** A tenant in a list. */
export interface TenantSummary {
  readonly tenant: string
  readonly verdict: Verdict
  readonly lastVersion1: string | undefined
  /** The calls of the days that are shown. */
  readonly version1: number
  readonly version2: number
  /** Calls that the gateway or the service failed. */
  readonly failed: number
  /** The share of version 2 in each of the last four weeks, the oldest first; null for a week without calls. */
  readonly weeklyShares: readonly (number | null)[]
}

/** So many watched days without a version-1 call make it safe to switch version 1 off. */
const QUIET_DAYS = 30
/** So many tenants are read at once: reads of the embedded store run on the event loop. */
const TENANTS_AT_ONCE = 5

/** Reads what is known of all tenants together, a few at a time. */
export async function readOverview({ store, tenants: named }: Omit<ReportDeps, 'catalog'>): Promise<Overview> {
  const at = store.now()
  const today = Math.floor(at / DAY_MS)
  const basis = { today, watched: await store.watchedDays() }
  const uses = Map.groupBy(await readUses(store), ({ tenant }) => tenant)
  const names = byLastCall([...new Set([...uses.keys(), ...named])], uses)
  const tenants: TenantSummary[] = []
  const ofAll = new Map<number, ShownDay>()
  for (let from = 0; from < names.length; from += TENANTS_AT_ONCE) {
    const some = names.slice(from, from + TENANTS_AT_ONCE)
    const calls = Map.groupBy(await store.callCounts(some, today - DAYS_SHOWN + 1), ({ tenant }) => tenant)
    for (const tenant of some) {
      const days = daysOf(calls.get(tenant) ?? [])
      for (const day of days) ofAll.set(day.day, addDay(ofAll.get(day.day), day))
      const { lastVersion1, lastVersion2 } = lastUses(uses.get(tenant) ?? [])
      tenants.push({
        tenant,
        verdict: verdictOf({ ...basis, lastVersion1: dayOf(lastVersion1), lastVersion2: dayOf(lastVersion2), days }),
        lastVersion1: lastVersion1 === undefined ? undefined : timeText(lastVersion1),
        version1: total(days, 'version1'),
        version2: total(days, 'version2'),
        failed: total(days, 'failed'),
        weeklyShares: weeklyShares(today, days).map((share) => share ?? null),
      })
    }
    await new Promise(setImmediate)
  }
  const verdict = verdictOnAll(names, uses, [...ofAll.values()], basis)
  const states: Partial<Record<VerdictState, number>> = {}
  for (const { verdict: own } of tenants) states[own.state] = (states[own.state] ?? 0) + 1
  return {
    generatedAt: new Date(at).toISOString(),
    watchedSince: watchedSince(basis.watched),
    watchedDays: basis.watched.length,
    quietDays: QUIET_DAYS,
    headline: headlineOf(states, verdict, basis),
    verdict,
    states,
    days: [...ofAll.values()].sort((one, other) => one.day - other.day),
    tenants,
  }
}

const watchedSince = ([first]: readonly number[]) => (first === undefined ? undefined : dayText(first))

function addDay(before: ShownDay | undefined, day: ShownDay): ShownDay {
  if (!before) return day
  return {
    ...day,
    version1: before.version1 + day.version1,
    version2: before.version2 + day.version2,
    failed: before.failed + day.failed,
    mistakes: before.mistakes + day.mistakes,
    afterEnd: before.afterEnd + day.afterEnd,
    dryRuns: before.dryRuns + day.dryRuns,
  }
}

/** Answers in a sentence if version 1 can be switched off. */
function headlineOf(
  {
    'after-end': late = 0,
    failing = 0,
    calling = 0,
    moving = 0,
    quiet = 0,
    safe = 0,
    'never-seen': unseen = 0,
  }: Overview['states'],
  { state }: Verdict,
  { watched }: { readonly watched: Evidence['watched'] },
): string {
  const users = late + failing + calling + moving
  const all = plural(users + quiet + safe + unseen, 'caller')
  const verb = users === 1 ? 'uses' : 'use'
  if (users > 0) {
    const failures = failing > 0 ? `; ${failing.toLocaleString('en')} ${failing === 1 ? 'fails' : 'fail'}` : ''
    const ended = late > 0 ? `; ${late} after the end` : ''
    return `No: ${users.toLocaleString('en')} of ${all} still ${verb} version 1${failures}${ended}.`
  }
  if (watched.length === 0) return 'Not known yet: no gateway has counted a call.'
  if (state === 'safe') return `Yes: none of ${all} has used version 1 for ${plural(QUIET_DAYS, 'watched day')}.`
  const reasons = [
    ...(quiet > 0 ? [`${quiet} of ${all} stopped less than ${plural(QUIET_DAYS, 'watched day')} ago`] : []),
    ...(unseen > 0 ? [`${unseen} never called`] : []),
  ]
  return `Not yet: no tenant uses version 1 now${reasons.length > 0 ? `, but ${reasons.join(', and ')}` : ''}.`
}

/** Reads a report on one tenant or on all. A report on a tenant that is neither known nor counted has no tenants. */
export async function readReport(deps: ReportDeps, only?: string): Promise<MigrationReport> {
  const { store, catalog, tenants: named } = deps
  const overview = only === undefined ? await readOverview(deps) : undefined
  const at = store.now()
  const today = Math.floor(at / DAY_MS)
  const watched = await store.watchedDays()
  const listWork = createListWork(catalog)
  const tenants: TenantReport[] = []
  for (const tenant of overview?.tenants.map((known) => known.tenant) ?? [only ?? '']) {
    // One tenant at a time: reads of the embedded store run on the event loop.
    const calls = await store.callCounts([tenant], today - DAYS_SHOWN + 1)
    const names = await store.nameCounts(tenant)
    const isKnown = overview || named.includes(tenant) || names.some(({ kind }) => kind === 'use')
    if (isKnown) tenants.push(tenantReport(tenant, { calls, names, today, watched, listWork }))
    await new Promise(setImmediate)
  }
  return {
    generatedAt: new Date(at).toISOString(),
    watchedSince: watchedSince(watched),
    watchedDays: watched.length,
    quietDays: QUIET_DAYS,
    headline: overview?.headline,
    verdict: overview?.verdict ?? tenants[0]?.verdict ?? neverSeen(watched),
    tenants,
  }
}

/** Counts the fields that block each of these tenants. */
export async function countBlockers(
  { store, catalog }: Pick<ReportDeps, 'store' | 'catalog'>,
  tenants: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const fromDay = Math.floor(store.now() / DAY_MS) - QUIET_DAYS + 1
  const listWork = createListWork(catalog, [])
  const counts = new Map<string, number>()
  for (const tenant of tenants) {
    const work = listWork([], await store.nameCounts(tenant), fromDay)
    counts.set(tenant, work.filter(({ blocks }) => blocks !== undefined).length)
  }
  return counts
}

async function readUses(store: Scoreboard): Promise<readonly NameCount[]> {
  const uses: NameCount[] = []
  for (;;) {
    const some = await store.countedTenants(uses.at(-1))
    if (some.length === 0) return uses
    uses.push(...some)
    await new Promise(setImmediate)
  }
}

function byLastCall(tenants: readonly string[], uses: ReadonlyMap<string, readonly NameCount[]>): readonly string[] {
  const lastAt = (tenant: string) => Math.max(0, ...(uses.get(tenant) ?? []).map((use) => use.lastAt))
  return tenants
    .map((tenant) => ({ tenant, at: lastAt(tenant) }))
    .sort((one, other) => other.at - one.at)
    .map(({ tenant }) => tenant)
}

/** How many tenants a reason lists. */
const MOST_UNSEEN = 10

/** Decides on all tenants together. Silence of the others proves nothing about a tenant that never called. */
function verdictOnAll(
  names: readonly string[],
  uses: ReadonlyMap<string, readonly NameCount[]>,
  days: readonly DayUse[],
  basis: Pick<Evidence, 'today' | 'watched'>,
): Verdict {
  const lastDay = (use: string) => {
    let lastAt: number | undefined
    for (const counts of uses.values())
      for (const count of counts) if (count.name === use) lastAt = Math.max(lastAt ?? 0, count.lastAt)
    return dayOf(lastAt)
  }
  const verdict = verdictOf({
    ...basis,
    lastVersion1: lastDay('version-1'),
    lastVersion2: lastDay('version-2'),
    days,
  })
  const unseen = names.filter((tenant) => !uses.get(tenant)?.some(({ name }) => name !== 'dry-run'))
  if (unseen.length === 0) return verdict
  const listed = unseen.slice(0, MOST_UNSEEN).join(', ')
  const more = unseen.length > MOST_UNSEEN ? ', …' : ''
  const reason = `${plural(unseen.length, 'tenant')} never called, which proves nothing: ${listed}${more}.`
  const state = verdict.state === 'safe' ? 'quiet' : verdict.state
  return { ...verdict, state, reasons: [...verdict.reasons, reason] }
}

/** Adds up a figure of days. */
export const total = <What extends string>(days: readonly Readonly<Record<What, number>>[], what: What): number =>
  days.reduce((all, day) => all + day[what], 0)

/** A name with its counts. */
export interface Counted {
  readonly name: string
  readonly count: number
  readonly first: string
  readonly last: string
}

/** An error that calls ended with. */
export interface CountedError extends Counted {
  /** The request id of the last such call. */
  readonly requestId: string
}

/** The calls of an action on the days that the report shows. */
export interface ActionUse {
  readonly action: string
  readonly calls: number
  readonly replayed: number
  /** Calls that the gateway or the service failed. */
  readonly failed: number
  /** Calls that were refused for a mistake of the caller. */
  readonly mistakes: number
}

/** A version-1 field of an action: how often it was sent, and how often it was translated with a remark. */
export interface FieldUse {
  readonly action: string
  readonly field: string
  readonly used: number
  readonly unused: number
  readonly lossy: number
  readonly assumed: number
  readonly last: string
}

/** All that is known of a day. */
export interface ShownDay extends DayUse {
  /** The day as `2026-11-22`. */
  readonly date: string
  /** Calls that were refused for a mistake of the caller. */
  readonly mistakes: number
  readonly dryRuns: number
}

/** The use that one tenant makes of the gateway. */
export interface TenantReport {
  /** Empty for callers without a name. */
  readonly tenant: string
  readonly verdict: Verdict
  readonly firstSeen: string | undefined
  readonly lastSeen: string | undefined
  /** The time of the last version-1 call. */
  readonly lastVersion1: string | undefined
  /** The share of version 2 in each of the last four weeks, the oldest first; null for a week without calls. */
  readonly weeklyShares: readonly (number | null)[]
  /** Days with calls. */
  readonly use: readonly ShownDay[]
  readonly actions: readonly ActionUse[]
  readonly fields: readonly FieldUse[]
  readonly unknownFields: readonly Counted[]
  readonly agents: readonly Counted[]
  readonly networks: readonly Counted[]
  readonly errors: readonly CountedError[]
  /** Bookings at another price than that of their quote. */
  readonly otherPrices: number
  /** The work that is left, what blocks first. */
  readonly work: readonly WorkItem[]
}

/** The counts of a tenant, and what they are measured by. */
interface TenantCounts {
  readonly calls: readonly CallCount[]
  readonly names: readonly NameCount[]
  readonly today: number
  readonly watched: readonly number[]
  readonly listWork: ListWork
}

/** Makes the report on a tenant. Pure. */
function tenantReport(tenant: string, counts: TenantCounts): TenantReport {
  const { calls, names, listWork, ...basis } = counts
  const { today } = basis
  const { lastDays, ...seen } = usesOf(names.filter(({ kind }) => kind === 'use'))
  const days = daysOf(calls)
  const of = (kind: NameKind) => names.filter((count) => count.kind === kind).sort(byCount)
  return {
    tenant,
    verdict: verdictOf({ ...basis, ...lastDays, days }),
    ...seen,
    weeklyShares: weeklyShares(today, days).map((share) => share ?? null),
    use: days,
    actions: actionsOf(calls),
    fields: fieldUses(names),
    unknownFields: of('unknown').map(countedOf),
    agents: of('agent').map(countedOf),
    networks: of('network').map(countedOf),
    errors: of('error').map((count) => ({ ...countedOf(count), requestId: count.example })),
    otherPrices: total(of('price'), 'count'),
    work: listWork(calls, names, today - QUIET_DAYS + 1),
  }
}

/** Returns when a tenant used each version last, from its counts of the kind `use`. */
function lastUses(counts: readonly NameCount[]) {
  const lastAt = (use: Use) => counts.find(({ name }) => name === use)?.lastAt
  return { lastVersion1: lastAt('version-1'), lastVersion2: lastAt('version-2') }
}

/** Reads when a tenant called, from its counts of the kind `use`. */
function usesOf(counts: readonly NameCount[]) {
  const uses = counts.filter(({ name }) => name !== 'dry-run')
  const { lastVersion1, lastVersion2 } = lastUses(uses)
  return {
    lastDays: { lastVersion1: dayOf(lastVersion1), lastVersion2: dayOf(lastVersion2) },
    firstSeen: uses.length === 0 ? undefined : timeText(Math.min(...uses.map(({ firstAt }) => firstAt))),
    lastSeen: uses.length === 0 ? undefined : timeText(Math.max(...uses.map((use) => use.lastAt))),
    lastVersion1: lastVersion1 === undefined ? undefined : timeText(lastVersion1),
  }
}

const dayOf = (at: number | undefined) => (at === undefined ? undefined : Math.floor(at / DAY_MS))
const timeText = (at: number) => new Date(at).toISOString()
const byCount = (one: NameCount, other: NameCount) => other.count - one.count

const FINE: ReadonlySet<string> = new Set([DONE, REPLAYED])
const faultIn = ({ outcome }: CallCount) => (FINE.has(outcome) ? 'nobody' : faultOf(outcome))
const isMistake = (count: CallCount) => faultIn(count) === 'caller'
const RETIRED: ErrorCode = 'retired'
const isFailed = (count: CallCount) => faultIn(count) === 'service' || faultIn(count) === 'gateway'

const countedOf = ({ name, count, firstAt, lastAt }: NameCount): Counted => ({
  name,
  count,
  first: timeText(firstAt),
  last: timeText(lastAt),
})

function daysOf(calls: readonly CallCount[]): readonly ShownDay[] {
  return [...Map.groupBy(calls, ({ day }) => day)].map(([day, ofDay]) => {
    const of = (wanted: Use) =>
      total(
        ofDay.filter(({ use }) => use === wanted),
        'calls',
      )
    const real = ofDay.filter(({ use }) => use !== 'dry-run')
    return {
      day,
      date: dayText(day),
      version1: of('version-1'),
      version2: of('version-2'),
      dryRuns: of('dry-run'),
      failed: total(real.filter(isFailed), 'calls'),
      mistakes: total(real.filter(isMistake), 'calls'),
      afterEnd: total(
        real.filter(({ outcome }) => outcome === RETIRED),
        'calls',
      ),
    }
  })
}

function actionsOf(calls: readonly CallCount[]): readonly ActionUse[] {
  const version1 = calls.filter(({ use }) => use === 'version-1')
  return [...Map.groupBy(version1, ({ action }) => action)]
    .map(([action, counts]) => {
      const replayed = total(
        counts.filter(({ outcome }) => outcome === REPLAYED),
        'calls',
      )
      const failed = total(counts.filter(isFailed), 'calls')
      const mistakes = total(counts.filter(isMistake), 'calls')
      return { action, calls: total(counts, 'calls'), replayed, failed, mistakes }
    })
    .sort((one, other) => other.calls - one.calls)
}

const FIELD_KINDS: ReadonlySet<NameKind> = new Set(['used', 'unused', 'lossy', 'assumed'])

function fieldUses(names: readonly NameCount[]): readonly FieldUse[] {
  const fields = names.filter(({ kind }) => FIELD_KINDS.has(kind))
  return [...Map.groupBy(fields, ({ action, name }) => `${action} ${name}`).values()].flatMap((counts) => {
    const [first] = counts
    if (!first) return []
    const countOf = (kind: NameKind) => counts.find((count) => count.kind === kind)?.count ?? 0
    return {
      action: first.action,
      field: first.name,
      used: countOf('used'),
      unused: countOf('unused'),
      lossy: countOf('lossy'),
      assumed: countOf('assumed'),
      last: timeText(Math.max(...counts.map(({ lastAt }) => lastAt))),
    }
  })
}

/** The calls of a tenant on a day. */
export interface DayUse {
  /** In days since 1970, UTC. */
  readonly day: number
  readonly version1: number
  readonly version2: number
  /** Version-1 and version-2 calls that the gateway or the service failed. */
  readonly failed: number
  /** Version-1 calls that were refused because version 1 has ended. */
  readonly afterEnd: number
}

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
  const { lastVersion1, lastVersion2, watched } = evidence
  if (lastVersion1 === undefined && lastVersion2 === undefined) return neverSeen(watched)
  return silence(evidence) ?? afterEnd(evidence) ?? failing(evidence) ?? moving(evidence) ?? calling(evidence)
}

function neverSeen([first]: readonly number[]): Verdict {
  const reason =
    first === undefined
      ? 'It has never called, but no gateway has watched yet: that proves nothing.'
      : `It has never called since ${dayText(first)}, when the gateway began to watch. It may still have callers elsewhere.`
  return { state: 'never-seen', since: first === undefined ? undefined : dayText(first), reasons: [reason] }
}

/** Returns the verdict on a tenant that has stopped to use version 1; undefined if it has not. */
function silence({ today, watched, lastVersion1, days }: Evidence): Verdict | undefined {
  const quiet = watched.filter((day) => day <= today && (lastVersion1 === undefined || day > lastVersion1))
  const [firstQuiet = today] = quiet
  const recently = lastVersion1 !== undefined && today - lastVersion1 < WEEK_DAYS
  if (recently) return undefined
  const last =
    lastVersion1 === undefined
      ? `It has sent no version-1 call since ${dayText(firstQuiet)}, when the gateway began to watch`
      : `Its last version-1 call was on ${dayText(lastVersion1)}`
  const since = dayText(lastVersion1 ?? firstQuiet)
  const version2 = sum(days, today, 0, 'version2')
  const other = version2 > 0 ? [`It sent ${plural(version2, 'version-2 call')} in the last seven days.`] : []
  if (quiet.length >= QUIET_DAYS) {
    const reason = `${last}, and the gateway has watched for ${plural(quiet.length, 'day')} since.`
    return { state: 'safe', since, reasons: [reason, ...other] }
  }
  const reason = `${last}. It is safe to switch off after ${plural(QUIET_DAYS, 'watched day')} without one; so far there are ${quiet.length}.`
  return { state: 'quiet', since, reasons: [reason, ...other] }
}

/** Returns the verdict on a tenant that has been refused because version 1 has ended for it. */
function afterEnd({ today, days }: Evidence): Verdict | undefined {
  const refused = sum(days, today, 0, 'afterEnd')
  if (refused === 0) return undefined
  const reason = `${plural(refused, 'version-1 call')} in the last seven days came after the end of version 1 and got 410.`
  return { state: 'after-end', since: undefined, reasons: [reason] }
}

function failing({ today, days }: Evidence): Verdict | undefined {
  const failed = sum(days, today, 0, 'failed')
  const all = sum(days, today, 0, 'version1') + sum(days, today, 0, 'version2')
  if (all === 0 || failed / all <= MOST_FAILED) return undefined
  const reason = `${failed} of ${plural(all, 'call')} in the last seven days failed (${percent(failed / all)}; the limit is ${percent(MOST_FAILED)}). Mistakes of the caller do not count.`
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
  return [`${whole}. The share is ${trend}, from ${percent(first)} in the first week to ${percent(last)} in the last.`]
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
  return total(
    days.filter(({ day }) => day > last - WEEK_DAYS && day <= last),
    what,
  )
}

function sumOfWeeks(days: readonly DayUse[], today: number, what: Exclude<keyof DayUse, 'day'>): number {
  return total(
    days.filter(({ day }) => day > today - WEEKS * WEEK_DAYS && day <= today),
    what,
  )
}

/** One thing that a caller has to change before version 1 can be switched off. */
export interface WorkItem {
  readonly kind: 'action' | 'field' | 'assumed' | 'unknown'
  /** Empty for unknown fields. */
  readonly action: string
  readonly name: string
  /** How often it was used since it was first seen. */
  readonly count: number
  /** When it was used last. */
  readonly last: string
  /** The version-2 places or requests. */
  readonly equivalents: readonly string[]
  readonly note: string
  /** The known field that an unknown one may stand for. */
  readonly didYouMean?: string
  /** Why the change is more than another spelling. */
  readonly blocks: 'no version-2 equal' | 'loses something' | undefined
}

/** Lists the work that the recent version-1 calls of a tenant leave, what blocks first. */
type ListWork = (calls: readonly CallCount[], names: readonly NameCount[], fromDay: number) => readonly WorkItem[]

/** Makes the function that lists the work of a tenant; unknown fields may stand for the known ones. @default those of these declarations */
function createListWork(
  catalog: Catalog,
  known = [...new Set([...catalog.actions.values()].flatMap(({ fields }) => fields.names))],
): ListWork {
  const equivalent = createEquivalents(catalog)
  return (calls, names, fromDay) => {
    const recent = names.filter(({ lastAt }) => lastAt >= fromDay * DAY_MS)
    const lossy = new Map(recent.filter(({ kind }) => kind === 'lossy').map((count) => [keyOf(count), count.count]))
    const items = [
      ...actionsInUse(calls, fromDay, catalog),
      ...recent.flatMap((count) => fieldWork(count, lossy.get(keyOf(count)), equivalent, known)),
    ]
    return items.sort((one, other) => Number(other.blocks !== undefined) - Number(one.blocks !== undefined))
  }
}

const keyOf = ({ action, name }: NameCount) => `${action} ${name}`

function actionsInUse(calls: readonly CallCount[], fromDay: number, catalog: Catalog): WorkItem[] {
  const recent = calls.filter(({ use, action, day }) => use === 'version-1' && action !== '' && day >= fromDay)
  return [...Map.groupBy(recent, ({ action }) => action)].map(([name, counts]) => {
    const declared = catalog.actions.get(name)?.action
    const last = dayText(Math.max(...counts.map(({ day }) => day)))
    const item = { kind: 'action', action: name, name, count: total(counts, 'calls'), last } as const
    if (declared) return { ...item, equivalents: [requestOf(declared)], note: declared.summary, blocks: undefined }
    if (name === VERSION_2_BODY) {
      const note = 'a version-2 body on a version-1 path: only the path is left to change'
      return { ...item, equivalents: ['/v2/'], note, blocks: undefined }
    }
    const note = 'the mappings of this gateway do not declare it any more'
    return { ...item, equivalents: [], note, blocks: 'no version-2 equal' }
  })
}

function fieldWork(
  { kind, action, name, count, lastAt }: NameCount,
  lossyCount: number | undefined,
  equivalent: ReturnType<typeof createEquivalents>,
  known: readonly string[],
): WorkItem[] {
  const last = timeText(lastAt)
  switch (kind) {
    case 'used':
    case 'unused': {
      return [{ kind: 'field', action, name, count, last, ...fieldEquivalent(equivalent(action, name), lossyCount) }]
    }
    case 'assumed': {
      const places = equivalent(action, name)?.places ?? [name]
      const note = 'the gateway assumes a value where the caller sends none, or an incomplete one'
      return [{ kind, action, name, count, last, equivalents: places, note, blocks: undefined }]
    }
    case 'unknown': {
      const note =
        name === OTHER_NAMES ? 'further fields that no mapping knows' : 'no mapping knows it; the gateway leaves it out'
      // Another action may know it.
      const meant = known.includes(name) ? undefined : meantField(name, known)
      const didYouMean = meant === undefined ? {} : { didYouMean: meant }
      return [{ kind, action, name, count, last, equivalents: [], note, ...didYouMean, blocks: 'no version-2 equal' }]
    }
    default:
      return []
  }
}

function fieldEquivalent(
  known: Equivalent | undefined,
  lossyCount: number | undefined,
): Pick<WorkItem, 'equivalents' | 'note' | 'blocks'> {
  if (!known || known.places.length === 0) {
    const note = known?.note ?? 'the mappings of this gateway do not declare it any more'
    return { equivalents: [], note, blocks: 'no version-2 equal' }
  }
  const { places: equivalents, note } = known
  if (lossyCount === undefined) return { equivalents, note, blocks: undefined }
  return {
    equivalents,
    note: `lost a part ${lossyCount.toLocaleString('en')} times. ${note}`,
    blocks: 'loses something',
  }
}

/** The version-2 equivalent of a version-1 field. */
interface Equivalent {
  /** Empty if version 2 has no place for the field. */
  readonly places: readonly string[]
  readonly note: string
}

/** Returns the request of version 2 that an action stands for, such as `POST /v2/quote`. */
const requestOf = ({ service: { method, path } }: Action): string => `${method} ${path}`

/** Finds the version-2 equivalents of fields in the declarations. */
export function createEquivalents(catalog: Catalog): (action: string, field: string) => Equivalent | undefined {
  const actions = [...catalog.actions.values()].map(({ action }) => action)
  const factPlaces = placesOfFacts(actions)
  return (name, field) => {
    const action = catalog.actions.get(name)?.action
    if (!action) return undefined
    if (field === ACTION_NAME) return { places: [requestOf(action)], note: 'the method and the path choose the action' }
    const row = action.request.find((candidate) => fieldsOf(candidate).includes(field))
    const remembered = action.remember?.find((candidate) => fieldsOf(candidate).includes(field))
    if (remembered && isTranslated(remembered)) {
      const places = placesOf(remembered).map((fact) => factPlaces.get(fact) ?? fact)
      return { places: [...new Set(places)], note: 'sent with the booking' }
    }
    const found = row ?? remembered
    return found && equivalentOf(found, action)
  }
}

const isTranslated = ({ kind }: Row) => kind !== 'v1Only' && kind !== 'ref'

function equivalentOf(row: Row, { target, service }: Action): Equivalent {
  if (row.kind === 'v1Only') return { places: [], note: row.why }
  if (row.kind === 'ref' && target) return { places: [service.path], note: "the path has the service's own id" }
  if (row.kind === 'ref') return { places: ['shipment_id'], note: "keep the service's own id from the reply" }
  if (row.kind === 'lookup') return { places: [row.v2], note: `looked up in the table ${row.table}` }
  const rule = 'codec' in row ? row.codec.summary : row.kind === 'join' ? row.joiner.summary : ''
  return { places: placesOf(row), note: rule }
}

/** Returns the place of a booking that each remembered fact fills. */
function placesOfFacts(actions: readonly Action[]): ReadonlyMap<string, string> {
  const places = new Map<string, string>()
  for (const row of actions.flatMap(({ request }) => request)) {
    if (row.kind !== 'fromQuote' && row.kind !== 'move') continue
    const [first] = row.fallbacks.flatMap((fallback) => (fallback.kind === 'quoteFact' ? fallback.facts : []))
    if (first !== undefined && !places.has(first)) places.set(first, row.v2)
  }
  return places
}

/** Returns a day since 1970 as `2026-11-22`. */
export const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 'yyyy-mm-dd'.length)

const ONE_DECIMAL = 10
const HUNDRED = 100

/** Returns a share as `4.2 %`. */
export const percent = (share: number): string => `${Math.round(share * HUNDRED * ONE_DECIMAL) / ONE_DECIMAL} %`

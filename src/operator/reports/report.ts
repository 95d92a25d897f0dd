import { type ErrorCode, errorTable, faultOf } from '../../language/errors.ts'
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
} from '../../outside/store/scoreboard.ts'
import { DONE, REPLAYED, VERSION_2_BODY } from '../../state/uses/counts.ts'
import { errorTitle, grouped, isoTime, plural, shortSummary, total } from '../words.ts'

/** How many days the pictures and the tables of a report show. */
export const DAYS_SHOWN = 90
/** So many watched days without a version-1 call make it safe to switch version 1 off. */
const QUIET_DAYS = 30
/** So many tenants are read at once: reads of the embedded store run on the event loop. */
const TENANTS_AT_ONCE = 5

type CountingStore = Scoreboard & { readonly now: () => number }

/** The figures of all tenants together. */
export type Overview = Awaited<ReturnType<typeof readOverview>>
/** A tenant in a list. */
export type TenantSummary = Overview['tenants'][number]
/** The tenants that still use version 1, and the fields that keep them there. */
export type MigrationReport = Awaited<ReturnType<typeof readReport>>
/** The use that one tenant makes of the gateway. */
export type TenantReport = MigrationReport['tenants'][number]

async function readBasis(store: CountingStore) {
  const now = store.now()
  const watched = await store.watchedDays()
  const [first] = watched
  return {
    basis: { today: Math.floor(now / DAY_MS), watched },
    watch: {
      generatedAt: isoTime(now),
      /** The first day on which a gateway counted; undefined if none did. */
      watchedSince: first === undefined ? undefined : dayText(first),
      watchedDays: watched.length,
      quietDays: QUIET_DAYS,
    },
  }
}

/** Reads what is known of all tenants together, a few at a time; those that are known by name may never have called. */
async function readOverview(store: CountingStore, named: readonly string[]) {
  const { basis, watch } = await readBasis(store)
  const uses = await readUses(store)
  const usesOf = Map.groupBy(uses, ({ tenant }) => tenant)
  // The one that called last is the first.
  const seen = [...new Set([...usesOf.keys(), ...named])]
    .map((tenant) => ({ tenant, ...seenIn(usesOf.get(tenant) ?? []) }))
    .sort((one, other) => (other.last ?? 0) - (one.last ?? 0))
  const tenants = []
  const ofAll: Days = new Map()
  for (let from = 0; from < seen.length; from += TENANTS_AT_ONCE) {
    const some = seen.slice(from, from + TENANTS_AT_ONCE)
    const wanted = some.map(({ tenant }) => tenant)
    const calls = await store.callCounts(wanted, basis.today - DAYS_SHOWN + 1)
    for (const { tenant, lastUses, lastVersion1 } of some) {
      const own = calls.filter((count) => count.tenant === tenant)
      const days = daysOf(own)
      daysOf(own, ofAll)
      tenants.push({
        tenant,
        verdict: verdictOf({ ...basis, ...lastUses, days }),
        lastVersion1,
        version1: total(days, 'version1'),
        version2: total(days, 'version2'),
        failed: total(days, 'failed'),
        weeklyShares: weeklyShares(basis.today, days),
      })
    }
    await new Promise(setImmediate)
  }
  const unseen = seen.flatMap(({ tenant, last }) => (last === undefined ? [tenant] : []))
  const days = [...ofAll.values()].sort((one, other) => one.day - other.day)
  const verdict = verdictOnAll(verdictOf({ ...basis, ...seenIn(uses).lastUses, days }), unseen)
  /** How many tenants have each verdict. */
  const states: Partial<Record<VerdictState, number>> = {}
  for (const { verdict: own } of tenants) states[own.state] = (states[own.state] ?? 0) + 1
  return { ...watch, headline: headlineOf(states, verdict, basis), verdict, states, days, tenants }
}

/** An overview is good for so many times what it took to read it: pages cost a hundredth of a core at most. */
const REST_FACTOR = 100
/** The clock of a store that moves by more against that of the process has jumped. */
const JUMP_MS = 60_000

const overviews = new WeakMap<
  CountingStore,
  { readonly reading: Promise<Overview>; readonly clock: number; until: number }
>()

/** Returns what was read of all tenants lately. Those who ask at the same time share it. */
export function recentOverview(store: CountingStore, named: readonly string[]): Promise<Overview> {
  const last = overviews.get(store)
  const began = performance.now()
  const clock = store.now() - began
  if (last && began < last.until && Math.abs(clock - last.clock) < JUMP_MS) return last.reading
  const reading = readOverview(store, named)
  const kept = { reading, clock, until: Number.POSITIVE_INFINITY }
  overviews.set(store, kept)
  reading.then(
    () => {
      const ended = performance.now()
      kept.until = ended + REST_FACTOR * (ended - began)
    },
    // Who waits for it is told.
    () => overviews.delete(store),
  )
  return reading
}

/** Answers in a sentence if version 1 can be switched off. */
function headlineOf(
  states: Readonly<Partial<Record<VerdictState, number>>>,
  { state }: Verdict,
  { watched }: Pick<Evidence, 'watched'>,
): string {
  const { 'after-end': late = 0, failing = 0, calling = 0, moving = 0, quiet = 0, 'never-seen': unseen = 0 } = states
  const users = late + failing + calling + moving
  const all = plural(users + quiet + unseen + (states.safe ?? 0), 'caller')
  if (users > 0) {
    const failures = failing > 0 ? `; ${grouped(failing)} ${failing === 1 ? 'fails' : 'fail'}` : ''
    const ended = late > 0 ? `; ${grouped(late)} after the end` : ''
    return `No: ${grouped(users)} of ${all} still ${users === 1 ? 'uses' : 'use'} version 1${failures}${ended}.`
  }
  if (watched.length === 0) return 'Not known yet: no gateway has counted a call.'
  const days = plural(QUIET_DAYS, 'watched day')
  if (state === 'safe') return `Yes: none of ${all} has used version 1 for ${days}.`
  const reasons = [
    ...(quiet > 0 ? [`${grouped(quiet)} of ${all} stopped less than ${days} ago`] : []),
    ...(unseen > 0 ? [`${grouped(unseen)} never called`] : []),
  ]
  return `Not yet: no tenant uses version 1 now${reasons.length > 0 ? `, but ${reasons.join(', and ')}` : ''}.`
}

/** Reads a report on one tenant or on all. A report on a tenant that is neither known nor counted has no tenants. */
export async function readReport(
  {
    store,
    catalog,
    tenants: named,
  }: { readonly store: CountingStore; readonly catalog: Catalog; readonly tenants: readonly string[] },
  only?: string,
) {
  const overview = only === undefined ? await readOverview(store, named) : undefined
  const { basis, watch } = await readBasis(store)
  const { today } = basis
  const listWork = createListWork(catalog)
  const tenants = []
  for (const tenant of overview?.tenants.map((known) => known.tenant) ?? [only ?? '']) {
    // One tenant at a time: reads of the embedded store run on the event loop.
    const calls = await store.callCounts([tenant], today - DAYS_SHOWN + 1)
    const names = await store.nameCounts(tenant)
    await new Promise(setImmediate)
    const of = (kind: NameKind) => names.filter((count) => count.kind === kind)
    if (!overview && !named.includes(tenant) && of('use').length === 0) continue
    const { first, last, lastUses, lastVersion1 } = seenIn(of('use'))
    const days = daysOf(calls)
    tenants.push({
      /** Empty for callers without a name. */
      tenant,
      verdict: verdictOf({ ...basis, ...lastUses, days }),
      firstSeen: timeText(first),
      lastSeen: timeText(last),
      lastVersion1,
      weeklyShares: weeklyShares(today, days),
      /** Days with calls. */
      use: days,
      actions: actionsOf(calls),
      fields: fieldUses(names),
      unknownFields: of('unknown').map(countedOf).sort(byCount),
      agents: of('agent').map(countedOf).sort(byCount),
      networks: of('network').map(countedOf).sort(byCount),
      errors: errorsOf(calls, names, today - QUIET_DAYS + 1),
      /** Bookings at another price than that of their quote. */
      otherPrices: total(of('price'), 'count'),
      /** The last one of them. */
      otherPrice: of('price')
        .map(({ example, lastAt }) => ({ requestId: example, last: isoTime(lastAt) }))
        .sort((one, other) => (one.last < other.last ? 1 : -1))[0],
      /** What blocks comes first. */
      work: listWork(calls, names, today - QUIET_DAYS + 1),
    })
  }
  return {
    ...watch,
    /** None in a report on one tenant. */
    headline: overview?.headline,
    verdict: overview?.verdict ?? tenants[0]?.verdict ?? neverSeen(basis),
    tenants,
  }
}

/** Counts the problems of each of these tenants. */
export async function countBlockers(
  { store, catalog }: { readonly store: CountingStore; readonly catalog: Catalog },
  tenants: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const fromDay = Math.floor(store.now() / DAY_MS) - QUIET_DAYS + 1
  const listWork = createListWork(catalog, [])
  const counts = new Map<string, number>()
  for (const tenant of tenants) {
    const calls = await store.callCounts([tenant], fromDay)
    const names = await store.nameCounts(tenant)
    const errors = errorsOf(calls, names, fromDay)
    counts.set(tenant, problemsOf({ work: listWork(calls, names, fromDay), errors }).length)
    await new Promise(setImmediate)
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

/** How many tenants a reason lists. */
const MOST_UNSEEN = 10

/** Returns the verdict on all tenants together. Silence of the others proves nothing about a tenant that never called. */
function verdictOnAll(verdict: Verdict, unseen: readonly string[]): Verdict {
  if (unseen.length === 0) return verdict
  const listed = unseen.slice(0, MOST_UNSEEN).join(', ')
  const more = unseen.length > MOST_UNSEEN ? ', …' : ''
  const reason = `${plural(unseen.length, 'tenant')} never called, which proves nothing: ${listed}${more}.`
  const state = verdict.state === 'safe' ? 'quiet' : verdict.state
  return { ...verdict, state, reasons: [...verdict.reasons, reason] }
}

/** Reads when callers called, from counts of the kind `use`. Dry runs are no calls. */
function seenIn(counts: readonly NameCount[]) {
  const lastOf = (...uses: readonly string[]) =>
    counts.reduce<number | undefined>(
      (last, { name, lastAt }) => (uses.includes(name) ? Math.max(last ?? 0, lastAt) : last),
      undefined,
    )
  const [lastVersion1, lastVersion2] = [lastOf('version-1'), lastOf('version-2')]
  const firsts = counts.flatMap(({ name, firstAt }) => (name === 'dry-run' ? [] : [firstAt]))
  return {
    first: firsts.sort((one, other) => one - other)[0],
    last: lastOf('version-1', 'version-2'),
    lastVersion1: timeText(lastVersion1),
    lastUses: { lastVersion1: dayOf(lastVersion1), lastVersion2: dayOf(lastVersion2) },
  }
}

const dayOf = (at: number | undefined) => (at === undefined ? undefined : Math.floor(at / DAY_MS))
const timeText = (at: number | undefined) => (at === undefined ? undefined : isoTime(at))
const byCount = (one: CountedName, other: CountedName) => other.count - one.count

const FINE: ReadonlySet<string> = new Set([DONE, REPLAYED])
const faultIn = ({ outcome }: CallCount) => (FINE.has(outcome) ? 'nobody' : faultOf(outcome))
const isMistake = (count: CallCount) => faultIn(count) === 'caller'
const isFailed = (count: CallCount) => ['service', 'gateway'].includes(faultIn(count))
const RETIRED: ErrorCode = 'retired'

/** A name with its counts. */
export type CountedName = ReturnType<typeof countedOf>

const countedOf = ({ name, count, firstAt, lastAt }: NameCount) => ({
  name,
  count,
  first: isoTime(firstAt),
  last: isoTime(lastAt),
})

/** The calls of a day without any. */
export const emptyDay = (day: number) => ({
  /** In days since 1970, UTC. */
  day,
  date: dayText(day),
  version1: 0,
  version2: 0,
  dryRuns: 0,
  /** Calls that the gateway or the service failed. */
  failed: 0,
  /** Calls that were refused for a mistake of the caller. */
  mistakes: 0,
  /** Version-1 calls that were refused because version 1 has ended. */
  afterEnd: 0,
})

/** All that is known of the calls of a day. */
export type ShownDay = Readonly<ReturnType<typeof emptyDay>>
type Days = Map<number, ReturnType<typeof emptyDay>>

const FIGURES = { 'version-1': 'version1', 'version-2': 'version2', 'dry-run': 'dryRuns' } as const

/** Adds calls to their days. */
function daysOf(calls: readonly CallCount[], days: Days = new Map()): readonly ShownDay[] {
  for (const count of calls) {
    const day = days.get(count.day) ?? emptyDay(count.day)
    days.set(count.day, day)
    day[FIGURES[count.use]] += count.calls
    if (count.use === 'dry-run') continue
    if (isFailed(count)) day.failed += count.calls
    if (isMistake(count)) day.mistakes += count.calls
    if (count.outcome === RETIRED) day.afterEnd += count.calls
  }
  return [...days.values()]
}

/** Lists errors, each with the request id of its last call. */
function errorsOf(calls: readonly CallCount[], names: readonly NameCount[], fromDay: number) {
  const recent = calls.filter(
    ({ use, action, day }) => use === 'version-1' && action !== VERSION_2_BODY && day >= fromDay,
  )
  const endedWith = Map.groupBy(recent, ({ outcome }) => outcome)
  return names
    .filter(({ kind }) => kind === 'error')
    .map((count) => ({
      ...countedOf(count),
      /** How many recent version-1 calls ended with it. */
      version1: total(endedWith.get(count.name) ?? [], 'calls'),
      requestId: count.example,
    }))
    .sort(byCount)
}

/** Counts the calls of each action on the days that the report shows. */
function actionsOf(calls: readonly CallCount[]) {
  const version1 = calls.filter(({ use }) => use === 'version-1')
  return [...Map.groupBy(version1, ({ action }) => action)]
    .map(([action, counts]) => {
      const of = (is: (count: CallCount) => boolean) => total(counts.filter(is), 'calls')
      return {
        action,
        calls: total(counts, 'calls'),
        replayed: of(({ outcome }) => outcome === REPLAYED),
        failed: of(isFailed),
        mistakes: of(isMistake),
      }
    })
    .sort((one, other) => other.calls - one.calls)
}

const FIELD_KINDS: readonly NameKind[] = ['used', 'unused', 'lossy', 'assumed']

/** Tells of each version-1 field of an action how often it was sent, and how often it was translated with a remark. */
function fieldUses(names: readonly NameCount[]) {
  const fields = names.filter(({ kind }) => FIELD_KINDS.includes(kind))
  return [...Map.groupBy(fields, keyOf).values()].flatMap((counts) => {
    const of = (wanted: NameKind) => counts.find(({ kind }) => kind === wanted)?.count ?? 0
    const last = isoTime(Math.max(...counts.map(({ lastAt }) => lastAt)))
    return counts.slice(0, 1).map(({ action, name: field }) => ({
      action,
      field,
      used: of('used'),
      unused: of('unused'),
      lossy: of('lossy'),
      assumed: of('assumed'),
      last,
    }))
  })
}

/** The calls of a day that a verdict rests on. */
export type DayUse = Pick<ShownDay, 'day' | 'version1' | 'version2' | 'failed' | 'afterEnd'>

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
  const week = lastDays(days, today)
  const late = total(week, 'afterEnd')
  if (late > 0) {
    const reason = `${plural(late, 'version-1 call')} in the last seven days came after the end of version 1 and got 410.`
    return { state: 'after-end', since: undefined, reasons: [reason] }
  }
  const failed = total(week, 'failed')
  const all = total(week, 'version1') + total(week, 'version2')
  if (all > 0 && failed / all > MOST_FAILED) {
    const reason = `${failed} of ${plural(all, 'call')} in the last seven days failed (${percent(failed / all)}; the limit is ${percent(MOST_FAILED)}). Mistakes of the caller do not count.`
    return { state: 'failing', since: undefined, reasons: [reason, usage(evidence)] }
  }
  const moves = total(lastDays(days, today, WEEKS), 'version2') > 0
  return { state: moves ? 'moving' : 'calling', since: undefined, reasons: [usage(evidence)] }
}

function neverSeen({ watched: [first] }: Pick<Evidence, 'watched'>): Verdict {
  const since = first === undefined ? undefined : dayText(first)
  const reason =
    since === undefined
      ? 'It has never called, but no gateway has watched yet: that proves nothing.'
      : `It has never called since ${since}, when the gateway began to watch. It may still have callers elsewhere.`
  return { state: 'never-seen', since, reasons: [reason] }
}

/** Returns the verdict on a tenant that has stopped to use version 1. */
function silence({ today, watched, lastVersion1, days }: Evidence): Verdict {
  const quiet = watched.filter((day) => day <= today && (lastVersion1 === undefined || day > lastVersion1))
  const since = dayText(lastVersion1 ?? quiet[0] ?? today)
  const last =
    lastVersion1 === undefined
      ? `It has sent no version-1 call since ${since}, when the gateway began to watch`
      : `Its last version-1 call was on ${since}`
  const version2 = total(lastDays(days, today), 'version2')
  const other = version2 > 0 ? [`It sent ${plural(version2, 'version-2 call')} in the last seven days.`] : []
  if (quiet.length >= QUIET_DAYS) {
    const reason = `${last}, and the gateway has watched for ${plural(quiet.length, 'day')} since.`
    return { state: 'safe', since, reasons: [reason, ...other] }
  }
  const reason = `${last}. It is safe to switch off after ${plural(QUIET_DAYS, 'watched day')} without one; so far there are ${quiet.length}.`
  return { state: 'quiet', since, reasons: [reason, ...other] }
}

/** Describes the share of version 2 and its trend. */
function usage({ today, days, lastVersion1 }: Evidence): string {
  const weeks = lastDays(days, today, WEEKS)
  const [version1, version2] = [total(weeks, 'version1'), total(weeks, 'version2')]
  if (version2 === 0) {
    const last = lastVersion1 === undefined ? '' : `; the last version-1 call was on ${dayText(lastVersion1)}`
    return `It uses version 1 alone: ${plural(version1, 'call')} in the last four weeks${last}.`
  }
  const known = weeklyShares(today, days).filter((share) => share !== null)
  const [first, last] = [known[0] ?? 0, known.at(-1) ?? 0]
  const trend = last - first > STEADY ? 'rising' : first - last > STEADY ? 'falling' : 'steady'
  const whole = `${percent(version2 / (version1 + version2))} of its ${plural(version1 + version2, 'call')} in the last four weeks use version 2`
  return `${whole}. The share is ${trend}, from ${percent(first)} in the first week to ${percent(last)} in the last.`
}

/** Returns the share of version 2 in each of the last four weeks, the oldest first; null for a week without calls. */
export function weeklyShares(today: number, days: readonly DayUse[]): readonly (number | null)[] {
  return Array.from({ length: WEEKS }, (_, i) => {
    const week = lastDays(days, today - (WEEKS - 1 - i) * WEEK_DAYS)
    const version2 = total(week, 'version2')
    const all = version2 + total(week, 'version1')
    return all === 0 ? null : version2 / all
  })
}

/** Returns the days of the weeks that end on a day. */
const lastDays = <Day extends DayUse>(days: readonly Day[], until: number, weeks = 1): readonly Day[] =>
  days.filter(({ day }) => day > until - weeks * WEEK_DAYS && day <= until)

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

/** Something that keeps a caller from moving, or its version-1 calls from working. */
export type MigrationProblem = ReturnType<typeof problemsOf>[number]

/** Lists each problem of a tenant once. */
export function problemsOf({ work, errors }: Pick<TenantReport, 'work' | 'errors'>) {
  const blocking = work.flatMap(({ blocks, action, name, count, last, ...item }) =>
    blocks === undefined
      ? []
      : { problem: `${action} ${name || 'other fields'}: ${blocks}`.trimStart(), count, last, todo: todoFor(item) },
  )
  const refused = errors.flatMap(({ name, version1, last }) => {
    const todo = version1 === 0 ? undefined : todoAfter(name)
    return todo === undefined ? [] : { problem: errorTitle(name), count: version1, last, todo }
  })
  return [...blocking, ...refused]
}

/** Says what to do about a field. */
export function todoFor({
  equivalents,
  note,
  didYouMean,
}: Pick<WorkItem, 'equivalents' | 'note' | 'didYouMean'>): string {
  if (didYouMean !== undefined) return `Did you mean ${didYouMean}? The gateway leaves this field out.`
  return equivalents.length > 0 ? `Send ${equivalents.join(', ')}: ${note}` : `Leave it out: ${note}`
}

/** Errors whose fields a dry run explains. */
const EXPLAINED: ReadonlySet<string> = new Set<ErrorCode>([
  'body-unreadable',
  'too-many-fields',
  'action-unknown',
  'generations-mixed',
  'number-missing',
  'untranslatable',
])

/** Says what a caller does about an error; undefined for one that it cannot end. */
function todoAfter(code: string): string | undefined {
  if (EXPLAINED.has(code)) return 'Send the same call to /dry-run: it names every field that is wrong, and why.'
  const fault = faultOf(code)
  if (fault === 'nobody') return 'Move these calls to version 2: the fix-it kit has the code.'
  if (fault !== 'caller' || !Object.hasOwn(errorTable, code)) return undefined
  // The table has it.
  return errorTable[code as ErrorCode].advice[2].replaceAll('`', '')
}

const UNDECLARED = {
  equivalents: [],
  note: 'the mappings of this gateway do not declare it any more',
  blocks: 'no version-2 equal',
} as const

/**
 * Makes the function that lists the work that the recent version-1 calls of a tenant leave, what blocks first. Unknown fields may
 * stand for the known ones. @default those of these declarations
 */
function createListWork(
  catalog: Catalog,
  known = [...new Set([...catalog.actions.values()].flatMap(({ fields }) => fields.names))],
) {
  const equivalent = createEquivalents(catalog)
  return (calls: readonly CallCount[], names: readonly NameCount[], fromDay: number): readonly WorkItem[] => {
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
    if (declared)
      return { ...item, equivalents: [requestOf(declared)], note: shortSummary(declared), blocks: undefined }
    if (name !== VERSION_2_BODY) return { ...item, ...UNDECLARED }
    const note = 'a version-2 body on a version-1 path: only the path is left to change'
    return { ...item, equivalents: ['/v2/'], note, blocks: undefined }
  })
}

function fieldWork(
  { kind, action, name, count, lastAt }: NameCount,
  lost: number | undefined,
  equivalent: ReturnType<typeof createEquivalents>,
  known: readonly string[],
): WorkItem[] {
  const item = { action, name, count, last: isoTime(lastAt), blocks: undefined }
  const found = equivalent(action, name)
  if (kind === 'assumed') {
    const note = 'the gateway assumes a value where the caller sends none, or an incomplete one'
    return [{ ...item, kind, equivalents: found?.places ?? [name], note }]
  }
  if (kind === 'unknown') {
    const note =
      name === OTHER_NAMES ? 'further fields that no mapping knows' : 'no mapping knows it; the gateway leaves it out'
    // Another action may know it.
    const didYouMean = known.includes(name) ? undefined : meantField(name, known)
    return [{ ...item, ...UNDECLARED, kind, note, ...(didYouMean !== undefined && { didYouMean }) }]
  }
  if (kind !== 'used' && kind !== 'unused') return []
  const { places: equivalents = [], note = UNDECLARED.note } = found ?? {}
  const field = { ...item, kind: 'field', equivalents, note } as const
  if (equivalents.length === 0) return [{ ...field, blocks: UNDECLARED.blocks }]
  if (lost === undefined) return [field]
  return [{ ...field, note: `lost a part ${grouped(lost)} times. ${note}`, blocks: 'loses something' }]
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
    const has = (row: Row) => fieldsOf(row).includes(field)
    const remembered = action.remember?.find(has)
    if (remembered && remembered.kind !== 'v1Only' && remembered.kind !== 'ref') {
      const places = placesOf(remembered).map((fact) => factPlaces.get(fact) ?? fact)
      return { places: [...new Set(places)], note: 'sent with the booking' }
    }
    const found = action.request.find(has) ?? remembered
    return found && equivalentOf(found, action)
  }
}

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
const dayText = (day: number): string => isoTime(day * DAY_MS).slice(0, 'yyyy-mm-dd'.length)

/** Returns a share as `4.2 %`. */
export const percent = (share: number): string => `${Math.round(share * 1_000) / 10} %`

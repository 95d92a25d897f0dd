import { type ErrorCode, faultOf } from '../../language/errors.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import {
  type CallCount,
  DAY_MS,
  type NameCount,
  type NameKind,
  type Scoreboard,
} from '../../outside/store/scoreboard.ts'
import { DONE, REPLAYED } from '../../state/uses/counts.ts'
import { isoTime, largestFirst, total } from '../words.ts'
import { type TextTable, tableOf } from './tables.ts'
import { dayText, neverSeen, QUIET_DAYS, sumOf, verdictOf, verdictOnAll, weeklyShares } from './verdict.ts'
import { countedOf, errorsOf, keyOf, latelyIn, problemsOf, workOf } from './work.ts'

/** How many days the pictures and the tables of a report show. */
export const DAYS_SHOWN = 90
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

/** Reads the days on which a gateway counted. */
async function readWatch(store: CountingStore) {
  const now = store.now()
  const watched = await store.watchedDays()
  const [first] = watched
  return {
    today: Math.floor(now / DAY_MS),
    watched,
    shown: {
      generatedAt: isoTime(now),
      /** The first of them; undefined if there is none. */
      watchedSince: first === undefined ? undefined : dayText(first),
      watchedDays: watched.length,
      quietDays: QUIET_DAYS,
    },
  }
}

/** Reads what is known of all tenants together, a few at a time; those that are known by name may never have called. */
async function readOverview(store: CountingStore, named: readonly string[]) {
  const { shown, ...watch } = await readWatch(store)
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
    const calls = await store.callCounts(wanted, watch.today - DAYS_SHOWN + 1)
    for (const { tenant, lastUses, lastVersion1 } of some) {
      const own = calls.filter((count) => count.tenant === tenant)
      const days = daysOf(own)
      daysOf(own, ofAll)
      const { version1, version2, failed } = sumOf(days)
      tenants.push({
        tenant,
        verdict: verdictOf({ ...watch, ...lastUses, days }),
        lastVersion1,
        version1,
        version2,
        failed,
        weeklyShares: weeklyShares(watch.today, days),
      })
    }
    await new Promise(setImmediate)
  }
  const unseen = seen.flatMap(({ tenant, last }) => (last === undefined ? [tenant] : []))
  const days = [...ofAll.values()].sort((one, other) => one.day - other.day)
  const evidence = { ...watch, ...seenIn(uses).lastUses, days }
  const verdicts = tenants.map(({ verdict }) => verdict)
  return { ...shown, ...verdictOnAll(evidence, verdicts, unseen), days, tenants }
}

/** An overview is good for so many times what it took to read it: pages cost a hundredth of a core at most. */
const REST_FACTOR = 100

/** The clock of a store that moves by more against that of the process has jumped. */
const JUMP_MS = 60_000

const overviews = new WeakMap<
  CountingStore,
  { readonly reading: Promise<Overview>; readonly clock: number; until: number }
>()

/**
 * Returns what was read of all tenants lately. Those who ask at the same time share it. `flush` stores what this process has counted
 * itself.
 */
export function recentOverview(
  store: CountingStore,
  named: readonly string[],
  flush = async () => {},
): Promise<Overview> {
  const last = overviews.get(store)
  const began = performance.now()
  const clock = store.now() - began
  if (last && began < last.until && Math.abs(clock - last.clock) < JUMP_MS) return last.reading
  const reading = flush().then(() => readOverview(store, named))
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

interface Sources {
  readonly store: CountingStore
  readonly catalog: Catalog
}

/** Reads a report on one tenant or on all. A report on a tenant that is neither known nor counted has no tenants. */
export async function readReport(
  { store, catalog, tenants: named }: Sources & { readonly tenants: readonly string[] },
  only?: string,
) {
  const overview = only === undefined ? await readOverview(store, named) : undefined
  const { shown, ...watch } = await readWatch(store)
  const { today } = watch
  const tenants = []
  for (const { tenant } of overview?.tenants ?? [{ tenant: only ?? '' }]) {
    const { calls, names } = await countsOf(tenant, store, today - DAYS_SHOWN + 1)
    const lately = latelyIn(calls, names, today - QUIET_DAYS + 1)
    const of = (kind: NameKind) => names.filter((count) => count.kind === kind)
    const listOf = (kind: NameKind) => of(kind).map(countedOf).sort(largestFirst('count'))
    if (!overview && !named.includes(tenant) && of('use').length === 0) continue
    const { first, last, lastUses, lastVersion1 } = seenIn(of('use'))
    const days = daysOf(calls)
    const prices = of('price').sort(largestFirst('lastAt'))
    tenants.push({
      /** Empty for callers without a name. */
      tenant,
      verdict: verdictOf({ ...watch, ...lastUses, days }),
      firstSeen: timeText(first),
      lastSeen: timeText(last),
      lastVersion1,
      weeklyShares: weeklyShares(today, days),
      /** Days with calls. */
      use: days,
      actions: actionsOf(calls),
      fields: fieldUses(names),
      unknownFields: listOf('unknown'),
      agents: listOf('agent'),
      networks: listOf('network'),
      errors: errorsOf(lately.calls, names),
      /** Bookings at another price than that of their quote. */
      otherPrices: total(prices, 'count'),
      /** The last one of them. */
      otherPrice: prices.map(({ example, lastAt }) => ({ requestId: example, last: isoTime(lastAt) }))[0],
      /** What blocks comes first. */
      work: workOf(lately, catalog),
    })
  }
  return {
    ...shown,
    /** None in a report on one tenant. */
    headline: overview?.headline,
    verdict: overview?.verdict ?? tenants[0]?.verdict ?? neverSeen(watch),
    tenants,
  }
}

/** Counts the problems of each of these tenants. */
export async function countBlockers({ store, catalog }: Sources, tenants: readonly string[]) {
  const fromDay = Math.floor(store.now() / DAY_MS) - QUIET_DAYS + 1
  const blockers = new Map<string, number>()
  for (const tenant of tenants) {
    const { calls, names } = await countsOf(tenant, store, fromDay)
    const lately = latelyIn(calls, names, fromDay)
    const found = { work: workOf(lately, catalog, []), errors: errorsOf(lately.calls, names) }
    blockers.set(tenant, problemsOf(found).length)
  }
  return blockers
}

/** Reads one tenant's counts: reads of the embedded store run on the event loop. */
async function countsOf(tenant: string, store: Scoreboard, fromDay: number) {
  const calls = await store.callCounts([tenant], fromDay)
  const names = await store.nameCounts(tenant)
  await new Promise(setImmediate)
  return { calls, names }
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

const FINE: ReadonlySet<string> = new Set([DONE, REPLAYED])
const faultIn = ({ outcome }: CallCount) => (FINE.has(outcome) ? 'nobody' : faultOf(outcome))
const isMistake = (count: CallCount) => faultIn(count) === 'caller'
const isFailed = (count: CallCount) => ['service', 'gateway'].includes(faultIn(count))
const RETIRED: ErrorCode = 'retired'

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
    .sort(largestFirst('calls'))
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

const HEADINGS = {
  lastVersion1: 'last version-1 call',
  version1: 'version 1',
  version2: 'version 2',
  last: 'last seen',
  first: 'first seen',
  todo: 'what to do',
  equivalents: 'version 2',
  replayed: 'replayed bookings',
  mistakes: 'caller errors',
  requestId: 'request id of the last one',
}

/** Makes a table of a migration report. A row whose first cell is empty stands for all others. */
export function migrationTable(title: string, list: readonly object[], columns: string): TextTable {
  const { rows, ...table } = tableOf(title, list, columns, HEADINGS)
  return { ...table, rows: rows.map(([first = '', ...cells]) => [first || 'all others', ...cells]) }
}

/** Returns the table of what blocks a tenant: each problem once, and what to do about it. */
export const blockersOf = (tenant: TenantReport): TextTable =>
  migrationTable('Blocks migration', problemsOf(tenant), 'problem count last todo')

/** Returns the tables about a tenant, besides what blocks it: those that have rows. */
export function detailsOf({ work, actions, errors, fields, unknownFields, agents, networks }: TenantReport) {
  const names = 'name count first last'
  const others = work.filter(({ blocks }) => blocks === undefined)
  const named = actions.map(({ action, ...item }) => ({ action: action || 'not recognized', ...item }))
  return [
    migrationTable('Other changes', others, 'name kind action count equivalents note'),
    migrationTable('Actions', named, 'action calls replayed failed mistakes'),
    migrationTable('Errors', errors, 'name count last requestId'),
    migrationTable('Fields', fields, 'field action used unused lossy assumed last'),
    migrationTable('Unknown fields', unknownFields, names),
    migrationTable('User agents', agents, names),
    migrationTable('Networks', networks, names),
  ].filter(({ rows }) => rows.length > 0)
}

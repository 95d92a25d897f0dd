import { type CallCount, DAY_MS, type NameCount, type NameKind } from '../store/scoreboard.ts'
import { DONE, REPLAYED } from './tally.ts'
import { type DayUse, type Verdict, verdictOf, weeklyShares } from './verdict.ts'
import { dayText } from './wording.ts'
import type { ListWork, WorkItem } from './work.ts'

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
  readonly refused: number
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
  /** The work that is left, what blocks first. */
  readonly work: readonly WorkItem[]
}

/** The counts of a tenant, and what they are measured by. */
export interface TenantCounts {
  readonly calls: readonly CallCount[]
  readonly names: readonly NameCount[]
  readonly today: number
  readonly watched: readonly number[]
  readonly quietDays: number
  readonly listWork: ListWork
}

/** Makes the report on a tenant. Pure. */
export function tenantReport(tenant: string, counts: TenantCounts): TenantReport {
  const { calls, names, today, watched, quietDays, listWork } = counts
  const uses = names.filter(({ kind, name }) => kind === 'use' && name !== 'dry-run')
  const lastAt = (use: string) => uses.find(({ name }) => name === use)?.lastAt
  const lastDay = (use: string) => dayOf(lastAt(use))
  const days = daysOf(calls)
  const of = (kind: NameKind) => names.filter((count) => count.kind === kind).sort(byCount)
  const lastVersion1 = lastAt('version-1')
  return {
    tenant,
    verdict: verdictOf({
      today,
      watched,
      quietDays,
      lastVersion1: lastDay('version-1'),
      lastVersion2: lastDay('version-2'),
      days,
    }),
    firstSeen: uses.length === 0 ? undefined : timeText(Math.min(...uses.map(({ firstAt }) => firstAt))),
    lastSeen: uses.length === 0 ? undefined : timeText(Math.max(...uses.map((use) => use.lastAt))),
    lastVersion1: lastVersion1 === undefined ? undefined : timeText(lastVersion1),
    weeklyShares: weeklyShares(today, days).map((share) => share ?? null),
    use: days,
    actions: actionsOf(calls),
    fields: fieldsOf(names),
    unknownFields: of('unknown').map(countedOf),
    agents: of('agent').map(countedOf),
    networks: of('network').map(countedOf),
    errors: of('error').map((count) => ({ ...countedOf(count), requestId: count.example })),
    work: listWork(calls, names, today - quietDays + 1),
  }
}

const dayOf = (at: number | undefined) => (at === undefined ? undefined : Math.floor(at / DAY_MS))
const timeText = (at: number) => new Date(at).toISOString()
const byCount = (one: NameCount, other: NameCount) => other.count - one.count

/** Outcomes that are no failure of the caller: a brownout is the operator's decision. */
const NO_FAILURE: ReadonlySet<string> = new Set([DONE, REPLAYED, 'brownout'])
const isRefused = ({ outcome }: CallCount) => !NO_FAILURE.has(outcome)

const countedOf = ({ name, count, firstAt, lastAt }: NameCount): Counted => ({
  name,
  count,
  first: timeText(firstAt),
  last: timeText(lastAt),
})

function daysOf(calls: readonly CallCount[]): readonly ShownDay[] {
  return [...Map.groupBy(calls, ({ day }) => day)].map(([day, ofDay]) => {
    const total = (fits: (count: CallCount) => boolean) =>
      ofDay.reduce((all, count) => (fits(count) ? all + count.calls : all), 0)
    return {
      day,
      date: dayText(day),
      version1: total(({ use }) => use === 'version-1'),
      version2: total(({ use }) => use === 'version-2'),
      dryRuns: total(({ use }) => use === 'dry-run'),
      refused: total((count) => count.use !== 'dry-run' && isRefused(count)),
    }
  })
}

function actionsOf(calls: readonly CallCount[]): readonly ActionUse[] {
  const version1 = calls.filter(({ use }) => use === 'version-1')
  return [...Map.groupBy(version1, ({ action }) => action)]
    .map(([action, counts]) => {
      const total = (fits: (count: CallCount) => boolean) =>
        counts.reduce((all, count) => (fits(count) ? all + count.calls : all), 0)
      return {
        action,
        calls: total(() => true),
        replayed: total(({ outcome }) => outcome === REPLAYED),
        refused: total(isRefused),
      }
    })
    .sort((one, other) => other.calls - one.calls)
}

const FIELD_KINDS: ReadonlySet<NameKind> = new Set(['used', 'unused', 'lossy', 'assumed'])

function fieldsOf(names: readonly NameCount[]): readonly FieldUse[] {
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

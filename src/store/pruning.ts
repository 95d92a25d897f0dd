import { DAY_MS } from './scoreboard.ts'
import { now, sql, TODAY, type Work, type WorkOf } from './work.ts'

/** What is pruned, in this order: links and things stay as long as the claims of their shipments. */
export const PRUNED_TABLES = ['claims', 'audit', 'links', 'things', 'instances'] as const
export type PrunedTable = (typeof PRUNED_TABLES)[number] | 'facts' | 'events' | 'counts'

/** One step of pruning. */
export interface PruneStep {
  readonly table: PrunedTable
  /** Rows that were neither written nor used for this long may go; a part of a day counts as a day. */
  readonly olderThanMs: number
  /** Counts all that would go, and deletes nothing. @default false */
  readonly dryRun?: boolean | undefined
}

export interface PruneStepEnd {
  /** How many rows went, or would go. */
  readonly pruned: number
  /** True if there may be more. */
  readonly more: boolean
}

/** The size of a table; an estimate, because counting would read all of it. */
export interface TableSize {
  readonly table: 'claims' | 'links' | 'things' | 'events'
  /** Undefined where the engine has no estimate. */
  readonly rows: number | undefined
  /** When its oldest row was written or used, to the day; of claims and events only the finished ones. */
  readonly oldest: number | undefined
}

export interface StoreSize {
  readonly bytes: number
  /** The part of `bytes` that later rows will use again. */
  readonly freeBytes: number
  readonly tables: readonly TableSize[]
}

/**
 * Deletes rows that are not needed any more. Rows have the day on which they were written or used last, by a calendar that the
 * store itself keeps: a clock that jumps makes no row old. Some rows stay however old they are:
 *
 * - claims that are `sending` or `unknown`, with their audit entries;
 * - links to the shipment of a claim that stays, and links of the reference of a claim that is `sending` or `unknown`;
 * - things of such shipments, records of claims that stay, and approvals while an old booking of their tenant is in doubt.
 */
export interface Pruning {
  /** Notes that names, and quotes or shipments with these ids and their approvals, are used now. */
  noteUses(tenant: string, names: readonly string[]): Promise<void>
  /**
   * Turns the calendar by a day once 24 hours have gone by, by the store's clock and by `goneMs`, the time since this process
   * looked last on a clock that nobody sets. One call turns it by one day at most. Returns the day, in days since 1970.
   */
  turnDay(goneMs: number): Promise<number>
  /** Deletes a few rows, in a durable step of its own that no call waits for longer than a moment. */
  prune(step: PruneStep): Promise<PruneStepEnd>
  /** Costs the same however many rows there are. */
  size(): Promise<StoreSize>
}

/** Begins the id of the record of an approval; the id of the quote follows. */
export const APPROVAL_OF = 'approval of '
/** Begins the id of the record of the other ids that the reply to an approval named; the id of the quote follows. */
export const IDS_IN_APPROVAL_OF = 'ids in approval of '
/** Begins the id of the record of a settlement's names; the handle of the claim follows. */
export const NAMES_OF = 'names of '

/** How many rows a step deletes at most, to leave room for other writes in between. */
const STEP_ROWS = 200
/** With its indexes, a claim is the work of several other rows. */
const STEP_CLAIMS = 50
/** A row that is old and still needed is looked at again so many days later. */
const KEPT_DAYS = 30
/** A gateway that has not renewed its lease for this long is gone for good. */
const INSTANCE_KEPT_MS = DAY_MS

/** The old rows of a table, with the last day that is old as $1. */
interface Old {
  readonly table: string
  readonly key: string
  readonly where: string
  /** Tells if an old row is needed; undefined if none is. */
  readonly isNeeded?: string
}

const QUOTE = `substr(row.id, CASE WHEN row.id LIKE '${IDS_IN_APPROVAL_OF}%' THEN ${IDS_IN_APPROVAL_OF.length + 1} ELSE ${APPROVAL_OF.length + 1} END)`
/** Claims are pruned first: one that is still there stays. */
const hasClaim = (id: string) => `EXISTS (SELECT 1 FROM transload.claims AS claim
  WHERE claim.tenant = row.tenant AND lower(claim.shipment) = lower(${id}) AND claim.shipment <> '')`
const OPEN_CLAIMS = `transload.claims AS claim WHERE claim.state IN ('sending', 'unknown')`

const OLD: Readonly<Record<'claims' | 'audit' | 'links' | 'things' | 'events', Old>> = {
  claims: {
    table: 'claims',
    key: 'tenant, key',
    where: `used_day <= $1 AND state NOT IN ('sending', 'unknown') AND expires <= transload.now_ms()`,
  },
  audit: { table: 'old_handles', key: 'handle', where: 'used_day <= $1' },
  links: {
    table: 'links',
    key: 'tenant, name, kind, vin',
    where: 'used_day <= $1',
    isNeeded: `(${hasClaim('row.id')} OR (row.tenant, row.name) IN (SELECT claim.tenant, claim.reference FROM ${OPEN_CLAIMS}))`,
  },
  things: {
    table: 'things',
    key: 'tenant, id',
    where: 'used_day <= $1',
    isNeeded: `CASE WHEN row.id LIKE '${NAMES_OF}%' THEN
        EXISTS (SELECT 1 FROM transload.claims AS claim WHERE claim.handle = substr(row.id, ${NAMES_OF.length + 1}))
      WHEN row.id LIKE '${APPROVAL_OF}%' OR row.id LIKE '${IDS_IN_APPROVAL_OF}%'
        THEN ${hasClaim(QUOTE)} OR row.tenant IN (SELECT claim.tenant FROM ${OPEN_CLAIMS} AND claim.used_day <= $1)
      ELSE ${hasClaim('row.id')} END`,
  },
  events: {
    table: 'events',
    key: 'no',
    where: `used_day <= $1 AND state IN ('recorded', 'delivered', 'skipped')`,
  },
}

/** Deletes a few old rows that nothing needs; those that are needed are put off, and in nobody's way then. */
function* pruneRows({ table, key, where, isNeeded }: Old, lastDay: number, dryRun: boolean): Work<PruneStepEnd> {
  const hasTrail = table === 'claims' || table === 'old_handles'
  const isUnneeded = isNeeded === undefined ? '1 = 1' : `NOT (${isNeeded})`
  if (dryRun) {
    const [row] = yield sql(
      `SELECT count(*) AS count FROM transload.${table} AS row WHERE ${where} AND ${isUnneeded}`,
      lastDay,
    )
    return { pruned: Number(row?.['count']), more: false }
  }
  const some = `(${key}) IN (SELECT ${key} FROM transload.${table} WHERE ${where} ORDER BY used_day
    LIMIT ${table === 'claims' ? STEP_CLAIMS : STEP_ROWS} FOR UPDATE SKIP LOCKED)`
  const gone = yield sql(
    `DELETE FROM transload.${table} AS row WHERE ${some} AND ${isUnneeded}
      RETURNING ${hasTrail ? 'handle' : '1 AS handle'}`,
    lastDay,
  )
  if (hasTrail) {
    const handles = JSON.stringify(gone.map(({ handle }) => handle))
    yield sql('DELETE FROM transload.claim_audit WHERE handle IN (SELECT value FROM transload.each($1))', handles)
  }
  if (gone.length > 0 || isNeeded === undefined) return { pruned: gone.length, more: gone.length > 0 }
  const putOff = yield sql(
    `UPDATE transload.${table} AS row SET used_day = $2 WHERE ${some} AND ${isNeeded} RETURNING 1`,
    ...[lastDay, lastDay + KEPT_DAYS],
  )
  return { pruned: 0, more: putOff.length > 0 }
}

/** Drops the facts of things that were written on an old day; their links and `own` stay. */
function* forget(beforeMs: number, dryRun: boolean): Work<PruneStepEnd> {
  const old = 'FROM transload.things WHERE facts IS NOT NULL AND at < $1'
  if (dryRun)
    return { pruned: Number((yield sql(`SELECT count(*) AS count ${old}`, beforeMs))[0]?.['count']), more: false }
  const forgotten = yield sql(
    `UPDATE transload.things SET facts = NULL
      WHERE (tenant, id) IN (SELECT tenant, id ${old} LIMIT ${STEP_ROWS} FOR UPDATE SKIP LOCKED) RETURNING 1`,
    beforeMs,
  )
  return { pruned: forgotten.length, more: forgotten.length > 0 }
}

/** Drops the counts of old days, and the names that did not occur since. */
function* dropCounts(day: number): Work<PruneStepEnd> {
  let pruned = 0
  for (const { from, before } of [
    { from: 'call_counts WHERE day < $1', before: day },
    { from: 'name_counts WHERE last_at < $1', before: day * DAY_MS },
    { from: 'watched_days WHERE day < $1', before: day },
    // A batch is sent again within seconds.
    { from: 'count_batches WHERE at < $1', before: (yield* now()) - DAY_MS },
  ]) {
    pruned += (yield sql(`DELETE FROM transload.${from} RETURNING 1`, before)).length
  }
  return { pruned, more: false }
}

/** Drops what processes have left behind that are gone. */
function* dropInstances(dryRun: boolean): Work<PruneStepEnd> {
  const gone = `FROM transload.instances WHERE beat_ms < transload.lease_ms() - ${INSTANCE_KEPT_MS}
    OR beat_ms > transload.lease_ms()`
  if (dryRun) return { pruned: Number((yield sql(`SELECT count(*) AS count ${gone}`))[0]?.['count']), more: false }
  yield sql('DELETE FROM transload.locks WHERE until_ms <= transload.lease_ms()')
  return { pruned: (yield sql(`DELETE ${gone} RETURNING 1`)).length, more: false }
}

export const pruneWrites: WorkOf<Omit<Pruning, 'size'>> = {
  *noteUses(tenant, names) {
    const things = names.flatMap((id) => [id, APPROVAL_OF + id, IDS_IN_APPROVAL_OF + id])
    for (const [table, column, values] of [
      ['links', 'name', names],
      ['things', 'id', things],
    ] as const) {
      yield sql(
        `UPDATE transload.${table} SET used_day = ${TODAY} WHERE tenant = $2
          AND ${column} IN (SELECT value FROM transload.each($1)) AND used_day < ${TODAY}`,
        ...[JSON.stringify(values), tenant],
      )
    }
  },
  *turnDay(goneMs) {
    const at = yield* now()
    const [calendar] = yield sql('SELECT day, looked_at, gone_ms FROM transload.calendar FOR UPDATE')
    const byClock = Math.max(0, at - Number(calendar?.['looked_at']))
    const gone = Number(calendar?.['gone_ms']) + Math.min(byClock, Math.max(0, Math.round(goneMs)), DAY_MS)
    const turns = gone >= DAY_MS ? 1 : 0
    const day = Number(calendar?.['day']) + turns
    yield sql('UPDATE transload.calendar SET day = $1, looked_at = $2, gone_ms = $3', day, at, gone - turns * DAY_MS)
    return day
  },
  *prune({ table, olderThanMs, dryRun = false }) {
    const [calendar] = yield sql('SELECT day FROM transload.calendar')
    const day = Number(calendar?.['day'])
    const keptDays = Math.ceil(olderThanMs / DAY_MS)
    // Facts and counts have the time of the clock, and the calendar may have begun while that was ahead.
    const firstKept = Math.min(day, Math.floor((yield* now()) / DAY_MS)) - keptDays
    switch (table) {
      case 'facts':
        return yield* forget(firstKept * DAY_MS, dryRun)
      case 'counts':
        return yield* dropCounts(firstKept)
      case 'instances':
        return yield* dropInstances(dryRun)
      default:
        // A use may be noted a day late.
        return yield* pruneRows(OLD[table], day - keptDays - 2, dryRun)
    }
  },
}

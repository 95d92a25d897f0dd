import { thingKey } from '../../language/text/service-text.ts'
import { nameKey } from './names.ts'
import { DAY_MS } from './scoreboard.ts'
import { now, sql, TODAY, type Work } from './work.ts'

/**
 * The kinds of rows that are pruned, in this order: names, quotes, and shipments stay as long as their shipments' claims, and approvals as long
 * as their quotes.
 */
export const PRUNED_TABLES = [
  'claims',
  'audit',
  'names',
  'quotes',
  'approvals',
  'shipments',
  'instances',
  'facts',
  'events',
  'counts',
] as const
export type PrunedTable = (typeof PRUNED_TABLES)[number]

/** One step of pruning. */
interface PruneStep {
  readonly table: PrunedTable
  /** Rows that were neither written nor used for this long may be deleted; part of a day counts as a day. */
  readonly olderThanMs: number
  /** Where the previous step ended. @default this is the first step */
  readonly after?: RowKey | undefined
}

export interface PruneStepEnd {
  /** How many rows were deleted. */
  readonly pruned: number
  /** True if there may be more. */
  readonly more: boolean
  /** Where the next step starts, in a table that is searched in full. */
  readonly after?: RowKey | undefined
}

/** The key of a row. */
type RowKey = readonly (string | number)[]

export interface StoreSize {
  readonly bytes: number
  /** The part of `bytes` that later rows will reuse. */
  readonly freeBytes: number
}

/** How many rows a step deletes at most, to leave room for other writes in between. */
const STEP_ROWS = 200
/** How many rows a step searches; most of them stay. */
const STEP_LOOKS = 500
/** Fewer, because a claim with its indexes is as much work as several other rows. */
const STEP_CLAIMS = 50
/** A gateway that has not renewed its lease for this long is gone for good. */
const INSTANCE_KEPT_MS = DAY_MS

/** A table with an index by use, and which rows are deleted; `$1` is the last day that is old. */
interface IndexedTable {
  readonly table: string
  readonly key: string
  readonly where: string
}

const INDEXED: Readonly<Record<'claims' | 'audit' | 'events', IndexedTable>> = {
  claims: {
    table: 'claims',
    key: 'tenant, key',
    where: `used_day <= $1 AND state NOT IN ('sending', 'unknown') AND expires <= transload.now_ms()`,
  },
  audit: { table: 'old_trails', key: 'handle', where: 'used_day <= $1' },
  events: {
    table: 'events',
    key: 'no',
    where: `used_day <= $1 AND state IN ('recorded', 'delivered', 'skipped')`,
  },
}

/** Deletes a few old rows. */
function* pruneRows({ table, key, where }: IndexedTable, lastDay: number): Work<PruneStepEnd> {
  const gone = yield sql(
    `DELETE FROM transload.${table} WHERE (${key}) IN (SELECT ${key} FROM transload.${table} WHERE ${where} ORDER BY used_day
      LIMIT ${table === 'claims' ? STEP_CLAIMS : STEP_ROWS} FOR UPDATE SKIP LOCKED) RETURNING 1`,
    lastDay,
  )
  return { pruned: gone.length, more: gone.length > 0 }
}

/** A table without an index by use, because that would be large, and what happens to its old rows. */
interface LookedThrough {
  readonly table: string
  readonly key: readonly string[]
  /** A key before every other. */
  readonly first: RowKey
  readonly isOld: string
  readonly isNeeded: string
  /** @default they are deleted */
  readonly set?: string
}

/** Claims are pruned first, so a claim that is still there stays. */
const hasClaim = (id: string) => `EXISTS (SELECT 1 FROM transload.claims AS claim
  WHERE claim.tenant = row.tenant AND lower(claim.shipment) = lower(${id}) AND claim.shipment <> '')`
const OPEN_CLAIMS = `transload.claims AS claim WHERE claim.state IN ('sending', 'unknown')`
const QUOTES = { table: 'quotes', key: ['no'], first: [0] }

const LOOKED_THROUGH: Readonly<Record<'names' | 'quotes' | 'approvals' | 'shipments' | 'facts', LookedThrough>> = {
  names: {
    table: 'names',
    key: ['tenant', 'name', 'kind', 'bearer'],
    first: ['', '', -1, ''],
    isOld: 'used_day <=',
    isNeeded: `(${hasClaim('coalesce(row.id, row.bearer)')}
      OR (row.tenant, coalesce(row.whole, row.name)) IN (SELECT claim.tenant, claim.reference FROM ${OPEN_CLAIMS}))`,
  },
  quotes: {
    ...QUOTES,
    isOld: 'used_day <=',
    isNeeded: `(${hasClaim('row.key')} OR coalesce(row.approval, '') <> ''
      AND row.tenant IN (SELECT claim.tenant FROM ${OPEN_CLAIMS} AND claim.used_day <= $1))`,
  },
  approvals: {
    table: 'approvals',
    key: ['tenant', 'name', 'quote'],
    first: ['', '', ''],
    isOld: 'used_day <=',
    isNeeded: `EXISTS (SELECT 1 FROM transload.quotes AS quote WHERE quote.tenant = row.tenant AND quote.key = row.quote)`,
  },
  shipments: {
    table: 'shipments',
    key: ['tenant', 'key'],
    first: ['', ''],
    isOld: 'used_day <=',
    isNeeded: hasClaim('row.key'),
  },
  // The quotes' names and other parts stay.
  facts: { ...QUOTES, isOld: 'facts IS NOT NULL AND at <', isNeeded: '1 = 0', set: 'facts = NULL' },
}

/** Searches the next rows, and deletes or changes the old ones. */
function* lookThrough(
  { table, key, first, isOld, isNeeded, set }: LookedThrough,
  before: number,
  after: RowKey = first,
): Work<PruneStepEnd> {
  const keys = key.join(', ')
  const place = (nth: number) => `(${key.map((_, index) => `$${nth + index}`).join(', ')})`
  const [last] = yield sql(
    `SELECT ${keys} FROM transload.${table} WHERE (${keys}) > ${place(1)} ORDER BY ${keys} LIMIT 1 OFFSET ${STEP_LOOKS - 1}`,
    ...after,
  )
  // Keys contain only text and numbers.
  const end = last && key.map((column) => last[column] as string | number)
  const old = `SELECT ${keys} FROM transload.${table} WHERE ${isOld} $1 AND (${keys}) > ${place(2)}
    ${end ? `AND (${keys}) <= ${place(2 + key.length)}` : ''} FOR UPDATE SKIP LOCKED`
  const rows = `(${keys}) IN (${old}) AND NOT ${isNeeded}`
  const values = [before, ...after, ...(end ?? [])]
  const name = `transload.${table} AS row`
  const change = set ? `UPDATE ${name} SET ${set} WHERE ${rows}` : `DELETE FROM ${name} WHERE ${rows}`
  const done = yield sql(`${change} RETURNING 1`, ...values)
  return { pruned: done.length, more: end !== undefined, after: end }
}

/** Drops the counts of old days, and names that have not occurred since. */
function* dropCounts(day: number): Work<PruneStepEnd> {
  let pruned = 0
  for (const { from, before } of [
    { from: 'call_counts WHERE day < $1', before: day },
    { from: 'name_counts WHERE last_at < $1', before: day * DAY_MS },
    { from: 'watched_days WHERE day < $1', before: day },
    // A lost batch is sent again within seconds.
    { from: 'count_batches WHERE at < $1', before: (yield* now()) - DAY_MS },
  ]) {
    pruned += (yield sql(`DELETE FROM transload.${from} RETURNING 1`, before)).length
  }
  return { pruned, more: false }
}

/** Drops the rows of processes that are gone. */
function* dropInstances(): Work<PruneStepEnd> {
  yield sql('DELETE FROM transload.locks WHERE until_ms <= transload.lease_ms()')
  const gone = yield sql(`DELETE FROM transload.instances WHERE beat_ms < transload.lease_ms() - ${INSTANCE_KEPT_MS}
    OR beat_ms > transload.lease_ms() RETURNING 1`)
  return { pruned: gone.length, more: false }
}

/**
 * Deletes rows that are no longer needed. Rows have the day on which they were last written or used, by a calendar that the store itself
 * keeps, so that a clock that jumps makes no row old. Some rows stay however old they are:
 *
 * - claims that are `sending` or `unknown`, with their audit entries;
 * - names of the shipment of a claim that stays, and of the reference of a claim that is `sending` or `unknown`;
 * - such shipments, their quotes, and quotes with an approval while an old booking of their tenant is in doubt.
 */
export const pruneWrites = {
  /** Notes that names, and the quotes and shipments with these ids, are used now. */
  *noteUses(tenant: string, names: readonly string[]): Work<void> {
    const keys = names.map(thingKey)
    // In the order in which calls write them: two orders could deadlock.
    for (const [table, column, values] of [
      ['shipments', 'key', keys],
      ['quotes', 'key', keys],
      ['approvals', 'name', names.map(nameKey)],
      ['names', 'name', names.map(nameKey)],
    ] as const) {
      yield sql(
        `UPDATE transload.${table} SET used_day = ${TODAY} WHERE tenant = $2
          AND ${column} IN (SELECT value FROM transload.each($1)) AND used_day < ${TODAY}`,
        JSON.stringify(values),
        tenant,
      )
    }
  },
  /**
   * Advances the calendar by a day once 24 hours have passed, both by the store's clock and by `goneMs`: the time since this process last
   * looked, on a clock that nobody sets. One call advances it by one day at most. Returns the day, in days since 1970.
   */
  *turnDay(goneMs: number): Work<number> {
    const at = yield* now()
    const [calendar] = yield sql('SELECT day, looked_at, gone_ms FROM transload.calendar FOR UPDATE')
    const byClock = Math.max(0, at - Number(calendar?.['looked_at']))
    const gone = Number(calendar?.['gone_ms']) + Math.min(byClock, Math.max(0, Math.round(goneMs)), DAY_MS)
    const turns = gone >= DAY_MS ? 1 : 0
    const day = Number(calendar?.['day']) + turns
    yield sql('UPDATE transload.calendar SET day = $1, looked_at = $2, gone_ms = $3', day, at, gone - turns * DAY_MS)
    return day
  },
  /** Deletes a few rows, in a durable step that no call waits for longer than a moment. */
  *prune({ table, olderThanMs, after }: PruneStep): Work<PruneStepEnd> {
    const [calendar] = yield sql('SELECT day FROM transload.calendar')
    const day = Number(calendar?.['day'])
    const keptDays = Math.ceil(olderThanMs / DAY_MS)
    // Facts and counts have clock times, and the calendar may have started while the clock was ahead.
    const firstKept = Math.min(day, Math.floor((yield* now()) / DAY_MS)) - keptDays
    // A use may be noted a day late.
    const lastDay = day - keptDays - 2
    switch (table) {
      case 'names':
      case 'quotes':
      case 'approvals':
      case 'shipments':
        return yield* lookThrough(LOOKED_THROUGH[table], lastDay, after)
      case 'facts':
        return yield* lookThrough(LOOKED_THROUGH[table], firstKept * DAY_MS, after)
      case 'counts':
        return yield* dropCounts(firstKept)
      case 'instances':
        return yield* dropInstances()
      default:
        return yield* pruneRows(INDEXED[table], lastDay)
    }
  },
}

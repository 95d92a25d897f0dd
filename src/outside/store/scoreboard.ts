import type { Use } from '../../runtime/call.ts'
import { CALL_COUNTS, NAME_COUNTS } from './schema.ts'
import { type DatabaseRow, item, sql, type VerbsOf, type Work } from './work.ts'

/** A tenant's calls on one day with the same outcome. */
export interface CallCount {
  readonly tenant: string
  /** In days since 1970, UTC. */
  readonly day: number
  readonly use: Use
  /** Empty if the call has none. */
  readonly action: string
  /** `done`, `replayed`, or the error's code. */
  readonly outcome: string
  readonly calls: number
}

/**
 * The meaning of a name: a version-1 field that was used, unused, lossy or assumed, an unknown field, a user agent, a source network, an
 * error code, a `Use`, or a booking at a price other than its quote's.
 */
export type NameKind =
  | 'used'
  | 'unused'
  | 'lossy'
  | 'assumed'
  | 'unknown'
  | 'agent'
  | 'network'
  | 'error'
  | 'use'
  | 'price'

/** How often and when a name occurred in a tenant's calls. */
export interface NameCount {
  readonly tenant: string
  readonly kind: NameKind
  /** Empty if the name belongs to no action. */
  readonly action: string
  readonly name: string
  readonly count: number
  /** In milliseconds since 1970. */
  readonly firstAt: number
  readonly lastAt: number
  /** The request id of the last call; empty except for errors. */
  readonly example: string
}

/** Counts to add in one step. Each key occurs only once. */
export interface CountBatch {
  /** The counting process. */
  readonly instance: string
  /** Grows with every batch of the process. A batch that is sent again has the same number. */
  readonly no: number
  /** The days on which the process counted. */
  readonly days: readonly number[]
  readonly calls: readonly CallCount[]
  readonly names: readonly NameCount[]
}

export const DAY_MS = 86_400_000
/** How many days the counts of calls are kept, and so the knowledge of who made no calls. */
export const COUNTED_DAYS = 400

/** Limited, because reads of the embedded store run on the event loop. */
const USES_AT_ONCE = 1_000

/** The name under which a bounded kind counts the names beyond its limit. */
export const OTHER_NAMES = ''

/** How many names of a kind a tenant may have, if callers choose them; the gateway itself limits the others. */
export const MOST_OF_KIND: Readonly<Partial<Record<NameKind, number>>> = { unknown: 50, agent: 10, network: 50 }

/** The kinds whose names callers choose. These names belong to no action. */
const BOUNDED_KINDS = Object.keys(MOST_OF_KIND) as readonly NameKind[]

/** Returns names as they are stored next to the known ones: those beyond their kind's limit become one. */
function boundNames(names: readonly NameCount[], known: readonly DatabaseRow[]): readonly NameCount[] {
  const admitted = new Map<string, Set<unknown>>()
  const admittedOf = (tenant: unknown, kind: unknown): Set<unknown> => {
    const key = `${kind} ${tenant}`
    // The name for the others counts as one more.
    const found = admitted.get(key) ?? new Set([OTHER_NAMES])
    admitted.set(key, found)
    return found
  }
  for (const { tenant, kind, name } of known) admittedOf(tenant, kind).add(name)
  return names.map((count) => {
    const most = MOST_OF_KIND[count.kind]
    if (most === undefined) return count
    const some = admittedOf(count.tenant, count.kind)
    if (some.size <= most) some.add(count.name)
    const isOther = count.name === OTHER_NAMES || !some.has(count.name)
    return isOther ? { ...count, action: '', name: OTHER_NAMES, example: '' } : count
  })
}

const CALL_KEY = 'tenant, day, use, action, outcome'
const NAME_KEY = 'tenant, kind, action, name'

export const countReads = {
  /** Returns up to `USES_AT_ONCE` counts of kind `use` after a given one, by tenant and name. */
  *countedTenants({ tenant, name } = { tenant: '', name: '' }): Work<readonly NameCount[]> {
    const text = `SELECT * FROM transload.name_counts WHERE kind = 'use' AND (tenant, name) > ($1, $2)
      ORDER BY tenant, name LIMIT ${USES_AT_ONCE}`
    return yield* NAME_COUNTS.read(text, tenant, name)
  },
  /** Returns tenants' counts from a day on, by tenant and day. */
  *callCounts(tenants: readonly string[], fromDay: number): Work<readonly CallCount[]> {
    const text = `SELECT * FROM transload.call_counts
      WHERE tenant IN (SELECT value FROM transload.each($1)) AND day >= $2 ORDER BY ${CALL_KEY}`
    return yield* CALL_COUNTS.read(text, JSON.stringify(tenants), fromDay)
  },
  *nameCounts(tenant: string): Work<readonly NameCount[]> {
    const text = `SELECT * FROM transload.name_counts WHERE tenant = $1 ORDER BY ${NAME_KEY}`
    return yield* NAME_COUNTS.read(text, tenant)
  },
  /** Returns the days on which a gateway counted, in order. */
  *watchedDays(): Work<readonly number[]> {
    return (yield sql('SELECT day FROM transload.watched_days ORDER BY day')).map(({ day }) => Number(day))
  },
}

/** The reads of the counts. */
export type Scoreboard = VerbsOf<typeof countReads>

const KNOWN_NAMES = `SELECT tenant, kind, name FROM transload.name_counts
  WHERE tenant IN (SELECT value FROM transload.each($1)) AND kind IN (${BOUNDED_KINDS.map((kind) => `'${kind}'`).join(', ')})`
const ADD_CALLS = `INSERT INTO transload.call_counts AS known (${CALL_COUNTS.names})
  SELECT ${CALL_COUNTS.items} FROM transload.each($1) WHERE 1 = 1
  ON CONFLICT (${CALL_KEY}) DO UPDATE SET calls = known.calls + excluded.calls`
const ADD_NAMES = `INSERT INTO transload.name_counts AS known (${NAME_COUNTS.names})
  SELECT ${[0, 1, 2, 3].map((index) => item(index)).join(', ')}, sum(${item(4, 'bigint')}), min(${item(5, 'bigint')}),
    max(${item(6, 'bigint')}), max(${item(7)}) FROM transload.each($1) GROUP BY 1, 2, 3, 4
  ON CONFLICT (${NAME_KEY}) DO UPDATE SET count = known.count + excluded.count,
  first_at = CASE WHEN excluded.first_at < known.first_at THEN excluded.first_at ELSE known.first_at END,
  example = CASE WHEN excluded.last_at >= known.last_at THEN excluded.example ELSE known.example END,
  last_at = CASE WHEN excluded.last_at > known.last_at THEN excluded.last_at ELSE known.last_at END`

/** The durable counts of calls. Processes and gateways that share a store add to the same counts. */
export const countWrites = {
  /** Adds a batch in one durable step. A batch that was already added changes nothing. */
  *addCounts({ instance, no, days, calls, names }: CountBatch): Work<void> {
    // One batch at a time: two together could exceed a limit of names, or wait for each other's rows.
    yield sql('SELECT day FROM transload.calendar FOR UPDATE')
    const taken = yield sql(
      `INSERT INTO transload.count_batches AS known (instance, no, at) VALUES ($1, $2, transload.now_ms()) ON CONFLICT (instance)
        DO UPDATE SET no = excluded.no, at = excluded.at WHERE known.no < excluded.no RETURNING no`,
      instance,
      no,
    )
    if (taken.length === 0) return
    for (const day of days)
      yield sql('INSERT INTO transload.watched_days (day) VALUES ($1) ON CONFLICT DO NOTHING', day)
    yield sql(ADD_CALLS, CALL_COUNTS.listOf(calls))
    const tenants = [...new Set(names.map(({ tenant }) => tenant))]
    const known = yield sql(KNOWN_NAMES, JSON.stringify(tenants))
    yield sql(ADD_NAMES, NAME_COUNTS.listOf(boundNames(names, known)))
  },
}

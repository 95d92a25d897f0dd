import type pg from 'pg'
import { callCountOf, nameCountOf } from '../rows.ts'
import {
  BOUNDED_KINDS,
  boundNames,
  type CallCount,
  DAY_MS,
  type NameCount,
  type NameKind,
  type Scoreboard,
  USES_AT_ONCE,
} from '../scoreboard.ts'
import type { InTransaction } from './claims.ts'

/** The key of the advisory lock of a batch: any number that no other program uses. */
export const COUNTS_LOCK = 8_246_710_553

/** Takes the number of a batch; returns no row if it was taken before. */
export const TAKE_BATCH = `INSERT INTO transload.count_batches AS known VALUES ($1, $2, transload.now_ms())
  ON CONFLICT (instance) DO UPDATE SET no = excluded.no, at = excluded.at WHERE known.no < excluded.no RETURNING no`

const ADD_DAYS = 'INSERT INTO transload.watched_days SELECT unnest($1::integer[]) ON CONFLICT DO NOTHING'

const ADD_CALLS = `INSERT INTO transload.call_counts AS known
  SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::bigint[])
  ON CONFLICT (tenant, day, use, action, outcome) DO UPDATE SET calls = known.calls + excluded.calls`

const ADD_NAMES = `INSERT INTO transload.name_counts AS known
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])
  ON CONFLICT (tenant, kind, action, name) DO UPDATE SET count = known.count + excluded.count,
    first_at = least(known.first_at, excluded.first_at), last_at = greatest(known.last_at, excluded.last_at),
    example = CASE WHEN excluded.last_at >= known.last_at THEN excluded.example ELSE known.example END`

/** How long the number of a process's last batch is kept: a batch is sent again within seconds. */
const BATCHES_KEPT_MS = DAY_MS

/** Creates the counts of the contract on a pool of connections. */
export function createScoreboard(pool: pg.Pool, inTransaction: InTransaction): Scoreboard {
  return {
    addCounts: ({ instance, no, days, calls, names }) =>
      inTransaction(async (client) => {
        // One batch at a time: two could together exceed a limit of names, or wait for each other's rows.
        await client.query('SELECT pg_advisory_xact_lock($1)', [COUNTS_LOCK])
        const { rowCount } = await client.query(TAKE_BATCH, [instance, no])
        if (rowCount === 0) return
        await client.query(ADD_DAYS, [days])
        if (calls.length > 0) await client.query(ADD_CALLS, callColumns(calls))
        if (names.length === 0) return
        const known = await knownNames(client, names)
        await client.query(ADD_NAMES, nameColumns(boundNames(names, known)))
      }),
    async countedTenants({ tenant, name } = { tenant: '', name: '' }) {
      const { rows } = await pool.query(
        `SELECT * FROM transload.name_counts WHERE kind = 'use' AND (tenant, name) > ($1, $2)
          ORDER BY tenant, name LIMIT ${USES_AT_ONCE}`,
        [tenant, name],
      )
      return rows.map((row) => nameCountOf(String(row.tenant), row))
    },
    async callCounts(tenant, fromDay) {
      const { rows } = await pool.query(
        'SELECT * FROM transload.call_counts WHERE tenant = $1 AND day >= $2 ORDER BY day, use, action, outcome',
        [tenant, fromDay],
      )
      return rows.map((row) => callCountOf(tenant, row))
    },
    async nameCounts(tenant) {
      const { rows } = await pool.query(
        'SELECT * FROM transload.name_counts WHERE tenant = $1 ORDER BY kind, action, name',
        [tenant],
      )
      return rows.map((row) => nameCountOf(tenant, row))
    },
    async watchedDays() {
      const { rows } = await pool.query('SELECT day FROM transload.watched_days ORDER BY day')
      return rows.map(({ day }) => Number(day))
    },
    dropCounts: (beforeDay) =>
      inTransaction(async (client) => {
        await client.query('DELETE FROM transload.call_counts WHERE day < $1', [beforeDay])
        await client.query('DELETE FROM transload.name_counts WHERE last_at < $1', [beforeDay * DAY_MS])
        await client.query('DELETE FROM transload.watched_days WHERE day < $1', [beforeDay])
        await client.query('DELETE FROM transload.count_batches WHERE at < transload.now_ms() - $1', [BATCHES_KEPT_MS])
      }),
  }
}

/** Reads the stored names of bounded kinds. */
async function knownNames(client: pg.ClientBase, names: readonly NameCount[]) {
  const { rows } = await client.query(
    'SELECT tenant, kind, name FROM transload.name_counts WHERE tenant = ANY ($1) AND kind = ANY ($2)',
    [[...new Set(names.map(({ tenant }) => tenant))], BOUNDED_KINDS],
  )
  const known = Map.groupBy(rows, ({ tenant, kind }) => `${kind} ${tenant}`)
  return (tenant: string, kind: NameKind) => (known.get(`${kind} ${tenant}`) ?? []).map(({ name }) => String(name))
}

const callColumns = (calls: readonly CallCount[]) => [
  calls.map(({ tenant }) => tenant),
  calls.map(({ day }) => day),
  calls.map(({ use }) => use),
  calls.map(({ action }) => action),
  calls.map(({ outcome }) => outcome),
  calls.map(({ calls: count }) => count),
]

const nameColumns = (names: readonly NameCount[]) => [
  names.map(({ tenant }) => tenant),
  names.map(({ kind }) => kind),
  names.map(({ action }) => action),
  names.map(({ name }) => name),
  names.map(({ count }) => count),
  names.map(({ firstAt }) => firstAt),
  names.map(({ lastAt }) => lastAt),
  names.map(({ example }) => example),
]

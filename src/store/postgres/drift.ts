import type pg from 'pg'
import { boundDrift, type DriftList } from '../drift.ts'
import { driftOf } from '../rows.ts'
import type { InTransaction } from './claims.ts'

/** The key of the advisory lock of a batch: any number that no other program uses. */
const DRIFT_LOCK = 8_246_710_554

const ADD = `INSERT INTO transload.drift AS known
  SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[]), $6
  ON CONFLICT (kind, path) DO UPDATE SET count = known.count + excluded.count,
    first_at = least(known.first_at, excluded.first_at), last_at = greatest(known.last_at, excluded.last_at)
  RETURNING kind, path, first_by`

/** Creates the list of differences of the contract on a pool of connections. */
export function createDriftList(pool: pg.Pool, inTransaction: InTransaction): DriftList {
  return {
    addDrift: ({ instance, seen, keptSince }) =>
      inTransaction(async (client) => {
        // One batch at a time: two could together exceed the limit.
        await client.query('SELECT pg_advisory_xact_lock($1)', [DRIFT_LOCK])
        await client.query('DELETE FROM transload.drift WHERE last_at < $1', [keptSince])
        const { rows: known } = await client.query('SELECT kind, path FROM transload.drift')
        const all = boundDrift(seen, known)
        const columns = [
          all.map(({ kind }) => kind),
          all.map(({ path }) => path),
          all.map(({ count }) => count),
          all.map(({ firstAt }) => firstAt),
          all.map(({ lastAt }) => lastAt),
        ]
        const { rows } = await client.query(ADD, [...columns, instance])
        return rows
          .filter((row) => row.first_by === instance)
          .map((row) => ({ kind: String(row.kind), path: String(row.path) }))
      }),
    async listDrift() {
      const { rows } = await pool.query('SELECT * FROM transload.drift ORDER BY first_at DESC, kind, path')
      return rows.map(driftOf)
    },
  }
}

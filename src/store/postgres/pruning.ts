import type pg from 'pg'
import { keyOfPlace, type PruneStep, type PruneStepEnd, type Pruning, placeOf, rowsOf } from '../pruning.ts'
import { pruneRoundOf, sampledSize } from '../rows.ts'
import { CLOCK, NOW } from './clock.ts'
import { pruneSql } from './prune-sql.ts'

const NOTE_USES = `WITH ${CLOCK} INSERT INTO transload.uses AS use (tenant, name, at)
  SELECT $1, name, ${NOW} FROM unnest($2::text[]) AS name ORDER BY name
  ON CONFLICT (tenant, name) DO UPDATE SET at = greatest(use.at, excluded.at)`

const END_ROUND = `WITH ${CLOCK} INSERT INTO transload.prune_rounds (name, ended_at, row_count, oldest)
  VALUES ($1, ${NOW}, $2, $3) ON CONFLICT (name) DO UPDATE
  SET ended_at = excluded.ended_at, row_count = excluded.row_count, oldest = excluded.oldest`

/** The server's own estimates, which autovacuum renews. */
const SIZES = `SELECT relname AS name, greatest(reltuples, 0)::bigint AS rows, pg_total_relation_size(pg_class.oid) AS bytes
  FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
  WHERE nspname = 'transload' AND relkind = 'r'`

const OLDEST = `SELECT
  (SELECT created_at FROM transload.claims ORDER BY created_at, handle LIMIT 1) AS claims,
  (SELECT received_at FROM transload.events ORDER BY no LIMIT 1) AS events`

/** Creates the pruning of the contract on a pool of connections. */
export function createPruning(pool: pg.Pool, ask: <T>(work: () => Promise<T>) => Promise<T>): Pruning {
  const rounds: Pruning['rounds'] = async () =>
    (await ask(() => pool.query('SELECT * FROM transload.prune_rounds'))).rows.map(pruneRoundOf)

  async function runStep(asked: PruneStep): Promise<PruneStepEnd> {
    const { table, olderThanMs, after, dryRun = false } = asked
    const values = [olderThanMs, ...(after === undefined ? [] : keyOfPlace<(string | number)[]>(after, []))]
    const { rows } = await pool.query(pruneSql(table, after === undefined, dryRun), values)
    const { looked, pruned, oldest, place } = rows[0] ?? {}
    return {
      looked: Number(looked),
      pruned: Number(pruned),
      oldest: oldest === null ? undefined : Number(oldest),
      next: Number(looked) < rowsOf(table) ? undefined : placeOf(...place),
    }
  }

  return {
    async noteUses(tenant, names) {
      await ask(() => pool.query(NOTE_USES, [tenant, [...new Set(names)]]))
    },
    prune: (step) => ask(() => runStep(step)),
    async endRound({ table, rows, oldest }) {
      await ask(() => pool.query(END_ROUND, [table, rows, oldest ?? null]))
    },
    rounds,
    async size() {
      const [sizes, oldest, ended] = await Promise.all([
        ask(() => pool.query<{ name: string; rows: string; bytes: string }>(SIZES)),
        ask(() => pool.query(OLDEST)),
        rounds(),
      ])
      const rowsIn = (table: string) => Number(sizes.rows.find(({ name }) => name === table)?.rows ?? 0)
      const { claims, events } = oldest.rows[0] ?? {}
      return {
        bytes: sizes.rows.reduce((sum, { bytes }) => sum + Number(bytes), 0),
        freeBytes: 0,
        tables: [
          { table: 'claims', rows: rowsIn('claims'), oldest: optional(claims) },
          { table: 'events', rows: rowsIn('events'), oldest: optional(events) },
          ...sampledSize(ended).map(({ table, oldest: sampled }) => ({ table, rows: rowsIn(table), oldest: sampled })),
        ],
      }
    },
  }
}

const optional = (value: unknown): number | undefined => (value === null ? undefined : Number(value))

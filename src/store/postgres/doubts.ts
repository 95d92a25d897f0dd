import type pg from 'pg'
import { type Doubts, declaredDoubt } from '../doubt.ts'
import { doubtOf } from '../rows.ts'
import type { InTransaction } from './claims.ts'

const SELECT_DOUBT = 'SELECT since, declared_at, until, transload.now_ms() AS now FROM transload.doubts'
const PUT_DOUBT = `INSERT INTO transload.doubts VALUES (1, $1, $2, $3)
  ON CONFLICT (one) DO UPDATE SET since = excluded.since, declared_at = excluded.declared_at, until = excluded.until`

/** Creates the doubts of the contract on a pool of connections. A database has no place of its own, and is never a copy. */
export function createDoubts(
  pool: pg.Pool,
  inTransaction: InTransaction,
  ask: <T>(work: () => Promise<T>) => Promise<T>,
): Doubts {
  return {
    doubt: () =>
      ask(async () => {
        const { rows } = await pool.query(`${SELECT_DOUBT} WHERE until = 0 OR until > transload.now_ms()`)
        return rows[0] && doubtOf(rows[0])
      }),
    declareDoubt: (asked) =>
      ask(() =>
        inTransaction(async (client) => {
          await client.query('LOCK TABLE transload.doubts IN EXCLUSIVE MODE')
          const { rows } = await client.query(SELECT_DOUBT)
          const now = rows[0] ?? (await client.query('SELECT transload.now_ms() AS now')).rows[0]
          const doubt = declaredDoubt(asked, rows[0] && doubtOf(rows[0]), Number(now?.now))
          await client.query(PUT_DOUBT, [doubt.since, doubt.declaredAt, doubt.until])
          return doubt
        }),
      ),
    trust: () => ask(async () => (await pool.query('DELETE FROM transload.doubts')).rowCount === 1),
    origin: () => ask(async () => ({ kind: 'own' })),
  }
}

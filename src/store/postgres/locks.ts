import type pg from 'pg'
import type { LockRows } from '../locks.ts'
import { CLOCK, NOW } from './clock.ts'

const TAKE = `WITH ${CLOCK} INSERT INTO transload.locks AS lock VALUES ($1, $2, ${NOW} + $3::bigint)
  ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
  WHERE lock.holder = excluded.holder OR lock.until_ms <= ${NOW}`

/** Creates the locks on a pool of connections: rows with a lease, because an advisory lock would keep a connection. */
export function createLockRows(pool: pg.Pool): LockRows {
  return {
    async takeLock(key, holder, leaseMs) {
      const { rowCount } = await pool.query(TAKE, [key, holder, leaseMs])
      return rowCount === 1
    },
    async dropLock(key, holder) {
      await pool.query('DELETE FROM transload.locks WHERE key = $1 AND holder = $2', [key, holder])
    },
  }
}

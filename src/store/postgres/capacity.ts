import type pg from 'pg'

/** The interval of the look at how many connections all gateways may open together. */
export const CAPACITY_EVERY_MS = 60_000
/** The session of each process, and one for its looks at the servers. */
const CONNECTIONS_BESIDES = 2
/** A process that renewed its lease this recently runs. */
const ALIVE_FOR_MS = 10_000

const ASK = `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    - coalesce(current_setting('reserved_connections', true)::int, 0) AS allowed,
  (SELECT count(*)::int FROM transload.instances
    WHERE beat_at > to_timestamp(transload.now_ms() / 1000.0) - ${ALIVE_FOR_MS} * interval '1 millisecond') AS processes`

/**
 * Returns a warning if the processes of all gateways together may open more connections than the server allows. `processes`
 * are those of this gateway, which may not all run yet.
 */
export async function capacityWarning(
  pool: pg.Pool,
  connections: number,
  processes: number,
): Promise<string | undefined> {
  const { rows } = await pool.query(ASK)
  const allowed = Number(rows[0]?.allowed)
  const running = Math.max(processes, Number(rows[0]?.processes))
  const each = connections + CONNECTIONS_BESIDES
  if (running * each <= allowed) return undefined
  return `${running} gateway process${running === 1 ? '' : 'es'} may open ${each} connections each, ${running * each} in all, and PostgreSQL allows ${allowed}: lower STORE_CONNECTIONS (${connections}) or WORKERS, or raise max_connections`
}

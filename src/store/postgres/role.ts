import type pg from 'pg'

/** A server that takes writes. The identity is undefined where the server does not tell, as some managed ones. */
export interface Primary {
  readonly kind: 'primary'
  readonly identity: Identity | undefined
}

/** Tells servers apart. */
export interface Identity {
  /** A server and its standbys are one cluster. */
  readonly cluster: string
  /** Grows with every promotion of a standby. */
  readonly timeline: number
  /** When the server process started: servers of a cluster differ in it. */
  readonly started: string
}

/** The part of a server in its cluster, or why it does not answer. */
export type Role =
  | Primary
  | { readonly kind: 'standby' | 'read-only' | 'waiting' }
  | { readonly kind: 'down'; readonly error: unknown }

/** A commit of this user that waits for a standby as long as this is not answered any more. */
const STUCK_AFTER = `interval '5 seconds'`
// A client that has given up leaves its session behind: it waits on, and shows that further commits would wait, too.
const ASK_ROLE = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS read_only,
  EXISTS (SELECT FROM pg_stat_activity WHERE usename = current_user AND wait_event = 'SyncRep'
    AND query_start < clock_timestamp() - ${STUCK_AFTER}) AS waiting`
// `pg_control_checkpoint()` names the old timeline until the first checkpoint after a promotion; the name of the log file does not.
const ASK_IDENTITY = `SELECT (pg_control_system()).system_identifier::text AS cluster,
  ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint::int AS timeline,
  extract(epoch FROM pg_postmaster_start_time())::text AS started`

/** Asks a server for its role. */
export async function askRole(client: pg.ClientBase): Promise<Exclude<Role, { kind: 'down' }>> {
  const { rows } = await client.query(ASK_ROLE)
  if (rows[0]?.standby === true) return { kind: 'standby' }
  if (rows[0]?.read_only === 'on') return { kind: 'read-only' }
  if (rows[0]?.waiting === true) return { kind: 'waiting' }
  // Without the right to ask, servers cannot be told apart, and one alone works.
  const answer = await client.query(ASK_IDENTITY).catch(() => undefined)
  const row = answer?.rows[0]
  if (!row) return { kind: 'primary', identity: undefined }
  const { cluster, timeline, started } = row
  return {
    kind: 'primary',
    identity: { cluster: String(cluster), timeline: Number(timeline), started: String(started) },
  }
}

/** Returns true if two answers are of one server that was not promoted in between. */
export function isSameServer(one: Identity | undefined, other: Identity | undefined): boolean {
  if (!one || !other) return true
  return one.cluster === other.cluster && one.timeline === other.timeline && one.started === other.started
}

/** Says why a server that answers cannot be used. */
export function shortcomingOf(kind: Exclude<Role['kind'], 'primary' | 'down'>): string {
  switch (kind) {
    case 'standby':
      return 'is a standby'
    case 'read-only':
      return 'is read-only (default_transaction_read_only)'
    case 'waiting':
      return 'commits nothing while it waits for a synchronous standby (synchronous_standby_names)'
    default:
      return kind satisfies never
  }
}

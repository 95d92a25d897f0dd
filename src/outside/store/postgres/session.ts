import { setTimeout as delay } from 'node:timers/promises'
import type { ClientBase } from 'pg'
import type { Server } from '../../../language/config/postgres-address.ts'
import { backoffMs, oneAtATime } from '../../../runtime/time.ts'
import { neededAfter, type SchemaStep, STEPS, tooNew, VERSION } from '../schema.ts'
import { StoreTooNew } from '../store.ts'
import { asStoreError, isPermanent } from './errors.ts'
import { askWritable, connectTo, end, QUERY_TIMEOUT_MS } from './server.ts'

/** How often the session tests that the server answers and accepts writes. */
const PING_EVERY_MS = 1_000
/** The longest pause between two tries to connect. It is short, so that a promoted standby is soon used. */
const LONGEST_PAUSE_MS = 1_000

/**
 * Keeps one connection open as long as the store. It migrates the schema, shows that the server answers and accepts writes, and reconnects
 * by itself.
 */
export function startSession(server: Server, onUp: () => void, onDown: (error: Error) => void) {
  const started = Promise.withResolvers<void>()
  const closing = new AbortController()
  let leaveNow: (why: Error) => void = () => undefined
  let isStarted = false
  /** The server's clock minus the monotonic one; until the server answers, this machine's clock. */
  let clockOffsetMs = Date.now() - performance.now()

  function start(): void {
    isStarted = true
    started.resolve()
  }

  /** Runs one connection until it fails. */
  async function runConnection(): Promise<never> {
    const client = await connectTo(server)
    const lost = Promise.withResolvers<never>()
    // The connection may break during another await, which then fails, too.
    lost.promise.catch(() => undefined)
    leaveNow = lost.reject
    client.on('error', lost.reject)
    client.on('end', () => lost.reject(new Error('The connection was closed.')))
    const ping = async (): Promise<void> => {
      const sent = performance.now()
      const now = await askWritable(client, server, 'transload.now_ms()')
      clockOffsetMs = Number(now) - (sent + performance.now()) / 2
    }
    // One at a time: a server that hangs must not face a queue of pings.
    const pings = oneAtATime(() => ping().catch(lost.reject))
    let timer: NodeJS.Timeout | undefined
    try {
      closing.signal.throwIfAborted()
      await migrate(client)
      await ping()
      onUp()
      start()
      timer = setInterval(pings.run, PING_EVERY_MS)
      return await lost.promise
    } finally {
      clearInterval(timer)
      leaveNow = () => undefined
      end(client)
    }
  }

  async function reconnect(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; ) {
      const begun = performance.now()
      await runConnection().catch((error: unknown) => {
        if (closing.signal.aborted) return
        failures = performance.now() - begun > QUERY_TIMEOUT_MS ? 1 : failures + 1
        const known = asStoreError(error)
        // The start fails with the error, which is not reported a second time.
        if (isPermanent(error) && !isStarted) return started.reject(known)
        start()
        onDown(known)
      })
      const pause = backoffMs(failures, LONGEST_PAUSE_MS)
      await delay(pause, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }

  const ended = reconnect()
  return {
    /** Resolves when the store is ready or known not to be ready yet; rejects if a retry cannot help. */
    started: started.promise,
    /** Returns the time by the server's clock, in milliseconds since 1970. */
    now: () => Math.round(performance.now() + clockOffsetMs),
    /** Leaves the server, which can no longer be used, and connects again: by then, the address may lead to another one. */
    leave: (why: Error): void => leaveNow(why),
    async close(): Promise<void> {
      closing.abort()
      leaveNow(new Error('The store is closed.'))
      await ended
    },
  }
}

/* The schema */

/** A step may write a row for each of millions. */
const STEP_TIMEOUT_MS = 3_600_000
/** The key of the migration's advisory lock: any number that no other program uses. */
const MIGRATION_LOCK = 8_246_710_552

/**
 * The part that only a database has. All tables are in their own schema, because names like `names` may be taken. `now_ms` is the clock
 * that all gateways share.
 */
const SCHEMA = `CREATE SCHEMA IF NOT EXISTS transload;
  CREATE SEQUENCE transload.turn;
  CREATE FUNCTION transload.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';
  CREATE FUNCTION transload.lease_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT transload.now_ms()';
  CREATE FUNCTION transload.each(list text) RETURNS TABLE (value text) LANGUAGE sql STABLE
    AS 'SELECT json_array_elements_text(list::json)';
  CREATE FUNCTION transload.thing_key(id text) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$SELECT CASE WHEN id ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN lower(id) ELSE id END$$;
  CREATE VIEW transload.columns AS SELECT relname::text AS of_table, attname::text AS name,
    atttypid = 'text'::regtype AS is_text, coalesce(array_position(indkey::smallint[], attnum) + 1, 0) AS key_place,
    attnum AS place
    FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
    JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
    LEFT JOIN pg_catalog.pg_index ON indrelid = pg_class.oid AND indisprimary
    WHERE nspname = 'transload' AND relkind = 'r';`

/** Without this, a lookup of names in another case is planned and compiled as one for a part of the table. */
const STATISTICS = 'CREATE STATISTICS transload.names_in_any_case ON lower(name) FROM transload.names'

/** Names compare by bytes, as in the embedded store. */
const inDialect = ({ sql }: SchemaStep): string =>
  sql
    .replaceAll(/\bTEXT\b/g, 'text COLLATE "C"')
    .replaceAll(/\bINTEGER\b/g, 'bigint')
    .replaceAll(/\bNUMBERED\b/g, 'bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY')
    .replaceAll(' WITHOUT ROWID', '')

/** Migrates a database to this program's schema. This is safe in several gateways at once, and beside gateways of the previous release. */
export async function migrate(client: ClientBase, steps: readonly SchemaStep[] = STEPS): Promise<void> {
  // Most starts have nothing to do and need no permission to create tables.
  if ((await stepsOf(client, steps.length)) >= steps.length) return
  await client.query('BEGIN')
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    // Read again inside the lock: another gateway may have migrated meanwhile.
    const applied = await stepsOf(client, steps.length)
    if (applied === 0) await client.query(SCHEMA)
    for (const step of steps.slice(applied)) {
      // The driver supports a timeout per query, but its types do not have it.
      const query = { text: inDialect(step), query_timeout: STEP_TIMEOUT_MS }
      await client.query(query)
    }
    if (applied === 0) await client.query(STATISTICS)
    const versions = [neededAfter(steps), steps.length]
    if (applied < steps.length) await client.query('UPDATE transload.version SET version = $1, applied = $2', versions)
    await client.query('COMMIT')
  } catch (error) {
    // The first error counts, even if the connection is too broken to roll back.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/**
 * Returns the number of steps that a store has had, 0 if there is none; this is more than this program knows if a newer one has only added
 * to it. Rejects a store that needs a newer gateway.
 */
export async function stepsOf(client: ClientBase, known: number = VERSION): Promise<number> {
  // Not `to_regclass`: its answer may be older than the wait for the lock.
  const { rowCount } = await client.query(
    "SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'transload' AND tablename = 'version'",
  )
  if (rowCount === 0) return 0
  const { rows } = await client.query('SELECT version, applied FROM transload.version')
  const needed = Number(rows[0]?.version)
  if (needed > known) throw new StoreTooNew(tooNew(needed, known))
  return Number(rows[0]?.applied)
}

import type { ClientBase } from 'pg'
import { neededAfter, type SchemaStep, step, tooNew } from '../schema-step.ts'
import { StoreTooNew } from '../store.ts'

/** The key of the advisory lock of the migration: any number that no other program uses. */
const MIGRATION_LOCK = 8_246_710_552

/**
 * The migrations. `version` is the number of steps that a gateway must know, and `applied` the number of those applied. A
 * released step never changes.
 *
 * All tables are in a separate schema, because names like `links` may be taken. Names compare by bytes (`"C"`), as in
 * the embedded store. `kind` is `quote` or `shipment`, with `v2-` before it if the service gave the name: both are part of
 * the key, and a separate column would make a migration rebuild the index. `turn` orders links of one name and the same
 * age. `now_ms` is the clock that all gateways share. The row of an event's queue is locked by every write that adds or
 * finishes an event of the shipment. `uses` and `prune_rounds` are those of the embedded store.
 */
export const STEPS: readonly SchemaStep[] = [
  step(
    1,
    `
  CREATE TABLE transload.links (
    tenant text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL, vin text COLLATE "C" NOT NULL,
    id text NOT NULL, at bigint NOT NULL, turn bigint NOT NULL,
    PRIMARY KEY (tenant, name, kind, vin)
  );
  CREATE SEQUENCE transload.turn;

  CREATE TABLE transload.things (
    tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
    own text NOT NULL, facts text, at bigint NOT NULL,
    PRIMARY KEY (tenant, id)
  );
  CREATE INDEX things_to_forget ON transload.things (at) WHERE facts IS NOT NULL;

  CREATE TABLE transload.claims (
    tenant text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, handle text COLLATE "C" NOT NULL UNIQUE,
    state text NOT NULL, version integer NOT NULL, body text NOT NULL,
    instance text NOT NULL, reference text NOT NULL, vin text NOT NULL,
    shipment text COLLATE "C" NOT NULL, reply text NOT NULL,
    expires bigint NOT NULL, created_at bigint NOT NULL, changed_at bigint NOT NULL,
    PRIMARY KEY (tenant, key)
  );
  CREATE INDEX claims_by_state ON transload.claims (state, created_at, handle);
  CREATE INDEX claims_by_age ON transload.claims (created_at, handle);
  CREATE INDEX claims_by_shipment ON transload.claims (tenant, lower(shipment)) WHERE shipment <> '';

  CREATE TABLE transload.claim_audit (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, handle text COLLATE "C" NOT NULL, at bigint NOT NULL,
    was text NOT NULL, became text NOT NULL, instance text NOT NULL, why text NOT NULL
  );
  CREATE INDEX claim_audit_by_handle ON transload.claim_audit (handle, no);

  CREATE TABLE transload.instances (instance text COLLATE "C" PRIMARY KEY, beat_at timestamptz NOT NULL);

  CREATE FUNCTION transload.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';
  CREATE TABLE transload.locks (key text COLLATE "C" PRIMARY KEY, holder text NOT NULL, until_ms bigint NOT NULL);

  CREATE TABLE transload.events (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE,
    tenant text COLLATE "C" NOT NULL, shipment text COLLATE "C" NOT NULL,
    event text NOT NULL, date text NOT NULL, digest text NOT NULL, payload text NOT NULL,
    received_at bigint NOT NULL, state text NOT NULL, version integer NOT NULL, failures integer NOT NULL,
    retry_at bigint NOT NULL, changed_at bigint NOT NULL, outcome text NOT NULL, body text, format text
  );
  CREATE INDEX events_by_shipment ON transload.events (tenant, shipment, no);
  CREATE INDEX events_by_age ON transload.events (tenant, received_at);
  CREATE INDEX events_open ON transload.events (tenant, state, received_at) WHERE state IN ('due', 'parked');
  CREATE INDEX events_finished ON transload.events (changed_at) WHERE state IN ('recorded', 'delivered', 'skipped');

  CREATE TABLE transload.event_queues (
    tenant text COLLATE "C" NOT NULL, shipment text COLLATE "C" NOT NULL,
    retry_at bigint NOT NULL, leased_until bigint NOT NULL,
    PRIMARY KEY (tenant, shipment)
  );
  CREATE INDEX event_queues_due ON transload.event_queues (tenant, retry_at);

  CREATE TABLE transload.endpoints (
    tenant text COLLATE "C" PRIMARY KEY, stopped integer NOT NULL, paused_until bigint NOT NULL, changed_at bigint NOT NULL
  );

  CREATE TABLE transload.call_counts (
    tenant text COLLATE "C" NOT NULL, day integer NOT NULL, use text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL, outcome text COLLATE "C" NOT NULL, calls bigint NOT NULL,
    PRIMARY KEY (tenant, day, use, action, outcome)
  );
  CREATE TABLE transload.name_counts (
    tenant text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, action text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL, count bigint NOT NULL, first_at bigint NOT NULL, last_at bigint NOT NULL,
    example text NOT NULL,
    PRIMARY KEY (tenant, kind, action, name)
  );
  CREATE TABLE transload.watched_days (day integer PRIMARY KEY);
  CREATE TABLE transload.count_batches (instance text COLLATE "C" PRIMARY KEY, no bigint NOT NULL, at bigint NOT NULL);

  CREATE TABLE transload.uses (
    tenant text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, at bigint NOT NULL,
    PRIMARY KEY (tenant, name)
  );
  CREATE TABLE transload.prune_rounds (
    name text PRIMARY KEY, ended_at bigint NOT NULL, row_count bigint NOT NULL, oldest bigint
  );

  CREATE TABLE transload.doubts (
    one integer PRIMARY KEY CHECK (one = 1), since bigint NOT NULL, declared_at bigint NOT NULL, until bigint NOT NULL
  );
  `,
  ),
]

/** The number of steps that this program knows. */
export const POSTGRES_VERSION = STEPS.length

/** Migrates a database to this program's schema; safe in several gateways at once, and beside those of the release before. */
export async function migrate(client: ClientBase): Promise<void> {
  // Most starts have nothing to do, and need no right to create tables.
  if ((await stepsOf(client)) >= STEPS.length) return
  await client.query('BEGIN')
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    // Read again inside the lock: another gateway may have migrated meanwhile.
    const applied = await stepsOf(client)
    if (applied === 0) {
      await client.query(`CREATE SCHEMA IF NOT EXISTS transload`)
      await client.query('CREATE TABLE transload.version (version integer NOT NULL, applied integer NOT NULL)')
      await client.query('INSERT INTO transload.version VALUES (0, 0)')
    }
    const steps = STEPS.slice(applied)
    for (const { sql } of steps) await client.query(sql)
    const versions = [neededAfter(STEPS), STEPS.length]
    if (steps.length > 0) await client.query('UPDATE transload.version SET version = $1, applied = $2', versions)
    await client.query('COMMIT')
  } catch (error) {
    // The first error counts, even if the connection is too broken to roll back.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/**
 * Returns the number of steps that a store has had, 0 if there is none: more than this program knows if a newer one has
 * only added to it. Rejects a store that needs a newer gateway.
 */
export async function stepsOf(client: ClientBase): Promise<number> {
  // Not `to_regclass`: its answer may be older than the wait for the lock.
  const { rowCount } = await client.query(
    "SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'transload' AND tablename = 'version'",
  )
  if (rowCount === 0) return 0
  const { rows } = await client.query('SELECT version, applied FROM transload.version')
  const needed = Number(rows[0]?.version)
  if (needed > STEPS.length) throw new StoreTooNew(tooNew(needed, STEPS.length))
  return Number(rows[0]?.applied)
}

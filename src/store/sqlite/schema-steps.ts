import { type SchemaStep, step } from '../schema-step.ts'

/**
 * The migrations. `user_version` is the number of steps that a gateway must know, and `schema_steps` the number of those
 * applied. A released step never changes.
 *
 * Tenants have numbers, which keeps their names out of ten million rows. Links cluster by name (WITHOUT ROWID): a look-up
 * is one descent. `kind` is 0 for a quote and 1 for a shipment, plus 2 if the service gave the name. `turn` orders links of
 * one name and the same age, and takes no space while it is 0 or 1. `change_counter` counts the commits that changed cached
 * data. Leases and locks count milliseconds since boot. A shipment with a `due` event has a queue, which is due when the
 * first of its `due` events is. `day` counts from 1970. `count_batches` has the number of the last batch that each process
 * added. `uses` has the names and ids that are old and still used; `prune_rounds` the last round of pruning of each table.
 * `is_stamped`: the store has had a stamp beside it (stamp.ts). `is_older`: it was found to be an old copy. `backup_at`: when
 * this backup was made; 0 in a store.
 */
export const STEPS: readonly SchemaStep[] = [
  step(
    1,
    `
  CREATE TABLE tenants (no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

  CREATE TABLE links (
    tenant INTEGER NOT NULL, name TEXT NOT NULL, kind INTEGER NOT NULL, vin TEXT NOT NULL,
    id TEXT NOT NULL, at INTEGER NOT NULL, turn INTEGER NOT NULL,
    PRIMARY KEY (tenant, name, kind, vin)
  ) WITHOUT ROWID;

  CREATE TABLE things (
    no INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, id TEXT NOT NULL,
    own TEXT NOT NULL, facts TEXT, at INTEGER NOT NULL,
    UNIQUE (tenant, id)
  );
  CREATE INDEX things_to_forget ON things (at) WHERE facts IS NOT NULL;

  CREATE TABLE claims (
    tenant INTEGER NOT NULL, key TEXT NOT NULL, handle TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
    instance TEXT NOT NULL, reference TEXT NOT NULL, vin TEXT NOT NULL,
    shipment TEXT NOT NULL, reply TEXT NOT NULL,
    expires INTEGER NOT NULL, created_at INTEGER NOT NULL, changed_at INTEGER NOT NULL,
    UNIQUE (tenant, key)
  );
  CREATE INDEX claims_by_state ON claims (state, created_at, handle);
  CREATE INDEX claims_by_age ON claims (created_at, handle);
  CREATE INDEX claims_by_shipment ON claims (tenant, lower(shipment)) WHERE shipment <> '';

  CREATE TABLE claim_audit (
    no INTEGER PRIMARY KEY, handle TEXT NOT NULL, at INTEGER NOT NULL,
    was TEXT NOT NULL, became TEXT NOT NULL, instance TEXT NOT NULL, why TEXT NOT NULL
  );
  CREATE INDEX claim_audit_by_handle ON claim_audit (handle);

  CREATE TABLE instances (instance TEXT PRIMARY KEY, beat_ms INTEGER NOT NULL) WITHOUT ROWID;

  CREATE TABLE change_counter (one INTEGER PRIMARY KEY CHECK (one = 1), commits INTEGER NOT NULL);
  INSERT INTO change_counter VALUES (1, 0);

  CREATE TABLE locks (key TEXT PRIMARY KEY, holder TEXT NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;

  CREATE TABLE events (
    no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant INTEGER NOT NULL, shipment TEXT NOT NULL,
    event TEXT NOT NULL, date TEXT NOT NULL, digest TEXT NOT NULL, payload TEXT NOT NULL,
    received_at INTEGER NOT NULL, state TEXT NOT NULL, version INTEGER NOT NULL, failures INTEGER NOT NULL,
    retry_at INTEGER NOT NULL, changed_at INTEGER NOT NULL, outcome TEXT NOT NULL, body TEXT, format TEXT
  );
  CREATE INDEX events_by_shipment ON events (tenant, shipment, no);
  CREATE INDEX events_by_age ON events (tenant, received_at);
  CREATE INDEX events_open ON events (tenant, state, received_at) WHERE state IN ('due', 'parked');
  CREATE INDEX events_finished ON events (changed_at) WHERE state IN ('recorded', 'delivered', 'skipped');

  CREATE TABLE event_queues (
    tenant INTEGER NOT NULL, shipment TEXT NOT NULL, retry_at INTEGER NOT NULL, leased_until INTEGER NOT NULL,
    PRIMARY KEY (tenant, shipment)
  ) WITHOUT ROWID;
  CREATE INDEX event_queues_due ON event_queues (tenant, retry_at);

  CREATE TABLE endpoints (
    tenant INTEGER PRIMARY KEY, stopped INTEGER NOT NULL, paused_until INTEGER NOT NULL, changed_at INTEGER NOT NULL
  );

  CREATE TABLE call_counts (
    tenant INTEGER NOT NULL, day INTEGER NOT NULL, use TEXT NOT NULL, action TEXT NOT NULL, outcome TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, use, action, outcome)
  ) WITHOUT ROWID;
  CREATE TABLE name_counts (
    tenant INTEGER NOT NULL, kind TEXT NOT NULL, action TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,
    first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, example TEXT NOT NULL,
    PRIMARY KEY (tenant, kind, action, name)
  ) WITHOUT ROWID;
  CREATE TABLE watched_days (day INTEGER PRIMARY KEY);
  CREATE TABLE count_batches (instance TEXT PRIMARY KEY, no INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;

  CREATE TABLE schema_steps (one INTEGER PRIMARY KEY CHECK (one = 1), applied INTEGER NOT NULL);
  INSERT INTO schema_steps VALUES (1, 1);
  CREATE TABLE uses (
    tenant INTEGER NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
  ) WITHOUT ROWID;
  CREATE TABLE prune_rounds (
    name TEXT PRIMARY KEY, ended_at INTEGER NOT NULL, row_count INTEGER NOT NULL, oldest INTEGER
  ) WITHOUT ROWID;

  CREATE TABLE identity (
    one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, is_stamped INTEGER NOT NULL,
    is_older INTEGER NOT NULL, backup_at INTEGER NOT NULL
  );
  INSERT INTO identity VALUES (1, lower(hex(randomblob(16))), 0, 0, 0);
  CREATE TABLE doubts (
    one INTEGER PRIMARY KEY CHECK (one = 1), since INTEGER NOT NULL, declared_at INTEGER NOT NULL, until INTEGER NOT NULL
  );
  `,
  ),
]

import type { Claim } from './store.ts'

/** One migration of a store. A store has had a number of steps, in order; a released step never changes. */
export interface SchemaStep {
  /**
   * The least number of steps that a gateway must know to use the store after this one. A step that only adds needs no more
   * than the one before it; one that removes something needs the release that stopped using it (docs/architecture.md).
   */
  readonly needs: number
  /** For both engines: `TEXT` compares by bytes, `INTEGER` has 64 bits, `NUMBERED` numbers the rows. */
  readonly sql: string
}

/** The columns of a claim, in both engines: what reads and writes claims follows from this list. */
const CLAIM_TYPES: Readonly<Record<keyof Claim, 'TEXT' | 'INTEGER'>> = {
  tenant: 'TEXT',
  key: 'TEXT',
  handle: 'TEXT',
  state: 'TEXT',
  version: 'INTEGER',
  body: 'TEXT',
  instance: 'TEXT',
  reference: 'TEXT',
  vin: 'TEXT',
  shipment: 'TEXT',
  reply: 'TEXT',
  expires: 'INTEGER',
  createdAt: 'INTEGER',
  changedAt: 'INTEGER',
}

/** The columns of a claim, each with the property that it holds. */
export const CLAIM_COLUMNS = Object.entries(CLAIM_TYPES).map(([property, type]) => ({
  // The list has the properties of a claim, and no other.
  property: property as keyof Claim,
  name: property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  type,
}))

const columns = CLAIM_COLUMNS.map(({ name, type }) => `${name} ${type} NOT NULL`).join(', ')

/**
 * The migrations of both engines. Links cluster by name: a look-up is one descent, also in any case for names of which all letters
 * have the same. Old links and things are found by a look at all: an index would be as large as a link. `kind` is 0 for a quote and 1 for a
 * shipment, plus 2 if the service gave the name. `turn` orders links of one name and the same age. `used_day` is the day of
 * the last write or noted use, by the calendar of the store. `old_handles` are those of claims that were taken again under another. Leases and locks count milliseconds of `lease_ms`. A shipment
 * with a `due` event has a queue, which is due when the first of its `due` events is; its row is locked by every write that
 * adds or finishes an event of the shipment. `count_batches` has the number of the last batch that each process added.
 */
export const STEPS: readonly SchemaStep[] = [
  {
    needs: 1,
    sql: `
  CREATE TABLE transload.version (version INTEGER NOT NULL, applied INTEGER NOT NULL);
  INSERT INTO transload.version VALUES (0, 0);

  CREATE TABLE transload.calendar (day INTEGER NOT NULL, looked_at INTEGER NOT NULL, gone_ms INTEGER NOT NULL);
  INSERT INTO transload.calendar SELECT transload.now_ms() / 86400000, transload.now_ms(), 0;

  CREATE TABLE transload.links (
    tenant TEXT NOT NULL, name TEXT NOT NULL, kind INTEGER NOT NULL, vin TEXT NOT NULL, id TEXT NOT NULL,
    at INTEGER NOT NULL, turn INTEGER NOT NULL, used_day INTEGER NOT NULL,
    PRIMARY KEY (tenant, name, kind, vin)
  ) WITHOUT ROWID;
  CREATE INDEX links_in_mixed_case ON transload.links (tenant, lower(name)) WHERE name <> lower(name) AND name <> upper(name);

  CREATE TABLE transload.things (
    no NUMBERED, tenant TEXT NOT NULL, id TEXT NOT NULL, own TEXT NOT NULL, facts TEXT, at INTEGER NOT NULL,
    used_day INTEGER NOT NULL, UNIQUE (tenant, id)
  );

  CREATE TABLE transload.claims (${columns}, used_day INTEGER NOT NULL, UNIQUE (tenant, key), UNIQUE (handle));
  CREATE INDEX claims_by_state ON transload.claims (state, created_at, handle);
  CREATE INDEX claims_by_shipment ON transload.claims (tenant, lower(shipment)) WHERE shipment <> '';
  CREATE INDEX claims_by_use ON transload.claims (used_day) WHERE state NOT IN ('sending', 'unknown');

  CREATE TABLE transload.claim_audit (
    handle TEXT NOT NULL, version INTEGER NOT NULL, at INTEGER NOT NULL, was TEXT NOT NULL, became TEXT NOT NULL,
    instance TEXT NOT NULL, why TEXT NOT NULL,
    PRIMARY KEY (handle, version)
  ) WITHOUT ROWID;

  CREATE TABLE transload.old_handles (handle TEXT NOT NULL PRIMARY KEY, used_day INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX old_handles_by_use ON transload.old_handles (used_day);

  CREATE TABLE transload.instances (instance TEXT NOT NULL PRIMARY KEY, beat_ms INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE transload.locks (
    key TEXT NOT NULL PRIMARY KEY, holder TEXT NOT NULL, until_ms INTEGER NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE transload.events (
    no NUMBERED, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL, shipment TEXT NOT NULL,
    event TEXT NOT NULL, date TEXT NOT NULL, digest TEXT NOT NULL, payload TEXT NOT NULL,
    received_at INTEGER NOT NULL, state TEXT NOT NULL, version INTEGER NOT NULL, failures INTEGER NOT NULL,
    retry_at INTEGER NOT NULL, changed_at INTEGER NOT NULL, outcome TEXT NOT NULL, body TEXT, format TEXT,
    used_day INTEGER NOT NULL
  );
  CREATE INDEX events_by_shipment ON transload.events (tenant, shipment, no);
  CREATE INDEX events_by_age ON transload.events (tenant, received_at);
  CREATE INDEX events_open ON transload.events (tenant, state, received_at) WHERE state IN ('due', 'parked');
  CREATE INDEX events_by_use ON transload.events (used_day) WHERE state IN ('recorded', 'delivered', 'skipped');

  CREATE TABLE transload.event_queues (
    tenant TEXT NOT NULL, shipment TEXT NOT NULL, retry_at INTEGER NOT NULL, leased_until INTEGER NOT NULL,
    leased_by TEXT NOT NULL,
    PRIMARY KEY (tenant, shipment)
  ) WITHOUT ROWID;
  CREATE INDEX event_queues_due ON transload.event_queues (tenant, retry_at);

  CREATE TABLE transload.endpoints (
    tenant TEXT NOT NULL PRIMARY KEY, stopped INTEGER NOT NULL, paused_until INTEGER NOT NULL, changed_at INTEGER NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE transload.call_counts (
    tenant TEXT NOT NULL, day INTEGER NOT NULL, use TEXT NOT NULL, action TEXT NOT NULL, outcome TEXT NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, use, action, outcome)
  ) WITHOUT ROWID;
  CREATE TABLE transload.name_counts (
    tenant TEXT NOT NULL, kind TEXT NOT NULL, action TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,
    first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, example TEXT NOT NULL,
    PRIMARY KEY (tenant, kind, action, name)
  ) WITHOUT ROWID;
  CREATE INDEX name_counts_by_use ON transload.name_counts (tenant, name) WHERE kind = 'use';
  CREATE TABLE transload.watched_days (day INTEGER NOT NULL PRIMARY KEY);
  CREATE TABLE transload.count_batches (instance TEXT NOT NULL PRIMARY KEY, no INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;

  CREATE TABLE transload.doubts (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), since INTEGER NOT NULL, declared_at INTEGER NOT NULL, until INTEGER NOT NULL
  );`,
  },
]

/** The number of steps that this program knows. */
export const VERSION = STEPS.length

/** Returns the number of steps that a gateway must know to use a store that has had all of these. */
export const neededAfter = (steps: readonly SchemaStep[]): number => Math.max(0, ...steps.map(({ needs }) => needs))

/** Says why a gateway cannot use a store. */
export const tooNew = (needed: number, known: number): string =>
  `The store has version ${needed}, and this gateway knows ${known}. Run the newer gateway, or restore a backup.`

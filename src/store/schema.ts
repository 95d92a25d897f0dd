import type { Doubt } from './doubt.ts'
import type { StoredEvent } from './events.ts'
import type { CallCount, NameCount } from './scoreboard.ts'
import type { Claim } from './store.ts'
import { type DatabaseRow, item } from './work.ts'

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

/** Describes the columns of a table in both engines, each with the property that it holds: what reads and writes rows follows. */
function columns<T extends object>(types: Readonly<Record<keyof T & string, 'TEXT' | 'INTEGER'>>) {
  const all = Object.entries(types).map(([property, type]) => ({
    // The list has the properties of a row, and no other.
    property: property as keyof T & string,
    name: property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    type: type as 'TEXT' | 'INTEGER',
  }))
  const each = (write: (column: (typeof all)[number], index: number) => string) => all.map(write).join(', ')
  /** Has every property: they are set faster than added. */
  const blank = Object.fromEntries(all.map(({ property }) => [property, undefined]))
  return {
    all,
    /** For a list in a statement. */
    names: each(({ name }) => name),
    /** For the making of the table. */
    typed: each(({ name, type }) => `${name} ${type} NOT NULL`),
    /** Their values in a row of `transload.each($1)`. */
    items: each(({ type }, index) => item(index, type === 'TEXT' ? 'text' : 'bigint')),
    /** Returns what is in a row with all of them. */
    of(row: DatabaseRow): T {
      const found: Record<string, unknown> = { ...blank }
      for (const { property, name, type } of all)
        found[property] = type === 'TEXT' ? String(row[name]) : Number(row[name])
      // Only values of these types, such as states, are ever written to the columns.
      return found as T
    },
    /** Returns the rows of `transload.each` for these. */
    listOf: (rows: readonly T[]) => JSON.stringify(rows.map((row) => all.map(({ property }) => row[property]))),
  }
}

export const CLAIMS = columns<Claim>({
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
})

/** Those that every event has. */
export const EVENTS = columns<Omit<StoredEvent, 'body' | 'no'>>({
  id: 'TEXT',
  tenant: 'TEXT',
  shipment: 'TEXT',
  event: 'TEXT',
  date: 'TEXT',
  digest: 'TEXT',
  payload: 'TEXT',
  receivedAt: 'INTEGER',
  state: 'TEXT',
  version: 'INTEGER',
  failures: 'INTEGER',
  retryAt: 'INTEGER',
  changedAt: 'INTEGER',
  outcome: 'TEXT',
})

export const CALL_COUNTS = columns<CallCount>({
  tenant: 'TEXT',
  day: 'INTEGER',
  use: 'TEXT',
  action: 'TEXT',
  outcome: 'TEXT',
  calls: 'INTEGER',
})

export const NAME_COUNTS = columns<NameCount>({
  tenant: 'TEXT',
  kind: 'TEXT',
  action: 'TEXT',
  name: 'TEXT',
  count: 'INTEGER',
  firstAt: 'INTEGER',
  lastAt: 'INTEGER',
  example: 'TEXT',
})

export const DOUBTS = columns<Doubt>({ since: 'INTEGER', declaredAt: 'INTEGER', until: 'INTEGER' })

/**
 * The migrations of both engines. Links cluster by name: a look-up is one descent, also in any case for names of which all letters
 * have the same. Old links and things are found by a look at all: an index would be as large as a link. `kind` is 0 for a quote and 1 for a
 * shipment, plus 2 if the service gave the name. `turn` orders links of one name and the same age. `used_day` is the day of
 * the last write or noted use, by the calendar of the store. A `trail` has the entries of a claim as JSON, with commas between
 * them; `old_trails` has those from before a claim was taken again. Leases and locks count milliseconds of `lease_ms`. A shipment
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

  CREATE TABLE transload.claims (
    ${CLAIMS.typed}, used_day INTEGER NOT NULL, trail TEXT NOT NULL, UNIQUE (tenant, key), UNIQUE (handle)
  );
  CREATE INDEX claims_by_state ON transload.claims (state, created_at, handle);
  CREATE INDEX claims_by_shipment ON transload.claims (tenant, lower(shipment)) WHERE shipment <> '';
  CREATE INDEX claims_by_use ON transload.claims (used_day) WHERE state NOT IN ('sending', 'unknown');

  CREATE TABLE transload.old_trails (
    handle TEXT NOT NULL PRIMARY KEY, trail TEXT NOT NULL, used_day INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX old_trails_by_use ON transload.old_trails (used_day);

  CREATE TABLE transload.instances (instance TEXT NOT NULL PRIMARY KEY, beat_ms INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE transload.locks (
    key TEXT NOT NULL PRIMARY KEY, holder TEXT NOT NULL, until_ms INTEGER NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE transload.events (
    no NUMBERED, ${EVENTS.typed}, body TEXT, format TEXT, used_day INTEGER NOT NULL, UNIQUE (id)
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
    ${CALL_COUNTS.typed}, PRIMARY KEY (tenant, day, use, action, outcome)
  ) WITHOUT ROWID;
  CREATE TABLE transload.name_counts (
    ${NAME_COUNTS.typed}, PRIMARY KEY (tenant, kind, action, name)
  ) WITHOUT ROWID;
  CREATE INDEX name_counts_by_use ON transload.name_counts (tenant, name) WHERE kind = 'use';
  CREATE TABLE transload.watched_days (day INTEGER NOT NULL PRIMARY KEY);
  CREATE TABLE transload.count_batches (instance TEXT NOT NULL PRIMARY KEY, no INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;

  CREATE TABLE transload.doubts (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), ${DOUBTS.typed});`,
  },
]

/** The number of steps that this program knows. */
export const VERSION = STEPS.length

/** Returns the number of steps that a gateway must know to use a store that has had all of these. */
export const neededAfter = (steps: readonly SchemaStep[]): number => Math.max(0, ...steps.map(({ needs }) => needs))

/** Says why a gateway cannot use a store. */
export const tooNew = (needed: number, known: number): string =>
  `The store has version ${needed}, and this gateway knows ${known}. Run the newer gateway, or restore a backup.`

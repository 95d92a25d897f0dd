import type { Doubt } from './doubt.ts'
import type { OpenEvents, StoredEvent } from './events.ts'
import type { CallCount, NameCount } from './scoreboard.ts'
import type { Claim } from './store.ts'
import { type DatabaseRow, item, sql, type Work } from './work.ts'

/** One migration of a store. A store has had a number of steps, in order. A released step never changes. */
export interface SchemaStep {
  /**
   * The least number of steps that a gateway must know to use the store after this one. A step that only adds needs no more than the
   * previous one. A step that removes something needs the release that stopped using it (docs/architecture.md).
   */
  readonly needs: number
  /** For both engines: `TEXT` compares by bytes, `INTEGER` has 64 bits, `NUMBERED` numbers the rows. */
  readonly sql: string
}

/** Describes the columns that steps gave a table, each with its property. Everything that reads and writes rows follows this. */
function columns<T extends object>(types: Readonly<Record<keyof T & string, 'TEXT' | 'INTEGER'>>) {
  const all = Object.entries(types).map(([property, type]) => ({
    // The list has a row's properties, and no others.
    property: property as keyof T & string,
    name: property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    type: type as 'TEXT' | 'INTEGER',
  }))
  const each = (write: (column: (typeof all)[number], index: number) => string) => all.map(write).join(', ')
  /** Has every property, because setting one is faster than adding it. */
  const blank = Object.fromEntries(all.map(({ property }) => [property, undefined]))
  /** Returns the object in a row that has all of the columns. */
  function of(row: DatabaseRow): T {
    const found: Record<string, unknown> = { ...blank }
    for (const { property, name, type } of all)
      found[property] = type === 'TEXT' ? String(row[name]) : Number(row[name])
    // Only values of these types, such as states, are ever written to the columns.
    return found as T
  }
  return {
    all,
    /** The names of the columns, for a statement. */
    names: each(({ name }) => name),
    /** The values of the columns in a row of `transload.each($1)`. */
    items: each(({ type }, index) => item(index, type === 'TEXT' ? 'text' : 'bigint')),
    of,
    /** Reads rows that have all of the columns. */
    *read(...statement: Parameters<typeof sql>): Work<readonly T[]> {
      return (yield sql(...statement)).map(of)
    },
    /** Returns the JSON that `transload.each` turns into these rows. */
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
  vehicle: 'TEXT',
  request: 'TEXT',
  shipment: 'TEXT',
  reply: 'TEXT',
  expires: 'INTEGER',
  createdAt: 'INTEGER',
  changedAt: 'INTEGER',
})

/** The columns that every event has. */
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

export const OPEN_EVENTS = columns<OpenEvents>({ tenant: 'TEXT', state: 'TEXT', count: 'INTEGER', oldest: 'INTEGER' })

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
 * The migrations of both engines. The text of a released step is frozen: it has no column that a later step adds.
 *
 * Names cluster by name, so that a lookup is one descent, and so is one in any case if the name is stored in only lower or only upper case.
 * Old names are found by a search of the whole table, because an index would be as large as a name. `name` is the key of a name. For a name
 * of more than 400 characters, that is its beginning with a digest, because a PostgreSQL index takes 2,704 bytes, and `whole` has the full
 * name. `kind` is 0 for a quote and 1 for a shipment, plus 2 if the service gave the name. `bearer` is the key of a shipment, and empty for
 * a quote, because a name means only one. `approvals` has the keys of quotes whose approvals were sent, under each name and id that they
 * had then, and of imported quotes under their names: a name may mean a newer quote by now. `turn` orders names of the same age, and the
 * approvals of a name. `key` finds an id in every spelling, and `id` is null if it is spelled like the key. Unknown values of a quote or
 * shipment are null. `used_day` is the day of the last write or noted use, by the store's calendar. A `trail` has a claim's entries as
 * JSON, separated by commas; `old_trails` has those from before a claim was taken again. Leases and locks count milliseconds of `lease_ms`.
 * A shipment with a `due` event has a queue, which is due when its first `due` event is; every write that adds or finishes one of the
 * shipment's events locks the queue's row. `count_batches` has the number of the last batch that each process added.
 */
export const STEPS: readonly SchemaStep[] = [
  {
    needs: 1,
    sql: `
  CREATE TABLE transload.version (version INTEGER NOT NULL, applied INTEGER NOT NULL);
  INSERT INTO transload.version VALUES (0, 0);

  CREATE TABLE transload.calendar (day INTEGER NOT NULL, looked_at INTEGER NOT NULL, gone_ms INTEGER NOT NULL);
  INSERT INTO transload.calendar SELECT transload.now_ms() / 86400000, transload.now_ms(), 0;

  CREATE TABLE transload.names (
    tenant TEXT NOT NULL, name TEXT NOT NULL, kind INTEGER NOT NULL, bearer TEXT NOT NULL, id TEXT,
    at INTEGER NOT NULL, turn INTEGER NOT NULL, used_day INTEGER NOT NULL, whole TEXT,
    PRIMARY KEY (tenant, name, kind, bearer)
  ) WITHOUT ROWID;
  CREATE INDEX names_in_mixed_case ON transload.names (tenant, lower(name)) WHERE name <> lower(name) AND name <> upper(name);

  CREATE TABLE transload.quotes (
    no NUMBERED, tenant TEXT NOT NULL, key TEXT NOT NULL, id TEXT, own TEXT, names TEXT, facts TEXT, price TEXT,
    approval TEXT, ids_in_approval TEXT, at INTEGER NOT NULL, used_day INTEGER NOT NULL, UNIQUE (tenant, key)
  );

  CREATE TABLE transload.shipments (
    tenant TEXT NOT NULL, key TEXT NOT NULL, id TEXT, own TEXT, vehicles TEXT, former_vins TEXT, state TEXT,
    quote TEXT, at INTEGER NOT NULL, used_day INTEGER NOT NULL, PRIMARY KEY (tenant, key)
  ) WITHOUT ROWID;
  CREATE INDEX shipments_by_quote ON transload.shipments (tenant, quote) WHERE quote <> '';

  CREATE TABLE transload.claims (
    tenant TEXT NOT NULL, key TEXT NOT NULL, handle TEXT NOT NULL, state TEXT NOT NULL, version INTEGER NOT NULL,
    body TEXT NOT NULL, instance TEXT NOT NULL, reference TEXT NOT NULL, vin TEXT NOT NULL, vehicle TEXT NOT NULL,
    request TEXT NOT NULL, shipment TEXT NOT NULL, reply TEXT NOT NULL, expires INTEGER NOT NULL, created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL, used_day INTEGER NOT NULL, trail TEXT NOT NULL, PRIMARY KEY (tenant, key), UNIQUE (handle)
  );
  CREATE INDEX claims_by_state ON transload.claims (state, created_at, handle);
  CREATE INDEX claims_by_tenant ON transload.claims (tenant, state, created_at, handle);
  CREATE INDEX claims_by_reference ON transload.claims (substr(lower(reference), 1, 400), tenant) WHERE reference <> '';
  CREATE INDEX claims_by_vin ON transload.claims (substr(vin, 1, 400)) WHERE vin <> '';
  CREATE INDEX claims_by_shipment ON transload.claims (lower(shipment), tenant) WHERE shipment <> '';
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
    no NUMBERED, id TEXT NOT NULL, tenant TEXT NOT NULL, shipment TEXT NOT NULL, event TEXT NOT NULL, date TEXT NOT NULL,
    digest TEXT NOT NULL, payload TEXT NOT NULL, received_at INTEGER NOT NULL, state TEXT NOT NULL, version INTEGER NOT NULL,
    failures INTEGER NOT NULL, retry_at INTEGER NOT NULL, changed_at INTEGER NOT NULL, outcome TEXT NOT NULL, body TEXT,
    format TEXT, used_day INTEGER NOT NULL, UNIQUE (id)
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
    calls INTEGER NOT NULL, PRIMARY KEY (tenant, day, use, action, outcome)
  ) WITHOUT ROWID;
  CREATE TABLE transload.name_counts (
    tenant TEXT NOT NULL, kind TEXT NOT NULL, action TEXT NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,
    first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, example TEXT NOT NULL, PRIMARY KEY (tenant, kind, action, name)
  ) WITHOUT ROWID;
  CREATE INDEX name_counts_by_use ON transload.name_counts (tenant, name) WHERE kind = 'use';
  CREATE TABLE transload.watched_days (day INTEGER NOT NULL PRIMARY KEY);
  CREATE TABLE transload.count_batches (instance TEXT NOT NULL PRIMARY KEY, no INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;

  CREATE TABLE transload.doubts (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), since INTEGER NOT NULL, declared_at INTEGER NOT NULL, until INTEGER NOT NULL
  );`,
  },
  { needs: 1, sql: 'ALTER TABLE transload.names ADD COLUMN approved TEXT;' },
  {
    needs: 3,
    sql: `
  CREATE TABLE transload.approvals (
    tenant TEXT NOT NULL, name TEXT NOT NULL, quote TEXT NOT NULL, turn INTEGER NOT NULL, used_day INTEGER NOT NULL,
    PRIMARY KEY (tenant, name, quote)
  ) WITHOUT ROWID;
  INSERT INTO transload.approvals SELECT tenant, key, key, 0, used_day FROM transload.quotes WHERE approval <> '';
  INSERT INTO transload.approvals SELECT quote.tenant, value, quote.key, 0, quote.used_day
    FROM transload.quotes AS quote, transload.each(quote.names) WHERE quote.approval <> '' AND length(value) <= 400
    ON CONFLICT DO NOTHING;
  INSERT INTO transload.approvals SELECT name.tenant, name.name, transload.thing_key(name.id), 0, name.used_day
    FROM transload.names AS name
    LEFT JOIN transload.quotes AS quote ON quote.tenant = name.tenant AND quote.key = transload.thing_key(name.id)
    WHERE name.kind = 0 AND (quote.names IS NULL OR name.whole <> '' AND quote.approval <> '') ON CONFLICT DO NOTHING;
  INSERT INTO transload.approvals SELECT name.tenant, name.name, value, 0, name.used_day FROM transload.names AS name,
    transload.each('["' || replace(replace(replace(name.approved, '\\', '\\\\'), '"', '\\"'), '\n', '","') || '"]')
    WHERE name.approved <> '' ON CONFLICT DO NOTHING;
  ALTER TABLE transload.names DROP COLUMN approved;`,
  },
]

/** The number of steps that this program knows. */
export const VERSION = STEPS.length

/** Returns the number of steps that a gateway must know to use a store that has had all of these. */
export const neededAfter = (steps: readonly SchemaStep[]): number => Math.max(0, ...steps.map(({ needs }) => needs))

/** Returns why a gateway cannot use a store. */
export const tooNew = (needed: number, known: number): string =>
  `The store has version ${needed}, but this gateway knows only ${known}. Run the newer gateway, or restore a backup.`

import type { DatabaseSync } from 'node:sqlite'
import { type GivenBy, type Kind, type Link, StoreTooNew } from '../store.ts'

/** `tlod`, in the file's header: tells a store from another program's database. */
const APPLICATION_ID = 0x74_6c_6f_64

/**
 * The migrations; a store's version is the number of those applied. A released migration never changes.
 *
 * Tenants have numbers, which keeps their names out of ten million rows. Links cluster by name (WITHOUT ROWID): a look-up
 * is one descent. `kind` is 0 for a quote and 1 for a shipment, plus 2 if the service gave the name: both are part of the
 * key, and a column of its own would make a migration rewrite the table. `turn` orders links of one name and the same age,
 * and takes no space while it is 0 or 1. `change_counter` counts the commits that changed cached data. Leases and locks
 * count milliseconds since boot.
 */
const STEPS: readonly string[] = [
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
    instance TEXT NOT NULL, credential TEXT NOT NULL, reference TEXT NOT NULL, vin TEXT NOT NULL,
    shipment TEXT NOT NULL, reply TEXT NOT NULL,
    expires INTEGER NOT NULL, created_at INTEGER NOT NULL, changed_at INTEGER NOT NULL,
    UNIQUE (tenant, key)
  );
  CREATE INDEX claims_by_state ON claims (state, created_at, handle);
  CREATE INDEX claims_by_age ON claims (created_at, handle);
  CREATE INDEX claims_by_shipment ON claims (tenant, shipment) WHERE shipment <> '';

  CREATE TABLE claim_audit (
    no INTEGER PRIMARY KEY, handle TEXT NOT NULL, at INTEGER NOT NULL,
    was TEXT NOT NULL, became TEXT NOT NULL, instance TEXT NOT NULL, why TEXT NOT NULL
  );
  CREATE INDEX claim_audit_by_handle ON claim_audit (handle);

  CREATE TABLE instances (instance TEXT PRIMARY KEY, beat_ms INTEGER NOT NULL) WITHOUT ROWID;

  CREATE TABLE pulse (one INTEGER PRIMARY KEY CHECK (one = 1), commits INTEGER NOT NULL);
  INSERT INTO pulse VALUES (1, 0);
  `,
  // Version 1 does not tell who gave a name: all count as the caller's. Nothing of a credential is stored any more.
  `
  ALTER TABLE pulse RENAME TO change_counter;
  UPDATE claims SET credential = '' WHERE credential <> '';
  CREATE TABLE locks (key TEXT PRIMARY KEY, holder TEXT NOT NULL, until_ms INTEGER NOT NULL) WITHOUT ROWID;
  `,
  // A shipment with a `due` event has a queue, which is due when the first of its `due` events is.
  `
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
  `,
  // `day` counts from 1970. `count_batches` has the number of the last batch that each process added.
  `
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
  `,
  // The results of shadowed calls: the shapes of values, never the values.
  `
  CREATE TABLE compared_fields (
    day INTEGER NOT NULL, action TEXT NOT NULL, field TEXT NOT NULL,
    equal INTEGER NOT NULL, differs INTEGER NOT NULL, noise INTEGER NOT NULL,
    PRIMARY KEY (day, action, field)
  ) WITHOUT ROWID;
  CREATE TABLE differences (
    no INTEGER PRIMARY KEY, action TEXT NOT NULL, field TEXT NOT NULL, native TEXT NOT NULL, translated TEXT NOT NULL,
    request_id TEXT NOT NULL, at INTEGER NOT NULL
  );
  CREATE INDEX differences_by_field ON differences (action, field, no);
  `,
]

/** The version that this program creates and reads. */
const SQLITE_VERSION = STEPS.length

/** Selects claims, each with its tenant's name. */
export const SELECT_CLAIM = `SELECT t.name AS tenant, c.key, c.handle, c.state, c.version, c.body, c.instance,
  c.reference, c.vin, c.shipment, c.reply, c.expires, c.created_at, c.changed_at
  FROM claims c JOIN tenants t ON t.no = c.tenant`

/** Selects events, each with its tenant's name. */
export const SELECT_EVENT = `SELECT t.name AS tenant, e.no, e.id, e.shipment, e.event, e.date, e.digest, e.payload,
  e.received_at, e.state, e.version, e.failures, e.retry_at, e.changed_at, e.outcome, e.body, e.format
  FROM events e JOIN tenants t ON t.no = e.tenant`

/** The stored numbers of kinds and givers; their order is that of a scan. */
const KINDS: readonly (readonly [kind: Kind, givenBy: GivenBy])[] = [
  ['quote', 'caller'],
  ['shipment', 'caller'],
  ['quote', 'service'],
  ['shipment', 'service'],
]
/** The first number of a name that the service gave. */
export const SERVICE_KINDS = 2

/** Returns the stored number of a link's kind and giver. */
export function kindNumber({ kind, givenBy }: Pick<Link, 'kind' | 'givenBy'>): number {
  return (kind === 'quote' ? 0 : 1) + (givenBy === 'caller' ? 0 : SERVICE_KINDS)
}

/** Returns the kind and the giver of a stored number. */
export function kindOf(value: unknown): Pick<Link, 'kind' | 'givenBy'> {
  const [kind, givenBy] = KINDS[Number(value)] ?? ['quote', 'caller']
  return { kind, givenBy }
}

/** Migrates a database to this program's version; safe in several processes at once. */
export function migrate(db: DatabaseSync): void {
  // Before any write: the switch to WAL would already change another program's file.
  checkOwner(db)
  db.exec('PRAGMA journal_mode = WAL')
  if (numberOf(db, 'PRAGMA user_version') === SQLITE_VERSION) return
  db.exec('BEGIN IMMEDIATE')
  try {
    // Read again inside the lock: another process may have migrated meanwhile.
    const version = checkOwner(db)
    for (const step of STEPS.slice(version)) db.exec(step)
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    db.exec(`PRAGMA user_version = ${SQLITE_VERSION}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** Rejects a file of another program or a newer version; returns its version. */
function checkOwner(db: DatabaseSync): number {
  const tables = numberOf(db, 'SELECT count(*) FROM sqlite_schema')
  const application = numberOf(db, 'PRAGMA application_id')
  if (tables > 0 && application !== APPLICATION_ID) {
    throw new NotAStore('The file of STORE_URL is a database of another program.')
  }
  const version = numberOf(db, 'PRAGMA user_version')
  if (version > SQLITE_VERSION) {
    throw new StoreTooNew(
      `The store has version ${version}, and this gateway knows ${SQLITE_VERSION}. Run the newer gateway, or restore a backup.`,
    )
  }
  return version
}

function numberOf(db: DatabaseSync, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0])
}

/** The file is not a store; a retry cannot help. */
export class NotAStore extends Error {
  override readonly name = 'NotAStore'
}

import type { DatabaseSync } from 'node:sqlite'
import { neededAfter, tooNew } from '../schema-step.ts'
import { type GivenBy, type Kind, type Link, StoreTooNew } from '../store.ts'
import { STEPS } from './schema-steps.ts'

/** `tlod`, in the file's header: tells a store from another program's database. */
const APPLICATION_ID = 0x74_6c_6f_64

/** The number of steps that this program knows. */
export const SQLITE_VERSION = STEPS.length

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

/** Migrates a database to this program's schema; safe in several processes at once, and beside gateways of the release before. */
export function migrate(db: DatabaseSync): void {
  // Before any write: the switch to WAL would already change another program's file.
  checkOwner(db)
  db.exec('PRAGMA journal_mode = WAL')
  if (stepsOf(db) >= STEPS.length) return
  db.exec('BEGIN IMMEDIATE')
  try {
    // Read again inside the lock: another process may have migrated meanwhile.
    checkOwner(db)
    const steps = STEPS.slice(stepsOf(db))
    for (const { sql } of steps) db.exec(sql)
    if (steps.length > 0) {
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
      db.exec(`PRAGMA user_version = ${neededAfter(STEPS)}`)
      db.exec(`UPDATE schema_steps SET applied = ${STEPS.length}`)
    }
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** Rejects a database that is not a store that this program can use; returns the number of steps that it has had. */
export function storeVersion(db: DatabaseSync): number {
  checkOwner(db)
  const version = stepsOf(db)
  if (version === 0) throw new NotAStore('The file is not a store.')
  return version
}

/** Rejects a file of another program, and one that needs a newer gateway. */
function checkOwner(db: DatabaseSync): void {
  const tables = numberOf(db, 'SELECT count(*) FROM sqlite_schema')
  const application = numberOf(db, 'PRAGMA application_id')
  if (tables > 0 && application !== APPLICATION_ID) {
    throw new NotAStore('The file of STORE_URL is a database of another program.')
  }
  const needed = numberOf(db, 'PRAGMA user_version')
  if (needed > STEPS.length) throw new StoreTooNew(tooNew(needed, STEPS.length))
}

/** Returns the number of steps that a database has had: more than this program knows if a newer one has only added to it. */
function stepsOf(db: DatabaseSync): number {
  const isCounted = numberOf(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_steps'") > 0
  return numberOf(db, isCounted ? 'SELECT applied FROM schema_steps' : 'PRAGMA user_version')
}

function numberOf(db: DatabaseSync, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0])
}

/** The file is not a store; a retry cannot help. */
export class NotAStore extends Error {
  override readonly name = 'NotAStore'
}

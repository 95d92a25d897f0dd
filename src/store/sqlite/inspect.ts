import type { DatabaseSync } from 'node:sqlite'
import type { Inspection } from '../inspection.ts'
import { doubtOf } from '../rows.ts'
import { openSource } from './backup.ts'
import { isDamage, messageOf } from './errors.ts'
import { SQLITE_VERSION, storeVersion } from './schema.ts'
import { hasIdentity, identityIn, originOf, readStamp } from './stamp.ts'

/** The faults of a damaged file that are listed. */
const MOST_FAULTS = 10

/** Returns the faults that SQLite finds in the content of a database. */
export function faultsIn(db: DatabaseSync): readonly string[] {
  try {
    const rows = db.prepare(`PRAGMA integrity_check(${MOST_FAULTS})`).all()
    return rows.map((row) => String(row['integrity_check'])).filter((text) => text !== 'ok')
  } catch (error) {
    if (!isDamage(error)) throw error
    return [messageOf(error)]
  }
}

/** Inspects a store or a backup as it is at one moment. Nothing is written, and gateways go on. */
export function inspectSqlite(path: string): Inspection {
  const db = openSource(path)
  try {
    db.exec('BEGIN')
    const version = storeVersion(db)
    const faults = faultsIn(db)
    const common = { version, programVersion: SQLITE_VERSION, faults, ...identityOf(db, path) }
    // The content of a damaged file cannot be counted.
    return faults.length > 0
      ? { ...common, rows: {}, claims: {}, linksWithoutThing: 0 }
      : { ...common, ...countsIn(db) }
  } finally {
    db.close()
  }
}

/** Returns what a store of this version says of itself; earlier versions say nothing. */
function identityOf(db: DatabaseSync, path: string): Pick<Inspection, 'id' | 'origin' | 'doubt'> {
  if (!hasIdentity(db)) return { origin: { kind: 'own' }, doubt: undefined }
  const identity = identityIn(db)
  const row = db.prepare('SELECT since, declared_at, until FROM doubts').get()
  return { id: identity.id, origin: originOf(identity, readStamp(path)), doubt: row && doubtOf(row) }
}

function countsIn(db: DatabaseSync): Pick<Inspection, 'rows' | 'claims' | 'linksWithoutThing'> {
  const tables = db.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
  )
  const count = (sql: string) => Number(db.prepare(sql).get()?.['count'])
  const names = tables.all().map((row) => String(row['name']))
  const states = db.prepare('SELECT state, count(*) AS count FROM claims GROUP BY state ORDER BY state').all()
  return {
    // Names of the schema, which only this program writes.
    rows: Object.fromEntries(names.map((name) => [name, count(`SELECT count(*) AS count FROM "${name}"`)])),
    claims: Object.fromEntries(states.map((row) => [String(row['state']), Number(row['count'])])),
    linksWithoutThing: count(`SELECT count(*) AS count FROM links
      WHERE NOT EXISTS (SELECT 1 FROM things WHERE things.tenant = links.tenant AND things.id = links.id)`),
  }
}

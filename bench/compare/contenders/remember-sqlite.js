import { DatabaseSync } from 'node:sqlite'
import { folder } from './place.js'

/* Each quote is on the disk before it is answered, in a transaction of its own. */

const db = new DatabaseSync(`${folder}/quotes.db`)
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE names (name TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE quotes (id TEXT PRIMARY KEY, own TEXT NOT NULL, facts TEXT NOT NULL) WITHOUT ROWID`)
const putName = db.prepare('INSERT OR REPLACE INTO names VALUES (?, ?)')
const putQuote = db.prepare('INSERT OR REPLACE INTO quotes VALUES (?, ?, ?)')

export function remember(own, id, facts) {
  db.exec('BEGIN IMMEDIATE')
  putName.run(own || id, id)
  putQuote.run(id, own ?? '', JSON.stringify(facts))
  db.exec('COMMIT')
}

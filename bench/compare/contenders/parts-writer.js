import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/* The thread of `parts.js`: each message is a group of writes, and one transaction. */

const db = new DatabaseSync(workerData)
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE names (name TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE quotes (id TEXT PRIMARY KEY, own TEXT NOT NULL, facts TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE claims (reference TEXT PRIMARY KEY, state TEXT NOT NULL, body TEXT NOT NULL, reply TEXT) WITHOUT ROWID`)
const putName = db.prepare('INSERT OR REPLACE INTO names VALUES (?, ?)')
const putQuote = db.prepare('INSERT OR REPLACE INTO quotes VALUES (?, ?, ?)')
const putClaim = db.prepare("INSERT OR REPLACE INTO claims VALUES (?, 'sending', ?, NULL)")
const endClaim = db.prepare("UPDATE claims SET state = 'booked', reply = ? WHERE reference = ?")
const dropClaim = db.prepare('DELETE FROM claims WHERE reference = ?')

const writes = {
  quote(name, id, own, facts) {
    putName.run(name, id)
    putQuote.run(id, own, JSON.stringify(facts))
  },
  claim: (reference, body) => putClaim.run(reference, JSON.stringify(body)),
  free: (reference) => dropClaim.run(reference),
  booked(reference, id, number, reply) {
    endClaim.run(reply, reference)
    putName.run(reference, id)
    if (number) putName.run(number, id)
  },
}

parentPort.on('message', (text) => {
  db.exec('BEGIN IMMEDIATE')
  for (const [name, ...words] of JSON.parse(text)) writes[name](...words)
  db.exec('COMMIT')
  parentPort.postMessage('')
})

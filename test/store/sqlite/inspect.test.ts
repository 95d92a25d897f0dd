/** Promise: `store verify` tells what is in a store (contract, section 11). */

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { VERSION } from '../../../src/store/schema.ts'
import { inspectSqlite } from '../../../src/store/sqlite/backup.ts'
import { migrate } from '../../../src/store/sqlite/connection.ts'
import { createSession, type Session, WRITES } from '../../../src/store/sqlite/session.ts'
import { keepStamp } from '../../../src/store/sqlite/stamp.ts'
import { newFolder } from '../../command.ts'
import { link, newClaim, thing } from '../samples.ts'

const WRONG_TABLES = 15

let path: string
let db: DatabaseSync
let session: Session
beforeEach(() => {
  const folder = newFolder('inspect')
  path = join(folder, 'store.db')
  db = new DatabaseSync(path)
  session = createSession(db, 1)
  migrate(db)
  onTestFinished(() => {
    if (db.isOpen) db.close()
    rmSync(folder, { recursive: true, force: true })
  })
})

test('a store says its version, its identity, its doubt, and what is in it', () => {
  const links = [link(), link({ name: 'Q-2', id: 'id-2' }), link({ name: 'Q-3', id: 'id-3' })]
  session.run(WRITES.put({ links, thing: thing() }))
  for (const key of ['A', 'B', 'C']) session.run(WRITES.claim(newClaim({ key })))
  const claim = { tenant: 'acme', key: 'A', version: 1 }
  session.run(WRITES.change(claim, { state: 'booked', instance: 'me', why: 'made' }))
  const inspected = inspectSqlite(path)
  const { id } = db.prepare('SELECT id FROM identity').get() ?? {}
  expect(inspected).toMatchObject({
    id,
    version: VERSION,
    programVersion: VERSION,
    faults: [],
    origin: { kind: 'own' },
    doubt: undefined,
    rows: { links: 3, things: 1, claims: 3, claim_audit: 4, events: 0 },
    claims: { booked: 1, sending: 2 },
    linksWithoutThing: 2,
  })
  expect(Object.keys(inspected.claims)).toEqual(['booked', 'sending'])
  expect(Object.keys(inspected.rows)).toEqual(Object.keys(inspected.rows).toSorted())
  expect(Object.keys(inspected.rows).filter((name) => name.startsWith('sqlite'))).toEqual([])

  session.run(WRITES.declareDoubt({ since: 5, until: 0 }), 7)
  keepStamp(session, path)
  db.exec("UPDATE identity SET id = 'another'")
  expect(inspectSqlite(path)).toMatchObject({
    id: 'another',
    origin: { kind: 'other' },
    doubt: { since: 5, declaredAt: 7, until: 0 },
  })
})

test('a thing counts for the links of its own tenant', () => {
  session.run(WRITES.put({ links: [link(), link({ tenant: 'zeta' })], thing: thing() }))
  expect(inspectSqlite(path).linksWithoutThing).toBe(1)
})

test('of a damaged store, ten faults are listed and nothing is counted', () => {
  // Each of the rows breaks the rule of its table.
  db.exec('PRAGMA ignore_check_constraints = ON')
  for (let i = 0; i < WRONG_TABLES; i += 1) {
    db.exec(`CREATE TABLE a${i} (b CHECK (b = 2)); INSERT INTO a${i} VALUES (1)`)
  }
  db.close()
  const { faults, rows, claims, linksWithoutThing } = inspectSqlite(path)
  expect(faults).toHaveLength(10)
  for (const fault of faults) expect(fault).toMatch(/^CHECK constraint failed in a\d+$/)
  expect([rows, claims, linksWithoutThing]).toEqual([{}, {}, 0])
})

test('a store whose content cannot be read has that fault', () => {
  db.exec('CREATE TABLE a (b)')
  db.prepare('INSERT INTO a VALUES (?)').run('x'.repeat(500_000))
  db.exec('PRAGMA journal_mode = DELETE')
  db.close()
  const bytes = readFileSync(path)
  bytes.fill(7, Math.floor(statSync(path).size / 2))
  writeFileSync(path, bytes)
  const { faults, version } = inspectSqlite(path)
  expect(version).toBe(VERSION)
  expect(faults.length).toBeGreaterThan(0)
  expect(faults.length).toBeLessThanOrEqual(10)
})

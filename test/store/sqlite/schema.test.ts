import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { tooNew } from '../../../src/store/schema-step.ts'
import {
  kindNumber,
  kindOf,
  migrate,
  NotAStore,
  SQLITE_VERSION,
  storeVersion,
} from '../../../src/store/sqlite/schema.ts'
import { StoreTooNew } from '../../../src/store/store.ts'

let db: DatabaseSync
beforeEach(() => {
  db = new DatabaseSync(':memory:')
  onTestFinished(() => db.close())
})
const numberOf = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0]

test.each([
  ['quote', 'caller', 0],
  ['shipment', 'caller', 1],
  ['quote', 'service', 2],
  ['shipment', 'service', 3],
] as const)('a name of a %s that the %s gave is stored as %i', (kind, givenBy, number) => {
  expect(kindNumber({ kind, givenBy })).toBe(number)
  expect(kindOf(number)).toEqual({ kind, givenBy })
})

describe('a database', () => {
  test('that is new gets every step, and the marks of a store', () => {
    expect(() => storeVersion(db)).toThrow(new NotAStore('The file is not a store.'))
    migrate(db)
    expect(storeVersion(db)).toBe(SQLITE_VERSION)
    expect(numberOf('PRAGMA application_id')).toBe(Buffer.from('tlod').readUInt32BE())
    expect(numberOf('PRAGMA user_version')).toBeLessThanOrEqual(SQLITE_VERSION)
    expect(db.isTransaction).toBe(false)
    migrate(db)
    expect(storeVersion(db)).toBe(SQLITE_VERSION)
  })

  test('that has had more steps can be used while it needs no more than this program knows', () => {
    migrate(db)
    db.exec(`UPDATE schema_steps SET applied = ${SQLITE_VERSION + 1}; PRAGMA user_version = ${SQLITE_VERSION}`)
    migrate(db)
    expect(storeVersion(db)).toBe(SQLITE_VERSION + 1)
    db.exec(`PRAGMA user_version = ${SQLITE_VERSION + 1}`)
    const refused = new StoreTooNew(tooNew(SQLITE_VERSION + 1, SQLITE_VERSION))
    expect(() => migrate(db)).toThrow(refused)
    expect(() => storeVersion(db)).toThrow(refused)
    expect(refused.message).toMatch(/^The store has version \d+, and this gateway knows \d+\. Run the newer gateway/)
  })

  test('of another program is refused', () => {
    db.exec('CREATE TABLE links (a)')
    const refused = new NotAStore('The file of STORE_URL is a database of another program.')
    expect(() => migrate(db)).toThrow(refused)
    expect(() => storeVersion(db)).toThrow(refused)
    expect(refused.name).toBe('NotAStore')
  })

  test('whose migration fails is as it was', () => {
    db.exec(`PRAGMA application_id = ${Buffer.from('tlod').readUInt32BE()}; CREATE TABLE links (a)`)
    expect(() => migrate(db)).toThrow(/already exists/)
    expect(db.isTransaction).toBe(false)
    expect(numberOf('SELECT count(*) FROM sqlite_schema')).toBe(1)
    expect(numberOf('PRAGMA user_version')).toBe(0)
  })
})

/** Promise: a copy of a store is told from the store (contract, section 7). */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../../src/store/sqlite/connection.ts'
import { createSession, type Session } from '../../../src/store/sqlite/session.ts'
import {
  acceptAs,
  type Identity,
  identity,
  keepStamp,
  originOf,
  readStamp,
  stampPath,
} from '../../../src/store/sqlite/stamp.ts'
import { newFolder } from '../../command.ts'

const ID = 'an-id'
const own: Identity = { id: ID, commits: 7, isStamped: true, isOlder: false, backupAt: 0 }

describe('a store', () => {
  test.each([
    ['that agrees with its stamp', own, { id: ID, commits: 7 }, { kind: 'own' }],
    ['with more commits than its stamp', own, { id: ID, commits: 6 }, { kind: 'own' }],
    [
      'whose commits have started over',
      { ...own, commits: -2147483648 },
      { id: ID, commits: 2147483647 },
      { kind: 'own' },
    ],
    ['with fewer commits than its stamp', own, { id: ID, commits: 8 }, { kind: 'older' }],
    ['that was found to be older', { ...own, isOlder: true }, { id: ID, commits: 6 }, { kind: 'older' }],
    ['beside the stamp of another one', own, { id: 'other', commits: 7 }, { kind: 'other' }],
    ['whose stamp is gone', own, undefined, { kind: 'moved' }],
    ['that never had a stamp', { ...own, isStamped: false }, undefined, { kind: 'own' }],
    ['that is a backup', { ...own, backupAt: 5 }, { id: ID, commits: 7 }, { kind: 'backup', at: 5 }],
  ] as const)('%s', (_, found, stamp, origin) => expect(originOf(found, stamp)).toEqual(origin))
})

let path: string
let db: DatabaseSync
let session: Session
const identityNow = () => session.run(identity())
beforeEach(() => {
  const folder = newFolder('stamp')
  path = join(folder, 'store.db')
  db = new DatabaseSync(path)
  session = createSession(db, 0)
  migrate(db)
  db.exec(`UPDATE identity SET id = '${ID}'; PRAGMA user_version = 7`)
  onTestFinished(() => {
    db.close()
    rmSync(folder, { recursive: true, force: true })
  })
})

const write = (text: string) => writeFileSync(stampPath(path), text)

describe('a stamp', () => {
  test('is a file beside the store', () => expect(stampPath('/data/store.db')).toBe('/data/store.db-stamp'))

  test.each([
    ['{"id":"a","commits":5}', { id: 'a', commits: 5 }],
    ['{"id":"a","commits":5,"later":1}', { id: 'a', commits: 5 }],
    ['{"id":5,"commits":5}', undefined],
    ['{"id":"a","commits":"5"}', undefined],
    ['{"id":"a"', undefined],
    ['', undefined],
  ])('of the content %s is read as %j', (text, stamp) => {
    write(text)
    expect(readStamp(path)).toEqual(stamp)
  })

  test('that is not there is none', () => expect(readStamp(path)).toBeUndefined())
})

describe('the stamp of a store', () => {
  const kept = () => {
    keepStamp(session, path)
    return { stamp: readStamp(path), identity: identityNow() }
  }

  test('is written once, and again after more commits', () => {
    expect(identityNow()).toEqual({ ...own, isStamped: false })
    expect(kept()).toEqual({ stamp: { id: ID, commits: 7 }, identity: own })
    expect(readFileSync(stampPath(path), 'utf8')).toBe('{"id":"an-id","commits":7}\n')
    // Known by its number of commits: it is not written anew.
    write('{"id":"an-id", "commits": 7}')
    kept()
    expect(readFileSync(stampPath(path), 'utf8')).toBe('{"id":"an-id", "commits": 7}')
    db.exec('PRAGMA user_version = 8')
    expect(kept().stamp).toEqual({ id: ID, commits: 8 })
    expect(readdirSync(join(path, '..')).filter((name) => /-stamp/.test(name))).toEqual(['store.db-stamp'])
  })

  test('is not written for a copy, and an older one is marked for good', () => {
    kept()
    db.exec('PRAGMA user_version = 5')
    expect(kept()).toEqual({ stamp: { id: ID, commits: 7 }, identity: { ...own, commits: 5, isOlder: true } })
    db.exec('PRAGMA user_version = 9')
    expect(kept().stamp).toEqual({ id: ID, commits: 7 })
    rmSync(stampPath(path))
    expect(kept().stamp).toBeUndefined()
    write('{"id":"other","commits":1}')
    expect(kept().stamp).toEqual({ id: 'other', commits: 1 })
  })

  test('that cannot be written is written the next time', () => {
    mkdirSync(`${stampPath(path)}.${process.pid}`)
    expect(kept()).toEqual({ stamp: undefined, identity: { ...own, isStamped: false } })
    rmSync(`${stampPath(path)}.${process.pid}`, { recursive: true })
    expect(kept().identity.isStamped).toBe(true)
    expect(existsSync(stampPath(path))).toBe(true)
  })
})

describe('a store that is accepted', () => {
  test.each([
    [undefined, { id: ID, commits: 8, isStamped: false }],
    [
      { id: 'there', commits: 3 },
      { id: 'there', commits: 8, isStamped: true },
    ],
    [
      { id: 'there', commits: 20 },
      { id: 'there', commits: 21, isStamped: true },
    ],
  ])('at the stamp %j is %j', (stamp, expected) => {
    db.exec('UPDATE identity SET is_older = 1, backup_at = 5')
    expect(identityNow()).toMatchObject({ isOlder: true, backupAt: 5 })
    session.run(acceptAs(stamp))
    expect(identityNow()).toEqual({ ...expected, isOlder: false, backupAt: 0 })
    expect(originOf(identityNow(), stamp)).toEqual({ kind: 'own' })
  })
})

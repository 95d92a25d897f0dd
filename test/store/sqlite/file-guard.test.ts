import { copyFileSync, renameSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  checkIdentity,
  createFileGuard,
  damaged,
  type FileGuard,
  FilesLost,
  identityOf,
  outdated,
} from '../../../src/store/sqlite/file-guard.ts'
import { newFolder } from '../../command.ts'

const PAGE_BYTES = 4096
const WAL_HEADER_BYTES = 32
const FRAME_BYTES = PAGE_BYTES + 24
const RESTORE = 'Stop the gateway, restore a backup without its -wal and -shm files, and start it again.'
const RESTART = 'Restart the gateway; nothing that it has is lost.'

let path: string
let db: DatabaseSync
let guard: FileGuard
beforeEach(() => {
  const folder = newFolder('guard')
  path = join(folder, 'store.db')
  db = new DatabaseSync(path)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE a (b)`)
  guard = createFileGuard(db, path)
  onTestFinished(() => {
    db.close()
    rmSync(folder, { recursive: true, force: true })
  })
})

const write = () => db.exec(`INSERT INTO a VALUES ('${'x'.repeat(PAGE_BYTES)}')`)
/** Returns how the files are lost. */
function loss(): readonly [kind: string, message: string] {
  try {
    guard.check()
  } catch (error) {
    if (error instanceof FilesLost) return [error.kind, error.message]
    throw error
  }
  return expect.fail('nothing is lost')
}
const replaceByCopy = (file: string) => {
  copyFileSync(file, `${file}.copy`)
  renameSync(`${file}.copy`, file)
}

describe('files that SQLite alone changes', () => {
  test('are not lost, and the log has a length', () => {
    guard.check()
    const before = guard.walPages()
    expect(before).toBeGreaterThan(0)
    write()
    expect(guard.walPages()).toBe(before)
    guard.check()
    expect(guard.walPages()).toBeGreaterThan(before)
    expect(guard.identity).toEqual({ dev: statSync(path).dev, ino: statSync(path).ino })
  })

  test('are not lost in checkpoints of any connection, nor when the log starts over', () => {
    const other = new DatabaseSync(path)
    for (const mode of ['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE']) {
      write()
      guard.check()
      other.prepare(`PRAGMA wal_checkpoint(${mode})`).get()
      guard.check()
      write()
      guard.check()
    }
    other.exec('VACUUM')
    guard.check()
    other.close()
    expect(() => guard.check()).not.toThrow()
  })
})

describe('a database that', () => {
  test('is gone is moved', () => {
    renameSync(path, `${path}.aside`)
    expect(loss()).toEqual(['moved', `${path} is gone. Put this very file back, or restart the gateway with a backup.`])
    renameSync(`${path}.aside`, path)
    guard.check()
  })

  test('is another file is moved', () => {
    replaceByCopy(path)
    expect(loss()).toEqual([
      'moved',
      `${path} was replaced by another file. Restart the gateway if that is the right one.`,
    ])
  })

  test.each([
    ['has another length', () => truncateSync(path, PAGE_BYTES / 2)],
    ['has another time', () => utimesSync(path, 1, 1)],
  ])('%s is spoiled', (_, change) => {
    guard.check()
    change()
    expect(loss()).toEqual(['spoiled', `${path} was changed by something else than the gateway. ${RESTORE}`])
  })
})

describe('a log', () => {
  test.each(['-wal', '-shm'])('%s that is gone or another file is moved', (end) => {
    const message = `${path}${end} is gone or was replaced. ${RESTART}`
    renameSync(path + end, `${path}.aside`)
    expect(loss()).toEqual(['moved', message])
    renameSync(`${path}.aside`, path + end)
    guard.check()
    replaceByCopy(path + end)
    expect(loss()).toEqual(['moved', message])
  })

  test('that is shorter than what is in it is spoiled', () => {
    write()
    guard.check()
    const bytes = WAL_HEADER_BYTES + guard.walPages() * FRAME_BYTES
    expect(statSync(`${path}-wal`).size).toBe(bytes)
    truncateSync(`${path}-wal`, bytes - 1)
    expect(loss()).toEqual(['spoiled', `${path}-wal was cut. ${RESTORE}`])
  })
})

test('a database without its log cannot be watched', () => {
  const other = join(path, '..', 'other.db')
  const plain = new DatabaseSync(other)
  onTestFinished(() => plain.close())
  plain.exec('CREATE TABLE a (b)')
  expect(() => createFileGuard(plain, other)).toThrow(`${other} is gone.`)
})

test('a path must lead to the expected file, or to any', () => {
  const identity = identityOf(path)
  for (const expected of [identity, undefined]) checkIdentity(path, expected)
  expect(() => checkIdentity(`${path}.none`, undefined)).toThrow(`${path}.none is gone.`)
  expect(identityOf(`${path}.none`)).toBeUndefined()
  writeFileSync(`${path}.other`, '')
  expect(() => checkIdentity(`${path}.other`, identity)).toThrow(`${path}.other was replaced by another file.`)
  const { dev = 0, ino = 0 } = identity ?? {}
  expect(() => checkIdentity(path, { dev: dev + 1, ino })).toThrow('was replaced')
})

test('a damaged or outdated file is spoiled, and says what to do', () => {
  expect(damaged('/data/store.db', 'malformed')).toMatchObject({
    name: 'FilesLost',
    kind: 'spoiled',
    message: `/data/store.db is damaged (malformed). ${RESTORE}`,
  })
  expect(outdated('/data/store.db')).toMatchObject({
    kind: 'spoiled',
    message: `/data/store.db lacks what was written to it. ${RESTORE}`,
  })
})

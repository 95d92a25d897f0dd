import { existsSync, readdirSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { checkpoint, createCheckpoints, existingDatabase } from '../../../src/store/sqlite/checkpoints.ts'
import { closeDeletedIndexes, openWalIndex } from '../../../src/store/sqlite/wal-index.ts'
import { newFolder } from '../../command.ts'

const FRAME_BYTES = 4096 + 24

let path: string
let db: DatabaseSync
beforeEach(() => {
  const folder = newFolder('index')
  path = join(folder, 'store.db')
  db = new DatabaseSync(path)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE a (b)')
  onTestFinished(() => {
    if (db.isOpen) db.close()
    closeDeletedIndexes()
    rmSync(folder, { recursive: true, force: true })
  })
})

const write = (rows = 1) => {
  for (let row = 0; row < rows; row += 1) db.exec(`INSERT INTO a VALUES ('${'x'.repeat(4096)}')`)
}
const indexOf = () => openWalIndex(`${path}-shm`) ?? expect.fail('no index')
/** Returns how often this process has the index open, SQLite's own use of it included. */
const timesOpen = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(`${path}-shm`)
    } catch {
      // Closed since.
      return false
    }
  }).length

test('an index tells how long the log is, and that nothing is being changed', () => {
  const index = indexOf()
  for (const _ of [1, 2]) {
    write()
    const { walPages, isSettled, isCheckpointRunning } = index.read()
    expect(walPages).toBe(Math.floor(statSync(`${path}-wal`).size / FRAME_BYTES))
    expect([isSettled, isCheckpointRunning]).toEqual([true, false])
  }
  const { dev, ino } = statSync(`${path}-shm`)
  expect(index.identity).toMatchObject({ dev, ino })
})

test('the progress changes with a checkpoint, and when the log starts over, and not with a commit', () => {
  const index = indexOf()
  write()
  const first = index.read().progress
  write()
  expect(index.read().progress).toBe(first)
  checkpoint(db, 'PASSIVE')
  const copied = index.read().progress
  expect(copied).not.toBe(first)
  write()
  const again = index.read()
  expect(again.progress).not.toBe(copied)
  expect(again.walPages).toBeLessThan(4)
})

test('an index is opened once, and closed once SQLite has deleted it', () => {
  const before = timesOpen()
  const [one, other] = [indexOf(), indexOf()]
  expect(other.identity).toEqual(one.identity)
  expect(timesOpen()).toBe(before + 1)
  closeDeletedIndexes()
  expect(timesOpen()).toBe(before + 1)
  db.close()
  expect(timesOpen()).toBe(1)
  closeDeletedIndexes()
  expect(timesOpen()).toBe(0)
  expect(openWalIndex(`${path}-shm`)).toBeUndefined()
})

test('a checkpoint empties the log, or copies what it can; one that fails is told by the next commit', () => {
  write(3)
  checkpoint(db, 'PASSIVE')
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0)
  checkpoint(db, 'TRUNCATE')
  expect(statSync(`${path}-wal`).size).toBe(0)
  db.close()
  expect(() => checkpoint(db, 'PASSIVE')).not.toThrow()
})

test('the address of a database opens none that is not there', () => {
  expect(() => new DatabaseSync(existingDatabase(`${path} ?#none`))).toThrow(/unable to open/)
  expect(existsSync(`${path} ?#none`)).toBe(false)
})

test('a long log is emptied in a thread of its own, a short one is left', async () => {
  const checkpoints = createCheckpoints(path)
  onTestFinished(() => checkpoints.close())
  const index = indexOf()
  const { dev, ino } = statSync(path)
  let pages = 1_999
  const guard = { identity: { dev, ino }, check: () => undefined, walPages: () => pages }
  write(3)
  const before = index.read().progress
  checkpoints.afterCommit(db, guard)
  pages = 2_000
  checkpoints.afterCommit(db, guard)
  await expect.poll(() => index.read().progress).not.toBe(before)
  // The next commit after it copies what was written meanwhile.
  write()
  const left = index.read().progress
  await expect
    .poll(() => {
      checkpoints.afterCommit(db, guard)
      return index.read().progress
    })
    .not.toBe(left)
})

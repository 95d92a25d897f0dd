/** Promise: files that are gone, replaced or old are noticed before a write is acknowledged (contract, section 7). */

import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openSqliteStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/outside/store/store.ts'
import { newFolder } from '../command.ts'
import { named, newClaim, quote } from './samples.ts'
import { listen } from './states.ts'

/** The files at the start of every test: a database in a folder of its own, and an older backup. */
let template: string
/** The files of one test. */
let folder: string
let path: string
let wal: string
let index: string
let backup: string

/** Writes many pages. */
async function fill(store: Store, prefix: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
  await Promise.all(ids.map((id) => store.put({ names: [named({ name: id, id })], quote: quote({ id }) })))
}

beforeAll(async () => {
  template = newFolder('loss')
  const file = join(template, 'data', 'store.db')
  for (const [prefix, count] of Object.entries({ 'backed-up': 1_000, later: 300 })) {
    if (existsSync(file)) copyFileSync(file, join(template, 'backup.db'))
    const store = await openSqliteStore({ path: file })
    await fill(store, prefix, count)
    await store.close()
  }
})
afterAll(() => rmSync(template, { recursive: true, force: true }))

beforeEach(() => {
  folder = newFolder('loss')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(template, folder, { recursive: true })
  path = join(folder, 'data', 'store.db')
  wal = `${path}-wal`
  index = `${path}-shm`
  backup = join(folder, 'backup.db')
})

/** Opens the store, with commits in its log unless it has none. */
async function open(options: Omit<Parameters<typeof openSqliteStore>[0], 'path'> = {}, at = path) {
  const states = listen()
  const store = await openSqliteStore({ onState: states.onState, ...options, path: at })
  onTestFinished(() => store.close())
  return { store, states }
}
async function openWithLog() {
  const opened = await open()
  await fill(opened.store, 'in-wal', 200)
  return opened
}

/** From a loss on, an acknowledged write might be lost. */
const expectNoWrite = (store: Store) => expect(store.claim(newClaim())).rejects.toThrow(StoreDown)

/** Overwrites bytes of a file. */
function scribble(file: string, at: number, length = 20_000): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(length, 'x'), 0, length, at)
  closeSync(descriptor)
}

/** Puts a copy of a file in its place. */
function replaceByCopy(file: string): void {
  copyFileSync(file, `${file}.copy`)
  renameSync(`${file}.copy`, file)
}

test.each<[what: string, lose: () => void]>([
  ['the database is deleted', () => rmSync(path)],
  ['the database and its log are deleted', () => [path, wal, index].map((file) => rmSync(file))],
  ['the database is renamed', () => renameSync(path, `${path}.old`)],
  [
    'the database is renamed, and a link to it has its name',
    () => {
      renameSync(path, `${path}.old`)
      symlinkSync(`${path}.old`, path)
    },
  ],
  ['the folder is renamed', () => renameSync(join(folder, 'data'), join(folder, 'elsewhere'))],
  ['a backup is moved in its place', () => renameSync(backup, path)],
  ['a backup is copied over it', () => copyFileSync(backup, path)],
  [
    'a backup is copied over it, with its times',
    () => {
      const { atime, mtime } = statSync(backup)
      copyFileSync(backup, path)
      utimesSync(path, atime, mtime)
    },
  ],
  ['it is emptied', () => truncateSync(path, 0)],
  ['its beginning is overwritten', () => scribble(path, 0)],
  ['its log is deleted', () => rmSync(wal)],
  ['its log is replaced by a copy', () => replaceByCopy(wal)],
  ['the index of its log is deleted', () => rmSync(index)],
  ['the index of its log is replaced by a copy', () => replaceByCopy(index)],
])('%s: nothing more is acknowledged', async (_what, lose) => {
  const { store, states } = await openWithLog()
  expect(store.ready()).toBe(true)
  lose()
  await expectNoWrite(store)
  expect(store.ready()).toBe(false)
  expect(states.seen.at(-1)?.error?.message).toMatch(
    /store\.db.* (is gone|was replaced|was changed|was cut|is damaged)/,
  )
  await expectNoWrite(store)
  await expect(store.named('acme', 'later-1')).rejects.toThrow(StoreDown)
})

test('a loss is noticed without a write', async () => {
  const { store, states } = await openWithLog()
  const noticed = states.next(false)
  rmSync(path)
  await noticed
  expect(store.ready()).toBe(false)
})

test.each([
  ['the database', () => path],
  ['its log', () => wal],
  ['the folder', () => join(folder, 'data')],
])('a file that comes back is taken again, with all that was in it: %s', async (_what, file) => {
  const { store, states } = await openWithLog()
  const aside = join(folder, 'aside')
  renameSync(file(), aside)
  await expectNoWrite(store)
  const back = states.next(true)
  renameSync(aside, file())
  await back
  expect(await store.named('acme', 'in-wal-7')).toHaveLength(1)
  expect((await store.claim(newClaim())).won).toBe(true)
  await store.close()
  const { store: next } = await open()
  expect(await next.named('acme', 'in-wal-7')).toHaveLength(1)
  expect(await next.findClaim('acme', 'REF-1')).toBeDefined()
})

test.each<[what: string, change: (file: string) => void]>([
  ['overwritten', (file) => scribble(file, 40_000)],
  ['an older one', (file) => copyFileSync(backup, file)],
])('a file that comes back is not taken if it was changed meanwhile: %s', async (_what, change) => {
  const { store } = await openWithLog()
  const aside = join(folder, 'aside')
  renameSync(path, aside)
  await expectNoWrite(store)
  change(aside)
  renameSync(aside, path)
  await expectNoWrite(store)
  expect(store.ready()).toBe(false)
})

test('a restart finds the backup that was moved in the place of the store, and nothing else in it', async () => {
  const { store } = await openWithLog()
  renameSync(backup, path)
  await expectNoWrite(store)
  // As after a SIGKILL.
  cpSync(join(folder, 'data'), join(folder, 'killed'), { recursive: true })
  await store.close()
  for (const file of [path, join(folder, 'killed', 'store.db')]) {
    const { store: next } = await open({}, file)
    const found = ['backed-up-1', 'later-1', 'in-wal-1'].map((name) => next.named('acme', name))
    expect((await Promise.all(found)).map(({ length }) => length)).toEqual([1, 0, 0])
    await next.close()
    const db = new DatabaseSync(file)
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    db.close()
  }
})

test('content that SQLite cannot read ends readiness, whichever thread meets it', async () => {
  // Damaged before the start: there is nothing to compare it with. The small tables, which the start reads, are at the beginning.
  const { size } = statSync(path)
  scribble(path, Math.floor(size * 0.6), Math.floor(size * 0.35))
  const { store, states } = await open()
  const down = states.next(false)
  const names = Array.from({ length: 1_000 }, (_, index) => `backed-up-${index}`)
  const reads = await Promise.allSettled(names.map((name) => store.named('acme', name)))
  expect(reads.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0)
  expect((await down).error?.message).toMatch(/is damaged/)
  expect(store.ready()).toBe(false)
  await expectNoWrite(store)
})

test('changes of the files by SQLite itself, in any process, are no loss', async () => {
  const [one, other] = await Promise.all([open(), open()])
  const outsider = new DatabaseSync(path)
  for (let round = 0; round < 30; round += 1) {
    await Promise.all([fill(one.store, `one-${round}`, 150), fill(other.store, `other-${round}`, 150)])
    if (round % 3 === 0) outsider.exec('PRAGMA wal_checkpoint(PASSIVE)')
    if (round % 7 === 0) outsider.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }
  outsider.exec('VACUUM')
  await fill(one.store, 'last', 10)
  outsider.close()
  expect([one, other].flatMap(({ states }) => states.seen).filter(({ ready }) => !ready)).toEqual([])
})

test('a link is no file of a store, because SQLite keeps the log beside its target', async () => {
  const linked = join(folder, 'link.db')
  symlinkSync(path, linked)
  const { store, states } = await open({}, linked)
  expect(store.ready()).toBe(false)
  expect(states.seen.at(-1)?.error?.message).toMatch(/link\.db is a symbolic link\. Set STORE_URL to the file/)
  await expectNoWrite(store)
})

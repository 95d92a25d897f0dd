/** Promise: files that are gone, replaced or old are noticed before a write is acknowledged (contract, section 7). */

import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openConnection } from '../../src/store/sqlite/connection.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import { link, newClaim, thing } from './samples.ts'
import { listen } from './states.ts'

/** The files at the start of every test: a database with commits in its WAL, and an older backup. */
let template: string
let folder: string
let path: string
let wal: string

/** The files of one test. */
interface Files {
  readonly folder: string
  readonly path: string
  readonly wal: string
  readonly backup: string
}

/** Writes many pages. */
async function fill(store: Store, prefix: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
  await Promise.all(ids.map((id) => store.put({ links: [link({ name: id, id })], thing: thing({ id }) })))
}

beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), 'transload-loss-'))
  mkdirSync(join(template, 'data'))
  const file = join(template, 'data', 'store.db')
  const earlier = await openSqliteStore({ path: file })
  await fill(earlier, 'backed-up', 1_000)
  await earlier.close()
  copyFileSync(file, join(template, 'backup.db'))
  const later = await openSqliteStore({ path: file })
  await fill(later, 'later', 300)
  await later.close()
})
afterAll(() => rmSync(template, { recursive: true, force: true }))

/** Copies the files for a test. */
function copyFiles(): Files {
  const copy = mkdtempSync(join(tmpdir(), 'transload-loss-'))
  cpSync(template, copy, { recursive: true })
  const file = join(copy, 'data', 'store.db')
  return { folder: copy, path: file, wal: `${file}-wal`, backup: join(copy, 'backup.db') }
}

let files: Files
beforeEach(() => {
  const own = copyFiles()
  files = own
  folder = own.folder
  path = own.path
  wal = own.wal
  return () => rmSync(own.folder, { recursive: true, force: true })
})

async function storeWithBackup(file = path) {
  const states = listen()
  const store = await openSqliteStore({ path: file, onState: states.onState })
  await fill(store, 'in-wal', 200)
  return { store, states }
}

/** Overwrites bytes of a file. */
function scribble(file: string, at: number, length = 20_000): void {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(length, 'x'), 0, length, at)
  closeSync(descriptor)
}

const cases: readonly (readonly [what: string, lose: (files: Files) => void])[] = [
  ['the database is deleted', ({ path }) => rmSync(path)],
  [
    'the database and its log are deleted',
    ({ path, wal }) => {
      for (const file of [path, wal, `${path}-shm`]) rmSync(file)
    },
  ],
  ['the database is renamed', ({ path }) => renameSync(path, `${path}.old`)],
  [
    'the database is renamed, and a link to it has its name',
    ({ path }) => {
      renameSync(path, `${path}.old`)
      symlinkSync(`${path}.old`, path)
    },
  ],
  ['the folder is renamed', ({ folder }) => renameSync(join(folder, 'data'), join(folder, 'elsewhere'))],
  ['a backup is moved in its place', ({ path, backup }) => renameSync(backup, path)],
  ['a backup is copied over it', ({ path, backup }) => copyFileSync(backup, path)],
  [
    'a backup is copied over it, with its times',
    ({ path, backup }) => {
      const { atime, mtime } = statSync(backup)
      copyFileSync(backup, path)
      utimesSync(path, atime, mtime)
    },
  ],
  ['it is emptied', ({ path }) => truncateSync(path, 0)],
  ['its beginning is overwritten', ({ path }) => scribble(path, 0)],
  ['its log is deleted', ({ wal }) => rmSync(wal)],
  [
    'its log is replaced by a copy',
    ({ wal }) => {
      copyFileSync(wal, `${wal}.copy`)
      renameSync(`${wal}.copy`, wal)
    },
  ],
  ['the index of its log is deleted', ({ path }) => rmSync(`${path}-shm`)],
  [
    'the index of its log is replaced by a copy',
    ({ path }) => {
      copyFileSync(`${path}-shm`, `${path}.copy`)
      renameSync(`${path}.copy`, `${path}-shm`)
    },
  ],
]

describe.each(cases)('%s', (_what, lose) => {
  test('nothing more is acknowledged, and a restart has the acknowledged writes or reports the loss', async () => {
    const { store, states } = await storeWithBackup()
    expect(store.ready()).toBe(true)
    lose(files)
    // From here on, an acknowledged write might be lost.
    await expect(store.claim(newClaim())).rejects.toThrow(StoreDown)
    expect(store.ready()).toBe(false)
    expect(states.seen.at(-1)?.error?.message).toMatch(
      /store\.db.* (is gone|was replaced|was changed|was cut|is damaged)/,
    )
    await expect(store.put({ links: [link()] })).rejects.toThrow(StoreDown)
    await expect(store.links('acme', 'later-1')).rejects.toThrow(StoreDown)
    await store.close()
  })
})

// At once, because the files are looked at twice in a second.
describe('noticed without a write:', { concurrent: true }, () => {
  test.for(cases)('%s', async ([, lose], { expect, onTestFinished }) => {
    const own = copyFiles()
    onTestFinished(() => rmSync(own.folder, { recursive: true, force: true }))
    const { store, states } = await storeWithBackup(own.path)
    const noticed = states.next(false)
    lose(own)
    await noticed
    expect(store.ready()).toBe(false)
    await store.close()
  })
})

describe('a file that comes back', () => {
  test.each([
    ['the database', () => path],
    ['its log', () => wal],
    ['the folder', () => join(folder, 'data')],
  ])('is taken again, with all that was in it: %s', async (_what, file) => {
    const { store, states } = await storeWithBackup()
    const aside = join(folder, 'aside')
    renameSync(file(), aside)
    await expect(store.claim(newClaim())).rejects.toThrow(StoreDown)
    const back = states.next(true)
    renameSync(aside, file())
    await back
    expect(await store.links('acme', 'in-wal-7')).toHaveLength(1)
    expect((await store.claim(newClaim())).won).toBe(true)
    await store.close()
    const next = await openSqliteStore({ path })
    expect(await next.links('acme', 'in-wal-7')).toHaveLength(1)
    expect(await next.findClaim('acme', 'REF-1')).toBeDefined()
    await next.close()
  })

  test('is not taken if it was changed meanwhile', async () => {
    const { store } = await storeWithBackup()
    const aside = join(folder, 'aside')
    renameSync(path, aside)
    await expect(store.claim(newClaim())).rejects.toThrow(StoreDown)
    scribble(aside, 40_000)
    renameSync(aside, path)
    await expect(store.claim(newClaim())).rejects.toThrow(StoreDown)
    expect(store.ready()).toBe(false)
    await store.close()
  })
})

describe('a restart', () => {
  test('finds everything after the log was deleted', async () => {
    const { store } = await storeWithBackup()
    rmSync(wal)
    await expect(store.claim(newClaim())).rejects.toThrow(StoreDown)
    // As after a SIGKILL: nothing of what closing would do.
    const copy = join(folder, 'copy.db')
    copyFileSync(path, copy)
    await store.close()
    for (const file of [path, copy]) {
      const next = await openSqliteStore({ path: file })
      for (const name of ['backed-up-1', 'later-1', 'in-wal-199']) {
        expect(await next.links('acme', name)).toHaveLength(1)
      }
      expect(await next.findClaim('acme', 'REF-1')).toBeUndefined()
      await next.close()
    }
  })

  test('finds the backup that was moved in its place, and nothing else in it', async () => {
    const { store } = await storeWithBackup()
    renameSync(files.backup, path)
    await expect(store.claim(newClaim())).rejects.toThrow(StoreDown)
    // As after a SIGKILL.
    cpSync(join(folder, 'data'), join(folder, 'killed'), { recursive: true })
    await store.close()
    for (const file of [path, join(folder, 'killed', 'store.db')]) {
      const next = await openSqliteStore({ path: file })
      expect(await next.links('acme', 'backed-up-1')).toHaveLength(1)
      expect(await next.links('acme', 'later-1')).toEqual([])
      expect(await next.links('acme', 'in-wal-1')).toEqual([])
      await next.close()
      const db = new DatabaseSync(file)
      expect(db.prepare('PRAGMA integrity_check').get()?.['integrity_check']).toBe('ok')
      db.close()
    }
  })
})

test('a file that lacks commits that this process has made is not opened again', () => {
  const options = { path, file: undefined, mustExist: true, room: 0, now: 0 }
  const opened = openConnection({ ...options, commits: undefined })
  opened.begin(() => undefined)
  expect(opened.commit()).toBeUndefined()
  opened.begin(() => undefined)
  opened.db.exec('UPDATE identity SET one = 1')
  const commits = opened.commit() ?? expect.fail('the commit was not counted')
  opened.close()
  openConnection({ ...options, commits }).close()
  expect(() => openConnection({ ...options, commits: commits + 10 })).toThrow(/lacks what was written to it/)
})

test('content that SQLite cannot read ends readiness, whichever thread meets it', async () => {
  const { store, states } = await storeWithBackup()
  await store.close()
  // Damaged before the start: there is nothing to compare it with. The small tables, which the start reads, are at the beginning.
  const { size } = statSync(path)
  scribble(path, Math.floor(size * 0.6), Math.floor(size * 0.35))
  const again = await openSqliteStore({ path, onState: states.onState })
  const down = states.next(false)
  const names = Array.from({ length: 1_000 }, (_, index) => `backed-up-${index}`)
  const reads = await Promise.allSettled(names.map((name) => again.links('acme', name)))
  expect(reads.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0)
  expect((await down).error?.message).toMatch(/is damaged/)
  expect(again.ready()).toBe(false)
  await expect(again.claim(newClaim())).rejects.toThrow(StoreDown)
  await again.close()
})

test('changes of the files by SQLite itself, in any process, are no loss', async () => {
  const states = listen()
  const [one, other] = await Promise.all([
    openSqliteStore({ path, onState: states.onState }),
    openSqliteStore({ path, onState: states.onState }),
  ])
  const outsider = new DatabaseSync(path)
  for (let round = 0; round < 30; round += 1) {
    await Promise.all([fill(one, `one-${round}`, 150), fill(other, `other-${round}`, 150)])
    if (round % 3 === 0) outsider.exec('PRAGMA wal_checkpoint(PASSIVE)')
    if (round % 7 === 0) outsider.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }
  outsider.exec('VACUUM')
  await fill(one, 'last', 10)
  outsider.close()
  expect(states.seen.filter(({ ready }) => !ready)).toEqual([])
  await Promise.all([one.close(), other.close()])
  expect(existsSync(wal)).toBe(false)
})

test('a link is no file of a store, because SQLite keeps the log beside its target', async () => {
  const link = join(folder, 'link.db')
  symlinkSync(path, link)
  const states = listen()
  const store = await openSqliteStore({ path: link, onState: states.onState })
  expect(store.ready()).toBe(false)
  expect(states.seen.at(-1)?.error?.message).toMatch(/link\.db is a symbolic link\. Set STORE_URL to the file/)
  await expect(store.claim(newClaim())).rejects.toThrow(StoreDown)
  await store.close()
})

test('a process that replaces another does not make a file anew', async () => {
  path = join(folder, 'data', 'other.db')
  const states = listen()
  const store = await openSqliteStore({ path, mustExist: true, onState: states.onState })
  expect(store.ready()).toBe(false)
  expect(existsSync(path)).toBe(false)
  await expect(store.claim(newClaim())).rejects.toThrow(StoreDown)
  const ready = states.next(true)
  await (await openSqliteStore({ path })).close()
  await ready
  expect((await store.claim(newClaim())).won).toBe(true)
  await store.close()
})

/** Promise: missing, replaced or old files are noticed before a write is acknowledged (contract, section 7). */

import { execFileSync } from 'node:child_process'
import { cpSync, rmSync, statSync } from 'node:fs'
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

/** Changes the files as an operator does. */
const sh = (script: string, cwd = folder) => execFileSync('sh', ['-ec', script], { cwd })

/** Writes many pages. */
async function fill(store: Store, prefix: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
  await Promise.all(ids.map((id) => store.put({ names: [named({ name: id, id })], quote: quote({ id }) })))
}

beforeAll(async () => {
  template = newFolder('loss')
  for (const [prefix, count] of [
    ['backed-up', 1_000],
    ['later', 300],
  ] as const) {
    if (prefix === 'later') sh('cp data/store.db backup.db', template)
    const store = await openSqliteStore({ path: join(template, 'data', 'store.db') })
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
})

async function open(at = path) {
  const states = listen()
  const store = await openSqliteStore({ path: at, onState: states.onState })
  onTestFinished(() => store.close())
  return { store, states }
}
async function openWithLog() {
  const opened = await open()
  await fill(opened.store, 'in-wal', 200)
  return opened
}

/** After a loss, an acknowledged write might be lost. */
const expectNoWrite = (store: Store) => expect(store.claim(newClaim())).rejects.toThrow(StoreDown)

/** Overwrites bytes of a file, starting at this many thousands. */
const scribble = (file: string, from: number, length = 20) =>
  `yes | head -c ${length}000 | dd of=${file} bs=1000 seek=${from} conv=notrunc status=none`

test.each([
  'rm data/store.db',
  'rm data/store.db data/store.db-wal data/store.db-shm',
  'mv data/store.db data/store.db.old',
  'mv data/store.db data/store.db.old; ln -s store.db.old data/store.db',
  'mv data elsewhere',
  'mv backup.db data/store.db',
  'cp backup.db data/store.db',
  'cp --preserve=timestamps backup.db data/store.db',
  ': > data/store.db',
  scribble('data/store.db', 0),
  'rm data/store.db-wal',
  'cp data/store.db-wal copy; mv copy data/store.db-wal',
  'rm data/store.db-shm',
  'cp data/store.db-shm copy; mv copy data/store.db-shm',
])('nothing more is acknowledged after: %s', async (loss) => {
  const { store, states } = await openWithLog()
  expect(store.ready()).toBe(true)
  sh(loss)
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
  sh('rm data/store.db')
  await noticed
  expect(store.ready()).toBe(false)
})

test.each(['data/store.db', 'data/store.db-wal', 'data'])(
  'a file that comes back is used again, with all its content: %s',
  async (file) => {
    const { store, states } = await openWithLog()
    sh(`mv ${file} aside`)
    await expectNoWrite(store)
    const back = states.next(true)
    sh(`mv aside ${file}`)
    await back
    expect(await store.named('acme', 'in-wal-7')).toHaveLength(1)
    expect((await store.claim(newClaim())).won).toBe(true)
    await store.close()
    const { store: next } = await open()
    expect(await next.named('acme', 'in-wal-7')).toHaveLength(1)
    expect(await next.findClaim('acme', 'REF-1')).toBeDefined()
  },
)

test.each([scribble('aside', 40), 'cp backup.db aside'])(
  'a file that comes back is not used after: %s',
  async (change) => {
    const { store } = await openWithLog()
    sh('mv data/store.db aside')
    await expectNoWrite(store)
    sh(`${change}; mv aside data/store.db`)
    await expectNoWrite(store)
    expect(store.ready()).toBe(false)
  },
)

test('a restart finds the backup that replaced the store, and nothing else in it', async () => {
  const { store } = await openWithLog()
  sh('mv backup.db data/store.db')
  await expectNoWrite(store)
  // The same state as after a SIGKILL.
  sh('cp -r data killed')
  await store.close()
  for (const file of [path, join(folder, 'killed', 'store.db')]) {
    const { store: next } = await open(file)
    const found = ['backed-up-1', 'later-1', 'in-wal-1'].map((name) => next.named('acme', name))
    expect((await Promise.all(found)).map(({ length }) => length)).toEqual([1, 0, 0])
    await next.close()
    const db = new DatabaseSync(file)
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    db.close()
  }
})

test('content that SQLite cannot read ends readiness, whichever thread meets it', async () => {
  // The file is damaged before the start, so there is nothing to compare it with. The small tables, which the start reads, are at the
  // beginning.
  const kilobytes = Math.floor(statSync(path).size / 1_000)
  sh(scribble('data/store.db', Math.floor(kilobytes * 0.6), Math.floor(kilobytes * 0.35)))
  const { store, states } = await open()
  const down = states.next(false)
  const names = Array.from({ length: 1_000 }, (_, index) => `backed-up-${index}`)
  const reads = await Promise.allSettled(names.map((name) => store.named('acme', name)))
  expect(reads.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0)
  expect((await down).error?.message).toMatch(/is damaged/)
  expect(store.ready()).toBe(false)
  await expectNoWrite(store)
})

test('changes of the files by SQLite itself, in any process, are not a loss', async () => {
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

test('a link is not a store file, because SQLite keeps the log beside its target', async () => {
  const linked = join(folder, 'link.db')
  sh('ln -s data/store.db link.db')
  const { store, states } = await open(linked)
  expect(store.ready()).toBe(false)
  expect(states.seen.at(-1)?.error?.message).toMatch(/link\.db is a symbolic link\. Set STORE_URL to the file/)
  await expectNoWrite(store)
})

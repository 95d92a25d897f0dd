/** Promise: the embedded store is made once, and refuses what is no store (contract, section 7). */

import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MAX_WAL_PAGES } from '../../src/store/sqlite/connection.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { type Store, StoreDown, StoreTooNew } from '../../src/store/store.ts'
import { size } from '../size.ts'
import { link, newClaim, scanned, thing } from './samples.ts'
import { listen } from './states.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'transload-sqlite-'))
  path = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function integrity(): unknown {
  const db = new DatabaseSync(path)
  const answer = db.prepare('PRAGMA integrity_check').get()?.['integrity_check']
  db.close()
  return answer
}

describe('the schema', () => {
  test('is made once by many processes that start at once', async () => {
    const script = join(import.meta.dirname, 'open-child.ts')
    const ends = Array.from({ length: 4 }, () => once(fork(script, [path], { execArgv: [] }), 'exit'))
    const stores = await Promise.all(Array.from({ length: 6 }, () => openSqliteStore({ path })))
    const exits = await Promise.all(ends)
    expect(exits.map(([code]) => code)).toEqual([0, 0, 0, 0])
    expect(stores.every((store) => store.ready())).toBe(true)
    expect((await scanned(stores[0] ?? expect.fail('no store'))).length).toBe(4)
    await Promise.all(stores.map((store) => store.close()))
    expect(integrity()).toBe('ok')
  })

  test('of a newer version is refused and left as it is', async () => {
    const store = await openSqliteStore({ path })
    await store.put({ links: [link()] })
    await store.close()
    const db = new DatabaseSync(path)
    db.exec('PRAGMA journal_mode = DELETE; UPDATE version SET version = 1000000; CREATE TABLE later (a)')
    db.close()
    const before = readFileSync(path)
    await expect(openSqliteStore({ path })).rejects.toThrow(StoreTooNew)
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test("of another program's database is refused and left as it is", async () => {
    const db = new DatabaseSync(path)
    db.exec('CREATE TABLE links (a)')
    db.close()
    const before = readFileSync(path)
    await expect(openSqliteStore({ path })).rejects.toThrow('another program')
    expect(readFileSync(path).equals(before)).toBe(true)
    writeFileSync(
      path,
      'This is no database at all, but it has more than enough text to be mistaken for one.'.repeat(20),
    )
    await expect(openSqliteStore({ path })).rejects.toThrow('not a database')
  })
})

test('waits for another process that is writing', async () => {
  const store = await openSqliteStore({ path })
  const db = new DatabaseSync(path)
  db.exec('BEGIN IMMEDIATE')
  let done = false
  const put = store.put({ links: [link()] }).then(() => {
    done = true
  })
  expect(await store.links('acme', 'Q-1')).toEqual([])
  expect(done).toBe(false)
  db.exec('COMMIT')
  db.close()
  await put
  expect(await store.links('acme', 'Q-1')).toEqual([link()])
  await store.close()
})

test('is not ready while its folder cannot be made, and is once it can', async () => {
  const inTheWay = join(folder, 'in the way')
  writeFileSync(inTheWay, '')
  const states = listen()
  const store = await openSqliteStore({ path: join(inTheWay, 'store.db'), onState: states.onState })
  expect(store.ready()).toBe(false)
  expect(states.seen).toMatchObject([{ ready: false, error: { name: 'StoreDown' } }])
  await expect(store.put({ links: [link()] })).rejects.toThrow(StoreDown)
  await expect(store.links('acme', 'Q-1')).rejects.toThrow(StoreDown)
  const ready = states.next(true)
  rmSync(inTheWay)
  await ready
  expect(store.ready()).toBe(true)
  await store.put({ links: [link()] })
  expect(await store.links('acme', 'Q-1')).toEqual([link()])
  await store.close()
})

test('acknowledges nothing while the disk is full, keeps its data, and recovers when there is room', async () => {
  const room = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  room[0] = 100
  const states = listen()
  const store = await openSqliteStore({ path, room, onState: states.onState })
  const facts = { text: 'x'.repeat(2_000) }
  const acknowledged: string[] = []
  const refused: string[] = []
  while (refused.length === 0) {
    const names = Array.from({ length: 20 }, (_, index) => `N-${acknowledged.length}-${index}`)
    await Promise.all(
      names.map((name) =>
        store.put({ links: [link({ name })], thing: thing({ id: name, facts }) }).then(
          () => acknowledged.push(name),
          (error: unknown) => {
            expect(error).toBeInstanceOf(StoreDown)
            refused.push(name)
          },
        ),
      ),
    )
  }
  expect(store.ready()).toBe(false)
  await expect(store.claim(newClaim({ body: 'x'.repeat(100_000) }))).rejects.toThrow(StoreDown)
  // Reading goes on meanwhile.
  for (const name of acknowledged) expect((await store.thing('acme', name))?.facts).toEqual(facts)
  for (const name of refused) expect(await store.links('acme', name)).toEqual([])

  const ready = states.next(true)
  room[0] = 0
  await ready
  expect(store.ready()).toBe(true)
  expect((await store.claim(newClaim())).won).toBe(true)
  for (const name of refused) await store.put({ links: [link({ name })] })
  expect((await scanned(store)).length).toBe(acknowledged.length + refused.length)
  await store.close()
  expect(integrity()).toBe('ok')
})

describe('the log', () => {
  const PAGE_BYTES = 4096
  const log = () => statSync(`${path}-wal`).size / PAGE_BYTES

  /** Writes of about three pages each, so many at once that they share commits. */
  async function write(store: Store, count: number): Promise<void> {
    for (let done = 0; done < count; done += 10) {
      const ids = Array.from({ length: 10 }, () => randomUUID())
      await Promise.all(ids.map((id) => store.put({ links: [link({ name: id, id })], thing: thing({ id }) })))
    }
  }

  test('is emptied while others write, and never gets as long as a commit would empty it', async () => {
    const store = await openSqliteStore({ path })
    let longest = 0
    for (let turn = 0; turn < size(8, 40); turn += 1) {
      await write(store, 500)
      longest = Math.max(longest, log())
    }
    // It was long enough to be emptied, and what has been written is many times as much.
    expect(longest).toBeGreaterThan(1_000)
    expect(longest).toBeLessThan(MAX_WAL_PAGES)
    await store.close()
    expect(integrity()).toBe('ok')
  })

  test('is gone when the store is closed in the middle of emptying it', async () => {
    const store = await openSqliteStore({ path })
    while (!existsSync(`${path}-wal`) || log() < 1_000) await write(store, 100)
    await store.close()
    expect(existsSync(`${path}-wal`)).toBe(false)
    expect(integrity()).toBe('ok')
  })
})

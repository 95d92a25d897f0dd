/** Promise: the embedded store waits for others, survives its thread, and refuses other files (contract, section 7). */

import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { READS } from '../../src/outside/store/all-verbs.ts'
import { claimPlace } from '../../src/outside/store/claim.ts'
import { MAX_WAL_PAGES } from '../../src/outside/store/sqlite/connection.ts'
import { inSqlite } from '../../src/outside/store/sqlite/session.ts'
import { openSqliteStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { newFolder } from '../command.ts'
import { size } from '../size.ts'
import { fillDisk } from './full-disk.ts'
import { named, newClaim, quote, scanned } from './samples.ts'
import { listen } from './states.ts'

let path: string
beforeEach(() => {
  const folder = newFolder('sqlite')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  path = join(folder, 'store.db')
})

async function open(options: Omit<Parameters<typeof openSqliteStore>[0], 'path'> = {}): Promise<Store> {
  const store = await openSqliteStore({ path, ...options })
  onTestFinished(() => store.close())
  return store
}

/** Opens the file as another process does. */
function openFile(): DatabaseSync {
  const db = new DatabaseSync(path)
  onTestFinished(() => (db.isOpen ? db.close() : undefined))
  return db
}

const put = (store: Store, name: string) =>
  store.put({ names: [named({ name, id: name })], quote: quote({ id: name }) })
const namesIn = async (store: Store) => (await scanned(store)).map(({ name }) => name)

test("another program's database and a file that is not a database are refused and left unchanged", async () => {
  const db = openFile()
  db.exec('CREATE TABLE names (a)')
  db.close()
  const before = readFileSync(path)
  await expect(open()).rejects.toThrow('another program')
  expect(readFileSync(path).equals(before)).toBe(true)
  writeFileSync(path, 'This is no database at all, but it has more than enough text to be one.'.repeat(20))
  await expect(open()).rejects.toThrow('not a database')
})

test('a disk that fills up in a batch with an invalid write fails only what did not fit, and the store continues', async () => {
  const makeRoom = fillDisk(200)
  const store = await open({ blocks: true })
  // They are repeated one by one after the invalid one has undone their common commit; each then gets its own result.
  const writes = await Promise.allSettled([
    put(store, 'N-1'),
    store.put({ names: [named({ name: null as never })] }),
    store.put({ quote: quote({ own: 'x'.repeat(2 ** 20) }) }),
  ])
  expect(writes).toMatchObject([
    { status: 'fulfilled' },
    { reason: { message: expect.stringMatching(/refused a write/) } },
    { reason: { message: expect.stringMatching(/cannot write: .*full/) } },
  ])
  makeRoom()
  await put(store, 'N-2')
  expect(await namesIn(store)).toEqual(['N-1', 'N-2'])
})

test('a checkpoint that another reader cuts short changes nothing that the store misses', async () => {
  const store = await open()
  const reader = openFile()
  reader.exec('BEGIN')
  reader.prepare('SELECT * FROM names').all()
  // Its last change to the header is too new for the reader, and stays in the log.
  await put(store, 'one')
  openFile().exec('PRAGMA wal_checkpoint(PASSIVE)')
  await put(store, 'two')
  reader.exec('COMMIT')
  openFile().exec('PRAGMA wal_checkpoint(PASSIVE)')
  await put(store, 'three')
  expect((await namesIn(store)).toSorted()).toEqual(['one', 'three', 'two'])
})

test('a write waits for another process that is writing, but a read does not', async () => {
  const store = await open()
  const db = openFile()
  db.exec('BEGIN IMMEDIATE')
  let done = false
  const writing = put(store, 'N-1').then(() => {
    done = true
  })
  expect(await store.named('acme', 'N-1')).toEqual([])
  expect(done).toBe(false)
  db.exec('COMMIT')
  await writing
  expect(await namesIn(store)).toEqual(['N-1'])
})

test('calls that arrive with a step of pruning are done before it', async () => {
  const store = await open()
  const order: string[] = []
  const noted = (what: string, work: Promise<unknown>) => work.then(() => order.push(what))
  for (let nth = 0; nth < 10; nth += 1) {
    await Promise.all([
      noted('step', store.prune({ table: 'names', olderThanMs: 0 })),
      noted('step', store.prune({ table: 'facts', olderThanMs: 0 })),
      noted('call', put(store, `N-${nth}`)),
      noted('call', store.claim(newClaim({ key: `K-${nth}` }))),
    ])
    expect(order.splice(0)).toEqual(['call', 'call', 'step', 'step'])
  }
})

test('no call reads a whole table, or all rows of a tenant', async () => {
  await open()
  const db = openFile()
  for (const name of ['now_ms', 'lease_ms', 'thing_key']) db.function(name, { varargs: true }, () => 0)
  const works = [
    READS.named('acme', 'N-1'),
    READS.quote('acme', 'id-1'),
    READS.shipment('acme', 'id-1'),
    READS.namesAfter(['acme', 'N-1', 0, '']),
    claimPlace(newClaim({ isOfReference: true }), 0),
    READS.claimsOfReference('acme', 'REF-1'),
    READS.listClaims({ tenant: 'acme', state: 'unknown', limit: 5 }),
    READS.listClaims({ tenant: 'acme', newest: true, limit: 5 }),
    READS.countClaims(5, 'acme'),
    READS.listClaims({ name: 'REF-1', state: 'unknown', limit: 5 }),
    READS.findClaim('acme', 'REF-1'),
    READS.claimByHandle('bk_1'),
    READS.claimsOfShipment('acme', 'id-1'),
    READS.audit('bk_1'),
    READS.eventsOfShipment('acme', 'id-1'),
  ]
  for (const work of works) {
    for (let step = work.next(); step.done !== true; step = work.next([])) {
      const { text, values } = step.value
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${inSqlite(text)}`).all(...values)
      for (const { detail } of plan)
        expect(`${detail} ${text}`).not.toMatch(
          /^SCAN (names|quotes|shipments|claims|old_trails|events)\b|^.*\(tenant=\?\) |claims_by_(state|tenant).*WHERE [a-z]*\(/s,
        )
    }
  }
})

describe('the writing thread', () => {
  /** Collects every thread that is started from now on. */
  function threadsFromNow(onThread: (thread: Worker) => void = () => {}): readonly Worker[] {
    const threads: Worker[] = []
    const note = (thread: Worker) => {
      threads.push(thread)
      onThread(thread)
    }
    process.on('worker', note)
    onTestFinished(() => void process.off('worker', note))
    return threads
  }

  test('that dies with running and queued writes rejects each, and the next one continues', async () => {
    const threads = threadsFromNow()
    const states = listen()
    const store = await open({ onState: states.onState })
    await put(store, 'before')
    // The first of these waits for another process, the others for the first.
    const db = openFile()
    db.exec('BEGIN IMMEDIATE')
    const sent = put(store, 'sent')
    await nextTurn()
    const outcomes = Promise.allSettled([sent, put(store, 'queued'), store.claim(newClaim())])
    const [down, up] = [states.next(false), states.next(true)]
    await threads[0]?.terminate()
    const message = "The store's writer thread has ended: it ended"
    const reason = expect.objectContaining({ name: 'StoreDown', message })
    expect(await outcomes).toEqual(Array(3).fill({ status: 'rejected', reason }))
    expect(await down).toMatchObject({ error: { name: 'StoreDown' } })
    // Nothing waits for a missing thread.
    await expect(put(store, 'meanwhile')).rejects.toThrow(/is restarting/)
    db.exec('ROLLBACK')
    await up
    await Promise.all([put(store, 'one'), put(store, 'two')])
    expect(await namesIn(store)).toEqual(['before', 'one', 'two'])
    expect(threads).toHaveLength(2)
  })

  test('that dies before the store is open lets the start continue, and the next one opens it', async () => {
    let deaths = 0
    threadsFromNow((thread) => {
      deaths += 1
      if (deaths === 1) void thread.terminate()
    })
    const states = listen()
    const up = states.next(true)
    const store = await open({ onState: states.onState })
    expect(store.ready()).toBe(false)
    await up
    await put(store, 'N-1')
  })
})

test('the log is emptied while others write, before a commit would have to; a closing store finishes its writes, and leaves no log', async () => {
  const PAGE_BYTES = 4096
  const pagesOfLog = () => statSync(`${path}-wal`).size / PAGE_BYTES
  const store = await open()
  let longest = 0
  for (let turn = 0; turn < size(8, 40); turn += 1) {
    // Of about three pages each, so many at once that they share commits.
    for (let done = 0; done < 500; done += 10) {
      await Promise.all(Array.from({ length: 10 }, () => put(store, randomUUID())))
    }
    longest = Math.max(longest, pagesOfLog())
  }
  // It was long enough to be emptied, and many times as much has been written.
  expect(longest).toBeGreaterThan(1_000)
  expect(longest).toBeLessThan(MAX_WAL_PAGES)
  const last = put(store, 'last')
  await store.close()
  await last
  expect(existsSync(`${path}-wal`)).toBe(false)
  const db = openFile()
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  expect(db.prepare("SELECT count(*) AS count FROM names WHERE name = 'last'").get()).toEqual({ count: 1 })
})

/** Promise: a backup contains the store at one moment, and a restore replaces the store in one step (contract, section 7). */

import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { newInstance } from '../../src/outside/store/instance.ts'
import { backupStore, inspectSqlite } from '../../src/outside/store/sqlite/backup.ts'
import { backupTime, restoreStore } from '../../src/outside/store/sqlite/restore.ts'
import { openSqliteStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { Facts, Store } from '../../src/outside/store/store.ts'
import { newFolder } from '../command.ts'
import { watchFileSteps } from './file-steps.ts'
import { named, newClaim, quote, scanned } from './samples.ts'

/** An instance of this machine that has ended, because the process started at another time. */
const DEAD = `${hostname()}/${process.pid}/1/abcdefgh`
const ELSEWHERE = 'elsewhere/7/1/abcdefgh'

let folder: string
let path: string
let file: string
beforeEach(() => {
  folder = newFolder('backup')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  path = join(folder, 'store.db')
  file = join(folder, 'backup.db')
})

const put = (store: Store, no: number, facts: Facts = {}) =>
  store.put({ names: [named({ name: `N-${no}` })], quote: quote({ id: `N-${no}`, facts }) })
const namesUpTo = (count: number) => Array.from({ length: count }, (_, no) => `N-${no}`)

/** Opens a store with this many names, each for a number. */
async function filled(count: number, facts?: Facts): Promise<Store> {
  const store = await openSqliteStore({ path })
  onTestFinished(() => store.close())
  await Promise.all(namesUpTo(count).map((_, no) => put(store, no, facts)))
  return store
}

/** Makes a store, and a backup of it. */
async function backedUp(count: number): Promise<void> {
  await (await filled(count)).close()
  await backupStore(path, file)
}

/** The names in a store or backup, in the order of their numbers. */
async function namesIn(at = ''): Promise<readonly string[]> {
  const store = await openSqliteStore({ path: at })
  const names = (await scanned(store)).map(({ name }) => name)
  await store.close()
  return names.sort((one, other) => Number(one.slice(2)) - Number(other.slice(2)))
}

/** Runs SQL on the store or a backup, as another process does. */
function inStore(sql: string, at = path): void {
  const db = new DatabaseSync(at)
  db.exec(sql)
  db.close()
}

/** The files besides the store, its stamp and the backup. */
const others = () => readdirSync(folder).filter((name) => !/^(store|backup)\.db(-wal|-shm|-stamp)?$/.test(name))
const rightsOf = (at: string) => statSync(at).mode & 0o777

const restore = (options: Partial<Parameters<typeof restoreStore>[2]> = {}) =>
  restoreStore(path, file, { doubt: undefined, ...options })

describe('a backup', () => {
  test('has the store at one moment, with everything acknowledged before, while the store is written', async () => {
    const store = await filled(2_000, { text: 'x'.repeat(2_000) })
    let acknowledged = 2_000
    let over = false
    const writing = (async () => {
      for (; !over; acknowledged += 1) await put(store, acknowledged)
    })()
    await expect.poll(() => acknowledged).toBeGreaterThan(2_020)
    const before = acknowledged
    const shares: number[] = []
    const { at, bytes } = await backupStore(path, file, { onProgress: (_, share) => shares.push(share) })
    over = true
    await writing
    expect([bytes, backupTime(file)]).toEqual([statSync(file).size, at])
    // It never begins again.
    expect(shares.length).toBeGreaterThan(3)
    expect(shares).toEqual(shares.toSorted((one, other) => one - other))
    expect([others(), existsSync(`${file}-wal`)]).toEqual([[], false])
    const { faults, rows } = inspectSqlite(file)
    expect([faults, rows['names']]).toEqual([[], rows['quotes']])
    // The backup has one moment: the names up to some point in the order of writing.
    const names = await namesIn(file)
    expect(names).toEqual(namesUpTo(names.length))
    expect(names.length).toBeGreaterThanOrEqual(before)
  })

  test('that fails leaves nothing behind', async () => {
    await filled(1)
    for (const failing of ['fsyncSync', 'renameSync']) {
      const end = watchFileSteps((step) => {
        if (step === failing) throw new Error(`no ${step}`)
      })
      await expect(backupStore(path, file).finally(end)).rejects.toThrow(`no ${failing}`)
      expect([existsSync(file), others()]).toEqual([false, []])
    }
  })
})

test('a store, the files beside it, its folder and its backup are only for their owner, whatever the umask', async () => {
  const before = process.umask(0)
  onTestFinished(() => void process.umask(before))
  const made = join(folder, 'made')
  const store = await openSqliteStore({ path: join(made, 'store.db') })
  await store.claim(newClaim())
  // The store stamps itself when it is opened.
  const files = ['store.db', 'store.db-shm', 'store.db-stamp', 'store.db-wal']
  expect(readdirSync(made).toSorted()).toEqual(files)
  expect(files.map((name) => rightsOf(join(made, name)))).toEqual(files.map(() => 0o600))
  chmodSync(join(made, 'store.db'), 0o644)
  await backupStore(join(made, 'store.db'), file)
  expect([rightsOf(made), rightsOf(file)]).toEqual([0o700, 0o600])
  await store.close()
})

describe('a restore', () => {
  test('puts the backup in place and keeps the old store; nobody has leases or locks', async () => {
    const store = await filled(3)
    await store.renewLease(DEAD, 1_000)
    await store.claim(newClaim())
    await backupStore(path, file)
    await put(store, 3)
    await store.close()
    const kept = await restore({ doubt: { since: 500, until: 0 } })
    expect(inspectSqlite(path)).toMatchObject({
      faults: [],
      rows: { instances: 0, locks: 0, names: 3 },
      claims: { sending: 1 },
      doubt: { since: 500, until: 0 },
    })
    expect([await namesIn(kept), await namesIn(path)]).toEqual([namesUpTo(4), namesUpTo(3)])
    expect(rightsOf(path)).toBe(0o600)
  })

  test('is refused while a gateway has a lease or any process the store open, and changes nothing', async () => {
    const store = await filled(1)
    await backupStore(path, file)
    await expect(restore()).rejects.toThrow(`${path} is in use by another process. Stop gateways and commands first.`)
    for (const instance of [newInstance(), ELSEWHERE, DEAD]) await store.renewLease(instance, 1_000)
    await store.close()
    // The process is distinguished from an earlier one with the same number, whatever its name.
    const { title } = process
    onTestFinished(() => void Object.assign(process, { title }))
    process.title = ') S 1 (x'
    await expect(restore()).rejects.toThrow(
      `${path} is in use by a gateway (process 7 on elsewhere) and a gateway (process ${process.pid} on ${hostname()}). Stop it first; a killed gateway counts as stopped after ten seconds.`,
    )
    const user = new DatabaseSync(path)
    onTestFinished(() => user.close())
    inStore('DELETE FROM instances')
    // As a gateway opens it, while the backup is copied.
    const end = watchFileSteps(() => user.exec('PRAGMA journal_mode = WAL; SELECT count(*) FROM names'))
    await expect(restore().finally(end)).rejects.toThrow('is in use')
    expect([await namesIn(path), others()]).toEqual([['N-0'], []])
  })

  test.each([
    ['with a lease that has ended', 'UPDATE instances SET beat_ms = beat_ms - 10000'],
    ['with a lease from before the last boot', 'UPDATE instances SET beat_ms = beat_ms + 1000000'],
    ['of a newer version, as a rollback begins', 'DELETE FROM instances; UPDATE version SET version = 1000000'],
  ])('replaces a store %s', async (_, change) => {
    await backedUp(1)
    const store = await filled(2)
    await store.renewLease(ELSEWHERE, 1_000)
    await store.close()
    inStore(change)
    await restore()
    expect(await namesIn(path)).toEqual(['N-0'])
  })

  test.each([
    ['no database', () => writeFileSync(path, 'This is no database, but long enough to be one.'.repeat(50))],
    ['of another program', () => inStore('PRAGMA application_id = 5')],
  ])('replaces a store that is %s only on request, and keeps its files', async (_, spoil) => {
    await backedUp(3)
    spoil()
    const before = readFileSync(path)
    await expect(restore()).rejects.toThrow(`${path} cannot be read: `)
    const kept = await restore({ isUnreadableReplaced: true })
    expect(readFileSync(kept ?? '').equals(before)).toBe(true)
    expect(await namesIn(path)).toEqual(namesUpTo(3))
  })

  test('removes the log of a missing store, which would get into the restored one', async () => {
    const store = await filled(3)
    await backupStore(path, file)
    await put(store, 3)
    const log = readFileSync(`${path}-wal`)
    await store.close()
    rmSync(path)
    chmodSync(file, 0o640)
    writeFileSync(`${path}-wal`, log)
    const kept = await restore()
    expect(readFileSync(`${kept}-wal`).equals(log)).toBe(true)
    expect(await namesIn(path)).toEqual(namesUpTo(3))
    expect(rightsOf(path)).toBe(0o600)
  })

  test('fails if a gateway has meanwhile created a new store, and leaves that one', async () => {
    await backedUp(1)
    rmSync(path)
    const end = watchFileSteps((step) => {
      if (step === 'linkSync') writeFileSync(path, 'new')
    })
    await expect(restore().finally(end)).rejects.toThrow(
      /EEXIST|A gateway has just made a new store at .+ Stop it first\./,
    )
    expect([readFileSync(path, 'utf8'), others()]).toEqual(['new', []])
  })
})

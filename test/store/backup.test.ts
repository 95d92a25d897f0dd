/** Promise: a backup has the store of one moment (contract, section 7). */

import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { newInstance } from '../../src/store/instance.ts'
import { backupStore, inspectSqlite } from '../../src/store/sqlite/backup.ts'
import { backupTime, restoreStore } from '../../src/store/sqlite/restore.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import type { Facts, Store } from '../../src/store/store.ts'
import { newFolder } from '../command.ts'
import { link, newClaim, scanned, thing } from './samples.ts'

/** An instance of this machine that has ended: the process has started at another time. */
const DEAD = `${hostname()}/${process.pid}/1/abcdefgh`

let folder: string
let path: string
let file: string
beforeEach(() => {
  folder = newFolder('backup')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  path = join(folder, 'store.db')
  file = join(folder, 'backup.db')
})

async function filled(count: number, facts: Facts = {}): Promise<Store> {
  const store = await openSqliteStore({ path })
  onTestFinished(() => store.close())
  const names = Array.from({ length: count }, (_, index) => `N-${index}`)
  await Promise.all(names.map((name) => store.put({ links: [link({ name })], thing: thing({ id: name, facts }) })))
  return store
}

/** The names of the links in a store or backup, in the order of their numbers. */
async function namesIn(at: string): Promise<readonly string[]> {
  const store = await openSqliteStore({ path: at })
  const names = (await scanned(store)).map(({ name }) => name)
  await store.close()
  return names.sort((one, other) => Number(one.slice(2)) - Number(other.slice(2)))
}

const sleeper = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

/** Returns how often this process has a file open. */
function timesOpen(name: string): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      // Closed since.
      return ''
    }
  })
  return links.filter((target) => target === name).length
}

const others = () => readdirSync(folder).filter((name) => !/^(store|backup)\.db(-wal|-shm|-stamp)?$/.test(name))

describe('a backup', () => {
  test('has the store of one moment, with all that was acknowledged before, while the store is written', async () => {
    const store = await filled(2_000, { text: 'x'.repeat(2_000) })
    const acknowledged: string[] = []
    let over = false
    const writing = (async () => {
      for (let no = 2_000; !over; no += 1) {
        await store.put({ links: [link({ name: `N-${no}` })], thing: thing({ id: `N-${no}` }) })
        acknowledged.push(`N-${no}`)
      }
    })()
    await expect.poll(() => acknowledged.length).toBeGreaterThan(20)
    const before = acknowledged.length
    const shares: number[] = []
    const { at, bytes } = await backupStore(path, file, { onProgress: (_, share) => shares.push(share) })
    over = true
    await writing
    expect(at).toBeLessThanOrEqual(Date.now())
    expect(bytes).toBe(statSync(file).size)
    expect(backupTime(file)).toBe(at)
    // It never begins again.
    expect(shares.length).toBeGreaterThan(3)
    expect(shares).toEqual(shares.toSorted((one, other) => one - other))
    expect(others()).toEqual([])
    expect(existsSync(`${file}-wal`)).toBe(false)
    const { faults, rows } = inspectSqlite(file)
    expect(faults).toEqual([])
    expect(rows['links']).toBe(rows['things'])
    const names = await namesIn(file)
    // One moment: a beginning of what was written one after the other.
    expect(names).toEqual(Array.from({ length: names.length }, (_, index) => `N-${index}`))
    expect(names.length).toBeGreaterThanOrEqual(2_000 + before)
  })

  test('replaces the file of its name in one step, with the rights of the store', async () => {
    await filled(1)
    chmodSync(path, 0o600)
    writeFileSync(file, 'an earlier one')
    await backupStore(path, file, { onStep: () => expect(readAsBackup()).toMatch(/^(an earlier one|whole)$/) })
    expect(readAsBackup()).toBe('whole')
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  /** Tells what is under the name of the backup. */
  const readAsBackup = () => {
    const text = readFileSync(file, 'latin1')
    return text.startsWith('SQLite format 3') && inspectSqlite(file).faults.length === 0 ? 'whole' : text
  }

  test('that fails leaves nothing behind', async () => {
    await filled(1)
    const steps: string[] = []
    await backupStore(path, file, { onStep: (step) => steps.push(step) })
    expect(steps.length).toBeGreaterThan(3)
    rmSync(file)
    for (const failing of steps.slice(0, -1)) {
      const onStep = (step: string) => {
        if (step === failing) throw new Error(`no ${step}`)
      }
      await expect(backupStore(path, file, { onStep })).rejects.toThrow(`no ${failing}`)
      expect([existsSync(file), others()]).toEqual([false, []])
    }
  })

  test('of a file that is no store is refused', async () => {
    new DatabaseSync(path).exec('CREATE TABLE a (b)')
    await expect(backupStore(path, file)).rejects.toThrow('another program')
    writeFileSync(join(folder, 'empty.db'), '')
    await expect(backupStore(join(folder, 'empty.db'), file)).rejects.toThrow('not a store')
    expect(existsSync(file)).toBe(false)
  })
})

describe('a restore', () => {
  const nothing = { doubt: undefined }

  test('puts the backup in place and keeps the old store; leases and locks are those of nobody', async () => {
    const store = await filled(3)
    await store.renewLease(DEAD, 1_000)
    await store.claim(newClaim())
    await backupStore(path, file)
    await store.put({ links: [link({ name: 'N-3' })] })
    await store.close()
    const kept = await restoreStore(path, file, { doubt: { since: 500, until: 0 } })
    expect(inspectSqlite(path)).toMatchObject({
      faults: [],
      rows: { instances: 0, locks: 0, links: 3 },
      claims: { sending: 1 },
      doubt: { since: 500, until: 0 },
    })
    expect(await namesIn(kept ?? '')).toEqual(['N-0', 'N-1', 'N-2', 'N-3'])
    expect(backupTime(file)).toBeGreaterThan(0)
    expect(await namesIn(path)).toEqual(['N-0', 'N-1', 'N-2'])
  })

  test('is refused while a process has the store open, and changes nothing', async () => {
    const store = await filled(1)
    await backupStore(path, file)
    await expect(restoreStore(path, file, nothing)).rejects.toThrow('is in use by another process')
    await store.renewLease(newInstance(), 1_000)
    await expect(restoreStore(path, file, nothing)).rejects.toThrow(`a gateway (process ${process.pid} on`)
    await store.put({ links: [link({ name: 'N-1' })] })
    await store.close()
    expect(await namesIn(path)).toEqual(['N-0', 'N-1'])
    expect(others()).toEqual([])
  })

  test('is refused if a process opens the store while the backup is copied', async () => {
    await (await filled(1)).close()
    await backupStore(path, file)
    const user = new DatabaseSync(path)
    onTestFinished(() => user.close())
    const onStep = (step: string) => {
      // As a gateway opens it.
      if (step === 'prepare') user.exec('PRAGMA journal_mode = WAL; SELECT count(*) FROM links')
    }
    await expect(restoreStore(path, file, { doubt: undefined, onStep })).rejects.toThrow('is in use')
    expect(others()).toEqual([])
  })

  test('lets a store that is opened meanwhile wait, and find the restored one', async () => {
    await (await filled(1)).close()
    await backupStore(path, file)
    await (await filled(2)).close()
    let opening: Promise<Store> | undefined
    const onStep = (step: string) => {
      if (step !== 'keep') return
      opening = openSqliteStore({ path })
      // Its thread has opened the old file, and waits for it.
      for (let tries = 0; timesOpen(path) < 2 && tries < 2_000; tries += 1) Atomics.wait(sleeper, 0, 0, 5)
    }
    const kept = await restoreStore(path, file, { doubt: undefined, onStep })
    const store = (await opening) ?? expect.fail('no store')
    onTestFinished(() => store.close())
    await expect.poll(() => store.ready(), { timeout: 20_000 }).toBe(true)
    expect((await scanned(store)).map(({ name }) => name)).toEqual(['N-0'])
    await store.put({ links: [link({ name: 'N-9' })] })
    await store.close()
    expect(await namesIn(path)).toEqual(['N-0', 'N-9'])
    expect(await namesIn(kept ?? '')).toEqual(['N-0', 'N-1'])
  })

  test('of a damaged file is refused', async () => {
    await (await filled(2_000)).close()
    await backupStore(path, file)
    const { size } = statSync(file)
    const bytes = readFileSync(file)
    bytes.fill(7, Math.floor(size / 2), Math.floor(size / 2) + 40_000)
    writeFileSync(join(folder, 'spoiled.db'), bytes)
    writeFileSync(join(folder, 'cut.db'), readFileSync(file))
    truncateSync(join(folder, 'cut.db'), Math.floor(size / 2 / 4096) * 4096)
    for (const bad of ['spoiled.db', 'cut.db']) {
      await expect(restoreStore(path, join(folder, bad), nothing)).rejects.toThrow(/malformed|page|database|row|free/i)
    }
    expect(inspectSqlite(join(folder, 'spoiled.db'))).toMatchObject({ faults: [expect.any(String)], rows: {} })
    rmSync(join(folder, 'spoiled.db'))
    rmSync(join(folder, 'cut.db'))
    expect(others()).toEqual([])
    expect(await namesIn(path)).toHaveLength(2_000)
  })

  test('replaces a store that cannot be read only if it is told to, and keeps its files', async () => {
    await (await filled(3)).close()
    await backupStore(path, file)
    writeFileSync(path, 'This is no database at all, but it has more than enough text to be one.'.repeat(20))
    await expect(restoreStore(path, file, nothing)).rejects.toThrow('cannot be read')
    const kept = await restoreStore(path, file, { doubt: undefined, isUnreadableReplaced: true })
    expect(readFileSync(kept ?? '', 'utf8')).toContain('no database at all')
    expect(await namesIn(path)).toEqual(['N-0', 'N-1', 'N-2'])
  })

  test('takes away the log of a store that is gone, which would get into the restored one', async () => {
    const store = await filled(3)
    await backupStore(path, file)
    await store.put({ links: [link({ name: 'N-3' })] })
    const log = readFileSync(`${path}-wal`)
    await store.close()
    rmSync(path)
    writeFileSync(`${path}-wal`, log)
    const kept = await restoreStore(path, file, nothing)
    expect(readFileSync(`${kept}-wal`).equals(log)).toBe(true)
    expect(await namesIn(path)).toEqual(['N-0', 'N-1', 'N-2'])
  })

  test('removes what interrupted attempts left behind, and nothing that belongs to a process that lives', async () => {
    await (await filled(1)).close()
    await backupStore(path, file)
    const dead = `${path}.partial-${DEAD.replaceAll('/', ',')}`
    const alive = `${path}.partial-elsewhere,1,1,abcdefgh`
    for (const name of [dead, `${dead}-journal`, alive]) writeFileSync(name, '')
    const kept = await restoreStore(path, file, nothing)
    expect(others().sort()).toEqual([kept, alive].map((name) => (name ?? '').slice(folder.length + 1)).sort())
  })
})

/** Promise: a restore keeps the old store and puts the backup in its place in one step (contract, section 7). */

import { chmodSync, cpSync, linkSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { backupStore, inspectSqlite } from '../../../src/store/sqlite/backup.ts'
import { restoreStore } from '../../../src/store/sqlite/restore.ts'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite.ts'
import { newFolder } from '../../command.ts'
import { link } from '../samples.ts'

const NO_DOUBT = { doubt: undefined }

/** A store with two links, and a backup with one of them. */
let template: string
beforeAll(async () => {
  template = newFolder('restore')
  const file = join(template, 'store.db')
  const store = await openSqliteStore({ path: file })
  await store.put({ links: [link({ name: 'A' })] })
  await backupStore(file, join(template, 'backup.db'))
  await store.put({ links: [link({ name: 'B' })] })
  await store.close()
})
afterAll(() => rmSync(template, { recursive: true }))

let folder: string
let path: string
let backup: string
beforeEach(() => {
  folder = newFolder('restore')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(template, folder, { recursive: true })
  path = join(folder, 'store.db')
  backup = join(folder, 'backup.db')
})

const linksIn = (file: string) => inspectSqlite(file).rows['links']
/** The files besides the store, its stamp and the backup. */
const others = () => readdirSync(folder).filter((name) => !['store.db', 'store.db-stamp', 'backup.db'].includes(name))

describe('the old store', () => {
  test('is kept under a name with the time, and with a number for each further one of the same second', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 22, 15, 4, 5, 678) })
    onTestFinished(() => void vi.useRealTimers())
    const kept = `${path}.before-restore-20261122T150405Z`
    for (const name of [kept, `${kept}-2`, `${kept}-3`]) expect(await restoreStore(path, backup, NO_DOUBT)).toBe(name)
    expect([linksIn(kept), linksIn(path)]).toEqual([2, 1])
    expect(others()).toHaveLength(3)
  })

  test('is none where there was no store', async () => {
    rmSync(path)
    expect(await restoreStore(path, backup, NO_DOUBT)).toBeUndefined()
    expect(others()).toEqual([])
    const elsewhere = join(folder, 'new', 'deep', 'store.db')
    expect(await restoreStore(elsewhere, backup, NO_DOUBT)).toBeUndefined()
    expect(linksIn(elsewhere)).toBe(1)
  })

  test('has one name only, after a restore that was cut off had given it another', async () => {
    linkSync(path, `${path}.before-restore-cut-off`)
    writeFileSync(`${path}.before-restore-other`, '')
    linkSync(path, join(folder, 'mine'))
    const kept = await restoreStore(path, backup, NO_DOUBT)
    expect(others().toSorted()).toEqual(
      ['mine', (kept ?? '').slice(folder.length + 1), 'store.db.before-restore-other'].toSorted(),
    )
  })

  test('lends its rights to the restored one; without it, the backup does', async () => {
    chmodSync(path, 0o600)
    chmodSync(backup, 0o640)
    await restoreStore(path, backup, NO_DOUBT)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    rmSync(path)
    await restoreStore(path, backup, NO_DOUBT)
    expect(statSync(path).mode & 0o777).toBe(0o640)
  })
})

describe('a restore', () => {
  test('fails where a gateway has made a new store in the meantime, and leaves that one', async () => {
    rmSync(path)
    const onStep = (step: string) => {
      if (step === 'rename') writeFileSync(path, 'new')
    }
    const failed = restoreStore(path, backup, { ...NO_DOUBT, onStep })
    await expect(failed).rejects.toThrow(/EEXIST|A gateway has just made a new store at .*store\.db\. Stop it first\./)
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(others()).toEqual([])
  })
})

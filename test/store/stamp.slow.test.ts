/** Promise: a copied, moved or old store is noticed at the start (contract, section 7). */

import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Origin } from '../../src/store/doubt.ts'
import { backupStore } from '../../src/store/sqlite/backup.ts'
import { restoreStore } from '../../src/store/sqlite/restore.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { stampPath } from '../../src/store/sqlite/stamp.ts'
import type { Store } from '../../src/store/store.ts'
import { newFolder } from '../command.ts'
import { link } from './samples.ts'

/* A store that came from a copy is noticed, and one that only moved is not. */

let folder: string
let path: string
beforeEach(() => {
  folder = newFolder('stamp')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  path = join(folder, 'data', 'store.db')
})

async function withStore<T>(work: (store: Store) => Promise<T>, at = path): Promise<T> {
  const store = await openSqliteStore({ path: at })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

const origin = (at = path) => withStore((store) => store.origin(), at)
const write = (name: string, at = path) => withStore((store) => store.put({ links: [link({ name })] }), at)

/** Every start says the same until somebody accepts the copy. */
async function expectToldUntilTrusted(expected: Origin): Promise<void> {
  expect(await origin()).toEqual(expected)
  await write('N-after')
  expect(await origin()).toEqual(expected)
  expect(await withStore((store) => store.trust())).toBe(true)
  expect(await origin()).toEqual({ kind: 'own' })
  await write('N-later')
  expect(await origin()).toEqual({ kind: 'own' })
}

test('a new store is stamped, and told from no copy at later starts, after a crash and in a folder that moved', async () => {
  expect(await origin()).toEqual({ kind: 'own' })
  expect(existsSync(stampPath(path))).toBe(true)
  await write('N-1')
  expect(await origin()).toEqual({ kind: 'own' })
  // As a process leaves it that is killed: the stamp is of an earlier moment.
  const earlier = readFileSync(stampPath(path))
  await write('N-2')
  writeFileSync(stampPath(path), earlier)
  expect(await origin()).toEqual({ kind: 'own' })
  // A move to another disk, or a volume from a snapshot: other inodes, with the same content.
  const moved = join(folder, 'moved')
  cpSync(join(folder, 'data'), moved, { recursive: true })
  rmSync(join(folder, 'data'), { recursive: true })
  expect(await origin(join(moved, 'store.db'))).toEqual({ kind: 'own' })
})

test('a backup that was put in place by hand is told, with its time', async () => {
  await write('N-1')
  const { at } = await backupStore(path, join(folder, 'backup.db'))
  await write('N-2')
  cpSync(join(folder, 'backup.db'), path)
  await expectToldUntilTrusted({ kind: 'backup', at })
})

test('an older copy of the same store is told', async () => {
  await write('N-1')
  cpSync(path, join(folder, 'copy.db'))
  await write('N-2')
  // Even in the same file.
  writeFileSync(path, readFileSync(join(folder, 'copy.db')))
  await expectToldUntilTrusted({ kind: 'older' })
})

test('another store in the place is told', async () => {
  await write('N-1')
  await write('N-1', join(folder, 'stage.db'))
  cpSync(join(folder, 'stage.db'), path)
  await expectToldUntilTrusted({ kind: 'other' })
})

test('a new store in the place of one that is gone is told', async () => {
  await write('N-1')
  rmSync(path)
  expect(await origin()).toEqual({ kind: 'other' })
})

test('a store without its stamp is told', async () => {
  await write('N-1')
  rmSync(stampPath(path))
  await expectToldUntilTrusted({ kind: 'moved' })
})

test('a restored store is no copy, and the store that it replaced is one when it is put back', async () => {
  await write('N-1')
  await backupStore(path, join(folder, 'backup.db'))
  await write('N-2')
  const kept = await restoreStore(path, join(folder, 'backup.db'), { doubt: undefined })
  expect(await origin()).toEqual({ kind: 'own' })
  await write('N-3')
  renameSync(kept ?? expect.fail('the old store is gone'), path)
  expect(await origin()).toEqual({ kind: 'older' })
})

test('a restored store is no copy where no store stood', async () => {
  await write('N-1')
  await backupStore(path, join(folder, 'backup.db'))
  const elsewhere = join(folder, 'elsewhere', 'store.db')
  expect(await restoreStore(elsewhere, join(folder, 'backup.db'), { doubt: undefined })).toBeUndefined()
  expect(await origin(elsewhere)).toEqual({ kind: 'own' })
  expect(existsSync(stampPath(elsewhere))).toBe(true)
})

test('the store works where no stamp can be written', async () => {
  await write('N-1')
  rmSync(stampPath(path))
  mkdirSync(join(stampPath(path), 'in the way'), { recursive: true })
  await write('N-2')
  expect(await withStore((store) => store.links('acme', 'N-2'))).toHaveLength(1)
})

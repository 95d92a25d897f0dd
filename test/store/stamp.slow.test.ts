/** Promise: the start reports a store that came from a copy, but not one that only moved (contract, section 7). */

import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { StoreOrigin } from '../../src/outside/store/doubt.ts'
import { backupStore } from '../../src/outside/store/sqlite/backup.ts'
import { restoreStore } from '../../src/outside/store/sqlite/restore.ts'
import { openSqliteStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { stampPath } from '../../src/outside/store/sqlite/stamp.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { newFolder } from '../command.ts'
import { named } from './samples.ts'

const OWN: StoreOrigin = { kind: 'own' }

let folder: string
let path: string
let stamp: string
let backup: string
beforeEach(() => {
  folder = newFolder('stamp')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  path = join(folder, 'data', 'store.db')
  stamp = stampPath(path)
  backup = join(folder, 'backup.db')
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
const write = (name: string, at = path) => withStore((store) => store.put({ names: [named({ name })] }), at)

test('a new store is stamped, and not reported as a copy at later starts, after a crash or in a moved folder', async () => {
  expect(await origin()).toEqual(OWN)
  expect(existsSync(stamp)).toBe(true)
  await write('N-1')
  expect(await origin()).toEqual(OWN)
  // A killed process leaves a stamp from an earlier moment.
  const earlier = readFileSync(stamp)
  await write('N-2')
  writeFileSync(stamp, earlier)
  expect(await origin()).toEqual(OWN)
  // A move to another disk, or a volume from a snapshot: other inodes, with the same content.
  const moved = join(folder, 'moved')
  cpSync(join(folder, 'data'), moved, { recursive: true })
  rmSync(join(folder, 'data'), { recursive: true })
  expect(await origin(join(moved, 'store.db'))).toEqual(OWN)
})

test.each<[string, StoreOrigin['kind'], () => unknown]>([
  ['a backup that was put in place by hand', 'backup', () => cpSync(backup, path)],
  // Even in the same file.
  ['an older copy', 'older', () => writeFileSync(path, readFileSync(join(folder, 'copy.db')))],
  ['another store', 'other', () => cpSync(join(folder, 'stage.db'), path)],
  ['a new store', 'other', () => rmSync(path)],
  ['a store without its stamp', 'moved', () => rmSync(stamp)],
  ['a store whose stamp cannot be read', 'moved', () => writeFileSync(stamp, '{"id":5,"commits":"5"}')],
])('%s is reported at every start until somebody accepts it', async (_, kind, lose) => {
  await write('N-1')
  await write('N-1', join(folder, 'stage.db'))
  cpSync(path, join(folder, 'copy.db'))
  const { at } = await backupStore(path, backup)
  await write('N-2')
  lose()
  const expected = kind === 'backup' ? { kind, at } : { kind }
  expect(await origin()).toEqual(expected)
  await write('N-after')
  expect(await origin()).toEqual(expected)
  expect(await withStore((store) => store.trust())).toBe(true)
  expect(await origin()).toEqual(OWN)
  await write('N-later')
  expect(await origin()).toEqual(OWN)
})

test('a restored store is not a copy, here or where there was no store; the one that it replaced is, when it is put back', async () => {
  await write('N-1')
  await backupStore(path, backup)
  for (const name of ['N-2', 'N-3']) await write(name)
  const kept = await restoreStore(path, backup, { doubt: undefined })
  expect(await origin()).toEqual(OWN)
  await write('N-4')
  renameSync(kept ?? expect.fail('the old store is gone'), path)
  expect(await origin()).toEqual({ kind: 'older' })
  const elsewhere = join(folder, 'elsewhere', 'store.db')
  expect(await restoreStore(elsewhere, backup, { doubt: undefined })).toBeUndefined()
  expect(await origin(elsewhere)).toEqual(OWN)
})

test("a command of root leaves the stamp to the store's owner", async () => {
  await write('N-1')
  const owner = process.getuid?.() === 0 ? 1_000 : (process.getuid?.() ?? 0)
  chownSync(path, owner, -1)
  await write('N-2')
  expect(statSync(stamp).uid).toBe(owner)
})

test('the store works even if no stamp can be written', async () => {
  await write('N-1')
  rmSync(stamp)
  mkdirSync(join(stamp, 'in the way'), { recursive: true })
  await write('N-2')
  expect(await withStore((store) => store.named('acme', 'N-2'))).toHaveLength(1)
  const fresh = `${path}-fresh`
  mkdirSync(join(stampPath(fresh), 'in the way'), { recursive: true })
  await (await openSqliteStore({ path: fresh })).close()
  const next = `${stampPath(fresh)}.${process.pid}`
  expect(existsSync(next)).toBe(false)
  mkdirSync(next)
  expect(await origin(fresh)).toEqual(OWN)
})

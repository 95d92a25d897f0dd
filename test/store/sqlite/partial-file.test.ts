import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { newInstance } from '../../../src/store/instance.ts'
import { makeLike, newPartialFile, removeDatabase, sync } from '../../../src/store/sqlite/backup.ts'
import { newFolder } from '../../command.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = newFolder('partial')
  file = join(folder, 'backup.db')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
})
const names = () => readdirSync(folder).toSorted()
const write = (...all: readonly string[]) => {
  for (const name of all) writeFileSync(join(folder, name), name)
}

test('a file that is not whole yet has the name of its process', () => {
  const partial = newPartialFile(file)
  expect(partial.startsWith(`${file}.partial-${hostname()},${process.pid},`)).toBe(true)
  expect(partial.slice(folder.length + 1)).not.toContain('/')
  expect(names()).toEqual([])
})

test('what processes left behind that have ended is removed, with what SQLite keeps beside it, and nothing else', async () => {
  const child = spawn(process.execPath, ['--eval', ''])
  await once(child, 'exit')
  const dead = `backup.db.partial-${hostname()},${child.pid},1,abcdefgh`
  const alive = `backup.db.partial-${newInstance().replaceAll('/', ',')}`
  const others = [
    'backup.db',
    `other.db.partial-${hostname()},${child.pid},1,abcdefgh`,
    `x-${dead}`,
    `backup.db.partial-${hostname()},${child.pid},1`,
  ]
  write(dead, `${dead}-journal`, `${dead}-wal`, `${dead}-shm`, alive, ...others)
  newPartialFile(file)
  expect(names()).toEqual([alive, ...others].toSorted())
})

test('a database is removed with its log and its index; one that is not there, too', () => {
  write('backup.db', 'backup.db-journal', 'backup.db-wal', 'backup.db-shm', 'backup.db-stamp')
  removeDatabase(file)
  expect(names()).toEqual(['backup.db-stamp'])
  removeDatabase(file)
})

test.each([
  [0o640, 0o640],
  [0o600, 0o600],
  [0o777, 0o666],
])('a file like one with the rights %o has the rights %o', (rights, like) => {
  write('model', 'backup.db')
  const model = join(folder, 'model')
  chmodSync(model, rights)
  makeLike(file, model)
  const { mode, uid, gid } = statSync(file)
  expect(mode & 0o777).toBe(like)
  expect([uid, gid]).toEqual([statSync(model).uid, statSync(model).gid])
})

test('files and folders can be made durable, and what is not there cannot', () => {
  write('backup.db')
  sync(file)
  sync(folder)
  expect(() => sync(join(folder, 'none'))).toThrow('ENOENT')
  expect(existsSync(join(folder, 'none'))).toBe(false)
})

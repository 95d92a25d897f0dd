import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { newInstance } from '../../../src/store/instance.ts'
import { makeLike, newPartialFile } from '../../../src/store/sqlite/backup.ts'
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

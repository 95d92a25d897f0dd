import { chmodSync, chownSync, closeSync, fsyncSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isAlive, newInstance } from '../instance.ts'

/** Files that SQLite keeps beside a database. */
const BESIDE = ['-journal', '-wal', '-shm']
const PARTIAL = '.partial-'

/**
 * Returns a name for a file that is not whole yet, beside the file that it becomes. The name has the process that writes it: what
 * processes left behind that have ended is removed.
 */
export function newPartialFile(file: string): string {
  const beginning = basename(file) + PARTIAL
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(beginning)) continue
    const instance = name.slice(beginning.length).replaceAll(',', '/')
    if (instance.split('/').length === INSTANCE_PARTS && !isAlive(instance)) removeDatabase(join(dirname(file), name))
  }
  // No host name has a comma.
  return file + PARTIAL + newInstance().replaceAll('/', ',')
}

const INSTANCE_PARTS = 4

/** Removes a database, and what SQLite keeps beside it. */
export function removeDatabase(path: string): void {
  for (const end of ['', ...BESIDE]) rmSync(path + end, { force: true })
}

/** Gives a file the rights of another one, and its owner too where this process may do so. */
export function makeLike(file: string, model: string): void {
  const { mode, uid, gid } = statSync(model)
  if (process.getuid?.() === 0) chownSync(file, uid, gid)
  chmodSync(file, mode & FILE_RIGHTS)
}

/** Reading and writing, of the owner, the group and others. */
const FILE_RIGHTS = 0o666

/** Makes the content of a file or folder durable. */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

import { lstatSync, type Stats, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { openWalIndex } from './wal-index.ts'

/** The store's files are no longer those that the gateway writes to, or no longer hold what it has written. */
export class FilesLost extends Error {
  override readonly name = 'FilesLost'
  /** `moved`: the files of the connection are whole, but not at their path. `spoiled`: nothing but a restart can help. */
  readonly kind: 'moved' | 'spoiled'

  constructor(kind: 'moved' | 'spoiled', message: string) {
    super(message)
    this.kind = kind
  }
}

/** The identity of a file, which another file with its name does not have. */
export type FileIdentity = Pick<Stats, 'dev' | 'ino'>

/** Watches the files of an open connection. */
export interface FileGuard {
  readonly identity: FileIdentity
  /** Throws `FilesLost` if a restart might not find what was committed. */
  check(): void
  /** Returns the length of the WAL at the last check, in pages. */
  walPages(): number
}

/** The layout of a WAL (https://www.sqlite.org/fileformat2.html#walformat). */
const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/** The state of the database file at a check. */
interface Look {
  readonly mtimeMs: number
  readonly size: number
  readonly progress: string
}

/**
 * Creates the guard of a connection. It looks at names, times and the index of the WAL alone, which costs microseconds.
 *
 * SQLite changes the database file in checkpoints only, and before and after each change of it, in any process, it notes
 * the progress in the index: a change without progress is another program's.
 */
export function createFileGuard(db: DatabaseSync, path: string): FileGuard {
  const [walPath, indexPath] = [`${path}-wal`, `${path}-shm`]
  const frameBytes = FRAME_HEADER_BYTES + Number(db.prepare('PRAGMA page_size').get()?.['page_size'])
  const identity = identityOf(path)
  const walIdentity = identityOf(walPath)
  const index = openWalIndex(indexPath)
  if (isLink(path)) throw linked(path)
  if (!identity || !walIdentity || !index) throw gone(path)
  let last: Look | undefined
  let pages = 0

  return {
    identity,
    check() {
      // Read before the times, for the next check: every later change of the file by SQLite shows as later progress.
      const before = index.read()
      // A link that has taken its name is another file, although it may lead here: a restart finds no log beside its target.
      const main = lstatSync(path, { throwIfNoEntry: false })
      if (!main) throw gone(path)
      if (!isSame(main, identity)) throw replaced(path)
      const wal = statSync(walPath, { throwIfNoEntry: false })
      if (!wal || !isSame(wal, walIdentity)) throw logGone(walPath)
      if (!isAt(indexPath, index.identity)) throw logGone(indexPath)
      // And after: what had changed the file by then has made its progress known.
      const now = index.read()
      pages = now.walPages
      // It may be shorter than it was once it has started over.
      const isSameLog = before.isSettled && before.walPages > 0 && before.progress === now.progress
      if (isSameLog && wal.size < WAL_HEADER_BYTES + before.walPages * frameBytes) throw logCut(walPath)
      const { mtimeMs, size } = main
      const isChanged = last !== undefined && (mtimeMs !== last.mtimeMs || size !== last.size)
      if (isChanged && !now.isCheckpointRunning && now.progress === last?.progress) throw changed(path)
      last = { mtimeMs, size, progress: before.progress }
    },
    walPages: () => pages,
  }
}

/** Throws `FilesLost` unless a path leads to this file, or to any where no file is known yet. */
export function checkIdentity(path: string, expected: FileIdentity | undefined): void {
  const found = identityOf(path)
  if (!found) throw gone(path)
  if (expected && !isSame(found, expected)) throw replaced(path)
}

const RESTORE = 'Stop the gateway, restore a backup without its -wal and -shm files, and start it again.'

/** Returns the error of a file whose content SQLite cannot read. */
export function damaged(path: string, reason: string): FilesLost {
  return new FilesLost('spoiled', `${path} is damaged (${reason}). ${RESTORE}`)
}

/** Returns the error of a file that lacks commits that it had. */
export function outdated(path: string): FilesLost {
  return new FilesLost('spoiled', `${path} lacks what was written to it. ${RESTORE}`)
}

function gone(path: string): FilesLost {
  return new FilesLost('moved', `${path} is gone. Put this very file back, or restart the gateway with a backup.`)
}

function replaced(path: string): FilesLost {
  return new FilesLost('moved', `${path} was replaced by another file. Restart the gateway if that is the right one.`)
}

function linked(path: string): FilesLost {
  return new FilesLost('moved', `${path} is a symbolic link. Set STORE_URL to the file that it leads to.`)
}

function changed(path: string): FilesLost {
  return new FilesLost('spoiled', `${path} was changed by something else than the gateway. ${RESTORE}`)
}

function logGone(path: string): FilesLost {
  return new FilesLost('moved', `${path} is gone or was replaced. Restart the gateway; nothing that it has is lost.`)
}

function logCut(path: string): FilesLost {
  return new FilesLost('spoiled', `${path} was cut. ${RESTORE}`)
}

/** Returns the identity of the file at a path; undefined if there is none. */
export function identityOf(path: string): FileIdentity | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && { dev: stats.dev, ino: stats.ino }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}

function isAt(path: string, identity: FileIdentity): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && isSame(found, identity)
}

function isSame(one: FileIdentity, other: FileIdentity): boolean {
  return one.ino === other.ino && one.dev === other.dev
}

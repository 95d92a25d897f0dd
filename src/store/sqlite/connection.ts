import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeFolder } from '../make-folder.ts'
import { existingDatabase, MAX_WAL_PAGES } from './checkpoints.ts'
import { isBusy } from './errors.ts'
import { checkIdentity, createFileGuard, type FileGuard, type FileIdentity, outdated } from './file-guard.ts'
import { migrate } from './schema.ts'
import { keepStamp } from './stamp.ts'
import { createWrites, type Writes } from './writes.ts'

/** The longest time for which another process may hold the write lock before a write fails. */
const BUSY_TIMEOUT_MS = 5_000
/** About the time of a commit. SQLite itself would sleep one millisecond, then two, then five, while others go on. */
const LOCK_POLL_MS = 0.3
const CACHE_KIB = 2_048
const WAL_LIMIT_BYTES = 64 * 1024 * 1024

/** The connection that writes. */
export interface Connection {
  readonly db: DatabaseSync
  readonly writes: Writes
  readonly guard: FileGuard
  /** Begins a transaction as soon as other processes release the lock. Returns true if it waited, as it has told `onWait`. */
  begin(onWait: () => void): boolean
  commit(): void
  /** Counts a commit that changes cached data, and returns its number. */
  nextCacheVersion(): number
  /** Closes the connection, which rolls back an open transaction. */
  close(): void
}

export interface ConnectionOptions {
  readonly path: string
  /** The file that it must be; undefined for any. */
  readonly file: FileIdentity | undefined
  /** True if the file must be there already. */
  readonly mustExist: boolean
  /** The cache version that the file must have reached. */
  readonly cacheVersion: number
  /** The number of pages that fit on the disk; 0 for no limit. */
  readonly room: number
}

/** Opens the connection that writes, to a database of this program's version. */
export function openConnection({ path, file, mustExist, cacheVersion, room }: ConnectionOptions): Connection {
  makeFolder(dirname(path))
  if (mustExist) checkIdentity(path, file)
  const db = new DatabaseSync(mustExist ? existingDatabase(path) : path, { timeout: BUSY_TIMEOUT_MS })
  try {
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA temp_store = MEMORY`)
    if (room > 0) db.exec(`PRAGMA max_page_count = ${room}`)
    migrate(db)
    db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${MAX_WAL_PAGES}`)
    db.exec(`PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES}`)
    keepStamp(db, path)
    // From here on `begin` waits for the lock.
    db.exec('PRAGMA busy_timeout = 0')
    const commits = Number(db.prepare('SELECT commits FROM change_counter').get()?.['commits'])
    if (commits < cacheVersion) throw outdated(path)
    return connectionOf(db, path)
  } catch (error) {
    db.close()
    throw error
  }
}

function connectionOf(db: DatabaseSync, path: string): Connection {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const countCommit = db.prepare('UPDATE change_counter SET commits = commits + 1 RETURNING commits')
  const writes = createWrites(db)
  const guard = createFileGuard(db, path)
  return {
    db,
    writes,
    guard,
    begin(onWait) {
      const until = performance.now() + BUSY_TIMEOUT_MS
      let hasWaited = false
      for (;;) {
        try {
          begin.run()
          return hasWaited
        } catch (error) {
          if (!isBusy(error) || performance.now() > until) throw error
        }
        if (!hasWaited) onWait()
        hasWaited = true
        // With jitter: in step with another process, this one could always come second.
        Atomics.wait(sleeper, 0, 0, LOCK_POLL_MS * (0.5 + Math.random()))
      }
    },
    commit: () => void commit.run(),
    nextCacheVersion: () => Number(countCommit.get()?.['commits']),
    close: () => db.close(),
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

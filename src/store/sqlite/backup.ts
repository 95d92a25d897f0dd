import { renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { existingDatabase } from './checkpoints.ts'
import { makeLike, newPartialFile, removeDatabase, sync } from './partial-file.ts'
import { storeVersion } from './schema.ts'
import { hasIdentity } from './stamp.ts'

export interface CopyOptions {
  /** Called with the share of the work that is done. @default does nothing */
  readonly onProgress?: ((pages: number, share: number) => void) | undefined
  /** For tests: called before each step. @default does nothing */
  readonly onStep?: ((step: string) => void) | undefined
}

/** A backup that was made. */
export interface Backup {
  /** The moment of its content, in milliseconds since 1970: it has every write that was acknowledged before. */
  readonly at: number
  readonly version: number
  readonly bytes: number
}

const BUSY_TIMEOUT_MS = 5_000
/** One MiB between two reports of the progress. */
const PAGES_PER_STEP = 256

/**
 * Copies a store into a file, while gateways go on writing: the file has the content of one moment. It appears under its name once it
 * is whole and durable.
 */
export async function backupStore(
  path: string,
  file: string,
  { onProgress, onStep }: CopyOptions = {},
): Promise<Backup> {
  const partial = newPartialFile(file)
  try {
    onStep?.('copy')
    const { at, version } = await copyDatabase(path, partial, onProgress)
    onStep?.('mark')
    withDatabase(partial, (db) => {
      // One file, which can be read where nothing can be written.
      db.exec('PRAGMA journal_mode = DELETE')
      // Earlier versions of the store cannot be marked.
      if (hasIdentity(db)) db.prepare('UPDATE identity SET backup_at = ?').run(at)
    })
    makeLike(partial, path)
    onStep?.('sync')
    sync(partial)
    const { size: bytes } = statSync(partial)
    onStep?.('rename')
    renameSync(partial, file)
    onStep?.('sync folder')
    sync(dirname(file))
    return { at, version, bytes }
  } finally {
    removeDatabase(partial)
  }
}

/** Copies a database as it is at one moment, in which the copy begins; returns the moment and its version. */
export async function copyDatabase(
  from: string,
  to: string,
  onProgress: CopyOptions['onProgress'],
): Promise<Pick<Backup, 'at' | 'version'>> {
  const source = openSource(from)
  try {
    const at = Date.now()
    // Otherwise SQLite would begin again after each write of another process.
    source.exec('BEGIN')
    const version = storeVersion(source)
    await backup(source, to, {
      rate: PAGES_PER_STEP,
      progress: ({ totalPages, remainingPages }) => {
        const done = totalPages - remainingPages
        onProgress?.(done, totalPages === 0 ? 1 : done / totalPages)
      },
    })
    return { at, version }
  } finally {
    source.close()
  }
}

/** Opens a database to read it. Where it may not write, SQLite opens it for reading only. */
export function openSource(path: string): DatabaseSync {
  return new DatabaseSync(existingDatabase(path), { timeout: BUSY_TIMEOUT_MS })
}

/** Runs work on a database that no other process uses. */
export function withDatabase<T>(path: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(existingDatabase(path))
  try {
    db.exec('PRAGMA synchronous = FULL')
    return work(db)
  } finally {
    db.close()
  }
}

import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { makeLike } from '../../../runtime/make-like.ts'
import { contentOf, doubtReads, type Inspection } from '../doubt.ts'
import { isAlive, newInstance } from '../instance.ts'
import { VERSION } from '../schema.ts'
import { createPrivate, existingDatabase, isDamage, messageOf, storeVersion } from './connection.ts'
import { createSession } from './session.ts'
import { identity, originOf, readStamp } from './stamp.ts'

export interface CopyOptions {
  /** Called with the finished share of the work. @default does nothing */
  readonly onProgress?: ((pages: number, share: number) => void) | undefined
}

const BUSY_TIMEOUT_MS = 5_000
/** One MiB between two progress reports. */
const PAGES_PER_STEP = 256

/**
 * Copies a store into a file while gateways keep writing: the file has the content of one moment. It gets its name once it is complete and
 * durable. Returns the moment, in milliseconds since 1970: the backup has every write that was acknowledged before it.
 */
export async function backupStore(path: string, file: string, { onProgress }: CopyOptions = {}) {
  const partial = newPartialFile(file)
  try {
    const { at, version } = await copyDatabase(path, partial, onProgress)
    withDatabase(partial, (db) => {
      // A single file, which can be read even if nothing can be written.
      db.exec('PRAGMA journal_mode = DELETE')
      db.prepare('UPDATE identity SET backup_at = ?').run(at)
    })
    makeLike(partial, path)
    sync(partial)
    const { size: bytes } = statSync(partial)
    renameSync(partial, file)
    sync(dirname(file))
    return { at, version, bytes }
  } finally {
    removeDatabase(partial)
  }
}

/** Copies a database as it is when the copy begins; returns that moment and the database's version. */
export async function copyDatabase(from: string, to: string, onProgress: CopyOptions['onProgress']) {
  const source = openSource(from)
  try {
    const at = Date.now()
    // Otherwise SQLite would start over after each write of another process.
    source.exec('BEGIN')
    const version = storeVersion(source)
    createPrivate(to)
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

/** Opens a database to read it. If SQLite may not write, it opens it for reading only. */
export function openSource(path: string): DatabaseSync {
  // SQLite would not say why it cannot open the file.
  accessSync(path, constants.R_OK)
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

/* Inspection */

/** The most faults of a damaged file that are listed. */
const MOST_FAULTS = 10

/** Returns the faults that SQLite finds in a database's content. */
export function faultsIn(db: DatabaseSync): readonly string[] {
  try {
    const rows = db.prepare(`PRAGMA integrity_check(${MOST_FAULTS})`).all()
    return rows.map((row) => String(row['integrity_check'])).filter((text) => text !== 'ok')
  } catch (error) {
    if (!isDamage(error)) throw error
    return [messageOf(error)]
  }
}

/** Inspects a store or a backup at one moment. Nothing is written, and gateways keep running. */
export function inspectSqlite(path: string): Inspection {
  const db = openSource(path)
  try {
    const session = createSession(db)
    db.exec('BEGIN')
    const version = storeVersion(db)
    const faults = faultsIn(db)
    const found = session.run(identity())
    const doubt = session.run(doubtReads.doubt())
    return {
      version,
      programVersion: VERSION,
      faults,
      id: found.id,
      origin: originOf(found, readStamp(path)),
      doubt,
      // A damaged file's content cannot be counted.
      ...(faults.length > 0 ? { rows: {}, claims: {} } : session.run(contentOf(TABLES))),
    }
  } finally {
    db.close()
  }
}

const TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"

/* Files */

/** Files that SQLite keeps beside a database. */
export const BESIDE = ['-journal', '-wal', '-shm']
const PARTIAL = '.partial-'

/**
 * Returns a name for an incomplete file, next to the file that it becomes. The name contains the process that writes it. Files left behind
 * by processes that have ended are removed.
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

/** Removes a database and the files that SQLite keeps beside it. */
export function removeDatabase(path: string): void {
  for (const end of ['', ...BESIDE]) rmSync(path + end, { force: true })
}

/** Makes the content of a file or folder durable. */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

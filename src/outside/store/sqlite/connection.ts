import { randomInt } from 'node:crypto'
import { closeSync, lstatSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../../../language/config/store-address.ts'
import { makeFolder } from '../../../runtime/make-folder.ts'
import { neededAfter, type SchemaStep, STEPS, tooNew } from '../schema.ts'
import { StoreTooNew } from '../store.ts'
import { createSession, inSqlite, type Session } from './session.ts'
import { isBehind, keepStamp } from './stamp.ts'

export { messageOf }

/** The longest time for which another process may hold the write lock before a write fails. */
const BUSY_TIMEOUT_MS = 5_000
/** A reader waits only during recovery after a crash, and blocks the event loop meanwhile. */
const READ_TIMEOUT_MS = 250
/** About the time of a commit. SQLite itself would sleep one millisecond, then two, then five, while others go on. */
const LOCK_POLL_MS = 0.3
const CACHE_KIB = 2_048
const WAL_LIMIT_BYTES = 64 * 1024 * 1024
/** The length of the WAL at which a commit runs a checkpoint; the writing thread runs most of them between two batches. */
export const MAX_WAL_PAGES = 8_000

/** The connection that writes. */
export type Connection = ReturnType<typeof openConnection>

export interface ConnectionOptions {
  readonly path: string
  /** The file that it must be; undefined for any, which is made if it is not there. */
  readonly file: FileIdentity | undefined
  /** The commits that the file must have; undefined for any. */
  readonly commits: number | undefined
  /** The number of pages that fit on the disk; 0 for no limit. */
  readonly room: number
  /** The time of the store. */
  readonly now: number
}

/** Opens the connection that writes, to a database of this program's version. */
export function openConnection({ path, file, commits, room, now }: ConnectionOptions) {
  if (file) checkIdentity(path, file)
  else makeFile(path)
  const db = new DatabaseSync(file ? existingDatabase(path) : path, { timeout: BUSY_TIMEOUT_MS })
  try {
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA temp_store = MEMORY`)
    if (room > 0) db.exec(`PRAGMA max_page_count = ${room}`)
    const session = createSession(db, now)
    migrate(db)
    db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${MAX_WAL_PAGES}`)
    db.exec(`PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES}`)
    keepStamp(session, path)
    // From here on `begin` waits for the lock.
    db.exec('PRAGMA busy_timeout = 0')
    if (commits !== undefined && isBehind(numberOf(db, 'PRAGMA user_version'), commits)) throw outdated(path)
    return connectionOf(db, session, createFileGuard(path))
  } catch (error) {
    db.close()
    throw error
  }
}

/** Codes of paths where no file can be made; a retry cannot help. A full disk is none of them. */
const NO_PLACE = /^(?:EACCES|EEXIST|EISDIR|ELOOP|ENAMETOOLONG|ENOENT|ENOTDIR|EPERM|EROFS)$/

/** Makes the file of a new store, and its folder. */
function makeFile(path: string): void {
  try {
    makeFolder(dirname(path))
    createPrivate(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw NO_PLACE.test(code) ? new NotAStore(messageOf(error)) : error
  }
}

/** Creates an empty file for its owner alone, if there is none. SQLite gives its mode to the files beside it. */
export function createPrivate(path: string): void {
  closeSync(openSync(path, 'a', OWNER_ONLY))
}

/** The files of a store have names and addresses of customers. */
export const OWNER_ONLY = 0o600

function connectionOf(db: DatabaseSync, session: Session, guard: ReturnType<typeof createFileGuard>) {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const count = db.prepare('PRAGMA user_version')
  const commit = db.prepare('COMMIT')
  const changes = db.prepare('SELECT total_changes() AS changes')
  let committed = changes.get()?.['changes']
  return {
    db,
    session,
    guard,
    /** Begins a transaction as soon as other processes release the lock. */
    begin(): void {
      const until = performance.now() + BUSY_TIMEOUT_MS
      for (;;) {
        try {
          begin.run()
          return
        } catch (error) {
          if (!isBusy(error) || performance.now() > until) throw error
        }
        // With jitter: in step with another process, this one could always come second.
        Atomics.wait(sleeper, 0, 0, LOCK_POLL_MS * (0.5 + Math.random()))
      }
    },
    /** Commits, and returns the count of commits; undefined if nothing was written. */
    commit() {
      const changed = changes.get()?.['changes']
      // A claim that is taken already costs no write.
      const commits = changed === committed ? undefined : (Number(count.get()?.['user_version']) + 1) | 0
      if (commits !== undefined) db.exec(`PRAGMA user_version = ${commits}`)
      commit.run()
      committed = changed
      return commits
    },
    /** Closes the connection, which rolls back an open transaction. */
    close: () => db.close(),
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

/** Opens a connection that only reads. */
export function openReader(path: string): { readonly db: DatabaseSync; readonly session: Session } {
  const db = new DatabaseSync(path, { readOnly: true, timeout: READ_TIMEOUT_MS })
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
  return { db, session: createSession(db, Date.now()) }
}

/** Returns the address of a database that is opened only if it exists. */
export function existingDatabase(path: string, mode = 'rw'): URL {
  const url = pathToFileURL(path)
  url.searchParams.set('mode', mode)
  return url
}

/* The schema */

/** `tlod`, in the file's header: tells a store from another program's database. */
const APPLICATION_ID = 0x74_6c_6f_64

/**
 * The part that only a file has. `is_stamped`: the store has had a stamp beside it; `is_older`: it was found to be an old copy;
 * `backup_at`: when this backup was made, 0 in a store. `user_version`, which stands in the header, counts the commits.
 */
const IDENTITY = `CREATE TABLE identity (
    one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, is_stamped INTEGER NOT NULL,
    is_older INTEGER NOT NULL, backup_at INTEGER NOT NULL
  );
  INSERT INTO identity VALUES (1, lower(hex(randomblob(16))), 0, 0, 0);
  CREATE VIEW columns AS SELECT tables.name AS of_table, info.name, info.type = 'TEXT' AS is_text, pk AS key_place, cid AS place
    FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS info
    WHERE tables.type = 'table' AND tables.name <> 'identity';`

const inDialect = ({ sql }: SchemaStep) =>
  inSqlite(sql)
    .replaceAll('NUMBERED', 'INTEGER PRIMARY KEY')
    // Without row ids, an index has the whole primary key; one that begins with a column of it is passed over for the key itself.
    .replace('(tenant, lower(name))', '(lower(name))')

/** The file is not a store; a retry cannot help. */
export class NotAStore extends Error {
  override readonly name = 'NotAStore'
}

/**
 * Migrates a database to this program's schema; safe in several processes at once, and beside gateways of the release before.
 * Its connection has a session.
 */
export function migrate(db: DatabaseSync, steps: readonly SchemaStep[] = STEPS): void {
  // Before any write: the switch to WAL would already change another program's file.
  const found = stepsOf(db, steps.length)
  db.exec('PRAGMA journal_mode = WAL')
  if (found >= steps.length) return
  db.exec('BEGIN IMMEDIATE')
  try {
    // Read again inside the lock: another process may have migrated meanwhile.
    const applied = stepsOf(db, steps.length)
    if (applied === 0) {
      db.exec(`${IDENTITY} PRAGMA application_id = ${APPLICATION_ID}`)
      // A copy of another store has other commits.
      db.exec(`PRAGMA user_version = ${randomInt(2 ** 31)}`)
    }
    for (const step of steps.slice(applied)) db.exec(inDialect(step))
    db.prepare('UPDATE version SET version = ?, applied = ?').run(neededAfter(steps), Math.max(applied, steps.length))
    db.exec('COMMIT')
    // A checkpoint beside a reader may leave out the header, whose last change is too new for it: the file must have one before.
    if (applied === 0) db.exec('PRAGMA wal_checkpoint(PASSIVE)')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/** Rejects a database that is not a store that this program can use; returns the number of steps that it has had. */
export function storeVersion(db: DatabaseSync): number {
  const version = stepsOf(db, STEPS.length)
  if (version === 0) throw new NotAStore('The file is not a store.')
  return version
}

/**
 * Returns the number of steps that a database has had: more than this program knows if a newer one has only added to it. Rejects
 * a file of another program, and one that needs a newer gateway.
 */
function stepsOf(db: DatabaseSync, known: number): number {
  if (numberOf(db, 'SELECT count(*) FROM sqlite_schema') === 0) return 0
  if (numberOf(db, 'PRAGMA application_id') !== APPLICATION_ID) {
    throw new NotAStore('The file of STORE_URL is a database of another program.')
  }
  if (numberOf(db, `SELECT count(*) FROM sqlite_schema WHERE name = 'version'`) === 0) return 0
  const needed = numberOf(db, 'SELECT version FROM version')
  if (needed > known) throw new StoreTooNew(tooNew(needed, known))
  return numberOf(db, 'SELECT applied FROM version')
}

function numberOf(db: DatabaseSync, sql: string): number {
  return Number(Object.values(db.prepare(sql).get() ?? {})[0])
}

/* The files */

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
export interface FileIdentity {
  readonly dev: number
  readonly ino: number
}

/** The farthest that other processes can come between two looks. */
const MOST_COMMITS = 10_000_000

/**
 * Creates the guard of a connection. It looks at names and times, which costs microseconds. SQLite changes the database file in
 * checkpoints only: after a change, the file must have the commits that it had before, or a few more.
 */
function createFileGuard(path: string) {
  const [walPath, indexPath] = [`${path}-wal`, `${path}-shm`]
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) throw linked(path)
  const [main, wal, index] = [path, walPath, indexPath].map(identityOf)
  if (!main || !wal || !index) throw gone(path)
  const descriptor = openOnce(path, main)
  let last = { ...statSync(path), commits: commitsIn(descriptor) }
  return {
    identity: main,
    /** Throws `FilesLost` if a restart might not find what was committed. */
    check(): void {
      // A link that has taken its name is another file, although it may lead here: a restart finds no log beside its target.
      const found = lstatSync(path, { throwIfNoEntry: false })
      if (!found) throw gone(path)
      if (!isSameFile(found, main)) throw replaced(path)
      if (!isAt(walPath, wal)) throw logGone(walPath)
      if (!isAt(indexPath, index)) throw logGone(indexPath)
      if (found.mtimeMs === last.mtimeMs && found.ctimeMs === last.ctimeMs && found.size === last.size) return
      const commits = commitsIn(descriptor)
      const isChanged =
        commits === undefined ? last.commits !== undefined : aheadOf(commits, last.commits ?? commits) >= MOST_COMMITS
      if (isChanged) throw changed(path)
      last = { ...found, commits }
    },
  }
}

/** The files that this thread has open: descriptors by identity. */
const opened = new Map<string, number>()

/**
 * Opens each file once and leaves it open: closing one that SQLite has open in this process would release SQLite's locks
 * (https://www.sqlite.org/howtocorrupt.html, 2.2).
 */
function openOnce(path: string, { dev, ino }: FileIdentity): number {
  const key = `${dev} ${ino}`
  const descriptor = opened.get(key) ?? openSync(path, 'r')
  opened.set(key, descriptor)
  return descriptor
}

/** The header of a database file (https://www.sqlite.org/fileformat2.html#the_database_header). */
const HEADER = { BYTES: 100, USER_VERSION: 60, APPLICATION_ID: 68 }

/** Reads the commits in a database file, without its WAL; undefined if it is no store, or has had no checkpoint. */
function commitsIn(descriptor: number): number | undefined {
  const header = Buffer.alloc(HEADER.BYTES)
  readSync(descriptor, header, 0, HEADER.BYTES, 0)
  return header.readInt32BE(HEADER.APPLICATION_ID) === APPLICATION_ID
    ? header.readInt32BE(HEADER.USER_VERSION)
    : undefined
}

/** Returns how far one count of commits is ahead of another: 32 bits that start over. */
const aheadOf = (one: number, other: number): number => (one - other) >>> 0

/** Throws `FilesLost` unless a path leads to this file, or to any where no file is known yet. */
function checkIdentity(path: string, expected: FileIdentity): void {
  const found = identityOf(path)
  if (!found) throw gone(path)
  if (!isSameFile(found, expected)) throw replaced(path)
}

const RESTORE = 'Stop the gateway, restore a backup without its -wal and -shm files, and start it again.'
const spoiled = (what: string) => new FilesLost('spoiled', `${what}. ${RESTORE}`)
const moved = (what: string) => new FilesLost('moved', what)

/** Returns the error of a file whose content SQLite cannot read. */
export const damaged = (path: string, reason: string) => spoiled(`${path} is damaged (${reason})`)
const outdated = (path: string) => spoiled(`${path} lacks what was written to it`)
const changed = (path: string) => spoiled(`${path} was changed by something else than the gateway`)
const gone = (path: string) =>
  moved(`${path} is gone. Put this very file back, or stop the gateway and restore a backup (transload store restore).`)
const replaced = (path: string) =>
  moved(`${path} was replaced by another file. Restart the gateway if that is the right one.`)
const linked = (path: string) => moved(`${path} is a symbolic link. Set STORE_URL to the file that it leads to.`)
const logGone = (path: string) =>
  moved(`${path} is gone or was replaced. Restart the gateway; nothing that it has is lost.`)

/** Returns the identity of the file at a path; undefined if there is none. */
export function identityOf(path: string): FileIdentity | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && { dev: stats.dev, ino: stats.ino }
}

function isAt(path: string, identity: FileIdentity): boolean {
  const found = identityOf(path)
  return found !== undefined && isSameFile(found, identity)
}

export const isSameFile = (one: FileIdentity, other: FileIdentity): boolean =>
  one.ino === other.ino && one.dev === other.dev

/* Errors */

/** Result codes of SQLite (https://www.sqlite.org/rescode.html). */
const SQLITE = { BUSY: 5, CORRUPT: 11, CANTOPEN: 14, TOOBIG: 18, CONSTRAINT: 19, MISMATCH: 20, RANGE: 25, NOTADB: 26 }

/** Reports whether another process holds the lock. */
export const isBusy = (error: unknown): boolean => codeOf(error) === SQLITE.BUSY

/** Reports whether SQLite has met content that it did not write. */
export const isDamage = (error: unknown): boolean => codeOf(error) === SQLITE.CORRUPT || isNoDatabase(error)

/** Reports whether the file is not a database. */
export const isNoDatabase = (error: unknown): boolean => codeOf(error) === SQLITE.NOTADB

/** Reports whether SQLite cannot open the path, such as that of a folder. */
export const isNoFile = (error: unknown): boolean => codeOf(error) === SQLITE.CANTOPEN

/** Tells a failure of the database from an invalid write, which SQLite blames on the values. */
export function isStoreFailure(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && ![SQLITE.TOOBIG, SQLITE.CONSTRAINT, SQLITE.MISMATCH, SQLITE.RANGE].includes(code)
}

/** Returns the primary result code of an error of SQLite, the low byte of its code. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
}

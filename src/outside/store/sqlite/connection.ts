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

/** How long another process may hold the write lock before a write fails. */
const BUSY_TIMEOUT_MS = 5_000
/** A reader waits only during recovery after a crash, and blocks the event loop meanwhile. */
const READ_TIMEOUT_MS = 250
/** About the time of a commit. SQLite itself would sleep one millisecond, then two, then five, while others proceed. */
const LOCK_POLL_MS = 0.3
const CACHE_KIB = 2_048
const WAL_LIMIT_BYTES = 64 * 1024 * 1024
/** The WAL length at which a commit runs a checkpoint; the writer thread runs most checkpoints between two batches. */
export const MAX_WAL_PAGES = 8_000

/** The writing connection. */
export type Connection = ReturnType<typeof openConnection>

interface ConnectionOptions {
  readonly path: string
  /** The file that the path must lead to; undefined for any file, which is made if it does not exist. */
  readonly file: FileIdentity | undefined
  /** The least count of commits that the file must have; undefined for any. */
  readonly commits: number | undefined
  /** The store's time. */
  readonly now: number
}

/** Opens the writing connection to a database of this program's version. */
export function openConnection({ path, file, commits, now }: ConnectionOptions) {
  if (file) checkIdentity(path, file)
  else makeFile(path)
  const db = new DatabaseSync(file ? existingDatabase(path) : path, { timeout: BUSY_TIMEOUT_MS })
  try {
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA temp_store = MEMORY`)
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

/** Error codes of paths where no file can be made and a retry cannot help. A full disk is not one of them. */
const NO_PLACE = /^(?:EACCES|EEXIST|EISDIR|ELOOP|ENAMETOOLONG|ENOENT|ENOTDIR|EPERM|EROFS)$/

/** Makes a new store's file and folder. */
function makeFile(path: string): void {
  try {
    makeFolder(dirname(path))
    createPrivate(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw NO_PLACE.test(code) ? new NotAStore(messageOf(error)) : error
  }
}

/** Creates an empty file that only its owner can read, if there is none. SQLite gives its mode to the files beside it. */
export function createPrivate(path: string): void {
  closeSync(openSync(path, 'a', OWNER_ONLY))
}

/** A store's files contain customers' names and addresses. */
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
        // With jitter: in step with another process, this one could always lose.
        Atomics.wait(sleeper, 0, 0, LOCK_POLL_MS * (0.5 + Math.random()))
      }
    },
    /** Commits, and returns the count of commits; undefined if nothing was written. */
    commit() {
      const changed = changes.get()?.['changes']
      // A claim that is already taken costs no write.
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
  return { db, session: createSession(db) }
}

/** Returns the address of a database that is opened only if it exists. */
export function existingDatabase(path: string): URL {
  const url = pathToFileURL(path)
  url.searchParams.set('mode', 'rw')
  return url
}

/* The schema */

/** `tlod`, in the file's header, distinguishes a store from another program's database. */
const APPLICATION_ID = 0x74_6c_6f_64

/**
 * The part that only a file has. `is_stamped`: the store has had a stamp beside it; `is_older`: it was found to be an old copy;
 * `backup_at`: when this backup was made, 0 in a store. `user_version` in the header counts the commits.
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
    // Without row ids, an index contains the whole primary key. SQLite would skip an index that begins with one of its columns and use the
    // key itself.
    .replace('(tenant, lower(name))', '(lower(name))')

/** Thrown if the file is not a store; a retry cannot help. */
export class NotAStore extends Error {
  override readonly name = 'NotAStore'
}

/**
 * Migrates a database to this program's schema. This is safe in several processes at once, and beside gateways of the previous release. The
 * database's connection has a session.
 */
export function migrate(db: DatabaseSync, steps: readonly SchemaStep[] = STEPS): void {
  // Read before any write, because even the switch to WAL would change another program's file.
  const found = stepsOf(db, steps.length)
  db.exec('PRAGMA journal_mode = WAL')
  if (found >= steps.length) return
  db.exec('BEGIN IMMEDIATE')
  try {
    // Read again inside the lock: another process may have migrated meanwhile.
    const applied = stepsOf(db, steps.length)
    if (applied === 0) {
      db.exec(`${IDENTITY} PRAGMA application_id = ${APPLICATION_ID}`)
      // Random, so that a copy of another store has other commits.
      db.exec(`PRAGMA user_version = ${randomInt(2 ** 31)}`)
    }
    for (const step of steps.slice(applied)) db.exec(inDialect(step))
    db.prepare('UPDATE version SET version = ?, applied = ?').run(neededAfter(steps), Math.max(applied, steps.length))
    db.exec('COMMIT')
    // A checkpoint beside a reader may leave out the header, whose last change is too new for it. The file must have one before that.
    if (applied === 0) db.exec('PRAGMA wal_checkpoint(PASSIVE)')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    if (codeOf(error) !== SQLITE.ERROR) throw error
    throw new NotAStore(`No release made the tables of the store, so it cannot be upgraded: ${messageOf(error)}.`)
  }
}

/** Returns the number of steps that a database has had; rejects one that is not a store that this program can use. */
export function storeVersion(db: DatabaseSync): number {
  const version = stepsOf(db, STEPS.length)
  if (version === 0) throw new NotAStore('The file is not a store.')
  return version
}

/**
 * Returns the number of steps that a database has had; this is more than this program knows if a newer one has only added to it. Rejects
 * another program's file, and one that needs a newer gateway.
 */
function stepsOf(db: DatabaseSync, known: number): number {
  if (numberOf(db, 'SELECT count(*) FROM sqlite_schema') === 0) return 0
  if (numberOf(db, 'PRAGMA application_id') !== APPLICATION_ID) {
    throw new NotAStore("STORE_URL names another program's database.")
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

/** Thrown if the store's files are no longer those that the gateway writes to, or no longer hold what it wrote. */
export class FilesLost extends Error {
  override readonly name = 'FilesLost'
  /** `moved`: the connection's files are whole, but not at their path. `spoiled`: only a restart can help. */
  readonly kind: 'moved' | 'spoiled'

  constructor(kind: 'moved' | 'spoiled', message: string) {
    super(message)
    this.kind = kind
  }
}

/** A file's identity, which another file with the same name does not have. */
export interface FileIdentity {
  readonly dev: number
  readonly ino: number
}

/** The most commits that other processes can make between two checks. */
const MOST_COMMITS = 10_000_000

/**
 * Creates a connection's guard. It looks at names and times, which costs microseconds. SQLite changes the database file only in
 * checkpoints; after a change, the file must have the commits that it had before, or some more.
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
    /** Throws `FilesLost` if a restart might not find committed writes. */
    check(): void {
      // A link that has taken the file's name counts as another file even if it leads here, because a restart finds no log beside its
      // target.
      const found = lstatSync(path, { throwIfNoEntry: false })
      if (!found) throw gone(path)
      if (!isSameIdentity(found, main)) throw replaced(path)
      if (!isAt(walPath, wal)) throw logGone(walPath)
      if (!isAt(indexPath, index)) throw logGone(indexPath)
      if (found.mtimeMs === last.mtimeMs && found.ctimeMs === last.ctimeMs && found.size === last.size) return
      const commits = commitsIn(descriptor)
      const isChanged =
        commits === undefined ? last.commits !== undefined : aheadOf(commits, last.commits ?? commits) >= MOST_COMMITS
      if (isChanged) throw changedByAnother(path)
      last = { ...found, commits }
    },
  }
}

/** The descriptors of the files that this thread has open, by identity. */
const opened = new Map<string, number>()

/**
 * Opens each file once and leaves it open. Closing a file that SQLite has open in this process would release SQLite's locks
 * (https://www.sqlite.org/howtocorrupt.html, 2.2).
 */
function openOnce(path: string, { dev, ino }: FileIdentity): number {
  const key = `${dev} ${ino}`
  const descriptor = opened.get(key) ?? openSync(path, 'r')
  opened.set(key, descriptor)
  return descriptor
}

/** Positions in a database file's header (https://www.sqlite.org/fileformat2.html#the_database_header). */
const HEADER = { BYTES: 100, USER_VERSION: 60, APPLICATION_ID: 68 }

/** Reads the count of commits in a database file, without its WAL; undefined if it is not a store, or has had no checkpoint. */
function commitsIn(descriptor: number): number | undefined {
  const header = Buffer.alloc(HEADER.BYTES)
  readSync(descriptor, header, 0, HEADER.BYTES, 0)
  return header.readInt32BE(HEADER.APPLICATION_ID) === APPLICATION_ID
    ? header.readInt32BE(HEADER.USER_VERSION)
    : undefined
}

/** Returns how far one count of commits is ahead of another: they have 32 bits and wrap around. */
const aheadOf = (one: number, other: number): number => (one - other) >>> 0

/** Throws `FilesLost` unless the path leads to this file. */
function checkIdentity(path: string, expected: FileIdentity): void {
  const found = identityOf(path)
  if (!found) throw gone(path)
  if (!isSameIdentity(found, expected)) throw replaced(path)
}

const RESTORE = 'Stop the gateway, restore a backup without its -wal and -shm files, and start it again.'
const spoiled = (what: string) => new FilesLost('spoiled', `${what}. ${RESTORE}`)
const moved = (what: string) => new FilesLost('moved', what)

/** Returns the error for a file whose content SQLite cannot read. */
export const damaged = (path: string, reason: string) => spoiled(`${path} is damaged (${reason})`)
const outdated = (path: string) => spoiled(`${path} lacks what was written to it`)
const changedByAnother = (path: string) => spoiled(`${path} was changed by something other than the gateway`)
const gone = (path: string) =>
  moved(`${path} is gone. Put the same file back, or stop the gateway and restore a backup (transload store restore).`)
const replaced = (path: string) =>
  moved(`${path} was replaced by another file. Restart the gateway if that is the right one.`)
const linked = (path: string) => moved(`${path} is a symbolic link. Set STORE_URL to the file that it points to.`)
const logGone = (path: string) => moved(`${path} is gone or was replaced. Restart the gateway; no data is lost.`)

/** Returns the identity of the file at a path; undefined if there is none. */
export function identityOf(path: string): FileIdentity | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && { dev: stats.dev, ino: stats.ino }
}

function isAt(path: string, identity: FileIdentity): boolean {
  const found = identityOf(path)
  return found !== undefined && isSameIdentity(found, identity)
}

export const isSameIdentity = (one: FileIdentity, other: FileIdentity): boolean =>
  one.ino === other.ino && one.dev === other.dev

/* Errors */

/** SQLite's result codes (https://www.sqlite.org/rescode.html). */
const SQLITE = {
  /** A statement that fits no table. */
  ERROR: 1,
  BUSY: 5,
  CORRUPT: 11,
  CANTOPEN: 14,
  TOOBIG: 18,
  CONSTRAINT: 19,
  MISMATCH: 20,
  RANGE: 25,
  NOTADB: 26,
}

/** Reports whether another process holds the lock. */
export const isBusy = (error: unknown): boolean => codeOf(error) === SQLITE.BUSY

/** Reports whether SQLite met content that it did not write. */
export const isDamage = (error: unknown): boolean => codeOf(error) === SQLITE.CORRUPT || isNoDatabase(error)

/** Reports whether the file is not a database. */
export const isNoDatabase = (error: unknown): boolean => codeOf(error) === SQLITE.NOTADB

/** Reports whether SQLite cannot open the path, for example because it is a folder. */
export const isNoFile = (error: unknown): boolean => codeOf(error) === SQLITE.CANTOPEN

/** Reports whether the database failed; SQLite blames an invalid write on the values. */
export function isStoreFailure(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && ![SQLITE.TOOBIG, SQLITE.CONSTRAINT, SQLITE.MISMATCH, SQLITE.RANGE].includes(code)
}

/** Returns the primary result code of an SQLite error, the low byte of its code. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
}

import { accessSync, constants, copyFileSync, existsSync, linkSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeFolder } from '../../../runtime/make-folder.ts'
import { makeLike } from '../../../runtime/make-like.ts'
import { copyReads } from '../copy.ts'
import { doubtWrites, type NewDoubt } from '../doubt.ts'
import { isAlive } from '../instance.ts'
import { StoreTooNew } from '../store.ts'
import {
  type CopyOptions,
  copyDatabase,
  faultsIn,
  newPartialFile,
  openSource,
  removeDatabase,
  sync,
  withDatabase,
} from './backup.ts'
import {
  existingDatabase,
  identityOf,
  isBusy,
  isDamage,
  isSameIdentity,
  messageOf,
  migrate,
  NotAStore,
  storeVersion,
} from './connection.ts'
import { createSession } from './session.ts'
import { acceptAs, identity, readStamp } from './stamp.ts'

interface RestoreOptions extends CopyOptions {
  /** The doubt about the restored store; undefined if it lacks nothing. */
  readonly doubt: NewDoubt | undefined
  /**
   * True to replace a store that cannot be read, even though a gateway may be using it.
   * @default false
   */
  readonly isUnreadableReplaced?: boolean | undefined
}

/** Thrown if the file's content is damaged. */
export class BackupDamaged extends Error {
  override readonly name = 'BackupDamaged'
}

/** Returns when a backup was made, in milliseconds since 1970; undefined if it does not say. Rejects a file that is not a store. */
export function backupTime(file: string): number | undefined {
  const db = openSource(file)
  try {
    storeVersion(db)
    return createSession(db).run(identity()).backupAt || undefined
  } finally {
    db.close()
  }
}

/**
 * Replaces a store that no process uses with a backup, and keeps the old one under another name, which is returned. The replacement is one
 * step: before and after it, there is a whole store.
 */
export async function restoreStore(path: string, file: string, options: RestoreOptions): Promise<string | undefined> {
  makeFolder(dirname(path))
  removeSecondNames(path)
  // Checked again once the copy is made, which can take minutes.
  takeStore(path, options)?.release()
  const partial = newPartialFile(path)
  try {
    await copyDatabase(file, partial, options.onProgress)
    withDatabase(partial, (db) => prepare(db, path, options.doubt))
    // The file must belong to the user that runs the gateway, even if another one restores.
    makeLike(partial, existsSync(path) ? path : file)
    sync(partial)
    const held = takeStore(path, options)
    try {
      return replace(path, partial)
    } finally {
      held?.release()
    }
  } finally {
    removeDatabase(partial)
  }
}

/** Takes the store for this process alone; undefined if there is none, or if it cannot be read and is to be replaced anyway. */
function takeStore(path: string, { isUnreadableReplaced }: RestoreOptions) {
  if (!existsSync(path)) return undefined
  try {
    return takeSoleUse(path)
  } catch (error) {
    if (isUnreadableReplaced && error instanceof StoreUnreadable) return undefined
    throw error
  }
}

/** Checks a copy, and makes it the store that belongs here. */
function prepare(db: DatabaseSync, path: string, doubt: NewDoubt | undefined): void {
  const session = createSession(db)
  try {
    migrate(db)
    const [fault] = faultsIn(db)
    if (fault !== undefined) throw new BackupDamaged(fault)
  } catch (error) {
    throw isDamage(error) ? new BackupDamaged(messageOf(error)) : error
  }
  db.exec('BEGIN')
  // These belong to processes that are gone.
  db.exec('DELETE FROM instances; DELETE FROM locks')
  session.run(acceptAs(readStamp(path)))
  if (doubt) session.run(doubtWrites.declareDoubt(doubt))
  db.exec('COMMIT; PRAGMA journal_mode = DELETE')
}

/** The ends of the names of a store's other files. The index of a WAL is made again when it is needed. */
const INDEX = '-shm'
const LOGS = ['-wal', '-journal'] as const

/** Replaces a store, or puts one where there is none; returns the old one's new name. */
function replace(path: string, by: string): string | undefined {
  const kept = keptName(path)
  const logs = LOGS.filter((end) => existsSync(path + end))
  const hadStore = existsSync(path)
  // Only a second name, so that the store stays in place until the last step.
  for (const end of [...(hadStore ? [''] : []), ...logs]) secondName(path + end, kept + end)
  sync(dirname(path))
  // Only a store that cannot be read still has a log. The new store must not meet it.
  for (const end of [...logs, INDEX]) rmSync(path + end, { force: true })
  if (hadStore) renameSync(by, path)
  else placeNew(by, path)
  sync(dirname(path))
  return hadStore || logs.length > 0 ? kept : undefined
}

/** Fails if a gateway has made a new store in the meantime. */
function placeNew(from: string, to: string): void {
  if (hasSecondName(from, to)) rmSync(from)
  else if (existsSync(to)) throw new StoreInUse(`A gateway has just made a new store at ${to}. Stop it first.`)
  else renameSync(from, to)
}

/** Gives a file a second name, or copies it if files cannot have two. */
function secondName(file: string, name: string): void {
  if (hasSecondName(file, name)) return
  const copy = `${name}.copying`
  copyFileSync(file, copy)
  sync(copy)
  renameSync(copy, name)
}

/** Tries to give a file a second name; returns false if its file system does not support that. */
function hasSecondName(file: string, name: string): boolean {
  try {
    linkSync(file, name)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && NO_SECOND_NAMES.has(String(error.code))) return false
    throw error
  }
}

const NO_SECOND_NAMES: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

const KEPT = '.before-restore-'

function keptName(path: string): string {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  for (let count = 1; ; count += 1) {
    const name = `${path}${KEPT}${time}${count === 1 ? '' : `-${count}`}`
    if (!existsSync(name)) return name
  }
}

/** Removes second names of the store that an interrupted restore left behind. */
function removeSecondNames(path: string): void {
  const inPlace = ['', ...LOGS].flatMap((end) => identityOf(path + end) ?? [])
  const beginning = basename(path) + KEPT
  for (const name of readdirSync(dirname(path))) {
    const kept = join(dirname(path), name)
    const found = name.startsWith(beginning) ? identityOf(kept) : undefined
    if (inPlace.some((one) => found && isSameIdentity(one, found))) rmSync(kept)
  }
}

/* Sole use */

/** Thrown if another process uses the store. */
export class StoreInUse extends Error {
  override readonly name = 'StoreInUse'
}

/** Thrown if the store cannot be read, so that it is not known whether a process uses it. */
export class StoreUnreadable extends Error {
  override readonly name = 'StoreUnreadable'
}

/**
 * Takes a store for this process alone; throws `StoreInUse` if a gateway or a command uses it. Every process that has the store open holds
 * an SQLite lock on it, and the locks of dead processes are released. From then on, the whole store is in one file, without a WAL.
 *
 * A gateway that opens the file meanwhile waits. If another file is at its path afterwards, SQLite refuses its first write
 * (SQLITE_READONLY_DBMOVED), and the gateway opens that file.
 */
function takeSoleUse(path: string): { readonly release: () => void } {
  accessSync(path, constants.R_OK)
  // Without a timeout, because a gateway does not go away within seconds.
  const db = new DatabaseSync(existingDatabase(path), { timeout: 0 })
  try {
    checkProgram(db)
    const inUse = users(db)
    if (inUse.length > 0)
      throw new StoreInUse(
        `${path} is in use by ${inUse.join(' and ')}. Stop it first; a killed gateway counts as stopped after ten seconds.`,
      )
    // From here on, every lock that this connection gets is kept.
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
    return { release: () => db.close() }
  } catch (error) {
    db.close()
    if (isBusy(error)) throw new StoreInUse(`${path} is in use by another process. Stop gateways and commands first.`)
    if (isDamage(error) || error instanceof NotAStore) {
      throw new StoreUnreadable(`${path} cannot be read: ${messageOf(error)}`)
    }
    throw error
  }
}

/** Rejects another program's database. A store of a newer version may be replaced, which is how a rollback begins. */
function checkProgram(db: DatabaseSync): void {
  try {
    storeVersion(db)
  } catch (error) {
    if (!(error instanceof StoreTooNew)) throw error
  }
}

/** Returns the gateways that hold a lease. */
function users(db: DatabaseSync): readonly string[] {
  const live = createSession(db).run(copyReads.liveInstances()).filter(isAlive)
  return live.map((instance) => {
    const [host, pid] = instance.split('/')
    return `a gateway (process ${pid} on ${host})`
  })
}

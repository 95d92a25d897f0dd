import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { Origin } from '../doubt.ts'

/** The identity of a store, as its database has it. */
export interface Identity {
  readonly id: string
  /** How many commits have changed links or things. */
  readonly commits: number
  /** True once a stamp was written beside the store. */
  readonly isStamped: boolean
  /** True once the store was found to be an old copy: its commits soon are as many as those of the stamp. */
  readonly isOlder: boolean
  /** When this backup was made, in milliseconds since 1970; 0 in a store. */
  readonly backupAt: number
}

/**
 * A small file beside the database, with the store's id and the commits that it had lately. It moves with its folder, has nothing of
 * the file system in it, and does not go into a copy of the database: the two disagree once another database is in the place.
 */
export type Stamp = Pick<Identity, 'id' | 'commits'>

/** Returns the path of a store's stamp. */
export const stampPath = (path: string): string => `${path}-stamp`

/** Reads the stamp beside a store; undefined if there is none that can be read. */
export function readStamp(path: string): Stamp | undefined {
  try {
    const { id, commits }: Partial<Stamp> = JSON.parse(readFileSync(stampPath(path), 'utf8'))
    return typeof id === 'string' && typeof commits === 'number' ? { id, commits } : undefined
  } catch {
    return undefined
  }
}

/** Returns the identity in a database of this program's version. */
export function identityIn(db: DatabaseSync): Identity {
  const row =
    db.prepare('SELECT id, is_stamped, is_older, backup_at, commits FROM identity, change_counter').get() ?? {}
  return {
    id: String(row['id']),
    commits: Number(row['commits']),
    isStamped: row['is_stamped'] === 1,
    isOlder: row['is_older'] === 1,
    backupAt: Number(row['backup_at']),
  }
}

/** Tells if a database has an identity: those of earlier versions have none. */
export function hasIdentity(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'identity'").get() !== undefined
}

/** Compares a store with the stamp beside it. */
export function originOf({ id, commits, isStamped, isOlder, backupAt }: Identity, stamp: Stamp | undefined): Origin {
  if (backupAt > 0) return { kind: 'backup', at: backupAt }
  if (stamp === undefined) return { kind: isStamped ? 'moved' : 'own' }
  if (stamp.id !== id) return { kind: 'other' }
  return { kind: isOlder || commits < stamp.commits ? 'older' : 'own' }
}

/**
 * Writes the stamp of a store, unless the store is a copy that no operator has accepted. The commits in the stamp are durable: after a
 * crash the database has at least as many.
 */
export function keepStamp(db: DatabaseSync, path: string): void {
  const identity = identityIn(db)
  const stamp = readStamp(path)
  const { id, commits, isStamped, isOlder } = identity
  const { kind } = originOf(identity, stamp)
  if (kind === 'older' && !isOlder) db.exec('UPDATE identity SET is_older = 1')
  if (kind !== 'own') return
  try {
    if (stamp?.commits !== commits) {
      const next = `${stampPath(path)}.${process.pid}`
      writeFileSync(next, `${JSON.stringify({ id, commits } satisfies Stamp)}\n`)
      renameSync(next, stampPath(path))
    }
    if (!isStamped) db.exec('UPDATE identity SET is_stamped = 1')
  } catch {
    // The next time. Until then the store counts as one that was never stamped.
  }
}

/** Makes a database the store of its place: from then on it agrees with the stamp that is there. */
export function acceptAs(db: DatabaseSync, stamp: Stamp | undefined): void {
  const { id, commits } = identityIn(db)
  // More commits than the store that stood there: put back, that one counts as older.
  db.prepare('UPDATE change_counter SET commits = ?').run(Math.max(commits, stamp?.commits ?? 0) + 1)
  db.prepare('UPDATE identity SET id = ?, is_stamped = ?, is_older = 0, backup_at = 0').run(
    stamp?.id ?? id,
    stamp ? 1 : 0,
  )
}

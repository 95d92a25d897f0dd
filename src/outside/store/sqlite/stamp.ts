import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { makeLike } from '../../../runtime/make-like.ts'
import type { StoreOrigin } from '../doubt.ts'
import { sql, type Work } from '../work.ts'
import type { Session } from './session.ts'

/**
 * A small file beside the database with the store's id and its recent count of commits. It moves with its folder, contains nothing about
 * the file system, and is not part of a copy of the database, so the two disagree once another database is in its place.
 */
export interface Stamp {
  readonly id: string
  /** The count of the store's commits. It starts anywhere, and wraps around after 32 bits. */
  readonly commits: number
}

/** A store's identity according to its database. */
interface Identity extends Stamp {
  /** True once a stamp was written beside the store. */
  readonly isStamped: boolean
  /** True once the store was found to be an old copy; its commits will soon be as many as the stamp's. */
  readonly isOlder: boolean
  /** When this backup was made, in milliseconds since 1970; 0 in a store. */
  readonly backupAt: number
}

/** Returns the path of a store's stamp. */
export const stampPath = (path: string): string => `${path}-stamp`

/** Reads the stamp beside a store; undefined if there is none. Throws if it cannot be read, which says nothing about the store. */
export function readStamp(path: string): Stamp | undefined {
  const file = stampPath(path)
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return undefined
  const text = readFileSync(file, 'utf8')
  try {
    const { id, commits }: Partial<Stamp> = JSON.parse(text)
    return typeof id === 'string' && typeof commits === 'number' ? { id, commits } : undefined
  } catch {
    return undefined
  }
}

/** Reads the identity of a store. */
export function* identity(): Work<Identity> {
  const [row] = yield sql(
    'SELECT id, user_version AS commits, is_stamped, is_older, backup_at FROM identity, pragma_user_version',
  )
  return {
    id: String(row?.['id']),
    commits: Number(row?.['commits']),
    isStamped: row?.['is_stamped'] === 1,
    isOlder: row?.['is_older'] === 1,
    backupAt: Number(row?.['backup_at']),
  }
}

/** Compares a store with the stamp beside it. */
export function originOf(
  { id, commits, isStamped, isOlder, backupAt }: Identity,
  stamp: Stamp | undefined,
): StoreOrigin {
  if (backupAt > 0) return { kind: 'backup', at: backupAt }
  if (stamp === undefined) return { kind: isStamped ? 'moved' : 'own' }
  if (stamp.id !== id) return { kind: 'other' }
  return { kind: isOlder || isBehind(commits, stamp.commits) ? 'older' : 'own' }
}

/** Reports whether one count of commits is behind another. */
export const isBehind = (one: number, other: number): boolean => ((one - other) | 0) < 0

/**
 * Writes a store's stamp, unless the store is a copy that no operator has accepted. The commits in the stamp are durable: after a crash,
 * the database has at least as many.
 */
export function keepStamp(session: Session, path: string): void {
  const found = session.run(identity())
  const { id, commits, isStamped, isOlder } = found
  let stamp: Stamp | undefined
  try {
    stamp = readStamp(path)
  } catch {
    // Retried next time.
    return
  }
  const { kind } = originOf(found, stamp)
  if (kind === 'older' && !isOlder) session.run(set('is_older = 1'))
  if (kind !== 'own') return
  const next = `${stampPath(path)}.${process.pid}`
  try {
    if (stamp?.commits !== commits) {
      writeFileSync(next, `${JSON.stringify({ id, commits } satisfies Stamp)}\n`, { mode: 0o600 })
      // A command of root must not take the stamp from the gateway's user.
      makeLike(next, path)
      renameSync(next, stampPath(path))
    }
    if (!isStamped) session.run(set('is_stamped = 1'))
  } catch {
    // Retried next time. Until then, the store counts as one that was never stamped.
    removeIfPossible(next)
  }
}

function removeIfPossible(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {
    // The store works without a stamp.
  }
}

function* set(columns: string): Work<void> {
  yield sql(`UPDATE identity SET ${columns}`)
}

/** Makes a database the store that belongs here: from then on, it agrees with the existing stamp. */
export function* acceptAs(stamp: Stamp | undefined): Work<void> {
  const { id, commits } = yield* identity()
  // More commits than the store that was here before, so that that one counts as older if it is put back.
  const most = stamp && isBehind(commits, stamp.commits) ? stamp.commits : commits
  yield sql(`PRAGMA user_version = ${(most + 1) | 0}`)
  yield sql('UPDATE identity SET id = $1, is_stamped = $2, is_older = 0, backup_at = 0', stamp?.id ?? id, stamp ? 1 : 0)
}

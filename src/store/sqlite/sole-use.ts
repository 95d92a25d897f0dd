import { DatabaseSync } from 'node:sqlite'
import { isAlive } from '../instance.ts'
import { StoreTooNew } from '../store.ts'
import { existingDatabase } from './checkpoints.ts'
import { isBusy, isDamage, messageOf } from './errors.ts'
import { NotAStore, storeVersion } from './schema.ts'

/** Another process uses the store. */
export class StoreInUse extends Error {
  override readonly name = 'StoreInUse'
}

/** The store cannot be read, and so it is not known if a process uses it. */
export class StoreUnreadable extends Error {
  override readonly name = 'StoreUnreadable'
}

/** A lease that is younger may be that of a gateway that runs on another machine or in another container. */
const LEASE_MS = 10_000

/**
 * Takes a store for this process alone; throws `StoreInUse` if a gateway or a command uses it. Every process that has the store open has
 * a lock of SQLite on it, and no lock of one that has died stays. All of the store is then in one file, without a WAL.
 *
 * A gateway that opens the file meanwhile waits. If another file is at its path afterwards, SQLite refuses its first write
 * (SQLITE_READONLY_DBMOVED), and it opens that one.
 */
export function takeSoleUse(path: string): { readonly release: () => void } {
  // Without a timeout: a gateway does not go away in seconds.
  const db = new DatabaseSync(existingDatabase(path), { timeout: 0 })
  try {
    checkProgram(db)
    const inUse = users(db)
    if (inUse.length > 0)
      throw new StoreInUse(
        `${path} is in use by ${inUse.join(' and ')}. Stop it first; one that was killed is gone after ten seconds.`,
      )
    // From here on each lock that this connection gets is kept.
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

/** Rejects a database of another program. A store of a newer version may be replaced: that is how a rollback begins. */
function checkProgram(db: DatabaseSync): void {
  try {
    storeVersion(db)
  } catch (error) {
    if (!(error instanceof StoreTooNew)) throw error
  }
}

/** Returns the gateways that hold a lease. */
function users(db: DatabaseSync): readonly string[] {
  const nowMs = Number(process.hrtime.bigint() / 1_000_000n)
  return db
    .prepare('SELECT instance FROM instances WHERE beat_ms > ? AND beat_ms <= ?')
    .all(nowMs - LEASE_MS, nowMs)
    .map((row) => String(row['instance']))
    .filter(isAlive)
    .map((instance) => {
      const [host, pid] = instance.split('/')
      return `a gateway (process ${pid} on ${host})`
    })
}

import { setTimeout as delay } from 'node:timers/promises'
import { thingKey } from '../../language/text/service-text.ts'
import { createKeyedMutex } from '../../runtime/collections.ts'
import { currentMoment, elapsedSince, type Moment, oneAtATime } from '../../runtime/time.ts'
import { isAlive } from './instance.ts'
import { LockTimeout } from './store.ts'
import { sql, type VerbsOf, type Work } from './work.ts'

/** The lock under which the updates of a shipment run one at a time. */
export const updateLock = (tenant: string, shipment: string): string => `update ${tenant}\n${thingKey(shipment)}`

/** How long a lock lasts without a renewal. */
export const LOCK_LEASE_MS = 10_000
const RENEW_EVERY_MS = LOCK_LEASE_MS / 4
/** How long a lock counts as held without another look at the store. */
const HELD_FOR_MS = LOCK_LEASE_MS / 2
/** The average pause between two tries for a lock that another process holds. */
const POLL_MS = 40

export const lockReads = {
  /** Reports whether work with this key is under way, or was in a process that has died since. */
  *isLocked(key: string): Work<boolean> {
    const leftMs = 'until_ms - transload.lease_ms()'
    const text = `SELECT 1 AS one FROM transload.locks WHERE key = $1 AND ${leftMs} > 0 AND ${leftMs} <= $2`
    return (yield sql(text, key, 2 * LOCK_LEASE_MS)).length > 0
  },
}

/** Each is atomic across all processes that share the store. */
export const lockWrites = {
  /** Takes or renews a lock for this long; returns false if another holder has it. */
  *takeLock(key: string, holder: string, leaseMs: number): Work<boolean> {
    // A lock that would last longer than its lease was taken before the machine's last start. Times are those of the comparison, not of the
    // row to insert: another process may take or renew the lock while this statement waits for it.
    const take = sql(
      `INSERT INTO transload.locks AS lock (key, holder, until_ms) VALUES ($1, $2, transload.lease_ms() + $3::bigint)
        ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
        WHERE lock.holder = excluded.holder OR lock.until_ms <= transload.lease_ms()
          OR lock.until_ms > transload.lease_ms() + 2 * $3::bigint RETURNING 1`,
      key,
      holder,
      leaseMs,
    )
    if ((yield take).length > 0) return true
    const [lock] = yield sql('SELECT holder FROM transload.locks WHERE key = $1', key)
    if (!lock || isAlive(String(lock['holder']))) return false
    yield* lockWrites.dropLock(key, String(lock['holder']))
    return (yield take).length > 0
  },
  *dropLock(key: string, holder: string): Work<void> {
    yield sql('DELETE FROM transload.locks WHERE key = $1 AND holder = $2', key, holder)
  },
}

/**
 * Creates a store's locks. Work within one process queues in memory and takes at most one lock per key. The lock is a row with a lease,
 * which needs no connection while the work runs.
 */
export function createLocks({ takeLock, dropLock }: VerbsOf<typeof lockWrites>, holder: string) {
  const mutex = createKeyedMutex()

  async function acquire(key: string, isLate: () => boolean) {
    while (!isLate()) {
      const asked = currentMoment()
      if (await takeLock(key, holder, LOCK_LEASE_MS)) return hold(key, asked)
      // With jitter: in step with another process, this one could always lose.
      await delay(POLL_MS * (0.5 + Math.random()))
    }
    return undefined
  }

  function hold(key: string, takenAt: Moment) {
    let confirmedAt = takenAt
    let isLost = false
    const renewals = oneAtATime(async () => {
      const asked = currentMoment()
      try {
        if (await takeLock(key, holder, LOCK_LEASE_MS)) confirmedAt = asked
        else isLost = true
      } catch {
        // `isHeld` becomes false in time.
      }
    })
    const timer = setInterval(renewals.run, RENEW_EVERY_MS)
    return {
      isHeld: () => !isLost && elapsedSince(confirmedAt) <= HELD_FOR_MS,
      async release() {
        clearInterval(timer)
        // A renewal after the release would take the lock again. If none is under way, the lock is dropped at once, because a command may
        // close the store right after its work.
        const renewal = renewals.current()
        if (renewal) await renewal
        // A lock that cannot be released ends with its lease.
        await dropLock(key, holder).catch(() => undefined)
      },
    }
  }

  return {
    /**
     * Runs work while no other work with the same key runs, in this process or any other. Rejects with `LockTimeout` if the lock is not
     * free within `waitMs`. A dead process's lock is free again after its lease. Work calls `isHeld` right before an effect: false means
     * that another process may have the lock by now.
     */
    exclusive<T>(key: string, waitMs: number, work: (isHeld: () => boolean) => Promise<T>): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        reject(new LockTimeout(`Other work on ${key} did not end within ${Math.round(waitMs)} ms.`))
      }, waitMs)
      void mutex(key, async () => {
        try {
          const lock = await acquire(key, () => isLate)
          clearTimeout(timer)
          if (!lock) return
          try {
            if (!isLate) resolve(await work(lock.isHeld))
          } finally {
            await lock.release()
          }
        } catch (error) {
          clearTimeout(timer)
          reject(error)
        }
      })
      return promise
    },
  }
}

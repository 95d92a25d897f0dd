import { setTimeout as delay } from 'node:timers/promises'
import { thingKey } from '../../language/text/service-text.ts'
import { createKeyedMutex } from '../../runtime/collections.ts'
import { currentMoment, elapsedSince, type Moment, oneAtATime } from '../../runtime/time.ts'
import { type Locks, LockTimeout } from './store.ts'

/** The lock under which the updates of a shipment run one at a time. */
export const updateLock = (tenant: string, shipment: string): string => `update ${tenant}\n${thingKey(shipment)}`

/** How long a lock lasts without a renewal. */
export const LOCK_LEASE_MS = 10_000
const RENEW_EVERY_MS = LOCK_LEASE_MS / 4
/** How long a lock counts as held without another look at the store. */
const HELD_FOR_MS = LOCK_LEASE_MS / 2
/** The average pause between two tries for a lock that another process holds. */
const POLL_MS = 40

/** An engine's locks; each operation is atomic across all processes that share the store. */
export interface LockRows {
  /** Takes or renews a lock for this long; returns false if another holder has it. */
  takeLock(key: string, holder: string, leaseMs: number): Promise<boolean>
  dropLock(key: string, holder: string): Promise<void>
}

/**
 * Creates a store's locks. Work within one process queues in memory and takes at most one lock per key. The lock is a row with a lease,
 * which needs no connection while the work runs.
 */
export function createLocks({ takeLock, dropLock }: LockRows, holder: string): Pick<Locks, 'exclusive'> {
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
    exclusive(key, waitMs, work) {
      const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof work>>>()
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

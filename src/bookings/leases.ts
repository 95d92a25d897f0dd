import type { Logger } from '../observe/log.ts'
import { currentMoment, elapsedSince, type Moment } from '../store/elapsed.ts'
import { isAlive } from '../store/instance.ts'
import type { Claim, Claims, Store } from '../store/store.ts'

/** This gateway's lease among the gateways of one store. */
export interface Leases {
  readonly instance: string
  /**
   * Resolves when the store has confirmed the lease lately. The returned function tells if claims that are taken from now
   * on are still this gateway's: false once the lease may have lapsed, even if it was renewed afterwards.
   */
  readonly hold: () => Promise<IsHeld>
  /** Ends the lease; claims that are still under way then belong to no gateway. */
  readonly end: () => Promise<void>
}

/** Tells if claims of this gateway are still its own. Costs no look at the store. */
export type IsHeld = () => boolean

/** A gateway without a heartbeat for this long counts as gone. */
const LEASE_MS = 10_000
const HEARTBEAT_EVERY_MS = 2_500
/** A lease that was confirmed longer ago is renewed before a claim relies on it. */
const FRESH_FOR_MS = 3_000
/** Until then, nothing that relies on the lease needs to doubt it: half of it has passed. */
const HELD_FOR_MS = LEASE_MS / 2

export interface LeasesDeps {
  readonly store: Store
  readonly log: Logger
  /** Runs with every renewal, before a claim may rely on it. */
  readonly onRenewed: () => Promise<void>
  /** Runs with every heartbeat. */
  readonly catchUp: () => Promise<void>
  /**
   * Called with a claim that became unknown because its gateway is gone.
   * @default does nothing
   */
  readonly onUnknown?: (claim: Claim) => void
  /** @default 10 seconds */
  readonly silentForMs?: number
}

/** Keeps this gateway's lease, and turns the claims of gateways that are gone into unknown ones. */
export async function keepLeases(
  instance: string,
  { store, log, onRenewed, catchUp, onUnknown, silentForMs = LEASE_MS }: LeasesDeps,
): Promise<Leases> {
  let confirmedAt: Moment | undefined
  /** Counts the times that the lease may have lapsed: another gateway may have taken the claims of a former term. */
  let term = 0
  const renew = async () => {
    const asked = currentMoment()
    if (!(await store.renewLease(instance, HELD_FOR_MS))) term += 1
    await onRenewed()
    confirmedAt = asked
  }
  const age = () => (confirmedAt ? elapsedSince(confirmedAt) : Number.POSITIVE_INFINITY)
  const heartbeat = async () => {
    try {
      await renew()
      for (const claim of await store.orphanClaims(silentForMs, instance)) {
        const { handle, tenant } = claim
        onUnknown?.(claim)
        log.error({ booking: handle, tenant, why: 'its gateway is gone' }, 'the outcome of a booking is not known')
      }
      await catchUp()
    } catch (err) {
      log.warn({ err }, 'the lease could not be renewed')
    }
  }
  await endDeadLeases(store).catch((err: unknown) => log.warn({ err }, 'the leases of earlier runs could not be ended'))
  await heartbeat()
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    // A store that hangs must not find a queue of heartbeats when it is back.
    running ??= heartbeat().finally(() => {
      running = undefined
    })
  }, HEARTBEAT_EVERY_MS)
  return {
    instance,
    hold: async () => {
      if (age() > FRESH_FOR_MS) await renew()
      const heldTerm = term
      return () => term === heldTerm && age() <= HELD_FOR_MS
    },
    end: async () => {
      clearInterval(timer)
      await running
      await store.endLease(instance).catch((err: unknown) => log.warn({ err }, 'the lease could not be ended'))
    },
  }
}

/** On the embedded store every gateway is a process of this machine, and a restart knows at once which are gone. */
async function endDeadLeases(store: Claims & Pick<Store, 'engine'>): Promise<void> {
  if (store.engine !== 'sqlite') return
  const sending = await store.listClaims({ state: 'sending' })
  const gone = new Set(sending.map(({ instance }) => instance).filter((instance) => !isAlive(instance)))
  for (const instance of gone) await store.endLease(instance)
}

import { isAlive } from '../../outside/store/instance.ts'
import type { Claim, Claims, Store } from '../../outside/store/store.ts'
import type { Logger } from '../../runtime/log.ts'
import { currentMoment, elapsedSince, type Moment, oneAtATime } from '../../runtime/time.ts'
import { HELD_FOR_MS, isHeldSince, isStale, LEASE_MS, type Lease, NO_LEASE, renewed } from './protocol.ts'

/** Reports whether claims of this gateway are still its own. Costs no look at the store. */
export type IsHeld = () => boolean

/** This gateway's lease among the gateways of one store. */
export type Leases = ReturnType<typeof createLeases>

const HEARTBEAT_EVERY_MS = 2_500

/** The rooms of a heartbeat. */
interface HeartbeatRooms {
  readonly store: Store
  readonly log: Logger
  /** Runs with every heartbeat. */
  readonly catchUp: () => Promise<void>
  /**
   * Called with a claim that became unknown because its gateway is gone.
   * @default does nothing
   */
  readonly onUnknown?: (claim: Claim) => void
}

/**
 * Keeps this gateway's lease, and turns the claims of gateways that are gone into unknown ones. `onRenewed` runs with every renewal,
 * before a claim may rely on it.
 */
export function createLeases(instance: string, onRenewed: () => Promise<void>, rooms: HeartbeatRooms) {
  const { store, log } = rooms
  const lease = createLease(instance, store, undefined, onRenewed)
  const heartbeats = oneAtATime(createHeartbeat(lease, rooms))
  let timer: NodeJS.Timeout | undefined
  return {
    ...lease,
    /** Ends the leases of earlier runs, takes this one, and renews it from now on. */
    start: async () => {
      await endDeadLeases(rooms)
      await heartbeats.run()
      // A store that hangs must not find a queue of heartbeats when it is back.
      timer = setInterval(heartbeats.run, HEARTBEAT_EVERY_MS)
    },
    /** Ends the lease; claims that are still under way then belong to no gateway. */
    end: async () => {
      clearInterval(timer)
      await heartbeats.current()
      await store.endLease(instance).catch((err: unknown) => log.warn({ err }, 'the lease could not be ended'))
    },
  }
}

/** Makes the work of a heartbeat, which never rejects. */
export function createHeartbeat(
  { instance, renew }: ReturnType<typeof createLease>,
  { store, log, catchUp, onUnknown }: HeartbeatRooms,
): () => Promise<void> {
  return async () => {
    try {
      await renew()
      for (const claim of await store.orphanClaims(LEASE_MS, instance)) {
        const { handle, tenant } = claim
        onUnknown?.(claim)
        log.error({ booking: handle, tenant, why: 'its gateway is gone' }, 'the outcome of a booking is not known')
      }
      await catchUp()
    } catch (err) {
      log.warn({ err }, 'the lease could not be renewed')
    }
  }
}

/**
 * Ends the leases of gateways that are gone, and with them those of their events; never rejects. On the embedded store every gateway
 * is a process of this machine, and a restart knows at once which are.
 */
export async function endDeadLeases(
  { store, log }: { readonly store: Store; readonly log: Logger },
  isRunning: (instance: string) => boolean = isAlive,
): Promise<void> {
  if (store.engine !== 'sqlite') return
  try {
    for (const instance of await store.liveInstances()) if (!isRunning(instance)) await store.endLease(instance)
  } catch (err) {
    log.warn({ err }, 'the leases of earlier runs could not be ended')
  }
}

/** The clock and the memory of a lease. */
interface LeaseState {
  lease: Lease
  readonly now: () => Moment
  readonly elapsedSince: (moment: Moment) => number
}

/** Creates the lease of a gateway, which the store has not confirmed yet. `onRenewed` runs before a claim may rely on a renewal. */
export function createLease(
  instance: string,
  store: Claims,
  state: LeaseState = { lease: NO_LEASE, now: currentMoment, elapsedSince },
  onRenewed: () => Promise<void> = async () => {},
) {
  async function renew(): Promise<void> {
    const asked = state.now()
    const isUnbroken = await store.renewLease(instance, HELD_FOR_MS)
    const next = renewed(state.lease, asked, isUnbroken)
    // A term that is over stays over, even if what follows fails.
    state.lease = { ...state.lease, term: next.term }
    await onRenewed()
    state.lease = { ...state.lease, confirmedAt: next.confirmedAt }
  }
  const age = () => {
    const { confirmedAt } = state.lease
    return confirmedAt ? state.elapsedSince(confirmedAt) : Number.POSITIVE_INFINITY
  }
  return {
    instance,
    renew,
    /**
     * Resolves when the store has confirmed the lease lately. The returned function tells if claims that are taken from now
     * on are still this gateway's: false once the lease may have lapsed, even if it was renewed afterwards.
     */
    hold: async (): Promise<IsHeld> => {
      if (isStale(age())) await renew()
      const { term } = state.lease
      return () => isHeldSince(term, state.lease, age())
    },
  }
}

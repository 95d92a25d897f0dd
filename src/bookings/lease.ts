import { currentMoment, elapsedSince, type Moment } from '../store/elapsed.ts'
import type { Claims } from '../store/store.ts'
import { HELD_FOR_MS, isHeldSince, isStale, type Lease, NO_LEASE, renewed } from './protocol.ts'

/** Tells if claims of this gateway are still its own. Costs no look at the store. */
export type IsHeld = () => boolean

/** The lease of one gateway. */
export interface KeptLease {
  readonly instance: string
  readonly renew: () => Promise<void>
  /**
   * Resolves when the store has confirmed the lease lately. The returned function tells if claims that are taken from now
   * on are still this gateway's: false once the lease may have lapsed, even if it was renewed afterwards.
   */
  readonly hold: () => Promise<IsHeld>
}

/** The clock and the memory of a lease. */
export interface LeaseState {
  lease: Lease
  readonly now: () => Moment
  readonly elapsedSince: (moment: Moment) => number
}

/** Creates the lease of a gateway, which the store has not confirmed yet. `onRenewed` runs before a claim may rely on a renewal. */
export function createLease(
  instance: string,
  store: Pick<Claims, 'renewLease'>,
  state: LeaseState = { lease: NO_LEASE, now: currentMoment, elapsedSince },
  onRenewed: () => Promise<void> = async () => {},
): KeptLease {
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
    hold: async () => {
      if (isStale(age())) await renew()
      const { term } = state.lease
      return () => isHeldSince(term, state.lease, age())
    },
  }
}

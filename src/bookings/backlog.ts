import type { Claim, ClaimChange } from '../store/store.ts'
import type { Unrecorded } from './emergency-log.ts'

/** A change of bookings that the store could not record yet. */
export type LateWork =
  /** The service made a booking. */
  | { readonly kind: 'made'; readonly entry: Unrecorded }
  /** A booking failed. */
  | { readonly kind: 'failed'; readonly claim: Claim; readonly change: ClaimChange }
  /** Nothing is sent for a claim that may or may not be stored. */
  | { readonly kind: 'never-sent'; readonly handle: string }
  /** A shipment is canceled. */
  | { readonly kind: 'canceled'; readonly free: () => Promise<void> }

/** The work that is tried again with every heartbeat, by its key: a claim's handle, or text about a shipment. */
export interface Backlog {
  readonly add: (key: string, work: LateWork) => void
  readonly find: (key: string) => LateWork | undefined
  readonly entries: () => readonly (readonly [key: string, work: LateWork])[]
  /** Removes work that is done, unless there is other work of the key by now. */
  readonly remove: (key: string, work: LateWork) => void
}

/** Creates an empty backlog. */
export function createBacklog(): Backlog {
  const works = new Map<string, LateWork>()
  return {
    add: (key, work) => void works.set(key, work),
    find: (key) => works.get(key),
    entries: () => [...works],
    remove: (key, work) => {
      if (works.get(key) === work) works.delete(key)
    },
  }
}

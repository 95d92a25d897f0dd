import { createHmac, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'

/** Remembers in this process alone which credential made which booking. */
export interface Makers {
  /** Takes note of the credential that made a booking. */
  readonly note: (booking: string, credential: string) => void
  readonly isMaker: (booking: string, credential: string) => boolean
}

const BOOKINGS_KEPT = 10_000

/** Makes the memory of makers. It keeps keyed hashes, and its key is this process's own: elsewhere they are worth nothing. */
export function createMakers(): Makers {
  const key = randomBytes(32)
  const made = new LRUCache<string, string>({ max: BOOKINGS_KEPT })
  const digest = (credential: string) => createHmac('sha256', key).update(credential).digest('base64url')
  return {
    note: (booking, credential) => void made.set(booking, digest(credential)),
    isMaker: (booking, credential) => made.get(booking) === digest(credential),
  }
}

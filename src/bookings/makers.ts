import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { createBoundedCache } from '../collections/bounded-cache.ts'

/** Remembers, in this process only, which credential made which booking. */
export interface Makers {
  /** Stores the credential that made a booking. */
  readonly note: (booking: string, credential: string) => void
  readonly isMaker: (booking: string, credential: string) => boolean
}

const BOOKINGS_KEPT = 10_000

/** Keeps keyed hashes of credentials. The key exists in this process only, so the hashes are useless elsewhere. */
export function createMakers(): Makers {
  const key = createSecretKey(randomBytes(32))
  const made = createBoundedCache<string, string>(BOOKINGS_KEPT)
  const digest = (credential: string) => createHmac('sha256', key).update(credential).digest('base64url')
  return {
    note: (booking, credential) => {
      made.set(booking, digest(credential))
    },
    isMaker: (booking, credential) => made.get(booking) === digest(credential),
  }
}

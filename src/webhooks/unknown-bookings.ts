import type { Claim, Claims } from '../store/store.ts'
import { identityKey } from './identity.ts'

/** The bookings with an unknown outcome of one tenant, by what identifies their shipments. */
export type UnknownBookings = ReadonlyMap<string, readonly Claim[]>

/** Returns the unknown bookings of a tenant, as they were a second ago at most. */
export interface UnknownBookingsReader {
  readonly of: (tenant: string) => Promise<UnknownBookings>
  /** Called when a booking of the tenant became unknown in this process. */
  readonly changed: (tenant: string) => void
}

/** Thousands of events may come while thousands of bookings are unknown: each second has one list of them. */
const FRESH_FOR_MS = 1_000
/** More than the open bookings that a tenant ever has. */
export const ALL = 1_000_000
const TENANTS_KEPT = 1_000

interface Kept {
  readonly at: number
  readonly bookings: Promise<UnknownBookings>
}

/** Makes the reader. */
export function createUnknownBookings(claims: Pick<Claims, 'listClaims'>): UnknownBookingsReader {
  const kept = new Map<string, Kept>()
  return {
    of: (tenant) => {
      const known = kept.get(tenant)
      if (known && performance.now() - known.at < FRESH_FOR_MS) return known.bookings
      if (kept.size >= TENANTS_KEPT) kept.clear()
      const bookings = claims.listClaims({ state: 'unknown', tenant, limit: ALL }).then(byIdentity)
      bookings.catch(() => kept.delete(tenant))
      kept.set(tenant, { at: performance.now(), bookings })
      return bookings
    },
    changed: (tenant) => void kept.delete(tenant),
  }
}

/** A booking without a reference has none at the service, either: its shipment cannot be told. */
function byIdentity(claims: readonly Claim[]): UnknownBookings {
  const grouped = new Map<string, Claim[]>()
  for (const claim of claims) {
    if (claim.reference === '') continue
    const key = identityKey(claim)
    const same = grouped.get(key)
    if (same) same.push(claim)
    else grouped.set(key, [claim])
  }
  return grouped
}

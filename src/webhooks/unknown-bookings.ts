import type { Claim, Claims } from '../store/store.ts'
import { identityKey } from './identity.ts'

/** The bookings with an unknown outcome of one tenant, by what identifies their shipments. */
export type UnknownBookings = ReadonlyMap<string, readonly Claim[]>

/** Reads the unknown bookings of tenants. */
export interface UnknownBookingsReader {
  /** Returns the unknown bookings of a tenant, as they were a second ago at most. */
  readonly of: (tenant: string) => Promise<UnknownBookings>
  /** Returns them as they are now. */
  readonly now: (tenant: string) => Promise<UnknownBookings>
  /** Called when a booking of the tenant became unknown in this process. */
  readonly changed: (tenant: string) => void
}

/** Thousands of reads may go on while thousands of bookings are unknown: they share a list of them. */
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
  const now = (tenant: string): Promise<UnknownBookings> => {
    if (kept.size >= TENANTS_KEPT) kept.clear()
    const bookings = claims.listClaims({ state: 'unknown', tenant, limit: ALL }).then(byIdentity)
    const entry = { at: performance.now(), bookings }
    kept.set(tenant, entry)
    bookings.catch(() => kept.get(tenant) === entry && kept.delete(tenant))
    return bookings
  }
  return {
    now,
    of: (tenant) => {
      const known = kept.get(tenant)
      return known && performance.now() - known.at < FRESH_FOR_MS ? known.bookings : now(tenant)
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

/** Begins the id of the record of an approval; the id of the quote follows. */
export const APPROVAL_OF = 'approval of '
/** Begins the id of the record of the other ids that the reply to an approval named; the id of the quote follows. */
export const IDS_IN_APPROVAL_OF = 'ids in approval of '
/** Begins the id of the record of a settlement's names; the handle of the claim follows. */
export const NAMES_OF = 'names of '

/** Returns the id of the quote whose approval a thing records, or the ids in its reply; undefined for other things. */
export function approvedQuote(id: string): string | undefined {
  const prefix = [APPROVAL_OF, IDS_IN_APPROVAL_OF].find((one) => id.startsWith(one))
  return prefix === undefined ? undefined : id.slice(prefix.length)
}

/** Returns the handle of the claim whose names a thing records; undefined for other things. */
export function namedClaim(id: string): string | undefined {
  return id.startsWith(NAMES_OF) ? id.slice(NAMES_OF.length) : undefined
}

/** The rows of a store that keep a thing. */
export interface Keepers {
  /** Tells if the name or id was used lately. */
  isUsed(name: string): boolean
  /** Tells if a claim that stays has made or may have made this shipment. */
  hasClaim(shipment: string): boolean
  /** Tells if the claim with this handle stays. */
  isClaim(handle: string): boolean
  /** Tells if a thing was written lately. */
  isFresh(id: string): boolean
  /** Tells if the tenant has a claim that is old, and `sending` or `unknown`. */
  hasOldOpenClaim(): boolean
}

/**
 * Tells if an old thing stays. An approval stays as long as its quote, and while an old booking is in doubt, which may be
 * of that quote: without it, the quote could be booked a second time.
 */
export function staysThing(id: string, keepers: Keepers): boolean {
  const { isUsed, hasClaim, isClaim, isFresh, hasOldOpenClaim } = keepers
  if (isUsed(id)) return true
  const handle = namedClaim(id)
  if (handle !== undefined) return isClaim(handle)
  const quote = approvedQuote(id)
  if (quote === undefined) return hasClaim(id)
  return isUsed(quote) || hasClaim(quote) || isFresh(quote) || hasOldOpenClaim()
}

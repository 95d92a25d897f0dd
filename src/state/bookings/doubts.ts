import type { Doubt, StoreOrigin } from '../../outside/store/doubt.ts'
import type { Claim, Claims, NewClaim, Store } from '../../outside/store/store.ts'
import type { Logger } from '../../runtime/log.ts'

/** The record of bookings, with the shipments and the clock of its store. */
export interface ClaimStore extends Claims {
  readonly shipment: Store['shipment']
  readonly now: () => number
}

/** Keeps the doubt about a store, and logs it, and what is known of a copied store, once the store answers. */
export function createKnownDoubt(store: Store, log: Logger) {
  let current: Doubt | undefined
  let isOriginKnown = false
  let isWhole = true
  return {
    /** Asks the store; runs with every renewal of the lease, and rejects if the store fails. */
    async refresh(): Promise<void> {
      isWhole = (await store.copiedFrom()) === undefined
      if (!isOriginKnown) {
        const text = originText(await store.origin())
        isOriginKnown = true
        if (text !== undefined) log.warn({}, text)
      }
      const before = current
      current = await store.doubt()
      if (current?.declaredAt === before?.declaredAt && current?.until === before?.until) return
      if (current) log.warn(doubtView(current), 'bookings that the store does not know are in doubt')
      else log.info('bookings are not in doubt any more')
    },
    /** Returns the doubt that is in force. Costs nothing: no booking relies on a lease that is older than the answer. */
    current: () => current,
    /** False in a store that was copied away, or into which a copy has not ended: it takes no bookings. */
    isWhole: () => isWhole,
  }
}

/** Returns a doubt with its times as text. */
export function doubtView({ since, declaredAt, until }: Doubt) {
  return {
    since: new Date(since).toISOString(),
    declared: new Date(declaredAt).toISOString(),
    ...(until !== 0 && { until: new Date(until).toISOString() }),
  }
}

const REMEDY = 'bookings that were made after the copy can be booked again; see “Restore” in docs/data.md'

/** Says that a store is a copy; undefined for one that is not. */
export function originText(origin: StoreOrigin): string | undefined {
  switch (origin.kind) {
    case 'own':
      return undefined
    case 'backup':
      return `the store is a backup of ${new Date(origin.at).toISOString()} that was put in place without "transload store restore": ${REMEDY}`
    case 'moved':
      return `the store was copied or moved here without its stamp: if it is a copy, ${REMEDY}`
    case 'other':
      return `the store is not the one that stood here, which was replaced or deleted: its bookings can be booked again; see “A changed store” in docs/data.md`
    case 'older':
      return `the store is an old copy of the one that stood here: ${REMEDY}`
    default:
      return origin satisfies never
  }
}

/**
 * Returns a claim that is in doubt where the booking may have been made before the store was restored: the store has no claim of
 * its key, or knows from before only that the key was free. Everything that it has learnt since then is certain.
 */
export async function inDoubt(wanted: NewClaim, doubt: Doubt, claims: ClaimStore): Promise<NewClaim> {
  const { vin, expiresInMs } = wanted
  // A booking without a reference is another one once the time of duplicates has passed.
  if (expiresInMs !== undefined && claims.now() >= doubt.declaredAt + expiresInMs) return wanted
  const known = await claimsBeside(wanted, claims)
  const isCertain = known.some((claim) => claim.vin === vin && claim.changedAt >= doubt.declaredAt)
  return isCertain ? wanted : { ...wanted, doubtSince: doubt.since }
}

/** Returns the claims that a wanted one may meet: those of its reference, or the one of its key. */
async function claimsBeside(
  { tenant, key, reference, isOfReference }: NewClaim,
  claims: Claims,
): Promise<readonly Claim[]> {
  if (isOfReference)
    return (await claims.claimsOfReference(tenant, reference)).filter((claim) => claim.reference === reference)
  const claim = await claims.findClaim(tenant, key)
  return claim ? [claim] : []
}

import { pages } from '../../outside/store/copy.ts'
import type { Claim, ClaimFilter, ClaimState, Claims } from '../../outside/store/store.ts'
import { labelledGauge } from '../../runtime/metrics.ts'

/** Returns a claim without the hash of its body. */
export function publicView({ handle, state, tenant, reference, vin, shipment, createdAt, changedAt, instance }: Claim) {
  return {
    key: handle,
    state,
    tenant,
    reference,
    vin,
    shipment,
    created: new Date(createdAt).toISOString(),
    changed: new Date(changedAt).toISOString(),
    instance,
  }
}

const PENDING_FIRST: readonly ClaimState[] = ['unknown', 'sending', 'booked', 'refused', 'freed']

/** Yields bookings state by state, pending ones first, and page by page, so that a long list holds up nobody. */
export async function* allBookings(store: Claims, filter: ClaimFilter): AsyncGenerator<Claim> {
  for (const state of PENDING_FIRST) {
    const pageAfter = (after: Claim | undefined, limit: number) => store.listClaims({ ...filter, state, after, limit })
    for await (const page of pages(pageAfter)) yield* page
  }
}

/** Makes the gauge of bookings without an outcome; it has no values while the store is down. */
export const pendingBookings = ({ countClaims }: Claims) =>
  labelledGauge('transload_bookings', 'Bookings in progress or with an unknown outcome.', async () => {
    const counts = await countClaims(MOST_COUNTED).catch(() => undefined)
    return counts ? PENDING.map((state) => ({ labels: { state }, value: counts[state] ?? 0 })) : []
  })

const PENDING: readonly ClaimState[] = ['sending', 'unknown']
/** Counting more claims would hold up the event loop. */
export const MOST_COUNTED = 1_000

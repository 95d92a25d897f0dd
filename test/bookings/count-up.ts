import { duplicates, ID, type ServiceShipments } from '../../src/operator/commands/harness.ts'
import { openStore } from '../../src/outside/store/open.ts'
import type { ClaimState } from '../../src/outside/store/store.ts'

/** Compares the answers to callers, by reference, with the service and the store; acknowledged ones have the id of the shipment. */
export async function countUp(
  service: ServiceShipments,
  storeUrl: string,
  {
    acknowledged,
    unknown,
  }: { readonly acknowledged: ReadonlyMap<string, string>; readonly unknown: ReadonlySet<string> },
) {
  const store = await openStore(storeUrl)
  const claims = await store.listClaims({ limit: Number.MAX_SAFE_INTEGER })
  const claimed = new Map(claims.map((claim) => [claim.reference, claim]))
  /** Acknowledged bookings that the service, the store or the record of names does not have. */
  let lost = 0
  for (const [reference, id] of acknowledged) {
    const isNamed = (await store.named(ID, reference)).some((name) => name.id === id)
    const claim = claimed.get(reference)
    if (!service.shipments.has(id) || !isNamed || claim?.state !== 'booked' || claim.shipment !== id) lost += 1
  }
  await store.close()
  const states: Partial<Record<ClaimState, number>> = {}
  for (const { state } of claims) states[state] = (states[state] ?? 0) + 1
  return {
    acknowledged: acknowledged.size,
    unknown: unknown.size,
    shipments: service.shipments.size,
    duplicates: duplicates(service),
    lost,
    states,
  }
}

import type { Claim, Store } from '../store/store.ts'

/**
 * Returns the caller's own number of the quote that a booking refers to, which stands for the booking, too. Undefined if
 * there is none, it is the reference, or another booking of this VIN has it.
 */
export async function quoteNumberOf(
  { tenant, reference, vin }: Claim,
  store: Pick<Store, 'links' | 'thing' | 'claimsOfShipment'>,
): Promise<string | undefined> {
  const quote = (await store.links(tenant, reference)).find(({ kind }) => kind === 'quote')
  const number = quote && (await store.thing(tenant, quote.id))?.own
  if (!number || number === reference) return undefined
  for (const link of await store.links(tenant, number)) {
    if (link.kind !== 'shipment' || link.givenBy !== 'caller' || link.vin !== vin) continue
    const claims = await store.claimsOfShipment(tenant, link.id)
    if (claims.some(({ state }) => state === 'booked')) return undefined
  }
  return number
}

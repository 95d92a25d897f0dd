import type { Bookings } from '../bookings/bookings.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { isSuccess } from '../service/service.ts'
import { uuidSpellings } from '../text/service-text.ts'
import type { Xref } from '../xref/xref.ts'
import { isCanceled, saidOfCancellation, shipmentNamed } from './verify.ts'

/**
 * Returns the names of a shipment that a version-2 call has canceled: its id, or the name in the path. None if the reply
 * denies it. A reply that proves nothing, such as an empty one, is followed by a read.
 */
export async function provenCanceled(
  name: string,
  reply: UpstreamReply | undefined,
  read: () => Promise<UpstreamReply>,
): Promise<readonly string[]> {
  const said = reply && saidOfCancellation(reply, name)
  if (said === false) return []
  if (said !== undefined) return [name, said]
  try {
    const now = await read()
    if (NOT_FOUND.has(now.status)) return [name]
    if (!isSuccess(now.status)) return []
    const { id, body } = shipmentNamed(now, name)
    return isCanceled(body) ? [name, id] : []
  } catch {
    // Without an answer, the shipment may live: a booking that is sent again would be a second one.
    return []
  }
}

const NOT_FOUND = new Set([404, 410])

/** Frees the keys of a shipment that a version-2 call canceled, by its id or by the service's number. */
export async function freeCanceled(
  names: readonly string[],
  tenant: string,
  { bookings, xref }: { readonly bookings: Pick<Bookings, 'freeLater'>; readonly xref: Pick<Xref, 'numbered'> },
): Promise<void> {
  // If the store fails, the id of a number stays unknown. That must not fail the call, because the cancellation succeeded.
  const ids = await Promise.all(names.map((name) => xref.numbered(tenant, name).catch(() => [])))
  const all = names.flatMap(uuidSpellings)
  for (const id of new Set([...all, ...ids.flat()])) await bookings.freeLater(tenant, id)
}

import type { Bookings } from '../bookings/bookings.ts'
import { isSuccess, type UpstreamReply } from '../service/exchange.ts'
import type { Xref } from '../xref/xref.ts'
import { isCanceled, isGone, saidOfCancellation, shipmentNamed } from './verify.ts'

/** Reads a shipment by its id or number. */
type ReadShipment = (name: string) => Promise<UpstreamReply>

/**
 * Frees the keys of the bookings of a shipment that a version-2 call has canceled, by its id or by the service's number. Nothing
 * is freed if the reply denies it. The reply, or a read by that name, proves it for the booking with the very id that it shows; for
 * any other spelling the service is asked. Never rejects, because the cancellation itself succeeded.
 */
export async function freeCanceled(
  name: string,
  reply: UpstreamReply | undefined,
  read: ReadShipment,
  tenant: string,
  { bookings, xref }: { readonly bookings: Pick<Bookings, 'freeLater'>; readonly xref: Pick<Xref, 'numbered'> },
): Promise<void> {
  const said = reply && saidOfCancellation(reply, name)
  if (said === false) return
  // Asked now: while the store fails, the keys are freed later than the call may still ask.
  const shown = said === undefined ? await goneBy(name, read) : said
  // If the store fails, the id of a number stays unknown.
  const numbered = await xref.numbered(tenant, name).catch(() => [])
  const ids = [name, ...numbered, ...(shown === undefined ? [] : [shown])]
  await bookings.freeLater(tenant, ids, async (id) => id === shown || isShownAsGone(id, read))
}

/** Tells if a read shows that a shipment is canceled, or finds nothing. Without an answer, it may live. */
export async function isShownAsGone(id: string, read: ReadShipment): Promise<boolean> {
  try {
    return isGone(await read(id), id)
  } catch {
    return false
  }
}

/** Returns the id of a shipment that a read by its id or number shows as canceled, or the name if nothing is found by it. */
async function goneBy(name: string, read: ReadShipment): Promise<string | undefined> {
  try {
    const reply = await read(name)
    if (!isSuccess(reply.status)) return isGone(reply, name) ? name : undefined
    const { id, body } = shipmentNamed(reply, name)
    return isCanceled(body) ? id : undefined
  } catch {
    return undefined
  }
}

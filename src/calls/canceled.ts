import type { Bookings } from '../bookings/bookings.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { isSuccess } from '../service/service.ts'
import { isUuid } from '../text/service-text.ts'
import type { Xref } from '../xref/xref.ts'
import { isGone, saidOfCancellation, shipmentNamed } from './verify.ts'

/** Reads a shipment by its id or number. */
export type ReadShipment = (name: string) => Promise<UpstreamReply>

/**
 * Frees the keys of the bookings of a shipment that a version-2 call has canceled, by its id or by the service's number. Nothing
 * is freed if the reply denies it; and the reply frees the booking only that has the very id that it shows as canceled. For any
 * other spelling the service is asked. Never rejects, because the cancellation itself succeeded.
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
  const shown = said ?? (isUuid(name) ? undefined : await idOf(name, read))
  // If the store fails, the id of a number stays unknown.
  const numbered = await xref.numbered(tenant, name).catch(() => [])
  const ids = [name, ...numbered, ...(shown === undefined ? [] : [shown])]
  await bookings.freeLater(tenant, ids, async (id) => id === said || isShownAsGone(id, read))
}

/** Tells if a read shows that a shipment is canceled, or finds nothing. Without an answer, it may live. */
export async function isShownAsGone(id: string, read: ReadShipment): Promise<boolean> {
  try {
    return isGone(await read(id), id)
  } catch {
    return false
  }
}

async function idOf(name: string, read: ReadShipment): Promise<string | undefined> {
  try {
    const reply = await read(name)
    return isSuccess(reply.status) ? shipmentNamed(reply, name).id : undefined
  } catch {
    return undefined
  }
}

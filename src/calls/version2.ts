import { isSuccess, type UpstreamReply } from '../outside/service/exchange.ts'
import {
  isCanceled,
  isGone,
  isShownAsGone,
  saidOfCancellation,
  shipmentIfRead,
  shipmentNamed,
} from '../outside/service/proofs.ts'
import { type NotingRooms, noteSeen, seenShipment } from './subject.ts'

/** Reads a shipment by its id or number. */
type ReadShipment = (name: string) => Promise<UpstreamReply>

/** The effect of a version-2 call on a shipment. `id` may be the service's number for it. */
interface Version2Use {
  readonly verb: string
  readonly id: string
}

/**
 * Notes what the reply to a version-2 call proves of bookings: a cancellation of a shipment, or a
 * reply that shows it as gone, frees the key of its booking. Never rejects, because the call itself has its answer.
 */
export async function noteVersion2Reply(
  { verb, id }: Version2Use,
  reply: UpstreamReply,
  read: ReadShipment,
  tenant: string,
  rooms: NotingRooms,
): Promise<void> {
  if (verb === 'cancel' && isSuccess(reply.status)) return freeCanceled(id, reply, read, tenant, rooms)
  if (verb !== 'read' && verb !== 'update') return
  const shown = shipmentIfRead(reply, id)
  if (shown) await noteSeen(tenant, seenShipment(shown), rooms).catch(() => undefined)
  else if (verb === 'read' && isGone(reply, id)) await rooms.bookings.freeLater(tenant, [id], async (own) => own === id)
}

/**
 * Frees the keys of the bookings of a shipment that a version-2 call has canceled, by its id or by the service's number. Nothing
 * is freed if the reply denies it. The reply, or a read by that name, proves it for the booking with the very id that it shows; for
 * any other spelling the service is asked.
 */
async function freeCanceled(
  name: string,
  reply: UpstreamReply,
  read: ReadShipment,
  tenant: string,
  { bookings, names }: NotingRooms,
): Promise<void> {
  const said = saidOfCancellation(reply, name)
  if (said === false) return
  // Asked now: while the store fails, the keys are freed later than the call may still ask.
  const shown = said ?? (await goneBy(name, read))
  // If the store fails, the ids that the service calls so stay unknown.
  const numbered = await names.idsNamed(tenant, name).catch(() => [])
  const ids = [name, ...numbered, ...(shown === undefined ? [] : [shown])]
  await bookings.freeLater(tenant, ids, async (id) => id === shown || isShownAsGone(id, read))
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

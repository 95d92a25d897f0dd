import type { Answer } from '../language/answer.ts'
import { isSuccess } from '../outside/service/exchange.ts'
import { replyToChange } from '../outside/service/failures.ts'
import {
  cancellationOf,
  idAt,
  isCanceled,
  isShownAsGone,
  NOT_FOUND,
  notCanceled,
  shipmentIfRead,
  shipmentWithId,
  showsShipment,
} from '../outside/service/proofs.ts'
import { shipmentRead } from '../outside/service/service.ts'
import { type Plan, plannedCall, refusalOf, requireReference } from './plan.ts'
import {
  goneShipment,
  ignoredSentence,
  namesShownIn,
  numberUnknown,
  type ShipmentSubject,
  seenShipment,
  shipmentNamedBy,
} from './subject.ts'
import type { CallInHand, CallRooms } from './verb.ts'
import { answerOf, withSentence } from './version1-answer.ts'

/** Cancels a shipment, which frees the key of its booking. */
export async function cancel(call: CallInHand, rooms: CallRooms): Promise<Answer> {
  const { request, caller, sending } = call
  const { tenant } = caller
  const reference = requireReference(call)
  const subject = await shipmentNamedBy(reference, call, rooms)
  const plan = plannedCall(call, subject)

  await notePerhapsCanceled(tenant, subject.id, rooms)
  const body = await cancelAndRead(plan, subject, () => numberUnknown('shipment', reference.names), call, rooms)
  rooms.inspect(request.compiled.action.name, body)

  const { id } = subject
  const canceled = { ...(body ? seenShipment({ id, body }) : goneShipment(id)), state: 'canceled' as const }
  // The shipment is canceled, whatever the store can record now.
  await rooms.bookings.later(tenant, `shown ${id}`, () => rooms.names.noteShown(tenant, canceled, namesShownIn(body)))
  const read = (other: string) => rooms.service.send(shipmentRead(other), sending)
  const ids = [id, idAt(body, 'id') ?? id]
  await rooms.bookings.freeLater(tenant, ids, async (own) => own === id || isShownAsGone(own, read))
  return answerOf(plan, body, withSentence(ignoredSentence(subject.meant.ignored)))
}

/**
 * Sends the cancellation, and reads the shipment: it succeeds if the read shows it as canceled or finds nothing. A refusal is a
 * success, too, if the shipment was canceled before.
 */
async function cancelAndRead(
  plan: Plan,
  { id, stored, seen }: ShipmentSubject,
  unknown: () => Error,
  { sending }: CallInHand,
  { service }: CallRooms,
) {
  const reply = await replyToChange(service.send(plan.toService, sending))
  const isDone = isSuccess(reply.status)
  if (!isDone && !DONE_PERHAPS.has(reply.status)) throw refusalOf(plan, reply)
  const said = isDone ? cancellationOf(reply, id) : undefined

  const reading = service.send(shipmentRead(id), sending)
  const now = await (isDone ? replyToChange(reading) : reading)
  if (NOT_FOUND.has(now.status)) {
    // Where it existed, as the store or a reply proves, not found means canceled.
    const existed = stored !== undefined || seen?.body !== undefined || showsShipment(said)
    if (existed) return said
    throw isDone || NOT_FOUND.has(reply.status) ? unknown() : refusalOf(plan, reply)
  }
  if (isDone) {
    if (!isSuccess(now.status)) throw refusalOf(plan, now)
    const { body } = shipmentWithId(now, id)
    if (!isCanceled(body)) throw notCanceled()
    return said ?? body
  }
  const shipment = shipmentIfRead(now, id)
  if (!shipment || !isCanceled(shipment.body)) throw refusalOf(plan, reply)
  return shipment.body
}

/**
 * Notes that a shipment, by its id or the service's number, may be canceled, until a read shows it: before the cancellation is sent,
 * because the gateway may not outlive it. Never rejects.
 */
export async function notePerhapsCanceled(tenant: string, name: string, { names, bookings }: CallRooms): Promise<void> {
  await bookings.later(tenant, `perhaps canceled ${name}`, async () => {
    for (const id of [name, ...(await names.idsNamed(tenant, name))])
      if ((await names.shipment(tenant, id))?.state === 'live')
        await names.write({ shipment: { tenant, id, state: 'perhaps-canceled' } })
  })
}

/** Statuses that may mean that the request is done already. */
export const DONE_PERHAPS: ReadonlySet<number> = new Set([400, 404, 409, 410, 422])

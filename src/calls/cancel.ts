import type { Answer } from '../language/answer.ts'
import { GatewayError } from '../language/errors.ts'
import type { Draft } from '../language/mapping/paths.ts'
import { replyToChange } from '../outside/service/failures.ts'
import {
  cancellationOf,
  idAt,
  isCanceled,
  isShownAsGone,
  notCanceled,
  shipmentIfRead,
  shipmentWithId,
  showsShipment,
} from '../outside/service/proofs.ts'
import { isNotFound, isSuccess } from '../outside/service/reply.ts'
import { shipmentRead } from '../outside/service/service.ts'
import { type Plan, plannedCall, refusalOf, requireReference } from './plan.ts'
import {
  goneShipment,
  ignoredSentence,
  namesShownIn,
  noteInDoubt,
  noteStanding,
  numberUnknown,
  type ShipmentSubject,
  seenShipment,
  shipmentNamedBy,
} from './subject.ts'
import { isNotMade } from './update.ts'
import type { CallInHand, CallRooms } from './verb.ts'
import { answerOf, withSentence } from './version1-answer.ts'

/** Cancels a shipment, which frees the key of its booking. */
export async function cancel(call: CallInHand, rooms: CallRooms): Promise<Answer> {
  const { request, caller, sending } = call
  const { tenant } = caller
  const reference = requireReference(call)
  const subject = await shipmentNamedBy(reference, call, rooms)
  const plan = plannedCall(call, subject)

  const ended = await noteInDoubt(tenant, subject.id, rooms)
  const unknown = () => numberUnknown('shipment', reference.names)
  const done = await cancelAndRead(plan, subject, unknown, call, rooms).catch(async (error: unknown) => {
    await ended(async () => false)
    throw error
  })
  if ('notMade' in done) {
    await ended(async () => true)
    throw done.notMade
  }
  const { body } = done
  rooms.inspect(request.compiled.action.name, body)

  const { id } = subject
  const canceled = { ...(body ? seenShipment({ id, body }) : goneShipment(id)), state: 'canceled' as const }
  // The shipment is canceled even if the store cannot record it now.
  await rooms.bookings.later(tenant, `shown ${id}`, () => rooms.names.noteShown(tenant, canceled, namesShownIn(body)))
  const read = (other: string) => rooms.service.send(shipmentRead(other), sending)
  const ids = [id, idAt(body, 'id') ?? id]
  await rooms.bookings.freeLater(tenant, ids, async (own) => own === id || isShownAsGone(own, read))
  return answerOf(plan, body, withSentence(ignoredSentence(subject.meant.ignored)))
}

/** A canceled shipment as far as it was shown, or the error of a cancellation that was provably not made. */
type Cancellation = { readonly body: Readonly<Draft> | undefined } | { readonly notMade: Error }

/**
 * Sends the cancellation, then reads the shipment. It succeeds if the read shows the shipment as canceled or finds nothing. A refusal
 * succeeds, too, if the shipment was canceled before. After any error that is thrown, the shipment may be canceled.
 */
async function cancelAndRead(
  plan: Plan,
  { id, stored, seen }: ShipmentSubject,
  unknown: () => Error,
  { caller: { tenant }, sending }: CallInHand,
  rooms: CallRooms,
): Promise<Cancellation> {
  const reply = await replyToChange(rooms.service.send(plan.toService, sending)).catch((error: unknown) => {
    if (error instanceof GatewayError && isNotMade(error)) return error
    throw error
  })
  if (reply instanceof Error) return { notMade: reply }
  const isDone = isSuccess(reply.status)
  // An earlier try may have canceled the shipment.
  if (!isDone && !DONE_PERHAPS.has(reply.status)) throw refusalOf(plan, reply)
  const said = isDone ? cancellationOf(reply, id) : undefined

  const reading = rooms.service.send(shipmentRead(id), sending)
  const now = await (isDone ? replyToChange(reading) : reading)
  if (isNotFound(now)) {
    // If the store or a reply proves that the shipment existed, not found means canceled.
    const existed = stored !== undefined || seen?.body !== undefined || showsShipment(said)
    if (existed) return { body: said }
    throw isDone || isNotFound(reply) ? unknown() : refusalOf(plan, reply)
  }
  if (isDone) {
    if (!isSuccess(now.status)) throw refusalOf(plan, now)
    const { body } = shipmentWithId(now, id)
    if (!isCanceled(body)) throw notCanceled()
    return { body: said ?? body }
  }
  const shipment = shipmentIfRead(now, id)
  if (shipment && isCanceled(shipment.body)) return { body: shipment.body }
  if (shipment && (await noteStanding(tenant, { ...shipment, id }, rooms))) return { notMade: refusalOf(plan, reply) }
  throw refusalOf(plan, reply)
}

/** Statuses that may mean that the shipment was canceled already. */
export const DONE_PERHAPS: ReadonlySet<number> = new Set([400, 404, 409, 410, 422])

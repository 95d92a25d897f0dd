import { untranslatable } from '../language/errors.ts'
import type { Draft } from '../language/mapping/paths.ts'
import { isSuccess } from '../outside/service/exchange.ts'
import { NOT_FOUND, shipmentWithId } from '../outside/service/proofs.ts'
import { chooseVehicle } from '../state/names/resolve.ts'
import { answerOf, type Version1Answer } from './legacy-answer.ts'
import { planCall } from './plan.ts'
import type { AskingCall, AskingRooms } from './rooms.ts'
import { refusalOf } from './send.ts'
import {
  goneShipment,
  ignoredSentence,
  NO_SUBJECT,
  noteSeen,
  numberUnknown,
  referenceOf,
  type ShipmentSubject,
  seenShipment,
  shipmentNamedBy,
  vinError,
} from './subject.ts'

/** Reads a shipment, and shows the vehicle that the VIN chooses. */
export async function read(call: AskingCall, rooms: AskingRooms): Promise<Version1Answer> {
  const { request, caller } = call
  const reference = referenceOf(request)
  if (!reference) throw untranslatable(planCall(request, NO_SUBJECT, caller.profile.settings).problems)
  const subject = await shipmentNamedBy(reference, call, rooms)
  const plan = planCall(request, subject, caller.profile.settings)
  if (plan.problems.length > 0) throw untranslatable(plan.problems)

  const seen = subject.seen ?? (await readNow(subject, call, rooms))
  if (!seen.body) throw numberUnknown('shipment', reference.names)
  rooms.inspect(request.compiled.action.name, seen.body)

  const choice = chooseVehicle(reference, [{ ...seen, formerVins: subject.stored?.formerVins ?? {}, isGone: false }])
  if ('is' in choice) throw vinError(choice, reference.vin, reference.use)
  const { bearers, ignored } = subject.meant
  const several =
    bearers > 1 && reference.vin === '' ? ` ${bearers} shipments have this number; the newest is shown.` : ''
  return answerOf(plan, vehicleFirst(seen.body, choice.entry), (reply) => ({
    ...reply,
    Message: `${reply['Message'] ?? ''}${several}${ignoredSentence(ignored)}`.trim(),
  }))

  async function readNow({ id, stored }: ShipmentSubject, { sending }: AskingCall, { service }: AskingRooms) {
    const reply = await service.send(plan.toService, sending)
    if (!isSuccess(reply.status) && !NOT_FOUND.has(reply.status)) throw refusalOf(plan, reply)
    const shown = isSuccess(reply.status) ? seenShipment(shipmentWithId(reply, id)) : goneShipment(id)
    await noteSeen(caller.tenant, shown, rooms, { stored })
    return shown
  }
}

/** Returns a shipment whose first vehicle is the one to show. */
function vehicleFirst(body: Readonly<Draft>, entry: number): Readonly<Draft> {
  const { vehicles } = body
  if (entry === 0 || !Array.isArray(vehicles)) return body
  return { ...body, vehicles: [vehicles[entry], ...vehicles.toSpliced(entry, 1)] }
}

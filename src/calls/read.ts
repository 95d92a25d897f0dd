import type { Draft } from '../language/mapping/paths.ts'
import { chooseVehicle } from '../state/names/resolve.ts'
import { plannedCall, requireReference } from './plan.ts'
import { lookFor, numberUnknown, sentenceOnNames, shipmentNamedBy, vinError } from './subject.ts'
import type { AskingCall, AskingRooms } from './verb.ts'
import { answerOf, type Version1Answer, withSentence } from './version1-answer.ts'

/** Reads a shipment, and shows the vehicle that the VIN chooses. */
export async function read(call: AskingCall, rooms: AskingRooms): Promise<Version1Answer> {
  const { request, caller, sending } = call
  const reference = requireReference(call)
  const subject = await shipmentNamedBy(reference, call, rooms)
  const plan = plannedCall(call, subject)

  const { action, nameFields } = request.compiled
  const seen =
    subject.seen ?? (await lookFor(caller.tenant, sending, rooms, nameFields).read(subject.id, subject.stored))
  if (!seen.body) throw numberUnknown('shipment', reference.names)
  rooms.inspect(action.name, seen.body)

  const choice = chooseVehicle(reference, [{ ...seen, stored: subject.stored, isGone: false }])
  if ('is' in choice) throw vinError(choice, reference.vin, reference.use)
  const body = vehicleFirst(seen.body, choice.entry)
  return answerOf(plan, body, withSentence(sentenceOnNames(reference, subject.meant)))
}

/** Returns a shipment with the vehicle to show as its first. */
function vehicleFirst(body: Readonly<Draft>, entry: number): Readonly<Draft> {
  const { vehicles } = body
  if (entry === 0 || !Array.isArray(vehicles)) return body
  return { ...body, vehicles: [vehicles[entry], ...vehicles.toSpliced(entry, 1)] }
}

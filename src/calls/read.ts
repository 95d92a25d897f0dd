import type { Draft } from '../language/mapping/paths.ts'
import { isSameThing } from '../language/text/service-text.ts'
import { isStoredAsGone } from '../outside/store/store.ts'
import { chooseVehicle } from '../state/names/resolve.ts'
import { plannedCall, requireReference } from './plan.ts'
import { lookFor, numberUnknown, type ShipmentSubject, sentenceOnNames, shipmentNamedBy, vinError } from './subject.ts'
import type { AskingCall, AskingRooms } from './verb.ts'
import { answerOf, type Version1Answer, withSentence } from './version1-answer.ts'

/** Reads a shipment, and shows the vehicle that the VIN chooses. */
export async function read(call: AskingCall, rooms: AskingRooms): Promise<Version1Answer> {
  const { request, caller, sending } = call
  const reference = requireReference(call)
  const { action, nameFields } = request.compiled
  const look = lookFor(caller.tenant, sending, rooms, nameFields)
  const shown = async (one: ShipmentSubject) => one.seen ?? look.read(one.id, one.stored)
  let subject = await shipmentNamedBy(reference, call, rooms)
  let plan = plannedCall(call, subject)
  let seen = await shown(subject)
  if (seen.state !== 'live' && !subject.seen && subject.stored && !isStoredAsGone(subject.stored)) {
    // Now that it is gone, its names may mean another one, or a booking in doubt.
    subject = await shipmentNamedBy(reference, call, rooms)
    plan = plannedCall(call, subject)
    if (!isSameThing(subject.id, seen.id)) seen = await shown(subject)
  }
  if (!seen.body) throw numberUnknown('shipment', reference.names)
  rooms.inspect(action.name, seen.body)

  const choice = chooseVehicle(reference, [{ ...seen, stored: subject.stored }])
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

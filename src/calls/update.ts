import { toGatewayError } from '../edge/answers.ts'
import type { Answer } from '../language/answer.ts'
import { asksForNothing, type ErrorCode, type GatewayError, gatewayError, untranslatable } from '../language/errors.ts'
import type { CompiledAction } from '../language/mapping/compile.ts'
import type { Problem } from '../language/mapping/fields.ts'
import type { Changes } from '../language/mapping/overlay.ts'
import type { Draft } from '../language/mapping/paths.ts'
import type { Settings } from '../language/mapping/row.ts'
import { isSameThing, oneLine, thingKey } from '../language/text/service-text.ts'
import { NOT_SENT, refusal, refusesChange, replyToChange } from '../outside/service/failures.ts'
import { changeOf, doubtful, idAt, requireWhole, type Shipment, shipmentWithId } from '../outside/service/proofs.ts'
import { isNotFound, isSuccess, type UpstreamReply } from '../outside/service/reply.ts'
import { type Sending, type Service, shipmentRead } from '../outside/service/service.ts'
import { updateLock } from '../outside/store/locks.ts'
import { type Claim, isStoredAsGone, type StoredShipment } from '../outside/store/store.ts'
import { isOpen } from '../state/bookings/protocol.ts'
import { type Look, type SeenShipment, valuesOf } from '../state/names/names.ts'
import { chooseVehicle, type Reference, SENT_VIN, type VehicleChoice } from '../state/names/resolve.ts'
import {
  ACCEPTED,
  changingFields,
  notUnderstood,
  type Plan,
  type Prospect,
  planCall,
  refused,
  requireReference,
} from './plan.ts'
import { placelessIn } from './read-request.ts'
import {
  goneShipment,
  ignoredSentence,
  lookFor,
  noteInDoubt,
  noteReplied,
  noteSeen,
  notMeant,
  seenShipment,
  shipmentNamedBy,
  unknownWhileUnderWay,
  vinError,
} from './subject.ts'
import type { CallInHand, CallRooms } from './verb.ts'
import { answerOf } from './version1-answer.ts'

/** Changes a shipment: reads it, merges the sent fields into it, and sends it back whole. */
export async function update(call: CallInHand, rooms: CallRooms): Promise<Answer> {
  const { request, caller, sending } = call
  const { tenant, profile } = caller
  const { compiled, textOf, fields } = request
  const reference = requireReference(call)
  const subject = await shipmentNamedBy(reference, call, rooms)
  const { id } = subject
  const plan = planCall(request, subject, profile.settings)
  call.outcome.notes = plan.notes
  // A value that cannot be translated may be the one that the shipment already shows.
  const isFinal = (problem: Problem) => asksForNothing(problem) || textOf(problem.field) === undefined
  if (plan.problems.some(isFinal)) throw untranslatable(plan.problems)

  const choose = async (shipment: Shipment): Promise<VehicleChoice> => {
    const seen = seenShipment(shipment)
    await noteSeen(tenant, seen, rooms, { isFinal: true })
    // If this read shows that a VIN was replaced, it counts as a former one here already.
    const stored = await rooms.names.shipment(tenant, id)
    const choice = chooseVehicle(reference, [{ ...seen, stored }])
    if ('is' in choice) throw vinError(choice, reference.vin, 'update')
    const own = seen.body && idAt(seen.body, 'external_id')
    const error = await vehicleError(reference, choice, seen, own, tenant, rooms)
    if (error) throw error
    return choice
  }
  const verify = async (reply: UpstreamReply) => {
    if (isNotFound(reply)) {
      await noteSeen(tenant, goneShipment(id), rooms)
      // Now that it is gone, its names may mean a booking in doubt.
      throw notMeant((await rooms.names.resolve(reference, tenant)).resolution, reference)
    }
    if (!isSuccess(reply.status)) throw refusal(reply, compiled.nameFields)
    return { ...shipmentWithId(reply, id), id }
  }
  const asked = changingFields(request)
  const merging = {
    id,
    sentTo: () => plan.body,
    textOf,
    problems: plan.problems,
    compiled,
    settings: profile.settings,
    verify,
    choose,
    around: async (send: () => Promise<UpstreamReply>, { places }: Changes, vin: VinUse) => {
      if (!('vehicles' in places)) return send()
      const ended = await noteInDoubt(tenant, id, rooms)
      try {
        return await (vin === 'changed' ? withSentVin(reference.vin, id, tenant, send, rooms) : send())
      } finally {
        await ended(async () => false)
      }
    },
  }
  const merged = await merge(merging, tenant, sending, rooms)
  if (!merged) throw doubtful('it does not show a shipment')
  const { before, after, changes, vin } = merged
  // A former VIN was used to choose the vehicle.
  const unused = changes.unused.filter((field) => asked.includes(field) && !(vin === 'former' && field === 'VinNo'))
  if (changes.fields.length === 0 && unused.length === asked.length) {
    throw untranslatable(unused.map(valueNotUnderstood))
  }
  const shipment = { ...before.body, ...after }
  if (after) await noteReplied(tenant, seenShipment({ id: before.id, body: shipment }), rooms)

  const uncleared = fields.blank.flatMap((slot) => {
    const field = compiled.fields.names[slot] ?? ''
    return changes.shown[field] ? [field] : []
  })
  const placeless = placelessIn(request)
  const shown = placeless.length > 0 ? fieldsOfRead(before, profile.settings, rooms) : {}
  const unchangeable = placeless.filter((field) => textOf(field) !== shown[field]?.trim())
  const unknown = notUnderstood(request)
  const unnamed = new Set(request.fields.unknown).size - unknown.length
  const named = [...unknown, ...unused]
  const more = named.length > 0 ? 'more' : unnamed === 1 ? 'field' : 'fields'
  return answerOf(plan, shipment, (reply) => {
    const parts = [
      changes.fields.length > 0
        ? reply['Message']
        : unused.length + unchangeable.length === 0
          ? ALREADY_SO
          : 'Nothing was changed.',
      sentence('Not understood', [...named, ...(unnamed > 0 ? [`${unnamed} ${more}`] : [])]),
      sentence('An update cannot change', unchangeable),
      sentence('Not cleared, because a blank changes nothing', uncleared),
      sentence('Changed', changes.fields),
      ignoredSentence(subject.meant.ignored),
    ]
    return { ...reply, Message: oneLine(parts.join('')) }
  })
}

/**
 * Sends an update that changes a VIN. The new VIN is noted first: whatever the outcome of the update, no booking may take it for another
 * vehicle's. Only an update that was provably not made takes the note back.
 */
export async function withSentVin(
  vin: string,
  id: string,
  tenant: string,
  send: () => Promise<UpstreamReply>,
  { names, bookings }: CallRooms,
): Promise<UpstreamReply> {
  const note = async (from: string | undefined, to: string | undefined) => {
    const { [vin]: now, ...others } = (await names.shipment(tenant, id))?.formerVins ?? {}
    if (now !== from) return false
    const formerVins = to === undefined ? others : { ...others, [vin]: to }
    await names.write({ shipment: { tenant, id, formerVins } })
    return true
  }
  const isNew = await note(undefined, SENT_VIN)
  return unlessMade(send, async () => {
    if (isNew) await bookings.later(tenant, `VIN ${vin} of ${id}`, async () => void (await note(SENT_VIN, undefined)))
  })
}

/** Sends a change, and takes back what was noted before it if it was provably not made. */
export async function unlessMade(
  send: () => Promise<UpstreamReply>,
  takeBack: () => Promise<unknown>,
): Promise<UpstreamReply> {
  try {
    const reply = await send()
    if (refusesChange(reply.status)) await takeBack()
    return reply
  } catch (error) {
    if (isNotMade(error)) await takeBack()
    throw error
  }
}

const valueNotUnderstood = (field: string): Problem => ({
  field,
  code: 'unknown',
  message: `the value of ${field} is not understood`,
})

/** Returns an update's plan, with problems if none of its fields means anything. */
export function withoutEffect(plan: Plan): Plan {
  const { request, body, problems } = plan
  const isEmpty = request.compiled.action.verb === 'update' && problems.length === 0 && Object.keys(body).length === 0
  return isEmpty ? { ...plan, problems: changingFields(request).map(valueNotUnderstood) } : plan
}

/**
 * Foresees which vehicle an update changes. The live call chooses among the vehicles that its read shows, this among those that were shown
 * last.
 */
export async function foreseeUpdate(
  plan: Plan,
  reference: Reference,
  stored: StoredShipment,
  tenant: string,
  rooms: CallRooms,
): Promise<Prospect> {
  if (stored.vehicles.length === 0) return { plan }
  const refusedBy = (error: GatewayError): Prospect =>
    plan.problems.length > 0 ? { plan } : refused(plan, error, reference.names[0]?.[0])
  const choice = chooseVehicle(reference, [{ id: stored.id, vehicles: stored.vehicles, stored }])
  if ('is' in choice) return refusedBy(vinError(choice, reference.vin, 'update'))
  const { entry, vin } = choice
  const own = (await rooms.store.claimsOfShipment(tenant, stored.id)).at(-1)?.reference
  const error = await vehicleError(reference, choice, stored, own, tenant, rooms)
  if (error) return refusedBy(error)
  const which = `The live call changes vehicle ${entry + 1} of the shipment: vehicles[0] stands for vehicles[${entry}].`
  const mayBeDoubted = own === undefined && (reference.changesVehicle || setsVin(choice.vin))
  return {
    plan: vin === 'former' ? { ...plan, body: withoutVin(plan.body) } : plan,
    entry,
    remarks: [...(mayBeDoubted ? [REFERENCE_DECIDES] : []), ...(entry === 0 ? [] : [which])],
  }
}

const REFERENCE_DECIDES =
  "If the shipment's external_id names a booking whose outcome is not known, the live call sends nothing."

export const setsVin = (vin: VinUse) => vin === 'changed' || vin === 'new'

/** Returns the error of an update that changes a vehicle which a booking may have, too. `own` is the shipment's reference. */
async function vehicleError(
  { names: sent, vin, changesVehicle }: Reference,
  choice: VehicleChoice,
  { id, vehicles }: Pick<SeenShipment, 'id' | 'vehicles'>,
  own: string | undefined,
  tenant: string,
  { store, names, bookings }: CallRooms,
): Promise<GatewayError | undefined> {
  if (setsVin(choice.vin)) {
    const references = (await store.claimsOfShipment(tenant, id)).map((claim) => claim.reference)
    const hasIt = (other: StoredShipment | undefined) =>
      other?.vehicles.some((one) => one.vin === vin) && !isStoredAsGone(other) && !isSameThing(other.id, id)
    for (const reference of new Set([...valuesOf(sent), ...references])) {
      // Another vehicle may have got the VIN after its booking.
      const given = (await names.bearersOf(tenant, reference)).flatMap(({ id: other, shipment }) =>
        hasIt(shipment) ? [thingKey(other)] : [],
      )
      // The booking may be canceled since: this tenant ever sent it. A vehicle without a VIN may be its own.
      const isOfVin = (one: Claim) =>
        (choice.vin === 'changed' && one.vin === vin) || given.includes(thingKey(one.shipment))
      const claim = (await store.claimsOfReference(tenant, reference)).find(isOfVin)
      if (claim) return gatewayError('booking-conflict/vin', { vin, key: claim.handle })
    }
  }
  if (own === undefined || !(setsVin(choice.vin) || (changesVehicle && !(await bookings.isBooked(tenant, id)))))
    return undefined
  // A booking in doubt may have made the shipment. Nothing else tells yet which vehicle it booked, so after the change the same vehicle
  // could be booked again.
  const isOfIt = (vin: string) => vin === '' || vehicles.some((vehicle) => vehicle.vin === '' || vehicle.vin === vin)
  const open = (await store.claimsOfReference(tenant, own)).find((claim) => isOpen(claim) && isOfIt(claim.vin))
  // A booking of this VIN has made it: the vehicle has only lost that.
  if (!open || (await store.claimsOfShipment(tenant, id)).some((claim) => claim.vin === vin)) return undefined
  return open.state === 'sending'
    ? unknownWhileUnderWay(open.handle)
    : gatewayError('outcome-unknown/vehicle', { key: open.handle })
}

/** Returns the fields that a read of a shipment shows. A caller may send them all back. */
function fieldsOfRead(
  { body }: Shipment,
  settings: Settings,
  { catalog }: CallRooms,
): Readonly<Record<string, string>> {
  return catalog.firstOf('read')?.reply(body, { settings, own: undefined }).reply ?? {}
}

const ALREADY_SO = 'The shipment already has these values, so nothing was changed.'

const sentence = (about: string, names: readonly string[]) =>
  names.length === 0 ? '' : ` ${about}: ${names.join(', ')}.`

/** How the sent VIN chose the vehicle. */
export type VinUse = VehicleChoice['vin']

/** Fields to merge into a shipment. */
interface Merging {
  readonly id: string
  /** Returns the translated fields for the given entry of the shipment's vehicles. */
  readonly sentTo: (shipment: Shipment, entry: number) => Draft
  /** Returns a field as it was sent. */
  readonly textOf: (field: string) => string | undefined
  /** The problems of fields that cannot be translated; the shipment may already show these values. */
  readonly problems: readonly Problem[]
  /** The mapping of a shipment's update. */
  readonly compiled: CompiledAction
  readonly settings: Settings
  /** Verifies the read of the shipment; returns undefined if there is none to merge into. */
  readonly verify: (reply: UpstreamReply) => Promise<Shipment | undefined>
  /** Chooses the vehicle. */
  readonly choose: (shipment: Shipment) => Promise<Pick<VehicleChoice, 'entry' | 'vin'>>
  /**
   * Calls `send`, with what must be noted before and after it.
   * @default nothing is noted
   */
  readonly around?: (send: () => Promise<UpstreamReply>, changes: Changes, vin: VinUse) => Promise<UpstreamReply>
  /** Converts an error of the read into the error of the call. */
  readonly readError?: (error: unknown) => unknown
}

/** A shipment with the fields merged into it. */
export interface MergedShipment {
  /** The shipment as it was read. */
  readonly before: Shipment
  /** The shipment after the update, as far as the reply shows it; undefined if nothing had to be sent. */
  readonly after: Readonly<Draft> | undefined
  readonly changes: Changes
  readonly vin: VinUse
}

/** Reads a shipment, merges fields into it, and sends the whole. Merges of one shipment run one at a time. */
export function merge(
  merging: Merging,
  tenant: string,
  sending: Sending,
  rooms: CallRooms,
): Promise<MergedShipment | undefined> {
  const { id } = merging
  return rooms.store.exclusive(updateLock(tenant, id), sending.deadline - performance.now(), (isHeld) =>
    mergeIntoCurrent(
      merging,
      tenant,
      { ...sending, mayWrite: () => isHeld() && sending.mayWrite?.() !== false },
      rooms,
    ),
  )
}

/** Starts again from a fresh read if the shipment changed meanwhile. */
async function mergeIntoCurrent(
  merging: Merging,
  tenant: string,
  sending: Sending,
  rooms: CallRooms,
): Promise<MergedShipment | undefined> {
  const { id, compiled } = merging
  const { service, inspect } = rooms
  for (let tries = 1; ; tries += 1) {
    // Read under the lock: another update may have changed the shipment since it was found.
    const current = await readToMerge(merging, sending, service)
    if (!current) return undefined
    const { shipment, entry, vin, fields, changes, etag } = current
    const problems = merging.problems.filter(({ field }) => !changes.standing.has(field))
    if (problems.length > 0) throw untranslatable(problems)
    if (Object.keys(changes.places).length === 0) return { before: shipment, after: undefined, changes, vin }
    const body = compiled.overlay(shipment.body, changes.places, entry)
    const put = { ...shipmentRead(id), method: 'PUT', body, ifMatch: etag } as const
    const send = () => replyToChange(service.send(put, sending))
    const reply = await (merging.around?.(send, changes, vin) ?? send())
    if (isSuccess(reply.status)) {
      const after = changeOf(reply, 'shipment', shipment.id)
      if (reply.status === ACCEPTED) await requireDone(merging, fields, entry, lookFor(tenant, sending, rooms))
      inspect(compiled.action.name, after ?? shipment.body)
      return { before: shipment, after: { ...body, ...after }, changes, vin }
    }
    if (reply.status !== PRECONDITION_FAILED) throw refusal(reply, compiled.nameFields)
    if (tries === UPDATE_TRIES) throw gatewayError('shipment-changed', {})
  }
}

/** Errors of an update that names no shipment, or no vehicle of it: its values are wrong, too. */
const MISNAMED: ReadonlySet<ErrorCode> = new Set(['number-unknown', 'several-matches'])

async function readToMerge(merging: Merging, sending: Sending, service: Service) {
  const { id, sentTo, problems, compiled, textOf, settings, verify, choose, readError } = merging
  try {
    const reply = await service.send(shipmentRead(id), sending)
    const shipment = await verify(reply)
    if (!shipment) return undefined
    const { entry, vin } = await choose(shipment)
    const sent = sentTo(shipment, entry)
    // A VIN that the vehicle had before only names it and is not written back.
    const fields = vin === 'former' ? withoutVin(sent) : sent
    const changes = compiled.compare(shipment.body, fields, entry, textOf, settings)
    requireWhole(shipment)
    return { shipment, entry, vin, fields, changes, etag: reply.headers['etag'] }
  } catch (error) {
    // A value that cannot be translated may be the one that stands there; a failed read does not show it.
    if (problems.length > 0 && MISNAMED.has(toGatewayError(error).code)) throw untranslatable(problems)
    throw readError ? readError(error) : error
  }
}

/** Throws unless a read shows the change that the service accepted for later. */
async function requireDone(
  { id, compiled, textOf, settings }: Merging,
  fields: Draft,
  entry: number,
  { read }: Look,
): Promise<void> {
  // A failed read proves nothing: the change may still be made.
  const { body } = await read(id).catch(() => goneShipment(id))
  const isDone = body && Object.keys(compiled.compare(body, fields, entry, textOf, settings).places).length === 0
  if (!isDone) throw gatewayError('reply-doubtful/accepted', {})
}

/** Errors of an update that the service provably did not make. */
const NOT_MADE: ReadonlySet<ErrorCode> = new Set([
  ...NOT_SENT,
  'service-refused',
  'service-unavailable',
  'shipment-changed',
])

/** Reports whether an error proves that the service did not make an update. */
export const isNotMade = (error: unknown): boolean => NOT_MADE.has(toGatewayError(error).code)

function withoutVin(sent: Draft): Draft {
  const { vehicles, ...others } = sent
  if (!Array.isArray(vehicles)) return sent
  const rest = vehicles.map((vehicle) => {
    const { vin: _, ...fields } = vehicle as Draft
    return fields
  })
  return rest.every((fields) => Object.keys(fields).length === 0) ? others : { ...others, vehicles: rest }
}

const PRECONDITION_FAILED = 412
const UPDATE_TRIES = 3

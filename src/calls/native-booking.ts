import { NotBooked } from '../bookings/booking.ts'
import { GatewayError, gatewayError } from '../errors.ts'
import type { Draft } from '../mapping/paths.ts'
import { serviceSays } from '../messages.ts'
import { serviceMessage } from '../service/error-message.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import { isSuccess, type Sending, type Service, type ServiceRequest } from '../service/service.ts'
import { vinKey } from '../xref/xref.ts'
import { vinOf } from './names.ts'
import { BOOKED, doubtful, fieldsIn, MESSAGE, type NativeFields, NUMBER, REFERENCE, VIN } from './native-fields.ts'
import { AT_VERSION_2_PATHS } from './native-request.ts'
import type { Plan } from './plan.ts'
import { shipmentRead } from './service-request.ts'
import { bookedShipment, shipmentNamed } from './verify.ts'

/** A booking that the service's own version-1 handling made. */
export interface NativeBooking {
  readonly fields: NativeFields
  readonly shipment: Draft
}

/**
 * Books natively, and finds the shipment, which a documented version-1 answer does not name: the service is asked for the
 * reference in version 1, and for the number that it answers in version 2. A shipment that the service showed for the
 * reference before the booking was sent is an older one. Throws without proof; then the outcome counts as unknown.
 */
export async function bookNatively(
  plan: Plan,
  sending: Sending,
  service: Pick<Service, 'send'>,
): Promise<NativeBooking> {
  const { mayWrite: _, ...reading } = sending
  const before = await numberBefore(plan, reading, service)
  const reply = await service.send(plan.toService, sending)
  if (!isSuccess(reply.status)) throw refusal(reply, plan.request.compiled.nameFields)
  const fields = fieldsIn(reply)
  requireBooked(reply, fields)
  try {
    const number = fields[NUMBER] || (await numberOf(plan, reading, service))
    if (number === undefined || number === before) throw notFound()
    const shown = await service.send(shipmentRead(number), reading)
    if (!isSuccess(shown.status)) throw notFound()
    shipmentNamed(shown, number)
    return { fields, shipment: { ...bookedShipment(shown).body } }
  } catch (cause) {
    // The booking was made. As it stands, the error of a later read could say that nothing was sent.
    throw gatewayError('reply-doubtful', { fault: NOT_FOUND }, { cause })
  }
}

const NOT_FOUND = 'the shipment that it made is not found'
const notFound = () => doubtful(NOT_FOUND)

/** Throws unless the service says that it booked. `No` proves that it did not; anything else proves nothing. */
function requireBooked(reply: UpstreamReply, fields: NativeFields): void {
  const said = fields[BOOKED]?.trim().toLowerCase()
  if (said === 'yes') return
  if (said !== 'no') throw doubtful('it does not say that the transportation is booked')
  const says = serviceSays(fields[MESSAGE] ?? serviceMessage(reply.body))
  throw new NotBooked(gatewayError('service-refused', { serviceSays: says }, { status: UNPROCESSABLE }))
}

const UNPROCESSABLE = 422

/**
 * Returns the number that the service has for the reference before the booking is sent. If it cannot be asked now, it could not
 * be asked for the new shipment either: then nothing is sent.
 */
async function numberBefore(plan: Plan, reading: Sending, service: Pick<Service, 'send'>): Promise<string | undefined> {
  const read = readByReference(plan)
  if (!read) return undefined
  try {
    const reply = await service.send(read, reading)
    if (!isSuccess(reply.status) && !UNKNOWN_THERE.has(reply.status)) throw refusal(reply)
    return isSuccess(reply.status) ? numberShown(plan, reply) : undefined
  } catch (error) {
    // In version 1, a success may deny itself: the service does not know the reference.
    if (error instanceof GatewayError && error.code === 'reply-doubtful') return undefined
    throw new NotBooked(error)
  }
}

/** Statuses that the service may return for a reference that it does not know. */
const UNKNOWN_THERE = new Set([400, 404, 405, 410, 422])

async function numberOf(plan: Plan, reading: Sending, service: Pick<Service, 'send'>): Promise<string | undefined> {
  const read = readByReference(plan)
  const reply = read && (await service.send(read, reading))
  return reply && isSuccess(reply.status) ? numberShown(plan, reply) : undefined
}

/** Builds the native read by the booking's reference; undefined where the service cannot be asked so. */
function readByReference({ request, settings }: Plan): ServiceRequest | undefined {
  const reference = request.sent(REFERENCE)
  const path = settings.native?.path ?? AT_VERSION_2_PATHS
  if (reference === undefined || path === AT_VERSION_2_PATHS) return undefined
  const query = new URLSearchParams({ [REFERENCE]: reference })
  const target = `${path === '/' ? '' : path}/getShipment.php?${query}`
  return { method: 'GET', path: target, namesAnId: true, isVersion1: true }
}

/** Returns the number of the shown shipment; undefined unless it has the booking's reference and VIN. */
function numberShown({ request }: Plan, reply: UpstreamReply): string | undefined {
  const shown = fieldsIn(reply)
  const isSame = shown[REFERENCE] === request.sent(REFERENCE) && vinKey(shown[VIN]) === vinKey(vinOf(request))
  return isSame ? shown[NUMBER] || undefined : undefined
}

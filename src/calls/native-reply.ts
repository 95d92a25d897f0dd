import { NotBooked } from '../bookings/booking.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import { Failed, LeftOut } from '../mapping/codec.ts'
import type { Draft } from '../mapping/paths.ts'
import { serviceSays } from '../messages.ts'
import { serviceMessage } from '../service/error-message.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import { isSuccess, readJson, type Sending, type Service } from '../service/service.ts'
import { scalarText } from '../text/json.ts'
import { FIELD_LIMIT, MESSAGE_LIMIT, shownText } from '../text/service-text.ts'
import { vinKey } from '../xref/xref.ts'
import { vinOf } from './names.ts'
import { AT_VERSION_2_PATHS } from './native-request.ts'
import type { Plan } from './plan.ts'
import { shipmentRead } from './service-request.ts'
import { bookedShipment, shipmentNamed, successIn } from './verify.ts'

/** The fields of the service's own version-1 answer. */
type NativeFields = Readonly<Record<string, string>>

/** Holds the version-1 fields beside the version-2 members that the rest of a call reads, such as ids. */
const NATIVE = Symbol('version-1 answer')

/** Sends a call to the service's own version-1 handling, and returns the verified reply. */
export async function sendNatively(plan: Plan, sending: Sending, service: Pick<Service, 'send'>): Promise<Draft> {
  const { request, found } = plan
  const { action } = request.compiled
  const reply = await service.send(plan.toService, sending)
  if (!isSuccess(reply.status)) throw refusal(reply, request.compiled.nameFields)
  const fields = fieldsIn(reply)
  if (action.service.notIdempotent) {
    requireBooked(reply, fields)
    try {
      return withFields(await shipmentOf(plan, fields, sending, service), fields)
    } catch (cause) {
      // The booking was made. As it stands, the error of a later read could say that nothing was sent.
      throw gatewayError('reply-doubtful', { fault: 'the shipment that it made is not found' }, { cause })
    }
  }
  if (action.target?.kind === 'shipment') {
    requireShipment(plan, fields)
    return withFields({ id: found.id }, fields)
  }
  requireReadable(plan, fields)
  return withFields(action.target ? {} : { shipment_id: fields[NUMBER] }, fields)
}

/**
 * Returns the answer of a call that the service answered in version 1: its own fields, and the caller's own number where it
 * has one. Undefined for any other reply.
 */
export function nativeAnswer({ settings, own }: Plan, reply: unknown): NativeFields | undefined {
  if (typeof reply !== 'object' || reply === null || !(NATIVE in reply)) return undefined
  // Only `withFields` sets it.
  const fields = reply[NATIVE] as NativeFields
  return own !== undefined && settings.shipment_number === 'caller' && NUMBER in fields
    ? { ...fields, [NUMBER]: own }
    : fields
}

const NUMBER = 'ShipmentNumber'
const BOOKED = 'TransportationBooked'
const MESSAGE = 'Message'
/** The most fields of an answer; no documented one has as many. */
const MOST_FIELDS = 100

function withFields(body: Draft, fields: NativeFields): Draft {
  return Object.defineProperty({ ...body }, NATIVE, { value: fields, enumerable: true })
}

function fieldsIn(reply: UpstreamReply): NativeFields {
  const entries = Object.entries(successIn(readJson(reply))).flatMap(([name, value]) => {
    const text = value === null ? '' : scalarText(value)
    return text === undefined ? [] : [[name, shownText(text, name === MESSAGE ? MESSAGE_LIMIT : FIELD_LIMIT)] as const]
  })
  return Object.fromEntries(entries.slice(0, MOST_FIELDS))
}

/** Throws unless the service says that it booked. `No` proves that it did not; anything else proves nothing. */
function requireBooked(reply: UpstreamReply, fields: NativeFields): void {
  const said = fields[BOOKED]?.trim().toLowerCase()
  if (said === 'yes') return
  if (said !== 'no') throw doubtful('it does not say that the transportation is booked')
  const says = serviceSays(fields[MESSAGE] ?? serviceMessage(reply.body))
  throw new NotBooked(gatewayError('service-refused', { serviceSays: says }, { status: UNPROCESSABLE }))
}

const UNPROCESSABLE = 422

/** Throws if the answer shows nothing of a shipment: blank fields are never shown as facts. */
function requireShipment({ request }: Plan, fields: NativeFields): void {
  const shows = request.compiled.action.reply.some(
    (row) => (row.kind === 'move' || row.kind === 'split') && (fields[row.v1] ?? '') !== '',
  )
  if (!shows) throw doubtful('it shows nothing of the shipment')
}

/** Throws if a required field of the answer is missing or cannot be read. */
function requireReadable({ request }: Plan, fields: NativeFields): void {
  const missing = request.compiled.action.reply.flatMap((row) => {
    if (row.kind !== 'move' || !row.required) return []
    const value = row.codec.decode?.(fields[row.v1] ?? '')
    return value instanceof Failed || value instanceof LeftOut ? [row.v1] : []
  })
  if (missing.length > 0) throw gatewayError('service-unreadable/places', { places: missing.join(' and ') })
}

/**
 * Finds the shipment that a native booking made, which a documented version-1 answer does not name: the service is asked for
 * the reference in version 1, and for the number that it answers in version 2. Throws without proof; then the outcome
 * counts as unknown.
 */
async function shipmentOf(
  plan: Plan,
  fields: NativeFields,
  { mayWrite: _, ...sending }: Sending,
  service: Pick<Service, 'send'>,
): Promise<Draft> {
  const number = fields[NUMBER] || (await numberOf(plan, sending, service))
  const reply = await service.send(shipmentRead(number), sending)
  if (!isSuccess(reply.status)) throw doubtful('the shipment that it made is not found')
  shipmentNamed(reply, number)
  return { ...bookedShipment(reply).body }
}

async function numberOf(
  { request, settings }: Plan,
  sending: Sending,
  service: Pick<Service, 'send'>,
): Promise<string> {
  const reference = request.sent(REFERENCE)
  const path = settings.native?.path ?? AT_VERSION_2_PATHS
  if (reference === undefined || path === AT_VERSION_2_PATHS) throw doubtful('it does not name the shipment')
  const query = new URLSearchParams({ [REFERENCE]: reference })
  const read = { method: 'GET', path: `${path === '/' ? '' : path}/getShipment.php?${query}`, namesAnId: true } as const
  const reply = await service.send({ ...read, isVersion1: true }, sending)
  if (!isSuccess(reply.status)) throw doubtful('the shipment that it made is not found')
  const shown = fieldsIn(reply)
  const isSame = shown[REFERENCE] === reference && vinKey(shown['VinNo']) === vinKey(vinOf(request))
  if (!isSame || !shown[NUMBER]) throw doubtful('the shipment that it made is not found')
  return shown[NUMBER]
}

const REFERENCE = 'ReferenceNumber'

function doubtful(fault: string): GatewayError {
  return gatewayError('reply-doubtful', { fault })
}

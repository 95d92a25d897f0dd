import { isBelowVersion2 } from '../edge/routing.ts'
import { type Answer, HOP_BY_HOP } from '../language/answer.ts'
import { gatewayError } from '../language/errors.ts'
import type { Endpoint } from '../language/mapping/catalog.ts'
import type { CompiledAction } from '../language/mapping/compile.ts'
import { valueAt } from '../language/mapping/paths.ts'
import { isObject } from '../language/text/json.ts'
import { serviceId } from '../language/text/service-text.ts'
import { NoReply } from '../outside/service/exchange.ts'
import { unansweredError } from '../outside/service/failures.ts'
import {
  isCanceled,
  isGone,
  isShownAsGone,
  saidOfCancellation,
  shipmentIfRead,
  shipmentNamed,
} from '../outside/service/proofs.ts'
import { isSuccess, type UpstreamReply } from '../outside/service/reply.ts'
import {
  type Sending,
  type ServiceRequest,
  serviceRequest,
  shipmentRead,
  withoutCredential,
} from '../outside/service/service.ts'
import { SHOWN_AS_GONE } from '../state/bookings/record.ts'
import { DONE_PERHAPS } from './cancel.ts'
import { ACCEPTED } from './plan.ts'
import type { Version2 } from './read-request.ts'
import { noteInDoubt, noteReplied, noteSeen, noteStanding, seenShipment } from './subject.ts'
import { isNotMade } from './update.ts'
import type { CallRooms } from './verb.ts'

/** The plan of a call with a version-2 body. */
export interface Version2Plan {
  /** The action that the path implies for such a body. */
  readonly compiled: CompiledAction
  readonly parse: Version2['parse']
  readonly toService: ServiceRequest
  /** The id of the shipment that the body names; undefined if it creates one. */
  readonly id: string | undefined
}

/** Plans a call with a version-2 body, which goes unchanged to the endpoint that its path implies. */
export function planVersion2({ parse, text, query }: Version2, endpoint: Endpoint): Version2Plan {
  const compiled = endpoint.choose(undefined)
  if (!compiled) throw gatewayError('path-unknown/version-2', {})
  const { action } = compiled
  if (!action.target) return { compiled, parse, toService: serviceRequest(action, text, undefined), id: undefined }
  const body = parse()
  const inBody = valueAt(body, ['id'])
  const id = inBody ?? query.find(([name]) => name === 'id')?.[1]
  if (typeof id !== 'string' || id.trim() === '') {
    throw gatewayError('number-missing', { kind: action.target.kind })
  }
  // The same holds for the paths of callers under /v2/.
  if (serviceId(id) === undefined || !isBelowVersion2(`/v2/${encodeURIComponent(id)}`)) {
    throw gatewayError('number-unknown/no-id', {})
  }
  if (inBody === undefined || !isObject(body)) {
    return { compiled, parse, toService: serviceRequest(action, text, id), id }
  }
  // The id stands in the path: the request has no such field.
  const { id: _, ...rest } = body
  return { compiled, parse: () => rest, toService: serviceRequest(action, rest, id), id }
}

/** Passes a version-2 body on, and the service's reply back; a canceled shipment frees the key of its booking. */
export async function passOnBody(
  { compiled, toService, id }: Version2Plan,
  tenant: string,
  sending: Sending,
  rooms: CallRooms,
): Promise<Answer> {
  const { service } = rooms
  const { verb } = compiled.action
  const { method, path } = toService
  const { acceptance } = sending.account
  const cancels = verb === 'cancel'
  const ended =
    (cancels || verb === 'update') && id !== undefined && acceptance.isProven()
      ? await noteInDoubt(tenant, id, rooms)
      : undefined
  let reply: UpstreamReply
  try {
    reply = await service.send(toService, sending)
  } catch (cause) {
    await ended?.(async () => cancels && isNotMade(cause))
    throw cause instanceof NoReply ? unansweredError(cause, { method, path, mayBook: verb === 'book' }) : cause
  }
  const read = (name: string) => service.send(shipmentRead(name), sending)
  await ended?.(async (own) => cancels && provesNotCanceled(reply, own, read, tenant, rooms))
  // A refusal to a stranger frees nothing.
  if (id !== undefined && (isSuccess(reply.status) || acceptance.isProven()))
    await noteVersion2Reply({ verb, id }, reply, read, tenant, rooms)
  return unchanged(withoutCredential(reply, sending.account))
}

/** Headers of this gateway's own answer. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'content-length',
  'x-request-id',
  'deprecation',
  'sunset',
  'link',
  ...HOP_BY_HOP,
])

/** Returns a header's name as the gateway spells it: in two spellings, it would be sent twice. */
const spelled = (name: string) =>
  name === 'etag' ? 'ETag' : name.replace(/(?<![a-z])(?:www|[a-z])/g, (part) => part.toUpperCase())

/** Returns the service's own reply unchanged, as the answer to a version-2 body. */
function unchanged({ status, headers, body }: UpstreamReply): Answer {
  const ofThisHop = headers.connection?.toLowerCase().split(/[\s,]+/) ?? []
  const passedOn = Object.entries(headers).flatMap(([name, value]) =>
    typeof value !== 'string' || OWN_HEADERS.has(name) || ofThisHop.includes(name)
      ? []
      : [[spelled(name), value] as const],
  )
  return { status, headers: Object.fromEntries(passedOn), body }
}

/** Reads a shipment by its id or number. */
type ReadShipment = (name: string) => Promise<UpstreamReply>

/**
 * Notes what the reply to a version-2 call proves about bookings. A cancellation of a shipment, now or before, or a reply that shows it as
 * gone, frees the key of its booking. `id` may be the service's number for it. Never rejects, because the call itself has its answer.
 */
export async function noteVersion2Reply(
  { verb, id }: { readonly verb: string; readonly id: string },
  reply: UpstreamReply,
  read: ReadShipment,
  tenant: string,
  rooms: CallRooms,
): Promise<void> {
  // No shipment has such an id.
  if (serviceId(id) === undefined) return
  if (verb === 'cancel' && isSuccess(reply.status)) return freeCanceled(id, reply, read, tenant, rooms)
  if (verb === 'cancel' && DONE_PERHAPS.has(reply.status))
    return rooms.bookings.freeLater(tenant, [id], (own) => isShownAsGone(own, read), SHOWN_AS_GONE)
  // Nothing shows yet what the service accepted for later.
  if (verb !== 'read' && (verb !== 'update' || reply.status === ACCEPTED)) return
  const told = shipmentIfRead(reply, id)
  // A booking must see the VIN that an update has set, even if the update's reply is empty.
  const isSilent = verb === 'update' && !told && isSuccess(reply.status)
  const shown = isSilent ? shipmentIfRead(await read(id).catch(() => reply), id) : told
  if (shown) {
    const seen = seenShipment(shown)
    const write = () => (verb === 'update' && !isSilent ? noteReplied : noteSeen)(tenant, seen, rooms)
    if (verb === 'update') await rooms.bookings.later(tenant, `shown ${id}`, write)
    else await write().catch(() => undefined)
  }
  // A path that the service does not serve finds nothing either, so a read has to confirm it.
  else if (verb === 'read' && isGone(reply, id) && (await isShownAsGone(id, read)))
    await rooms.bookings.freeLater(tenant, [id], async (own) => own === id, SHOWN_AS_GONE)
}

/** Reports whether a read proves that neither a refused cancellation nor an earlier try of it was made. What it shows is noted. */
export async function provesNotCanceled(
  { status }: UpstreamReply,
  id: string,
  read: ReadShipment,
  tenant: string,
  rooms: CallRooms,
): Promise<boolean> {
  const shown = DONE_PERHAPS.has(status) ? await read(id).catch(() => undefined) : undefined
  const shipment = shown && shipmentIfRead(shown, id)
  if (!shipment || isCanceled(shipment.body)) return false
  return noteStanding(tenant, { ...shipment, id }, rooms)
}

/**
 * Frees the keys of the bookings of a shipment that a version-2 call has canceled by its id or by the service's number. A reply that denies
 * the cancellation frees nothing. Only a read proves it: here, for the booking with exactly the id that it shows; for any other spelling, the
 * service is asked again.
 */
async function freeCanceled(
  name: string,
  reply: UpstreamReply,
  read: ReadShipment,
  tenant: string,
  { bookings, names }: CallRooms,
): Promise<void> {
  const said = reply.status === ACCEPTED ? undefined : saidOfCancellation(reply, name)
  if (said === false) return
  // Asked now: if the store fails, the keys are freed only after the call's time to ask has passed.
  const shown = await goneBy(said ?? name, read)
  // If the store fails, the ids with this number stay unknown.
  const numbered = await names.idsNamed(tenant, name).catch(() => [])
  const ids = [name, ...numbered, ...[said, shown].filter((id) => id !== undefined)]
  if (shown !== undefined) {
    // For a booking that made the shipment and is not recorded yet.
    const record = { shipment: { tenant, id: shown, state: 'canceled' } } as const
    await bookings.later(
      tenant,
      `shown ${shown}`,
      () => names.write(record),
      async () => ({ tenant, record }),
    )
  }
  await bookings.freeLater(tenant, ids, async (id) => id === shown || isShownAsGone(id, read))
}

/** Returns the id of a shipment that a read by its id or number shows as canceled, or the name itself if the read finds nothing. */
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

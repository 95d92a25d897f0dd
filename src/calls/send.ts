import { gatewayError, oneLine, untranslatable } from '../errors.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import type { Problem } from '../mapping/fields.ts'
import { type Changes, entryWith } from '../mapping/overlay.ts'
import type { Draft } from '../mapping/paths.ts'
import type { Settings } from '../mapping/row.ts'
import { isSuccess, type UpstreamReply } from '../service/exchange.ts'
import { refusal, replyToChange } from '../service/failures.ts'
import { readOf, type Sending, type Service, type ServiceRequest, shipmentRead } from '../service/service.ts'
import { thingKey } from '../text/service-text.ts'
import type { Exclusive } from './approve.ts'
import { numberUnknown, vinOf } from './find.ts'
import type { Told } from './legacy-answer.ts'
import { changingFields, notUnderstood, type Plan } from './plan.ts'
import {
  approvalOf,
  bookedShipment,
  cancellationOf,
  changeOf,
  hasStatus,
  NOT_FOUND,
  newQuote,
  notCanceled,
  requireWhole,
  type Shipment,
  shipmentIfRead,
  shipmentWithId,
  showsShipment,
} from './verify.ts'

/** Sends a planned call that is no update as its action declares, and returns the verified body of the service's reply. */
export type SendPlan = (plan: Plan, sending: Sending) => Promise<unknown>

/** The dependencies of planned calls. */
interface SendPlanDeps {
  readonly service: Pick<Service, 'send'>
  readonly inspect?: InspectReply
  /** Called where the service answers 404 or 405 to a request that names no id, in every spelling. */
  readonly onNotServed?: (request: ServiceRequest, status: number) => void
}

/** Makes the function through which all planned calls reach the service. */
export function createSendPlan({
  service,
  inspect = () => undefined,
  onNotServed = () => undefined,
}: SendPlanDeps): SendPlan {
  return async (plan, sending) => {
    const { request, found, toService } = plan
    const { action } = request.compiled
    const { doneWhenStatus } = action.service
    const id = found.id ?? ''
    let body: unknown
    if (doneWhenStatus) body = await cancel(plan, id, doneWhenStatus, sending)
    // The search has read the shipment already.
    else if (found.shipment && toService.method === 'GET') body = found.shipment.body
    else {
      const isChange = action.target !== undefined && toService.method !== 'GET'
      const sent = service.send(toService, sending)
      const reply = await (isChange ? replyToChange(sent) : sent)
      if (!toService.namesAnId && NOT_SERVED.has(reply.status)) {
        onNotServed(toService, reply.status)
        throw gatewayError('service-refused/not-served', {}, { status: BAD_GATEWAY, serviceStatus: reply.status })
      }
      if (!isSuccess(reply.status)) throw refusalOf(plan, reply)
      body = verified(request.compiled, reply, id)
    }
    inspect(action.name, body)
    return body
  }

  /**
   * Cancels a shipment; succeeds if a read shows it as canceled or finds nothing. A refusal is a success, too, if the
   * shipment was canceled before.
   */
  async function cancel(plan: Plan, id: string, canceled: string, sending: Sending): Promise<unknown> {
    const { found, toService } = plan
    const reply = await replyToChange(service.send(toService, sending))
    const isDone = isSuccess(reply.status)
    if (!isDone && !DONE_PERHAPS.has(reply.status)) throw refusalOf(plan, reply)
    const said = isDone ? cancellationOf(reply, id, canceled) : undefined

    const read = service.send(readOf(toService), sending)
    const now = await (isDone ? replyToChange(read) : read)
    if (NOT_FOUND.has(now.status)) {
      // Where it existed, as the cross-reference or the reply proves, not found means canceled.
      const existed = found.isShipment || showsShipment(said)
      if (existed && (isDone || NOT_FOUND.has(reply.status))) return said
      throw isDone ? numberUnknown(plan.request) : refusalOf(plan, reply)
    }
    if (isDone) {
      if (!isSuccess(now.status)) throw refusalOf(plan, now)
      const { body } = shipmentWithId(now, id)
      if (!hasStatus(body, canceled)) throw notCanceled()
      return said ?? body
    }
    const shipment = shipmentIfRead(now, id)
    if (!shipment || !hasStatus(shipment.body, canceled)) throw refusalOf(plan, reply)
    return shipment.body
  }
}

/** Returns the error of the service's refusal, with the fields that the caller knows. */
export const refusalOf = ({ request }: Plan, reply: UpstreamReply) => refusal(reply, request.compiled.nameFields)

/** Returns the body of a reply that its action accepts; throws for any other reply. */
function verified({ action, isApproval }: CompiledAction, reply: UpstreamReply, id: string): unknown {
  const { target, service } = action
  if (target?.kind === 'shipment') return shipmentWithId(reply, id).body
  if (target?.kind === 'quote') return isApproval ? approvalOf(reply, id) : changeOf(reply, 'quote', id)
  return service.notIdempotent ? bookedShipment(reply).body : newQuote(reply)
}

/** To a request that names no id, in every spelling: there is no such endpoint at `V2_BASE_URL`. */
const NOT_SERVED = new Set([404, 405])
const BAD_GATEWAY = 502
/** Statuses that may mean that the request is done already. */
const DONE_PERHAPS = new Set([400, 404, 409, 410, 422])

/** Is shown the verified body of every reply, with the name of its action. */
type InspectReply = (action: string, body: unknown) => void

/** Fields to merge into a shipment. */
interface Merging {
  readonly id: string
  /** The translated fields. */
  readonly sent: Draft
  /** Returns a field as it was sent. */
  readonly textOf: (field: string) => string | undefined
  /** The fields that cannot be translated; the shipment may show them just so. */
  readonly problems: readonly Problem[]
  /** The VIN that chooses the vehicle. */
  readonly vin: string | undefined
  /** The update of a shipment. */
  readonly compiled: CompiledAction
  readonly settings: Settings
  /** Verifies the read of the shipment; returns undefined if there is none to merge into. */
  readonly verify: (reply: UpstreamReply) => Shipment | undefined | Promise<Shipment | undefined>
  /** Converts an error of the read into the error of the call. */
  readonly readError?: (error: unknown) => unknown
}

/** A shipment with the fields merged into it. */
export interface Merged {
  /** The shipment as it was read. */
  readonly before: Shipment
  /** The body of the reply to the update; undefined if it is empty, or if nothing had to be sent. */
  readonly after: Readonly<Draft> | undefined
  readonly changes: Changes
}

/** Reads a shipment, merges fields into it, and sends the whole. Merges of one shipment run one at a time. */
export type Merge = (merging: Merging, tenant: string, sending: Sending) => Promise<Merged | undefined>

/** Makes the merge of fields into shipments; `inspect` is shown the body of every reply to an update. */
export function createMerge(service: Service, exclusive: Exclusive, inspect: InspectReply = () => undefined): Merge {
  /** Starts again from a fresh read if the shipment changed meanwhile. */
  async function mergeIntoCurrent(
    merging: Merging,
    isHeld: () => boolean,
    sending: Sending,
  ): Promise<Merged | undefined> {
    const mayWrite = () => isHeld() && sending.mayWrite?.() !== false
    for (let tries = 1; ; tries += 1) {
      // Read under the lock: another update may have changed the shipment since it was found.
      const current = await read(merging, sending)
      if (!current) return undefined
      const { shipment, entry, changes, etag } = current
      const { compiled } = merging
      const problems = merging.problems.filter(({ field }) => !changes.standing.has(field))
      if (problems.length > 0) throw untranslatable(problems)
      if (isEmpty(changes.places)) return { before: shipment, after: undefined, changes }
      const body = compiled.overlay(shipment.body, changes.places, entry)
      const put = { ...shipmentRead(merging.id), method: 'PUT', body, ifMatch: etag } as const
      const reply = await replyToChange(service.send(put, { ...sending, mayWrite }))
      if (isSuccess(reply.status)) {
        const after = changeOf(reply, 'shipment', shipment.id)
        inspect(compiled.action.name, after ?? shipment.body)
        return { before: shipment, after, changes }
      }
      if (reply.status !== PRECONDITION_FAILED) throw refusal(reply, compiled.nameFields)
      if (tries === UPDATE_TRIES) throw gatewayError('shipment-changed', {})
    }
  }

  async function read(merging: Merging, sending: Sending) {
    const { id, sent, problems, vin, compiled, textOf, settings, verify, readError } = merging
    try {
      const reply = await service.send(shipmentRead(id), sending)
      const shipment = await verify(reply)
      if (!shipment) return undefined
      const entry = entryWith(shipment.body['vehicles'], 'vin', vin)
      const changes = compiled.compare(shipment.body, sent, entry, textOf, settings)
      // A vehicle without its id stays as it is, unless it is to be changed.
      requireWhole(shipment, changes.places, entry)
      return { shipment, entry, changes, etag: reply.headers['etag'] }
    } catch (error) {
      if (problems.length > 0) throw untranslatable(problems)
      throw readError ? readError(error) : error
    }
  }

  return (merging, tenant, sending) =>
    exclusive(`update ${tenant}\n${thingKey(merging.id)}`, sending.deadline - performance.now(), (isHeld) =>
      mergeIntoCurrent(merging, isHeld, sending),
    )
}

const isEmpty = (body: Draft) => Object.keys(body).length === 0

const PRECONDITION_FAILED = 412
const UPDATE_TRIES = 3

/** The shipment after an update, and what the update was to it. */
interface Updated {
  /** The service's reply, over the shipment as it was read. */
  readonly body: unknown
  /** Completes the message of the answer. */
  readonly tell: (told: Told) => Told
}

/** Merges a planned update into its shipment. */
export async function update(plan: Plan, tenant: string, sending: Sending, merge: Merge): Promise<Updated> {
  const { request, found, body: sent, problems, settings } = plan
  const { compiled, textOf, fields } = request
  const id = found.id ?? ''
  const verify = (reply: UpstreamReply) => {
    if (!isSuccess(reply.status)) throw refusal(reply, compiled.nameFields)
    return shipmentWithId(reply, id)
  }
  const asked = changingFields(request, found.namedBy)
  // A name that cannot be used, such as a long one that a read has shown, changes nothing.
  const relevant = asked.length > 0 ? problems.filter(({ field }) => compiled.written.includes(field)) : problems
  const merging = { id, sent, textOf, problems: relevant, vin: vinOf(request), compiled, settings, verify }
  const merged = await merge(merging, tenant, sending)
  if (!merged) throw gatewayError('reply-doubtful', { fault: 'it shows no shipment' })
  const { before, after, changes } = merged
  const unused = changes.unused.filter((field) => asked.includes(field))
  if (changes.fields.length === 0 && unused.length === asked.length) {
    const message = (field: string) => `the value of ${field} is not understood`
    throw untranslatable(unused.map((field) => ({ field, code: 'unknown', message: message(field) })))
  }
  const uncleared = fields.blank.flatMap((slot) => {
    const field = compiled.fields.names[slot] ?? ''
    return changes.shown[field] ? [field] : []
  })
  const tell = (told: Told) => {
    const parts = [
      changes.fields.length === 0 ? nothingChanged(unused.length === 0) : told['Message'],
      sentence('Not understood', [...notUnderstood(request), ...unused]),
      sentence('Not cleared, because a blank changes nothing', uncleared),
      sentence('Changed', changes.fields),
    ]
    return { ...told, Message: oneLine(parts.join('')) }
  }
  return { body: { ...before.body, ...after }, tell }
}

const nothingChanged = (stands: boolean) =>
  stands ? 'The shipment has these values already; nothing was changed.' : 'Nothing was changed.'

const sentence = (about: string, names: readonly string[]) =>
  names.length === 0 ? '' : ` ${about}: ${names.join(', ')}.`

import { gatewayError } from '../errors.ts'
import type { Action } from '../mapping/action.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { refusal, replyToChange } from '../service/failures.ts'
import { isSuccess, type Sending, type Service, type ServiceRequest } from '../service/service.ts'
import type { InspectReply, Merge } from './merge.ts'
import { numberUnknown } from './names.ts'
import type { Plan } from './plan.ts'
import { readOf } from './service-request.ts'
import { update } from './update.ts'
import {
  bookedShipment,
  cancellationOf,
  changeOf,
  hasStatus,
  newQuote,
  notCanceled,
  shipmentIfRead,
  shipmentWithId,
  showsShipment,
} from './verify.ts'

/** Sends a planned call as its action declares, and returns the verified body of the service's reply. */
export type SendPlan = (plan: Plan, tenant: string, sending: Sending) => Promise<unknown>

/** The dependencies of planned calls. */
export interface SendPlanDeps {
  readonly service: Pick<Service, 'send'>
  readonly merge: Merge
  readonly inspect?: InspectReply
  /** Called where the service answers 404 or 405 to a request that names no id, in every spelling. */
  readonly onNotServed?: (request: ServiceRequest, status: number) => void
}

/** Makes the function through which all planned calls reach the service. */
export function createSendPlan({
  service,
  merge,
  inspect = () => undefined,
  onNotServed = () => undefined,
}: SendPlanDeps): SendPlan {
  /** Looks at the shape of a reply, and returns it. */
  function inspected<Body>(plan: Plan, body: Body): Body {
    inspect(plan.request.compiled.action.name, body)
    return body
  }

  return async (plan, tenant, sending) => {
    const { request, found, toService } = plan
    const { action } = request.compiled
    const { mergeInto, doneWhenStatus } = action.service
    const id = found.id ?? ''
    if (mergeInto) return (await update(plan, tenant, sending, merge)).body
    if (doneWhenStatus) return inspected(plan, await cancel(plan, id, doneWhenStatus, sending))
    // The search has read the shipment already.
    if (found.shipment && toService.method === 'GET') return inspected(plan, found.shipment.body)
    const isChange = action.target !== undefined && toService.method !== 'GET'
    const reply = await (isChange ? replyToChange(service.send(toService, sending)) : service.send(toService, sending))
    if (!toService.namesAnId && NOT_SERVED.has(reply.status)) {
      onNotServed(toService, reply.status)
      throw gatewayError('service-refused/not-served', {}, { status: BAD_GATEWAY, serviceStatus: reply.status })
    }
    return inspected(plan, verified(action, succeeded(plan, reply), id))
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
      const { body } = shipmentWithId(succeeded(plan, now), id)
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

function succeeded(plan: Plan, reply: UpstreamReply): UpstreamReply {
  if (!isSuccess(reply.status)) throw refusalOf(plan, reply)
  return reply
}

/** Returns the body of a reply that its action accepts; throws for any other reply. */
function verified({ target, service }: Action, reply: UpstreamReply, id: string): unknown {
  if (target?.kind === 'shipment') return shipmentWithId(reply, id).body
  if (target?.kind === 'quote') return changeOf(reply, 'quote', id)
  return service.notIdempotent ? bookedShipment(reply).body : newQuote(reply)
}

const NOT_FOUND = new Set([404, 410])
/** To a request that names no id, in every spelling: there is no such endpoint at `V2_BASE_URL`. */
const NOT_SERVED = new Set([404, 405])
const BAD_GATEWAY = 502
/** Statuses that may mean that the request is done already. */
const DONE_PERHAPS = new Set([400, 404, 409, 410, 422])

import { GatewayError } from '../errors.ts'
import type { Action } from '../mapping/action.ts'
import { entryWith } from '../mapping/overlay.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import { isSuccess, type Sending, type Service, type ServiceRequest } from '../service/service.ts'
import type { Locks } from '../store/store.ts'
import { vinOf } from './names.ts'
import type { Plan } from './plan.ts'
import { readOf } from './service-request.ts'
import {
  bookedShipment,
  cancellationOf,
  changeOf,
  newQuote,
  notCanceled,
  requireWhole,
  type Shipment,
  shipmentWithId,
} from './verify.ts'

/** Sends a planned call as its action declares, and returns the verified body of the service's reply. */
export type SendPlan = (plan: Plan, tenant: string, sending: Sending) => Promise<unknown>

/** Makes the function through which all translated calls reach the service. */
export function createSendPlan(service: Service, { exclusive }: Locks): SendPlan {
  return async (plan, tenant, sending) => {
    const { found, toService } = plan
    const { action } = plan.request.compiled
    const { mergeInto, doneWhenStatus, notIdempotent } = action.service
    const id = found.id ?? ''
    if (mergeInto) {
      const waitMs = sending.deadline - performance.now()
      return exclusive(`update ${tenant}\n${id}`, waitMs, (isHeld) => mergeIntoCurrent(plan, id, isHeld, sending))
    }
    if (doneWhenStatus) return cancel(plan, id, doneWhenStatus, sending)
    // The search for the shipment has read it already.
    if (found.shipment && toService.method === 'GET') return found.shipment.body
    const reply = await succeed(plan, toService, notIdempotent ? { ...sending, alone: true } : sending)
    return verified(action, reply, id)
  }

  async function succeed(plan: Plan, request: ServiceRequest, sending: Sending): Promise<UpstreamReply> {
    const reply = await service.send(request, sending)
    if (!isSuccess(reply.status)) throw refusalOf(plan, reply)
    return reply
  }

  /** Reads the shipment, merges the sent fields into it and puts the whole. Starts again if it changed in between. */
  async function mergeIntoCurrent(plan: Plan, id: string, isHeld: () => boolean, sending: Sending): Promise<unknown> {
    const { request, toService, body } = plan
    const read = readOf(toService)
    for (let tries = 1; ; tries += 1) {
      // Read under the lock: another update may have changed the shipment since it was found.
      const current = await succeed(plan, read, sending)
      const shipment = shipmentWithId(current, id)
      const entry = entryWith(shipment.body['vehicles'], 'vin', vinOf(request))
      requireWhole(shipment, body, entry)
      const whole = request.compiled.overlay(shipment.body, body, entry)
      const put = { ...toService, body: whole, ifMatch: current.headers['etag'] }
      const reply = await service.send(put, { ...sending, mayWrite: isHeld })
      if (isSuccess(reply.status)) return changeOf(reply, id) ?? shipment.body
      if (reply.status !== PRECONDITION_FAILED) throw refusalOf(plan, reply)
      if (tries === UPDATE_TRIES) {
        throw new GatewayError(
          'shipment-changed',
          'The shipment kept changing while it was updated. Send the update again.',
        )
      }
    }
  }

  /**
   * Cancels a shipment, and believes it when a read shows it as canceled or finds nothing. A refusal is a success, too, if
   * the shipment is canceled already.
   */
  async function cancel(plan: Plan, id: string, canceled: string, sending: Sending): Promise<unknown> {
    const { found, toService } = plan
    const reply = await service.send(toService, sending)
    const isDone = isSuccess(reply.status)
    if (!isDone && !DONE_PERHAPS.has(reply.status)) throw refusalOf(plan, reply)
    const said = isDone ? cancellationOf(reply, id, canceled) : undefined

    const now = await service.send(readOf(toService), sending)
    if (GONE.has(now.status)) {
      // The cross-reference knows that it existed, so what is gone now is canceled.
      if (isDone || (found.isShipment && GONE.has(reply.status))) return said
      throw refusalOf(plan, reply)
    }
    if (!isSuccess(now.status)) throw refusalOf(plan, isDone ? now : reply)
    const shipment = isDone ? shipmentWithId(now, id) : shipmentIfReadable(now, id)
    if (shipment?.body['status'] === canceled) return said ?? shipment.body
    throw isDone ? notCanceled() : refusalOf(plan, reply)
  }
}

/** Returns the error of the service's refusal, with the fields that the caller knows. */
const refusalOf = ({ request }: Plan, reply: UpstreamReply) => refusal(reply, request.compiled.nameFields)

/** Returns the body of a reply that is what its action asked for; throws for any other reply. */
function verified({ target, service }: Action, reply: UpstreamReply, id: string): unknown {
  if (target?.kind === 'shipment') return shipmentWithId(reply, id).body
  if (target?.kind === 'quote') return changeOf(reply, id)
  return service.notIdempotent ? bookedShipment(reply).body : newQuote(reply)
}

/** Returns the shipment of a read after a refusal; undefined if it cannot be read, because the refusal is the answer. */
function shipmentIfReadable(reply: UpstreamReply, id: string): Shipment | undefined {
  try {
    return shipmentWithId(reply, id)
  } catch {
    return undefined
  }
}

const PRECONDITION_FAILED = 412
const UPDATE_TRIES = 3
const GONE = new Set([404, 410])
/** Statuses that may mean that the request is done already. */
const DONE_PERHAPS = new Set([400, 404, 409, 410, 422])

import { GatewayError } from '../errors.ts'
import { entryWith } from '../mapping/overlay.ts'
import { valueAt } from '../mapping/paths.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import { isSuccess, readJson, type Sending, type Service, type ServiceRequest } from '../service/service.ts'
import type { Locks } from '../store/store.ts'
import { vinOf } from './names.ts'
import type { Plan } from './plan.ts'
import { readOf } from './service-request.ts'

/** Sends a planned call as its action declares, and returns the parsed body of the service's reply. */
export type SendPlan = (plan: Plan, tenant: string, sending: Sending) => Promise<unknown>

/** Makes the function through which all translated calls reach the service. */
export function createSendPlan(service: Service, { exclusive }: Locks): SendPlan {
  return async (plan, tenant, sending) => {
    const { found, toService } = plan
    const { mergeInto, doneWhenStatus, notIdempotent } = plan.request.compiled.action.service
    if (mergeInto) {
      const waitMs = sending.deadline - performance.now()
      return exclusive(`update ${tenant}\n${found.id}`, waitMs, (isHeld) => mergeIntoCurrent(plan, isHeld, sending))
    }
    if (doneWhenStatus) return sendUntilDone(plan, doneWhenStatus, sending)
    // The search for the shipment has read it already.
    if (found.shipment && toService.method === 'GET') return found.shipment.body
    return readJson(await succeed(toService, notIdempotent ? { ...sending, alone: true } : sending))
  }

  async function succeed(request: ServiceRequest, sending: Sending): Promise<UpstreamReply> {
    const reply = await service.send(request, sending)
    if (!isSuccess(reply.status)) throw refusal(reply)
    return reply
  }

  /** Reads the shipment, merges the sent fields into it and puts the whole. Starts again if it changed in between. */
  async function mergeIntoCurrent(
    { request, toService, body }: Plan,
    isHeld: () => boolean,
    sending: Sending,
  ): Promise<unknown> {
    const read = readOf(toService)
    for (let tries = 1; ; tries += 1) {
      // Read under the lock: another update may have changed the shipment since it was found.
      const current = await succeed(read, sending)
      const shipment = readJson(current)
      const entry = entryWith(valueAt(shipment, ['vehicles']), 'vin', vinOf(request))
      const whole = request.compiled.overlay(shipment, body, entry)
      const put = { ...toService, body: whole, ifMatch: current.headers['etag'] }
      const reply = await service.send(put, { ...sending, mayWrite: isHeld })
      if (isSuccess(reply.status)) return readJson(reply) ?? shipment
      if (reply.status !== PRECONDITION_FAILED) throw refusal(reply)
      if (tries === UPDATE_TRIES) {
        throw new GatewayError(
          'shipment-changed',
          'The shipment kept changing while it was updated. Send the update again.',
        )
      }
    }
  }

  /** Sends a request whose refusal is a success if the shipment has the wanted status already. */
  async function sendUntilDone({ found, toService }: Plan, status: string, sending: Sending): Promise<unknown> {
    const reply = await service.send(toService, sending)
    if (isSuccess(reply.status)) return readJson(reply)
    if (DONE_PERHAPS.has(reply.status)) {
      const now = await service.send(readOf(toService), sending)
      if (isSuccess(now.status)) {
        const shipment = readJson(now)
        if (valueAt(shipment, ['status']) === status) return shipment
      }
      // The cross-reference knows that it existed, so what is gone now is canceled.
      if (found.isShipment && GONE.has(now.status) && GONE.has(reply.status)) return undefined
    }
    throw refusal(reply)
  }
}

const PRECONDITION_FAILED = 412
const UPDATE_TRIES = 3
const GONE = new Set([404, 410])
/** Statuses that may mean that the request is done already. */
const DONE_PERHAPS = new Set([400, 404, 409, 410, 422])

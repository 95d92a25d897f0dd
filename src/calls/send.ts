import type { Caller } from '../callers/credentials.ts'
import { GatewayError } from '../errors.ts'
import type { KeyedMutex } from '../keyed-mutex.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import { entryWith } from '../mapping/overlay.ts'
import { type Draft, valueAt } from '../mapping/paths.ts'
import type { UpstreamReply } from '../service/exchange.ts'
import { refusal } from '../service/failures.ts'
import {
  isSuccess,
  readJson,
  type Service,
  type ServiceRequest,
  type Sending as ServiceSending,
} from '../service/service.ts'
import { type Found, pathSegment } from './find.ts'

/** How a call's requests are sent, and for whom. */
export interface Sending extends ServiceSending {
  readonly caller: Caller
}

/** A translated call, ready to be done. */
export interface Deed {
  readonly compiled: CompiledAction
  readonly body: Draft
  readonly found: Found | undefined
  /** The VIN that the caller sent; it tells which vehicle of a shipment is meant. */
  readonly vin: string | undefined
}

/** What the service made of it: the body of its reply. */
export interface Done {
  readonly body: unknown
}

/** Does what an action asks for at the service, in the way that the action's declaration says. */
export type Perform = (deed: Deed, sending: Sending) => Promise<Done>

/** The request that a translated call makes. */
export function requestOf({ action }: CompiledAction, body: Draft, id: string | undefined): ServiceRequest {
  const { method, path } = action.service
  return {
    method,
    path: id === undefined ? path : path.replace(/\{\w+\}/, pathSegment(id)),
    namesAnId: id !== undefined,
    ...((method === 'POST' || method === 'PUT') && { body }),
  }
}

/** Makes the one place where translated calls reach the service. */
export function createPerform(service: Service, turns: KeyedMutex): Perform {
  return async (deed, sending) => {
    const { service: manner } = deed.compiled.action
    if (manner.mergeInto) return turns(`${sending.caller.tenant}\n${deed.found?.id}`, () => layOver(deed, sending))
    if (manner.doneWhenStatus) return untilDone(deed, manner.doneWhenStatus, sending)
    if (deed.found?.read && manner.method === 'GET') return { body: readJson(deed.found.read) }
    const request = requestOf(deed.compiled, deed.body, deed.found?.id)
    return { body: readJson(await succeed(request, { ...sending, alone: manner.notIdempotent ?? false })) }
  }

  async function succeed(request: ServiceRequest, sending: Sending): Promise<UpstreamReply> {
    const reply = await service.send(request, sending)
    if (!isSuccess(reply.status)) throw refusal(reply)
    return reply
  }

  /** Reads, lays the sent fields over and puts the whole; begins again when somebody else was faster. */
  async function layOver({ compiled, body, found, vin }: Deed, sending: Sending): Promise<Done> {
    const put = requestOf(compiled, body, found?.id)
    const { method: _, body: __, ...rest } = put
    const read: ServiceRequest = { ...rest, method: 'GET' }
    // Read in this turn: by the read that found it, another update may have come between.
    let current = await succeed(read, sending)
    for (let tries = 1; ; tries += 1) {
      const shipment = readJson(current)
      const entry = entryWith(valueAt(shipment, ['vehicles']), 'vin', vin)
      const whole = compiled.overlay(shipment, body, entry)
      const reply = await service.send({ ...put, body: whole, ifMatch: current.headers['etag'] }, sending)
      if (isSuccess(reply.status)) return { body: readJson(reply) ?? shipment }
      if (reply.status !== PRECONDITION_FAILED) throw refusal(reply)
      if (tries === UPDATE_TRIES) {
        throw new GatewayError(
          'shipment-changed',
          'The shipment kept changing while it was updated. Send the update again.',
        )
      }
      current = await succeed(read, sending)
    }
  }

  /** A refusal of what is done already is a success. */
  async function untilDone({ compiled, body, found }: Deed, status: string, sending: Sending): Promise<Done> {
    const request = requestOf(compiled, body, found?.id)
    const reply = await service.send(request, sending)
    if (isSuccess(reply.status)) return { body: readJson(reply) }
    if (DONE_PERHAPS.has(reply.status)) {
      const now = await service.send({ ...request, method: 'GET' }, sending)
      if (isSuccess(now.status)) {
        const shipment = readJson(now)
        if (valueAt(shipment, ['status']) === status) return { body: shipment }
      }
      // What the cross-reference knows did exist, so that what is gone now is canceled.
      if (found?.booked && GONE.has(now.status) && GONE.has(reply.status)) return { body: undefined }
    }
    throw refusal(reply)
  }
}

const PRECONDITION_FAILED = 412
const UPDATE_TRIES = 3
const GONE = new Set([404, 410])
const DONE_PERHAPS = new Set([400, 404, 409, 410, 422])

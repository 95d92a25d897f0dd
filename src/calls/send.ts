import { gatewayError } from '../language/errors.ts'
import { isSuccess, type UpstreamReply } from '../outside/service/exchange.ts'
import { refusal } from '../outside/service/failures.ts'
import type { Sending } from '../outside/service/service.ts'
import type { Plan } from './plan.ts'
import type { AskingRooms } from './rooms.ts'

/** Sends a request that names no id: a new quote or a booking. Returns a successful reply; throws the error of any other. */
export async function sendNew(
  plan: Plan,
  sending: Sending,
  { service, onNotServed }: AskingRooms,
): Promise<UpstreamReply> {
  const { toService } = plan
  const reply = await service.send(toService, sending)
  if (NOT_SERVED.has(reply.status)) {
    onNotServed(toService, reply.status)
    throw gatewayError('service-refused/not-served', {}, { status: BAD_GATEWAY, serviceStatus: reply.status })
  }
  if (!isSuccess(reply.status)) throw refusalOf(plan, reply)
  return reply
}

/** Returns the error of the service's refusal, with the fields that the caller knows. */
export const refusalOf = ({ request }: Plan, reply: UpstreamReply) => refusal(reply, request.compiled.nameFields)

/** The service has accepted a request, and may do it later. */
export const ACCEPTED = 202

/** To a request that names no id, in every spelling: there is no such endpoint at `V2_BASE_URL`. */
const NOT_SERVED = new Set([404, 405])
const BAD_GATEWAY = 502

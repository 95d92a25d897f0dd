import { type GatewayError, gatewayError, RETRY_SOON, retryAfter } from '../../language/errors.ts'
import { type Account, before, NO_SHIPMENT } from '../../outside/service/account.ts'
import { NoReply, type UpstreamReply } from '../../outside/service/exchange.ts'
import { refusal } from '../../outside/service/failures.ts'
import { timeAsked } from '../../outside/service/retries.ts'
import type { Sender, Sending } from '../../outside/service/service.ts'

/**
 * Asks the service if it accepts a credential, with a harmless read; throws if the service refuses it or gives no
 * verdict. Undefined if the service has accepted it already.
 */
export type Prove = (sending: Sending) => Promise<void> | undefined

/** Proves credentials; concurrent calls of one credential share one proof, and each waits for it until its own deadline. */
export function createProve(service: Sender, timeoutMs: number): Prove {
  const underWay = new WeakMap<Account, Promise<void>>()
  const ask = async (sending: Parameters<Prove>[0]): Promise<void> => {
    const { account } = sending
    const request = { method: 'GET', path: `/v2/shipments/${NO_SHIPMENT}`, namesAnId: true } as const
    let reply: UpstreamReply
    try {
      reply = await service.send(request, sending)
    } catch (error) {
      // A token that the service issued is proof enough.
      if (account.acceptance.isProven()) return
      throw error instanceof NoReply && error.silence !== 'unsent' && error.silence !== 'busy' ? notSaid(error) : error
    }
    if (account.acceptance.isProven()) return
    throw reply.status === 401 || reply.status === 403 ? refusal(reply) : undecided(reply)
  }
  return (sending) => {
    const { account } = sending
    if (account.acceptance.isProven()) return undefined
    let asked = underWay.get(account)
    if (!asked) {
      // The read outlasts the first call: one that comes right before the first gives up has its whole time.
      const deadline = performance.now() + 2 * timeoutMs
      asked = ask({ ...sending, deadline }).finally(() => underWay.delete(account))
      underWay.set(account, asked)
    }
    return before(sending.deadline, asked, notSaid)
  }
}

const notSaid = (cause?: unknown) => gatewayError('service-unavailable/proof', {}, { cause, ...RETRY_SOON })

function undecided(reply: UpstreamReply): GatewayError {
  // A rate limit of the service is answered with the service's own message.
  if (reply.status === 429) return refusal(reply)
  const later = timeAsked(reply.headers)
  const details = { serviceStatus: reply.status, ...(later === undefined ? RETRY_SOON : retryAfter(later)) }
  return gatewayError('service-unavailable/proof', {}, details)
}

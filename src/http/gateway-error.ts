import { GatewayError, gatewayError } from '../errors.ts'
import { NoReply } from '../service/exchange.ts'
import { noReplyError } from '../service/failures.ts'
import { LockTimeout, StoreDown } from '../store/store.ts'

const STORE_RETRY_AFTER_SECONDS = 5

/** Converts anything thrown into an error that can be answered; an unexpected one is a fault of the gateway. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  if (thrown instanceof NoReply) return noReplyError(thrown)
  if (thrown instanceof StoreDown) {
    return gatewayError(
      'store-down',
      {},
      { cause: thrown, headers: { 'Retry-After': String(STORE_RETRY_AFTER_SECONDS) } },
    )
  }
  if (thrown instanceof LockTimeout) {
    return gatewayError(
      'shipment-changed/under-way',
      {},
      { cause: thrown, headers: { 'Retry-After': String(STORE_RETRY_AFTER_SECONDS) } },
    )
  }
  return gatewayError('gateway-failed', {}, { cause: thrown })
}

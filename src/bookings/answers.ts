import type { Answer } from '../answer.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Claim } from '../store/store.ts'

const RETRY_LATER = { headers: { 'Retry-After': '5' } } as const

const REPLAYED = 'Idempotent-Replayed'

/** Returns the stored answer of a booking, marked as one that was given before. */
export function replay(claim: Claim): Answer {
  // Only the record of bookings and an operator's settlement write it, in the same form.
  const answer = JSON.parse(claim.reply) as Answer
  return { ...answer, headers: { ...answer.headers, [REPLAYED]: 'true' } }
}

/** Tells if an answer is that of an earlier call. */
export const isReplay = ({ headers }: Answer): boolean => REPLAYED in headers

/** The error of a call that timed out while it waited for the same booking. */
export function underWayStill({ handle: key }: Claim): GatewayError {
  return gatewayError('booking-under-way', { key }, RETRY_LATER)
}

/** The error of a booking whose key another booking holds. */
export function otherBooking({ state, handle: key }: Claim): GatewayError {
  return gatewayError(state === 'sending' ? 'booking-conflict/under-way' : 'booking-conflict', { key })
}

/** The error of a booking that arrives while the gateway shuts down. */
export function shuttingDown(): GatewayError {
  return gatewayError('draining/booking', {}, RETRY_LATER)
}

/** The error of a booking that may or may not have been made. */
export function outcomeUnknown(key: string, cause?: unknown): GatewayError {
  return gatewayError('outcome-unknown', { key }, { cause })
}

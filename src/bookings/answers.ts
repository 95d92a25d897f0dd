import type { Answer } from '../answer.ts'
import { GatewayError, gatewayError } from '../errors.ts'
import type { Claim } from '../store/store.ts'

const RETRY_AFTER_SECONDS = 5

/** Returns the stored answer of a booking, marked as one that was given before. */
export function replay(claim: Claim): Answer {
  // Only the record of bookings and an operator's settlement write it, in the same form.
  const answer = JSON.parse(claim.reply) as Answer
  return { ...answer, headers: { ...answer.headers, 'Idempotent-Replayed': 'true' } }
}

/** The error of a call that has waited for the same booking as long as it may. */
export function underWayStill({ handle }: Claim): GatewayError {
  const message = `The same booking (${handle}) is under way. Try again in a few seconds.`
  return new GatewayError('booking-under-way', message, { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } })
}

/** The error of a booking whose key another booking holds. */
export function otherBooking({ state, handle }: Claim): GatewayError {
  const message =
    state === 'sending'
      ? `A different booking with this reference (${handle}) is under way. Use another reference.`
      : `This reference is already booked with other details (${handle}). Use /updateShipment.php to change the shipment.`
  return new GatewayError('booking-conflict', message)
}

/** The error of a booking that arrives while the gateway shuts down. */
export function shuttingDown(): GatewayError {
  const message = 'The gateway is shutting down, and this booking was not sent. Send it again.'
  return new GatewayError('draining', message, { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } })
}

/** The error of a booking that may or may not have been made. */
export function outcomeUnknown(handle: string, cause?: unknown): GatewayError {
  return gatewayError('outcome-unknown', { key: handle }, { cause })
}

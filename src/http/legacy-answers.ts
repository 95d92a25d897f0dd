import type { Answer } from '../answer.ts'
import { type GatewayError, oneLine } from '../errors.ts'
import type { Endpoint } from '../mapping/catalog.ts'
import type { Refusal } from './refusals.ts'

/** The paths whose errors have one shape: those of quotes, those that book, and those about a shipment that exists. */
export type ErrorShape = 'quote' | 'booking' | 'shipment'

/** Returns the shape of the errors of a path. */
export const errorShape = ({ family, actions }: Endpoint): ErrorShape =>
  family === 'shipment' && actions.some(({ action }) => action.service.notIdempotent) ? 'booking' : family

/** Returns an error in the shape that version-1 callers of a path read; `own` is the caller's own number. */
export function legacyError(error: GatewayError | Refusal, shape: ErrorShape, own: string): Answer {
  const { status, headers = {}, mayHaveBooked = false }: Partial<GatewayError> & Refusal = error
  const message = oneLine(error.message)
  // Without an answer, a shipment that exists may be booked or canceled; a number that is not known is neither.
  const isUnknown = mayHaveBooked || (shape === 'shipment' && status !== NOT_FOUND)
  const body =
    shape === 'quote'
      ? { Cost: '', ShipmentNumber: own, Message: message }
      : { Message: message, TransportationBooked: isUnknown ? 'Unknown' : 'No' }
  return { status, headers, body: JSON.stringify(body) }
}

const NOT_FOUND = 404

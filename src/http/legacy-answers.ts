import type { Answer } from '../answer.ts'
import { type GatewayError, oneLine } from '../errors.ts'
import type { Endpoint } from '../mapping/catalog.ts'

/** Returns an error in the shape that version-1 callers of a path read; `own` is the caller's own number. */
export function legacyError(error: GatewayError, family: Endpoint['family'], own: string): Answer {
  const message = oneLine(error.message)
  const body =
    family === 'quote'
      ? { Cost: '', ShipmentNumber: own, Message: message }
      : { Message: message, TransportationBooked: error.mayHaveBooked ? 'Unknown' : 'No' }
  return { status: error.status, headers: error.headers, body: JSON.stringify(body) }
}

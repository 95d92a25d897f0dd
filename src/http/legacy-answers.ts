import type { Answer } from '../answer.ts'
import { type GatewayError, oneLine } from '../errors.ts'
import type { Endpoint } from '../mapping/catalog.ts'
import type { Refusal } from './refusals.ts'

/** Returns an error in the shape that version-1 callers of a path read; `own` is the caller's own number. */
export function legacyError(error: GatewayError | Refusal, family: Endpoint['family'], own: string): Answer {
  const { status, headers = {}, mayHaveBooked = false }: Partial<GatewayError> & Refusal = error
  const message = oneLine(error.message)
  const body =
    family === 'quote'
      ? { Cost: '', ShipmentNumber: own, Message: message }
      : { Message: message, TransportationBooked: mayHaveBooked ? 'Unknown' : 'No' }
  return { status, headers, body: JSON.stringify(body) }
}

import { valueAt } from '../mapping/paths.ts'
import { serviceId } from '../text/service-text.ts'

/** A shipment as the service showed it. */
export interface Shipment {
  readonly id: string
  /** The body of the reply: an object with this id. */
  readonly body: unknown
}

/** Returns the shipment of a parsed reply; undefined if the reply is not an object with an id. */
export function shipmentIn(reply: unknown): Shipment | undefined {
  const id = idAt(reply, 'id')
  return id === undefined ? undefined : { id, body: reply }
}

/** Returns the id at a key of a reply, as text; undefined where there is none. */
export function idAt(reply: unknown, key: string): string | undefined {
  return serviceId(valueAt(reply, [key]))
}

import { idAt, isCanceled, type Shipment } from '../calls/verify.ts'
import type { Claim } from '../store/store.ts'
import { isStructure, scalarText } from '../text/json.ts'
import { vinKey } from '../xref/xref.ts'

/** The values of a shipment that a booking has chosen. */
export type Identity = Pick<Claim, 'reference' | 'vin'>

/**
 * Returns the identity of a shipment as a booking makes it: live, with a reference and one vehicle. Undefined for any
 * other, which proves nothing about a booking.
 */
export function identityOf({ body }: Shipment): Identity | undefined {
  const reference = scalarText(body['external_id'])?.trim() ?? ''
  const vehicles = body['vehicles']
  const [vehicle, ...others]: readonly unknown[] = Array.isArray(vehicles) ? vehicles : []
  if (isCanceled(body) || reference === '' || !isStructure(vehicle) || others.length > 0) return undefined
  const vin = 'vin' in vehicle && isGiven(vehicle.vin) ? idAt(vehicle, 'vin') : ''
  return vin === undefined ? undefined : { reference, vin: vinKey(vin) }
}

const isGiven = (value: unknown) => value !== null && value !== undefined && value !== ''

/** Returns an identity as a key. */
export const identityKey = ({ reference, vin }: Identity): string => JSON.stringify([reference, vin])

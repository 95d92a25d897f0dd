import type { Draft } from '../../language/mapping/paths.ts'
import { valueAt } from '../../language/mapping/paths.ts'
import { isNotKnown, serviceId } from '../../language/text/service-text.ts'
import type { Vehicle } from '../../outside/store/store.ts'

/** Returns a VIN as it is compared; empty for none. */
export function vinKey(vin: string | undefined): string {
  return vin === undefined || isNotKnown(vin) ? '' : vin.replace(/\s+/g, '').toUpperCase()
}

/** Returns the vehicles of a version-2 body, in the form in which vehicles are compared. */
export function vehiclesIn(body: Readonly<Draft>): readonly Vehicle[] {
  const { vehicles } = body
  if (!Array.isArray(vehicles)) return []
  return vehicles.map((vehicle) => ({
    vin: vinKey(serviceId(valueAt(vehicle, ['vin']))),
    year: comparable(vehicle, 'year'),
    make: comparable(vehicle, 'make'),
    model: comparable(vehicle, 'model'),
  }))
}

const LONGEST_WORD = 64

/** Returns a text of a vehicle without what people write in different ways: `E-450` and `e450` are one. */
function comparable(vehicle: unknown, key: string): string {
  const text = serviceId(valueAt(vehicle, [key])) ?? ''
  return text
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .slice(0, LONGEST_WORD)
}

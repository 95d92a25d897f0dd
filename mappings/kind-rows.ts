import { type Fallback, lookup, move, phraseIn, type Row, wholeValue } from '../src/language/mapping/declare.ts'
import { equipmentType } from './codecs.ts'

/** The kind of the trailer: callers send it in quotes, and some in bookings and updates. */
export const transportTypeRow = (...fallbacks: readonly Fallback[]): Row =>
  move('EquipmentType', 'transport_type', equipmentType, { fallbacks })

/** The kind of the vehicle, likewise. */
export const vehicleTypeRow = (place: string, ...fallbacks: readonly Fallback[]): Row =>
  lookup(
    [wholeValue('PickupCommodityCode'), wholeValue('DeliveryCommodityCode'), phraseIn('LoadReference')],
    place,
    'vehicle_types',
    fallbacks,
  )

import { vehicleTypes } from '../../../mappings/vehicle-types.ts'

/*
 * The translation of a quote as somebody would write it by hand for this one call: what every Node contender does. The
 * check before each run holds it against the gateway's own.
 */

const BETWEEN_WORDS = /[\s,;:./|()[\]"]+/
const LONGEST_PHRASE = 4

/** `BOX_TRUCK`, `box truck` and `Box-Truck` are the same. */
const folded = (text) =>
  text
    .toUpperCase()
    .replace(/[\s,;:./|()[\]"_–—-]+/g, ' ')
    .trim()

const types = new Map(Object.entries(vehicleTypes).map(([phrase, type]) => [folded(phrase), type]))
const transports = new Map([
  ['OPEN AUTO', 'open'],
  ['ENCLOSED AUTO', 'enclosed'],
])

/** The type that the longest known phrase of a description means. */
function typeInWords(text = '') {
  const words = text.split(BETWEEN_WORDS).map(folded)
  for (let length = Math.min(LONGEST_PHRASE, words.length); length > 0; length -= 1) {
    for (let start = 0; start + length <= words.length; start += 1) {
      const type = types.get(words.slice(start, start + length).join(' '))
      if (type) return type
    }
  }
  return undefined
}

/** `2134` has lost its leading zero. */
const zip = (text) => (/^\d{3,4}$/.test(text) ? text.padStart(5, '0') : text)

/** The version-2 body of a version-1 quote. */
export function toVersion2(fields) {
  const { PickupCommodityCode = '', DeliveryCommodityCode = '', EquipmentType = '' } = fields
  return {
    pickup: zip(fields.TempShipFromPostalCode),
    delivery: zip(fields.TempShipToPostalCode),
    vehicle_type:
      types.get(folded(PickupCommodityCode)) ??
      types.get(folded(DeliveryCommodityCode)) ??
      typeInWords(fields.LoadReference) ??
      'car',
    transport_type: transports.get(folded(EquipmentType)) ?? 'open',
  }
}

/** The version-1 reply to a quote: the caller's own number where it has one. */
export function toVersion1(reply, fields) {
  return { Cost: reply.price.toFixed(2), ShipmentNumber: fields.ShipmentNumber || reply.shipment_id }
}

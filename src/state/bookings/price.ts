import { twoDecimals } from '../../../mappings/codecs/money.ts'
import { scalarText } from '../../language/text/json.ts'

/** The header of a booking whose shipment has another price than its quote. */
export const PRICE = 'Transload-Price'

/** Returns the header that tells both prices; none where they are equal, or one of them is not known. */
export function priceHeader(quoted: string | undefined, shipment: unknown): Readonly<Record<string, string>> {
  const [asked, booked] = [quoted, scalarText(Object(shipment).price)].map((price) => twoDecimals(price ?? ''))
  return asked === undefined || booked === undefined || asked === booked
    ? {}
    : { [PRICE]: `quoted=${asked}, booked=${booked}` }
}

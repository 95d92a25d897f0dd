import { basic, CLIENT, post, type WholeAnswer } from '../gateway.ts'

/** Asks for a quote under a number. */
export function quote(
  gateway: { readonly url: string },
  ShipmentNumber: string,
  more: object = {},
  client: string = CLIENT.id,
): Promise<WholeAnswer> {
  const trip = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166', EquipmentType: 'OPEN AUTO' }
  return post(gateway, '/getShippingQuote.php', { ...trip, ...more, ShipmentNumber }, { authorization: basic(client) })
}

/** Approves the quote of a number. */
export function approve(
  gateway: { readonly url: string },
  ShipmentNumber: string,
  client: string = CLIENT.id,
): Promise<WholeAnswer> {
  const body = { ActionName: 'Approve Rate', ShipmentNumber }
  return post(gateway, '/getShippingQuote.php', body, { authorization: basic(client) })
}

import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { get, post, type TestGateway } from '../gateway.ts'

export const NUMBER = quoteExample.ShipmentNumber
export const REFERENCE = bookingExample.ReferenceNumber

type At = Pick<TestGateway, 'url'>

/** Asks for the quote of the example. */
export const quote = (gateway: At, ShipmentNumber: string = NUMBER) =>
  post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber })

export const approve = (gateway: At) =>
  post(gateway, '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: NUMBER })

/** Makes the booking of the example. */
export const book = (gateway: At, ReferenceNumber: string = REFERENCE) =>
  post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber })

export const read = (gateway: At, named: Readonly<Record<string, string>> = { ReferenceNumber: REFERENCE }) =>
  get(gateway, `/getShipment.php?${new URLSearchParams(named)}`)

export const update = (gateway: At, named: object = { ReferenceNumber: REFERENCE }) =>
  post(gateway, '/updateShipment.php', { ...named, PickupName: 'X' })

export const cancel = (gateway: At, ReferenceNumber: string = REFERENCE) =>
  post(gateway, '/deleteShipment.php', { ReferenceNumber })

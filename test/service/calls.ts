import type { IncomingMessage, ServerResponse } from 'node:http'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { get, OWN, post, startGateway, type TestGateway, type TestGatewayOptions } from '../gateway.ts'
import { openService } from '../http/service.ts'

const NUMBER = quoteExample.ShipmentNumber
const REFERENCE = bookingExample.ReferenceNumber
/** The id of a shipment. */
export const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'

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

export const cancel = (gateway: At) => post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })

/** Opens a gateway before a service that reads each request and answers it in its own way. */
export async function answering(
  answer: (outgoing: ServerResponse, incoming: IncomingMessage) => void,
  options: TestGatewayOptions = {},
) {
  const service = await openService((incoming, outgoing) => {
    incoming.resume().once('end', () => answer(outgoing, incoming))
  })
  return { service, gateway: await startGateway({ env: OWN, ...options, serviceUrl: service.url }) }
}

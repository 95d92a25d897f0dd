import {
  action,
  anyOf,
  assumedAgain,
  fixed,
  fromQuote,
  guess,
  ifAbsent,
  ifPresent,
  message,
  quoteFact,
  setting,
  v1Only,
} from '../src/language/mapping/declare.ts'
import {
  bookingExample,
  bookingRows,
  quoteOnlyFacts,
  shipmentExample,
  shipmentOnlyRows,
  wholeShipmentRows,
} from './booking-rows.ts'
import { transportTypeRow, vehicleTypeRow } from './quote-rows.ts'

/** Books a trip. */
export const shipmentCreate = action({
  name: 'shipment.create',
  verb: 'book',
  summary: 'Book a shipment. One call books one vehicle.',
  family: 'shipment',
  legacy: {
    method: 'POST',
    paths: ['/createShipment.php', '/ConfirmBooking'],
    actionNames: ['MakeBooking', 'Create Shipment'],
    byDefault: true,
  },
  service: { method: 'POST', path: '/v2/shipments' },
  quoteNamedBy: ['ReferenceNumber'],
  givesNames: ['ReferenceNumber'],
  requires: [
    anyOf('PickupZip', 'PickupCity'),
    anyOf('DeliveryZip', 'DeliveryCity'),
    anyOf('BillToName', quoteFact('customer_name', 'contact_name')),
    anyOf('VinNo', ['Year', 'Make', 'Model']),
  ],
  refuses: [
    {
      fields:
        /^(?:vehicles(?:[.[][\w.[\] ]{0,32})?|vin(?:[ _-]?no)?s|(?:vehicle|vin(?:[ _-]?no)?|year|make|model)[ ._-]?0?(?:[2-9]|[1-9]\d)(?:[ ._-]?(?:vin(?:[ _-]?no)?|year|make|model))?[._]?)$/i,
      code: 'several-vehicles',
      problem: 'means several vehicles; send one booking for each vehicle',
    },
  ],
  request: [
    ...bookingRows,
    transportTypeRow(quoteFact('transport_type'), setting('transport_type')),
    vehicleTypeRow(
      'vehicles[0].type',
      quoteFact('vehicle_type'),
      guess('Model'),
      // Some models are known only with their makes: the Edge is a Ford.
      guess('Make', 'Model'),
      assumedAgain('vehicle_type'),
    ),
    ...quoteOnlyFacts.map((fact) => fromQuote(`customer.${fact}`, fact)),
    fromQuote('quote_id', 'quote_id', { onlyWith: 'send_quote_id' }),
    ...v1Only(['ActionName'], 'selects the action; version 2 has a path for each'),
    ...v1Only(['CSR'], 'version 2 has no place for it'),
    ...shipmentOnlyRows,
  ],
  reply: [
    message('Message', [
      ifPresent('number', 'Transportation booked: shipment number {number}.'),
      ifAbsent('number', 'Transportation booked: shipment {id}.'),
    ]),
    fixed('TransportationBooked', 'Yes'),
    ...wholeShipmentRows(
      'the response has only a message; Transload-Shipment-Id and Transload-Shipment-Number have the ids',
    ),
  ],
  example: { request: bookingExample, reply: shipmentExample },
})

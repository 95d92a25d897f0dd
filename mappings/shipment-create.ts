import { action, fact, fields, fixed, has, lacks, need, recall, say, setting, v1Only } from '../src/mapping/declare.ts'
import { bookingExample, bookingRows, shipmentExample, shipmentOnlyRows, wholeShipmentRows } from './booking-rows.ts'

/** Books a trip. */
export const shipmentCreate = action({
  name: 'shipment.create',
  summary: 'Book the transport of a vehicle.',
  family: 'shipment',
  legacy: {
    method: 'POST',
    paths: ['/createShipment.php', '/ConfirmBooking'],
    actionNames: ['MakeBooking', 'Create Shipment'],
    byDefault: true,
  },
  service: { method: 'POST', path: '/v2/shipments', notIdempotent: true },
  recalls: ['ReferenceNumber'],
  keeps: { kind: 'shipment', names: ['ReferenceNumber'], disambiguateBy: 'VinNo', id: 'id', replyNames: ['number'] },
  needs: [
    need(fields('PickupZip'), fields('PickupCity')),
    need(fields('DeliveryZip'), fields('DeliveryCity')),
    need(
      fields('BillToName'),
      fact('customer_name'),
      fact('contact_name'),
      fact('contact_email'),
      fact('contact_phone'),
    ),
    need(fields('VinNo'), fields('Year', 'Make', 'Model')),
  ],
  request: [
    ...bookingRows,
    recall('transport_type', 'transport_type', { otherwise: [setting('transport_type')] }),
    recall('vehicles[0].type', 'vehicle_type'),
    recall('customer.address', 'address'),
    recall('customer.city', 'city'),
    recall('customer.state', 'state'),
    recall('customer.zipcode', 'zipcode'),
    recall('customer.contact_name', 'contact_name'),
    recall('customer.contact_email', 'contact_email'),
    recall('customer.contact_phone', 'contact_phone'),
    recall('quote_id', 'quote_id', { when: 'send_quote_id' }),
    ...v1Only(['ActionName'], 'chooses the action; version 2 has a path for each'),
    ...shipmentOnlyRows,
  ],
  reply: [
    say('Message', [
      has('number', 'Transportation booked: shipment number {number}.'),
      lacks('number', 'Transportation booked: shipment {id}.'),
    ]),
    fixed('TransportationBooked', 'Yes'),
    ...wholeShipmentRows(
      'version 1 answers with a message alone; the ids travel in Transload-Shipment-Id and Transload-Shipment-Number',
    ),
  ],
  example: { request: bookingExample, reply: shipmentExample },
})

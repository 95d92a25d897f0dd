import { action, choose, has, lacks, move, ownNumber, say, several } from '../src/mapping/declare.ts'
import {
  bookingRows,
  findingRows,
  partIdRows,
  quoteKnowsRows,
  serverRows,
  shipmentExample,
  shipmentNames,
  shipmentOnlyRows,
} from './booking-rows.ts'
import { money, text } from './codecs.ts'

/** Reads a shipment: the booking's fields, run backwards. */
export const shipmentGet = action({
  name: 'shipment.get',
  summary: 'Read a shipment.',
  family: 'shipment',
  legacy: { method: 'GET', paths: ['/getShipment.php'], actionNames: 'any' },
  service: { method: 'GET', path: '/v2/shipments/{shipment_id}' },
  finds: { kind: 'shipment', by: shipmentNames, disambiguateBy: 'VinNo' },
  request: findingRows('a read needs nothing but the number'),
  reply: [
    ownNumber('ShipmentNumber', 'number'),
    ...bookingRows,
    move('Cost', 'price', money),
    move('Status', 'status', text),
    choose('TransportationBooked', 'status', { canceled: 'No' }, 'Yes'),
    say('Message', [
      has('status', 'Shipment {number|id} is {status}.'),
      lacks('status', 'Shipment {number|id} was found.'),
      several('vehicles', 'It has {vehicles.length} vehicles; the first one is shown.'),
    ]),
    ...quoteKnowsRows,
    ...shipmentOnlyRows,
    ...partIdRows,
    ...serverRows,
  ],
  example: { request: { ReferenceNumber: 'WTS20250216191244' }, reply: shipmentExample },
})

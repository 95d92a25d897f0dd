import { action, callerNumber, ifAbsent, ifPresent, ifSeveral, message, move } from '../src/language/mapping/declare.ts'
import {
  bookedByStatus,
  bookedRows,
  namingRows,
  partIdRows,
  quoteOnlyPlaces,
  serverRows,
  shipmentExample,
  shipmentNames,
  shipmentOnlyRows,
  unshownKinds,
} from './booking-rows.ts'
import { money, text } from './codecs.ts'
import { transportTypeRow } from './quote-rows.ts'

/** Reads a shipment by running the rows of a booking backwards. */
export const shipmentGet = action({
  name: 'shipment.get',
  verb: 'read',
  summary: 'Read a shipment.',
  family: 'shipment',
  legacy: { method: 'GET', paths: ['/getShipment.php'], actionNames: 'any' },
  service: { method: 'GET', path: '/v2/shipments/{shipment_id}' },
  target: { kind: 'shipment', namedBy: shipmentNames },
  request: namingRows('a read needs only the number'),
  reply: [
    callerNumber('ShipmentNumber', 'number'),
    ...bookedRows,
    move('Cost', 'price', money),
    move('Status', 'status', text),
    transportTypeRow(),
    bookedByStatus,
    message('Message', [
      ifPresent('status', 'Shipment {number|id} is {status}.'),
      ifAbsent('status', 'Shipment {number|id} was found.'),
      ifSeveral('vehicles', 'It has {vehicles.length} vehicles; one of them is shown.'),
    ]),
    ...quoteOnlyPlaces,
    ...unshownKinds,
    ...shipmentOnlyRows,
    ...partIdRows,
    ...serverRows,
  ],
  example: { request: { ReferenceNumber: 'WTS20250216191244' }, reply: shipmentExample },
})

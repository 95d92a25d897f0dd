import { action, ifAbsent, ifPresent, message, v1Only, v2Only } from '../src/language/mapping/declare.ts'
import { fieldsOf } from '../src/language/mapping/row-parts.ts'
import {
  bookedByStatus,
  bookedRows,
  nameRows,
  partIdRows,
  quoteOnlyPlaces,
  serverRows,
  shipmentExample,
  shipmentNames,
  shipmentOnlyRows,
  shownServerRows,
  wholeShipmentRows,
} from './booking-rows.ts'
import { transportTypeRow, vehicleTypeRow } from './quote-rows.ts'

/** Changes a shipment: the sent fields are merged into the service's shipment. */
export const shipmentUpdate = action({
  name: 'shipment.update',
  verb: 'update',
  summary: 'Change a shipment. Fields that are not sent stay unchanged.',
  family: 'shipment',
  legacy: { method: 'POST', paths: ['/updateShipment.php'], actionNames: 'any' },
  service: { method: 'PUT', path: '/v2/shipments/{shipment_id}' },
  target: { kind: 'shipment', namedBy: shipmentNames },
  request: [
    ...bookedRows.filter((row) => !fieldsOf(row).includes('ReferenceNumber')),
    transportTypeRow(),
    vehicleTypeRow('vehicles[0].type'),
    ...nameRows,
    ...v2Only(['external_id'], 'an update does not change the reference'),
    ...v1Only(['ActionName'], 'the path determines the action'),
    ...v1Only(['Cost', 'Status', 'TransportationBooked', 'Message'], 'only the service sets it'),
    ...quoteOnlyPlaces,
    ...shipmentOnlyRows,
    ...partIdRows,
    ...serverRows,
    ...shownServerRows,
  ],
  reply: [
    message('Message', [
      ifPresent('number', 'Shipment {number} was updated.'),
      ifAbsent('number', 'The shipment was updated.'),
    ]),
    bookedByStatus,
    ...wholeShipmentRows('the response has only a message'),
  ],
  example: {
    request: { ReferenceNumber: 'WTS20250216191244', DeliveryName: 'Sam Example', 'DeliveryPhNo.': '305-555-0102' },
    reply: shipmentExample,
  },
})

import { action, ifAbsent, ifPresent, message, v1Only, v2Only } from '../src/language/mapping/declare.ts'
import { fieldsOf } from '../src/language/mapping/row-parts.ts'
import { bookedByStatus, bookedRows, nameRows, shipmentExample, shipmentNames } from './booking-rows.ts'
import { transportTypeRow, vehicleTypeRow } from './kind-rows.ts'
import {
  partIdRows,
  quoteOnlyPlaces,
  serverRows,
  shipmentOnlyRows,
  shownServerRows,
  wholeShipmentRows,
} from './shipment-rows.ts'

/** Changes a shipment: the sent fields are merged into what the service has. */
export const shipmentUpdate = action({
  name: 'shipment.update',
  verb: 'update',
  summary: 'Change a shipment; fields that are not sent stay as they are.',
  family: 'shipment',
  legacy: { method: 'POST', paths: ['/updateShipment.php'], actionNames: 'any' },
  service: { method: 'PUT', path: '/v2/shipments/{shipment_id}' },
  target: { kind: 'shipment', namedBy: shipmentNames },
  request: [
    ...bookedRows.filter((row) => !fieldsOf(row).includes('ReferenceNumber')),
    transportTypeRow(),
    vehicleTypeRow('vehicles[0].type'),
    ...nameRows,
    ...v2Only(['external_id'], 'the reference that the shipment was booked with'),
    ...v1Only(['ActionName'], 'the path decides the action'),
    ...v1Only(['Cost', 'Status', 'TransportationBooked', 'Message'], 'a read shows it, and only the service sets it'),
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
    ...wholeShipmentRows('version 1 answers an update with a message only'),
  ],
  example: {
    request: { ReferenceNumber: 'WTS20250216191244', DeliveryName: 'Sam Example', 'DeliveryPhNo.': '305-555-0102' },
    reply: shipmentExample,
  },
})

import { action, fixed, has, lacks, say, v1Only } from '../src/mapping/declare.ts'
import {
  bookingRows,
  nameRows,
  partIdRows,
  quoteKnowsRows,
  serverRows,
  shipmentExample,
  shipmentNames,
  shipmentOnlyRows,
  shownServerRows,
  wholeShipmentRows,
} from './booking-rows.ts'

/** Changes a shipment: the sent fields are laid over what the service has. */
export const shipmentUpdate = action({
  name: 'shipment.update',
  summary: 'Change a shipment; fields that are not sent stay as they are.',
  family: 'shipment',
  legacy: { method: 'POST', paths: ['/updateShipment.php'], actionNames: 'any' },
  service: { method: 'PUT', path: '/v2/shipments/{shipment_id}', mergeInto: 'current' },
  finds: { kind: 'shipment', by: shipmentNames, disambiguateBy: 'VinNo' },
  keeps: {
    kind: 'shipment',
    names: ['ReferenceNumber'],
    disambiguateBy: 'VinNo',
    id: 'id',
    replyNames: ['external_id', 'number'],
  },
  request: [
    ...bookingRows,
    ...nameRows,
    ...v1Only(['ActionName'], 'the path says the action'),
    ...quoteKnowsRows,
    ...shipmentOnlyRows,
    ...partIdRows,
    ...serverRows,
    ...shownServerRows,
  ],
  reply: [
    say('Message', [has('number', 'Shipment {number} was updated.'), lacks('number', 'The shipment was updated.')]),
    fixed('TransportationBooked', 'Yes'),
    ...wholeShipmentRows('version 1 answers an update with a message alone'),
  ],
  example: {
    request: { ReferenceNumber: 'WTS20250216191244', DeliveryName: 'Sam Example', 'DeliveryPhNo.': '305-555-0102' },
    reply: shipmentExample,
  },
})

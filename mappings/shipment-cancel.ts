import { action, fixed, has, lacks, say } from '../src/mapping/declare.ts'
import { findingRows, shipmentExample, shipmentNames, wholeShipmentRows } from './booking-rows.ts'

/** Cancels a shipment. */
export const shipmentCancel = action({
  name: 'shipment.cancel',
  summary: 'Cancel a shipment; cancelling it again succeeds.',
  family: 'shipment',
  legacy: { method: 'POST', paths: ['/deleteShipment.php'], actionNames: 'any' },
  service: { method: 'DELETE', path: '/v2/shipments/{shipment_id}', doneWhenStatus: 'canceled' },
  finds: { kind: 'shipment', by: shipmentNames, disambiguateBy: 'VinNo' },
  request: findingRows('a cancellation needs nothing but the number'),
  reply: [
    say('Message', [has('number', 'Shipment {number} is canceled.'), lacks('number', 'The shipment is canceled.')]),
    fixed('TransportationBooked', 'No'),
    ...wholeShipmentRows('version 1 answers a cancellation with a message alone'),
  ],
  example: {
    request: { ReferenceNumber: 'WTS20250216191244' },
    reply: { ...shipmentExample, status: 'canceled' },
  },
})

import { action, fixed, ifAbsent, ifPresent, message } from '../src/language/mapping/declare.ts'
import { namingRows, shipmentExample, shipmentNames, wholeShipmentRows } from './booking-rows.ts'

export const shipmentCancel = action({
  name: 'shipment.cancel',
  verb: 'cancel',
  summary: 'Cancel a shipment. Canceling it again succeeds.',
  family: 'shipment',
  legacy: { method: 'POST', paths: ['/deleteShipment.php'], actionNames: 'any' },
  service: { method: 'DELETE', path: '/v2/shipments/{shipment_id}' },
  target: { kind: 'shipment', namedBy: shipmentNames },
  request: namingRows('a cancellation needs only the number'),
  reply: [
    message('Message', [
      ifPresent('number', 'Shipment {number} is canceled.'),
      ifAbsent('number', 'The shipment is canceled.'),
    ]),
    fixed('TransportationBooked', 'No'),
    ...wholeShipmentRows('the response has only a message'),
  ],
  example: {
    request: { ReferenceNumber: 'WTS20250216191244' },
    reply: { ...shipmentExample, status: 'canceled' },
  },
})

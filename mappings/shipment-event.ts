import { callback, callerNumber, changed, ifAbsent, ifPresent, message, move } from '../src/language/mapping/declare.ts'
import { bookedRows } from './booking-rows.ts'
import { money, text } from './codecs.ts'
import { transportTypeRow } from './quote-rows.ts'

/** The status that each event implies. Other events do not imply one. */
export const eventStatuses: Readonly<Record<string, string>> = {
  'shipment.created': 'new',
  'shipment.assigned': 'assigned',
  'shipment.picked_up': 'picked_up',
  'shipment.delivered': 'delivered',
  'shipment.canceled': 'canceled',
}

/** Notifies a caller of an event with the rows of a booking for the fields that have changed. */
export const shipmentEvent = callback({
  name: 'shipment.event',
  summary: 'Tell the caller about an event for its shipment.',
  events: 'any',
  fields: [
    move('Event', 'event', text),
    move('EventDate', 'event_date', text),
    callerNumber('ShipmentNumber', 'number'),
    move('ReferenceNumber', 'reference', text),
    move('Status', 'status', text),
    ...changed(bookedRows.filter((row) => !('v1' in row && row.v1 === 'ReferenceNumber'))),
    ...changed([transportTypeRow(), move('Cost', 'price', money)]),
    message('Message', [
      ifPresent('told', 'Shipment {reference|number} is {told}.'),
      // The status from a read may be older than the event.
      ifAbsent('told', 'The service reports {event} for shipment {reference|number}.'),
      ifPresent('changes.price', 'Its price is {Cost}.'),
    ]),
  ],
  example: {
    shipment_id: '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11',
    event: 'shipment.modified',
    event_date: '2024-08-10T08:00:00+0000',
    data: {
      'pickup.zipcode': { old_value: 10314, new_value: 2134 },
      'delivery.contact_name': { old_value: 'Robin Example', new_value: 'Alex Example' },
      price: { old_value: 1234.5, new_value: 1300, difference: 65.5 },
    },
  },
})

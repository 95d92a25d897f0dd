import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { post, startGateway } from '../gateway.ts'

test('a shipment that a version-2 body cancels frees its booking like any other', async () => {
  const gateway = await startGateway()
  const booked = await post(gateway, '/createShipment.php', bookingExample)
  const id = booked.headers.get('transload-shipment-id')
  const canceled = await post(gateway, '/deleteShipment.php', { id, external_id: bookingExample.ReferenceNumber })
  expect(canceled.json).toMatchObject({ id, status: 'canceled' })
  const again = await post(gateway, '/createShipment.php', bookingExample)
  expect(again.json.TransportationBooked).toBe('Yes')
  expect(again.headers.get('idempotent-replayed')).toBeNull()
  expect(again.headers.get('transload-shipment-id')).not.toBe(id)
})

/** Promise: a value that a quote only assumed is assumed again, from today's defaults (contract, section 4). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { OWN, post, startGateway } from '../gateway.ts'

const QUOTE = '/getShippingQuote.php'

test("a value that a quote only assumed is assumed again, from today's defaults", async () => {
  const before = await startGateway({ env: OWN })
  await post(before, QUOTE, {
    ShipmentNumber: 'Q-1',
    TempShipFromPostalCode: '10314',
    TempShipToPostalCode: '33166',
  })
  const env = { ...OWN, DEFAULT_TRANSPORT_TYPE: 'enclosed', DEFAULT_VEHICLE_TYPE: 'van' }
  const today = await startGateway({ env, store: before.store })
  today.sandbox.fail({ kind: 'status', status: 204 })
  const update = { ActionName: 'Update Rate', ShipmentNumber: 'Q-1', TempShipToPostalCode: '33101' }
  const updated = await post(today, QUOTE, update)
  expect(updated.headers.get('transload-assumed')).toBe('transport_type=enclosed, vehicle_type=van')
  expect(JSON.parse(today.sandbox.requests.at(-1)?.body ?? '')).toMatchObject({ vehicle_type: 'van' })
  const booking = { ...bookingExample, ReferenceNumber: 'Q-1', Model: undefined }
  const booked = await post(today, '/createShipment.php', booking)
  expect(booked.headers.get('transload-assumed')).toBe('transport_type=enclosed, vehicles[0].type=van')
})

/** Promise: an answer says in a header what was assumed (contract, section 4). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { get, OWN, post, startGateway } from '../gateway.ts'

const CREATE = '/createShipment.php'
const QUOTE = '/getShippingQuote.php'
const TRIP = { TempShipFromPostalCode: '1885', TempShipToPostalCode: '33166' }

test('an answer says in a header what was assumed', async () => {
  const gateway = await startGateway({ env: OWN })
  const assumed = async (path: string, body: object) =>
    (await post(gateway, path, body)).headers.get('transload-assumed')
  expect(await assumed(QUOTE, { ...TRIP, ShipmentNumber: 'Q-1' })).toBe(
    'pickup=01885, vehicle_type=car, transport_type=open',
  )
  const known = { TempShipFromPostalCode: '10314', EquipmentType: 'open auto', PickupCommodityCode: 'SUV' }
  expect(await assumed(QUOTE, { ...TRIP, ...known, ShipmentNumber: 'Q-2' })).toBeNull()
  expect(await assumed(CREATE, { ...bookingExample, ReferenceNumber: 'Q-2' })).toBeNull()
  const both = 'transport_type=open, vehicles[0].type=truck_ext'
  expect(await assumed(CREATE, bookingExample)).toBe(both)
  const said = { EquipmentType: 'OPEN AUTO', PickupCommodityCode: 'VAN' }
  expect(await assumed(CREATE, { ...bookingExample, ReferenceNumber: 'R-2', ...said })).toBeNull()
  expect(await assumed('/updateShipment.php', { ReferenceNumber: 'R-2', PickupZip: '2134' })).toBe(
    'pickup.zipcode=2134',
  )
  // The answer of a booking is the same when it is repeated.
  expect(await assumed(CREATE, bookingExample)).toBe(both)
})

test("what a quote only assumed is assumed again, by today's defaults", async () => {
  const before = await startGateway({ env: OWN })
  const { store } = before
  await post(before, QUOTE, { ...TRIP, ShipmentNumber: 'Q-1' })
  const env = { ...OWN, DEFAULT_TRANSPORT_TYPE: 'enclosed', DEFAULT_VEHICLE_TYPE: 'van' }
  const today = await startGateway({ env, store })
  today.sandbox.fail({ kind: 'status', status: 204 })
  const update = { ActionName: 'Update Rate', ShipmentNumber: 'Q-1', TempShipToPostalCode: '33101' }
  const updated = await post(today, QUOTE, update)
  expect(updated.headers.get('transload-assumed')).toBe('vehicle_type=van, transport_type=enclosed')
  expect(JSON.parse(today.sandbox.requests.at(-1)?.body ?? '')).toMatchObject({ vehicle_type: 'van' })
  const booked = await post(today, CREATE, { ...bookingExample, ReferenceNumber: 'Q-1', Model: undefined })
  expect(booked.headers.get('transload-assumed')).toBe('transport_type=enclosed, vehicles[0].type=van')
})

test('a booking and an update take the kinds that they are sent, before those of the quote', async () => {
  const gateway = await startGateway({ env: OWN })
  await post(gateway, QUOTE, { ...TRIP, ShipmentNumber: 'Q-1', EquipmentType: 'OPEN AUTO', LoadReference: 'Camry' })
  const kinds = { EquipmentType: 'Enclosed Auto', PickupCommodityCode: 'no such code', LoadReference: 'a box truck' }
  await post(gateway, CREATE, { ...bookingExample, ReferenceNumber: 'Q-1', ...kinds })
  const shipment = () => [...gateway.sandbox.shipments.values()][0]
  expect(shipment()).toMatchObject({ transport_type: 'enclosed', vehicles: [{ type: 'truck_ext' }] })
  const update = { ReferenceNumber: 'Q-1', EquipmentType: 'OPEN AUTO', PickupCommodityCode: 'VAN' }
  const { json } = await post(gateway, '/updateShipment.php', update)
  expect(json.Message).toContain('Changed: EquipmentType, PickupCommodityCode.')
  expect(shipment()).toMatchObject({ transport_type: 'open', vehicles: [{ type: 'van' }] })
  const wrong = { ReferenceNumber: 'Q-1', PickupCommodityCode: 'no such code' }
  expect((await post(gateway, '/updateShipment.php', wrong)).json.Message).toBe(
    'Nothing was changed: the value of PickupCommodityCode is not understood.',
  )
  expect((await get(gateway, '/getShipment.php?ReferenceNumber=Q-1')).status).toBe(200)
})

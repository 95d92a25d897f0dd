/** Promise: a name in another case means the one thing that is called so (contract, section 6). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { OWN, post, startGateway } from '../gateway.ts'

const QUOTE = '/getShippingQuote.php'
const CREATE = '/createShipment.php'
const quoteAs = (ShipmentNumber: string) => ({
  ...quoteExample,
  ShipmentNumber,
  OrderRefNumber: '',
  EquipmentType: 'ENCLOSED AUTO',
})

test('a name in another case means nothing where several things are called so, and the exact name comes first', async () => {
  const gateway = await startGateway({ env: OWN })
  await post(gateway, QUOTE, quoteAs('Abc1'))
  await post(gateway, QUOTE, { ...quoteAs('aBC1'), EquipmentType: 'OPEN AUTO' })
  const assumed = async (ReferenceNumber: string) =>
    (await post(gateway, CREATE, { ...bookingExample, ReferenceNumber })).headers.get('transload-assumed')
  expect(await assumed('ABC1')).toBe('transport_type=open, vehicles[0].type=truck_ext')
  expect(await assumed('Abc1')).toBeNull()
  const kinds = [...gateway.sandbox.shipments.values()].map((shipment) => shipment.transport_type)
  expect(kinds).toEqual(['open', 'enclosed'])
})

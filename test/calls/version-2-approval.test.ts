/** Promise: a quote that is approved under /v2/ and then booked is one shipment (contract, section 7). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { post, startGateway } from '../gateway.ts'

const NAME = 'REF-1'

test('a quote that is approved under /v2/, and then booked, is one shipment', async () => {
  const gateway = await startGateway()
  await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: NAME })
  const [id] = gateway.sandbox.quotes.keys()
  expect((await post(gateway, `/v2/quote/${id}/approve`, {})).status).toBe(200)
  const { status } = await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: NAME })
  expect(status).toBe(200)
  expect([...gateway.sandbox.shipments.keys()]).toEqual([id])
})

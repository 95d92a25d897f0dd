/** Promise: a quote that is approved and then booked becomes one shipment, and is approved once (contract, section 7). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { OWN, post, startGateway } from '../gateway.ts'
import { play, storiesIn } from './stories.ts'

test.each(storiesIn(import.meta.dirname, 'approved.txt'))('%s', (_, steps) => play(steps))

test('a booking by the order of its quote asks the store no more than one by its number', async () => {
  const inner = createMemoryStore()
  const asked: string[] = []
  const named: typeof inner.named = (tenant, name) => {
    asked.push(name)
    return inner.named(tenant, name)
  }
  const gateway = await startGateway({ store: { ...inner, named }, env: OWN })
  await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: 'Q-1', OrderRefNumber: 'O-1' })
  await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: 'O-1' })
  expect(asked).toEqual(['O-1', 'O-1'])
})

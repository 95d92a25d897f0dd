/** Promise: a quote that is approved and then booked becomes one shipment, and is approved once (contract, section 7). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { CLIENT, OWN, post, startGateway } from '../gateway.ts'
import { ask } from './desk.ts'
import { play, storiesIn } from './stories.ts'

test.each(storiesIn(import.meta.dirname, 'approved.txt'))('%s', (_, steps) => play(steps))

test('a booking by the order of its quote asks the store once for each name of the quote', async () => {
  const inner = createMemoryStore()
  const asked: string[] = []
  const named: typeof inner.named = (tenant, name) => {
    asked.push(name)
    return inner.named(tenant, name)
  }
  const gateway = await startGateway({ store: { ...inner, named }, env: OWN })
  await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: 'Q-1', OrderRefNumber: 'O-1' })
  await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: 'O-1' })
  expect(asked).toEqual(['O-1', 'Q-1'])
})

test('a booking takes the lock of no quote but its own, because to other bookings that would be an approval', async () => {
  const inner = createMemoryStore()
  const locked: string[] = []
  const exclusive: typeof inner.exclusive = (key, ...others) => {
    if (key.startsWith('quote ')) locked.push(key)
    return inner.exclusive(key, ...others)
  }
  const gateway = await startGateway({ store: { ...inner, exclusive }, env: OWN })
  let id = ''
  for (const TempShipToPostalCode of ['60601', '60602']) {
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: 'Q-1', TempShipToPostalCode })
    id = [...gateway.sandbox.quotes.keys()].at(-1) ?? ''
    await inner.noteApproval({ tenant: CLIENT.id, id }, ['Q-1'])
  }
  await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: 'Q-1' })
  expect(locked).toEqual([expect.stringContaining(id)])
})

test('each further vehicle of an order whose quotes are approved costs its booking one look for a booked shipment', async () => {
  const inner = createMemoryStore()
  let looks = 0
  const claimsOfShipment: typeof inner.claimsOfShipment = (...shipment) => {
    looks += 1
    return inner.claimsOfShipment(...shipment)
  }
  const gateway = await startGateway({ store: { ...inner, claimsOfShipment }, env: OWN })
  const looksOf: number[] = []
  for (const vehicle of ['1', '2', '3', '4']) {
    await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: vehicle, OrderRefNumber: 'O-1' })
    await ask(gateway, 'POST', `/v2/quote/${[...gateway.sandbox.quotes.keys()].at(-1)}/approve`)
    looks = 0
    await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: 'O-1', VinNo: vehicle })
    looksOf.push(looks)
  }
  expect(looksOf).toEqual([3, 5, 6, 7])
})

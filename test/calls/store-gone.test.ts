/** Promise: while the store is down, a call that needs it is answered 503 in its own shape (contract, section 9). */

import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { get, post, startGateway } from '../gateway.ts'

test('while the store is down, the answer is 503 with Retry-After', async () => {
  const store = createMemoryStore()
  const gateway = await startGateway({ store })
  await store.close()
  const ShipmentNumber = 'S-1'
  const approval = { ActionName: 'Accept Rate', ShipmentNumber }
  const approved = await post(gateway, '/getShippingQuote.php', approval)
  const Message = expect.stringContaining('again')
  expect([approved.status, approved.json]).toEqual([503, { Cost: '', ShipmentNumber, Message }])
  expect(approved.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  const read = await get(gateway, '/getShipment.php?number=1')
  expect([read.status, read.json]).toEqual([503, { Message, TransportationBooked: 'Unknown' }])
})

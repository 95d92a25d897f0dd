/** Promise: every failure inside the gateway is answered as an error in the right shape (contract, section 9). */

import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { LockTimeout, StoreDown } from '../../src/outside/store/store.ts'
import { startGateway } from '../gateway.ts'
import { approve, book, quote, update } from '../service/calls.ts'

test.each([
  ['a store that is down', new StoreDown('down'), 503, '5', /^The gateway's database is unavailable/],
  [
    'a lock that is not given',
    new LockTimeout('late'),
    409,
    '5',
    /^Other requests .* are in progress, so nothing was sent/,
  ],
  ['a bug', new TypeError('a bug'), 500, null, /^(?!.*bug)/],
])('%s', async (_, error, status, retryAfter, message) => {
  const store = createMemoryStore()
  const gateway = await startGateway({ store: { ...store, exclusive: () => Promise.reject(error) } })
  await book(gateway)
  const answer = await update(gateway)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, retryAfter])
  expect(answer.json).toEqual({ Message: expect.stringMatching(message), TransportationBooked: 'Unknown' })
})

test('a booking and an approval that get no lock were not sent, and should be repeated', async () => {
  const store = createMemoryStore()
  let isFree = true
  const exclusive: typeof store.exclusive = (key, waitMs, work) =>
    isFree ? store.exclusive(key, waitMs, work) : Promise.reject(new LockTimeout('late'))
  const gateway = await startGateway({ store: { ...store, exclusive } })
  await quote(gateway)
  await approve(gateway)
  isFree = false
  const Message =
    'Other requests for this shipment or quote are in progress, so nothing was sent. Send the same request again.'
  expect(await approve(gateway)).toMatchObject({ status: 409, json: { Message } })
  expect(await book(gateway)).toMatchObject({ status: 409, json: { Message, TransportationBooked: 'Unknown' } })
})

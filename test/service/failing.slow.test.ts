/** Promise: a service that keeps failing is left alone, and used again when it is well (contract, section 9). */

import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { type Answered, post, startGateway } from '../gateway.ts'

const SECOND_MS = 1_000

test('a service that keeps failing is left alone, asked once in a while, and used again when it is back', async () => {
  const gateway = await startGateway()
  const { sandbox } = gateway
  const book = () => post(gateway, '/createShipment.php', bookingExample)
  let last = 0
  const quote = () => {
    last += 1
    return post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: `N-${last}` })
  }
  const waitAsTold = (answer: Answered) => pause(Number(answer.headers.get('retry-after')) * SECOND_MS)

  sandbox.fail({ kind: 'status', status: 502, times: 'always' })
  let answer = await quote()
  while (answer.status === 502) answer = await quote()
  expect(answer.status).toBe(503)
  expect(answer.json.Message).toMatch(/keeps failing/)
  expect(answer.headers.get('retry-after')).toMatch(/^[1-5]$/)

  // Open: nothing reaches the service, and a booking is not said to be unknown.
  const asked = sandbox.requests.length
  for (const call of [quote(), quote(), book()]) {
    const refused = await call
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toMatch(/^[1-5]$/)
  }
  const booking = await book()
  expect(booking.json).toEqual({ Message: expect.stringMatching(/nothing was sent/), TransportationBooked: 'No' })
  expect(sandbox.requests).toHaveLength(asked)

  // Half open: one call of many finds out that nothing has changed.
  await waitAsTold(booking)
  const tries = await Promise.all(Array.from({ length: 8 }, quote))
  expect(tries.map(({ status }) => status).sort()).toEqual([502, 503, 503, 503, 503, 503, 503, 503].sort())
  expect(sandbox.requests).toHaveLength(asked + 1)

  // And one finds out that it has.
  sandbox.clearFaults()
  const closed = await quote()
  expect(closed.status).toBe(503)
  await waitAsTold(closed)
  expect((await quote()).status).toBe(200)
  const all = await Promise.all([...Array.from({ length: 8 }, quote), book()])
  expect(all.map(({ status }) => status)).toEqual(all.map(() => 200))
  expect(sandbox.requests.filter(({ path }) => path === '/v2/shipments')).toHaveLength(1)
})

test('now and then a failure opens nothing', async () => {
  const gateway = await startGateway()
  for (let i = 0; i < 40; i += 1) {
    if (i % 3 === 0) gateway.sandbox.fail({ kind: 'status', status: 502, on: { method: 'POST' } })
    const answer = await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: `N-${i}` })
    expect(answer.json.Message ?? '').not.toMatch(/keeps failing/)
  }
})

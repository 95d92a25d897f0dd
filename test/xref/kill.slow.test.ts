/** Promise: every number of a quote that a caller was given resolves after a SIGKILL (contract, section 6); `test/bookings` kills bookings. */

import { expect, test } from 'vitest'
import { openSandbox } from '../bookings/desk.ts'
import { serve } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { size } from '../size.ts'
import { approve, quote } from './program.ts'

const ROUNDS = size(4, 50)
const CALLERS = 6
/** The kill comes after at most this many answered calls. */
const MOST_ANSWERS = 40

test('every number that a caller was given resolves after SIGKILL', { timeout: 150_000 }, async () => {
  const sandbox = await openSandbox()
  const place = folder()
  let calls = 0
  /** The trip of each number identifies its quote at the service. */
  const given = new Map<string, string>()
  for (let round = 0; round <= ROUNDS; round += 1) {
    const gateway = await serve(place, { V2_BASE_URL: sandbox.url })
    for (const [number, zip] of given) {
      const { status, json } = await approve(gateway, number)
      expect({ number, status, booked: json.TransportationBooked }).toEqual({ number, status: 200, booked: 'Yes' })
      expect([...sandbox.quotes.values()].filter(({ pickup }) => pickup === zip)).toMatchObject([{ approved: true }])
    }
    given.clear()
    const last = 1 + Math.floor(Math.random() * MOST_ANSWERS)
    let dead = false
    const callers = Array.from({ length: CALLERS }, async () => {
      while (!dead) {
        calls += 1
        const [number, zip] = [`WTS-${calls}`, String(10_000 + calls)]
        try {
          const { status, json } = await quote(gateway, number, { TempShipFromPostalCode: zip })
          expect([status, json.ShipmentNumber]).toEqual([200, number])
          given.set(number, zip)
        } catch (error) {
          // Only a dead gateway may leave a call without an answer.
          if (!dead || !('code' in Object(error))) throw error
        }
        if (given.size < last || dead) continue
        dead = true
        gateway.signal('SIGKILL')
      }
    })
    await Promise.all(callers)
    expect((await gateway.ended).code).toBe('SIGKILL')
    expect(given.size).toBeGreaterThan(0)
  }
})

/** Promise: a service that keeps failing is left alone, and used again when it is well (contract, section 9). */

import { describe, expect, test } from 'vitest'
import { clocks } from '../callers/tenants-gateway.ts'
import { OWN, startGateway } from '../gateway.ts'
import { book, quote } from './calls.ts'

/** So many calls, half of which fail, open it. */
const LEAST_CALLS = 20
/** An open circuit lets one probe through after this time. */
const OPEN_MS = 5_000
/** No call waits that long, so nothing is tried again. */
const LATER = { 'retry-after': '60' }

async function start() {
  const gateway = await startGateway({ env: OWN })
  const { sandbox } = gateway
  /** Asks for quotes, one after the other, which the service answers with a status; returns how many reached it. */
  const ask = async (count: number, status = 200) => {
    sandbox.clearFaults()
    if (status !== 200) sandbox.fail({ kind: 'status', status, headers: LATER, times: 'always' })
    const before = sandbox.requests.length
    for (let i = 0; i < count; i += 1) await quote(gateway)
    return sandbox.requests.length - before
  }
  return { gateway, sandbox, ask, isOpen: async () => (await ask(1)) === 0 }
}

test.each([
  [502, true],
  [503, true],
  [504, true],
  [500, false],
  [501, false],
  [429, false],
  [404, false],
])('answers %i are failures: %s', async (status, isFailure) => {
  const { ask, isOpen } = await start()
  await ask(LEAST_CALLS, status)
  expect(await isOpen()).toBe(isFailure)
})

test('so are connections that the service resets', async () => {
  const { gateway, sandbox, isOpen } = await start()
  sandbox.fail({ kind: 'reset-after', times: 'always' })
  for (let i = 0; i < LEAST_CALLS; i += 1) await quote(gateway)
  expect(await isOpen()).toBe(true)
})

test('half of the calls must fail, of twenty at least', async () => {
  const { ask, isOpen } = await start()
  expect([await ask(10), await ask(10, 502), await isOpen()]).toEqual([10, 10, true])
  const other = await start()
  expect([await other.ask(11), await other.ask(10, 502), await other.ask(1, 502)]).toEqual([11, 10, 1])
  expect(await other.isOpen()).toBe(true)
  const few = await start()
  expect([await few.ask(LEAST_CALLS - 1, 502), await few.ask(1), await few.isOpen()]).toEqual([19, 1, true])
})

describe('an open circuit', () => {
  test('refuses calls for five seconds and says how long; nothing is sent', async () => {
    const { pass } = clocks()
    const { gateway, sandbox, ask, isOpen } = await start()
    await ask(LEAST_CALLS, 502)
    const asked = sandbox.requests.length
    for (const [ms, later] of [
      [0, '5'],
      [2_000, '3'],
      [2_000, '1'],
    ] as const) {
      pass(ms)
      const refused = await quote(gateway)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, later])
      expect(refused.json.Message).toMatch(/^The service is failing, so nothing was sent/)
    }
    const booking = await book(gateway)
    expect(booking.json).toEqual({ Message: expect.stringMatching(/nothing was sent/), TransportationBooked: 'No' })
    expect(sandbox.requests).toHaveLength(asked)
    sandbox.clearFaults()
    pass(OPEN_MS)
    expect((await book(gateway)).json.TransportationBooked).toBe('Yes')
    expect(await isOpen()).toBe(false)
  })

  test('lets one probe through at a time, and another one if that takes too long', async () => {
    const { pass } = clocks()
    const { gateway, sandbox, ask, isOpen } = await start()
    await ask(LEAST_CALLS, 502)
    sandbox.clearFaults()
    pass(OPEN_MS)
    sandbox.fail({ kind: 'delay', ms: 1_500 })
    const arrived = sandbox.next()
    const first = quote(gateway)
    await arrived
    expect(await isOpen()).toBe(true)
    pass(OPEN_MS)
    expect((await quote(gateway)).status).toBe(200)
    expect(await isOpen()).toBe(false)
    expect((await first).status).toBe(200)
  })

  test('stays open after a probe that fails, and counts anew after one that does not', async () => {
    const { pass } = clocks()
    const { ask, isOpen } = await start()
    await ask(LEAST_CALLS, 502)
    pass(OPEN_MS)
    expect([await ask(1, 503), await isOpen()]).toEqual([1, true])
    pass(OPEN_MS)
    expect(await isOpen()).toBe(false)
    expect(await ask(LEAST_CALLS - 1, 502)).toBe(LEAST_CALLS - 1)
    expect([await ask(1, 502), await isOpen()]).toEqual([1, true])
  })
})

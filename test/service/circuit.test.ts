/** Promise: a service that keeps failing is left alone, and used again when it has recovered (contract, section 9). */

import { expect, test } from 'vitest'
import { clocks } from '../callers/tenants-gateway.ts'
import { OWN, startGateway } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import { book, quote } from './calls.ts'

/** This many calls, half of which fail, open the circuit. */
const LEAST_CALLS = 20
/** An open circuit lets one probe through after this time. */
const OPEN_MS = 5_000
/** An answer that asks for a longer wait than any retry makes. */
const answers = (status: number): Fault => ({ kind: 'status', status, headers: { 'retry-after': '60' } })
const FAILURE = answers(502)

async function start() {
  const gateway = await startGateway({ env: OWN })
  const { sandbox } = gateway
  /** Asks for quotes, one after the other, which meet a fault or none; returns how many reached the service. */
  const ask = async (count: number, fault?: Fault) => {
    sandbox.clearFaults()
    if (fault) sandbox.fail({ ...fault, times: 'always' })
    const before = sandbox.requests.length
    for (let i = 0; i < count; i += 1) await quote(gateway)
    return sandbox.requests.length - before
  }
  return { gateway, sandbox, ask, isOpen: async () => (await ask(1)) === 0 }
}

test.each<[fault: Fault, isFailure: boolean]>([
  ...[502, 503, 504].map((status): [Fault, boolean] => [answers(status), true]),
  ...[500, 501, 429, 404].map((status): [Fault, boolean] => [answers(status), false]),
  [{ kind: 'reset-after' }, true],
])('answers such as %j are failures: %s', async (fault, isFailure) => {
  const { ask, isOpen } = await start()
  await ask(LEAST_CALLS, fault)
  expect(await isOpen()).toBe(isFailure)
})

test('half of at least twenty calls must fail', async () => {
  const { ask, isOpen } = await start()
  expect([await ask(10), await ask(10, FAILURE), await isOpen()]).toEqual([10, 10, true])
  const other = await start()
  expect([await other.ask(11), await other.ask(10, FAILURE), await other.ask(1, FAILURE)]).toEqual([11, 10, 1])
  expect(await other.isOpen()).toBe(true)
  const few = await start()
  expect([await few.ask(LEAST_CALLS - 1, FAILURE), await few.ask(1), await few.isOpen()]).toEqual([19, 1, true])
})

test('an open circuit refuses calls for five seconds and says how long; nothing is sent', async () => {
  const { pass } = clocks()
  const { gateway, sandbox, ask, isOpen } = await start()
  await ask(LEAST_CALLS, FAILURE)
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

test('an open circuit lets one probe through at a time, and another one if the first takes too long', async () => {
  const { pass } = clocks()
  const { gateway, sandbox, ask, isOpen } = await start()
  await ask(LEAST_CALLS, FAILURE)
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

test('an open circuit stays open after a failed probe, and counts from zero after a successful one', async () => {
  const { pass } = clocks()
  const { ask, isOpen } = await start()
  await ask(LEAST_CALLS, FAILURE)
  pass(OPEN_MS)
  expect([await ask(1, answers(503)), await isOpen()]).toEqual([1, true])
  pass(OPEN_MS)
  expect(await isOpen()).toBe(false)
  expect(await ask(LEAST_CALLS - 1, FAILURE)).toBe(LEAST_CALLS - 1)
  expect([await ask(1, FAILURE), await isOpen()]).toEqual([1, true])
})

/** Promise: only requests that may be repeated are retried, and not too often (contract, section 9). */

import { expect, test } from 'vitest'
import { atOnce, clocks, statuses } from '../callers/tenants-gateway.ts'
import { startGateway } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import { answering, book, cancel, quote } from './calls.ts'

const answers = (status: number, later?: string): Fault => ({
  kind: 'status',
  status,
  ...(later !== undefined && { headers: { 'retry-after': later } }),
})
const BUSY: Fault = { ...answers(503), times: 'always' }

test('the service has a pause that grows, or the one that it asks for', async () => {
  const gateway = await startGateway()
  const { requests } = gateway.sandbox
  for (const [fault, least] of [
    [{ ...BUSY, times: 2 }, [45, 95]],
    [answers(503, '1'), [1_000]],
  ] as const) {
    requests.length = 0
    gateway.sandbox.fail(fault)
    expect((await quote(gateway)).status).toBe(200)
    const at = requests.map((request) => request.at.getTime())
    for (const [i, pauseMs] of least.entries()) expect((at[i + 1] ?? 0) - (at[i] ?? 0)).toBeGreaterThanOrEqual(pauseMs)
  }
})

test('ten seconds have ten retries', async () => {
  const { pass } = clocks()
  const gateway = await startGateway()
  const { sandbox } = gateway
  /** Returns how many requests this many quotes cause. */
  const sent = async (count: number) => {
    sandbox.requests.length = 0
    await atOnce(count, (i) => quote(gateway, `N-${i}`))
    return sandbox.requests.length
  }
  // Earlier calls and their retries do not count.
  expect(await sent(100)).toBe(100)
  for (let window = 0; window < 2; window += 1) {
    pass(11_000)
    sandbox.fail(BUSY)
    expect([await sent(5), await sent(1)]).toEqual([15, 1])
  }
})

test('more than ten retries in ten seconds are at most a fifth of the traffic', async () => {
  const CALLS = 200
  let count = 0
  const { gateway, service } = await answering((outgoing) => {
    count += 1
    // Two of five fail.
    if (count % 5 < 2) outgoing.writeHead(502).end()
    else outgoing.end(JSON.stringify({ shipment_id: `q-${count}`, price: 1 }))
  })
  const queue = Array.from({ length: CALLS }, (_, i) => i).values()
  const all: { status: number }[] = []
  await atOnce(10, async () => {
    for (const i of queue) all.push(await quote(gateway, `N-${i}`))
  })
  const retries = service.requests.length - CALLS
  // A slow machine may take more than ten seconds, and ten more retries.
  expect(retries).toBeLessThanOrEqual(0.2 * CALLS + 10)
  expect(retries).toBeGreaterThan(10)
  expect(statuses(all)['502']).toBeGreaterThan(0)
})

test('an attempt that was not sent does not hide one that was', async () => {
  const gateway = await startGateway()
  const { sandbox } = gateway
  await book(gateway)
  sandbox.fail({ kind: 'reset-after' })
  // By the time of the second try, there is no service.
  const [answer] = await Promise.all([cancel(gateway), sandbox.next().then(sandbox.close)])
  expect(answer).toMatchObject({
    status: 502,
    json: { Message: expect.stringMatching(/It is not known whether the change was made\./) },
  })
})

/** Promise: a service that keeps failing is left alone, and used again when it has recovered (contract, section 9). */

import { expect, test } from 'vitest'
import { clocks } from '../callers/tenants-gateway.ts'
import { OWN, startGateway } from '../gateway.ts'
import { quote } from './calls.ts'

/** An open circuit lets one probe through after this time. */
const OPEN_MS = 5_000

test('an open circuit lets one probe through at a time, and another one if the first takes too long', async () => {
  const { pass } = clocks()
  const gateway = await startGateway({ env: OWN })
  const { sandbox } = gateway
  // No retry waits for so long.
  sandbox.fail({ kind: 'status', status: 502, headers: { 'retry-after': '60' }, times: 20 })
  for (let calls = 0; calls < 20; calls += 1) expect((await quote(gateway)).status).toBe(502)
  pass(OPEN_MS)
  sandbox.fail({ kind: 'delay', ms: 1_500 })
  const arrived = sandbox.next()
  const first = quote(gateway)
  await arrived
  expect((await quote(gateway)).status).toBe(503)
  pass(OPEN_MS)
  for (let calls = 0; calls < 2; calls += 1) expect((await quote(gateway)).status).toBe(200)
  expect((await first).status).toBe(200)
})

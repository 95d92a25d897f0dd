/** Promise: a promoted standby has every acknowledged booking (contract, section 7). */

import { expect, test } from 'vitest'
import { size } from '../size.ts'
import { failOverUnderLoad } from './failover-harness.ts'

/*
 * A standby is promoted under load, and the gateways' one address moves to it. The old primary is killed, cut off, or goes on beside
 * it. `npm run test:whole` does it twenty times.
 */

const LONG_MS = 900_000
const FAILOVERS = size(2, 20)
/** From the promotion. A primary that goes on is left only when its commits have waited for five seconds. */
const READY_WITHIN_SECONDS = 15

test('a synchronous standby that is promoted under load has every acknowledged booking, and none is made twice', {
  timeout: LONG_MS,
}, async () => {
  const report = await failOverUnderLoad(FAILOVERS)
  const { times, ...counts } = report
  const seconds = times.map(
    (one) => `${one.ending}/${one.promoted.toFixed(2)}/${one.ready.toFixed(2)}/${one.booked.toFixed(2)}`,
  )
  process.stdout.write(`${JSON.stringify(counts)}\nto the promotion, readiness and a booking: ${seconds.join(' ')}\n`)
  expect(report).toMatchObject({ duplicates: 0, lost: 0, forgotten: 0 })
  expect(report.acknowledged + report.unknown).toBe(report.references)
  expect(report.acknowledged).toBeGreaterThan(10 * FAILOVERS)
  for (const { promoted, ready } of times) expect(ready - promoted).toBeLessThan(READY_WITHIN_SECONDS)
})

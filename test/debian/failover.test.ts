/** Promise: a promoted standby has every acknowledged booking (contract, section 7). */

import { expect, test } from 'vitest'
import { size } from '../size.ts'
import { type FailoverReport, failOverUnderLoad } from './failover-harness.ts'

/*
 * A standby is promoted under load, and the gateways' one address moves to it. The old primary is killed, cut off, or goes on beside
 * it. `npm run test:whole` does it twenty times.
 */

const LONG_MS = 900_000
const FAILOVERS = size(2, 20)
/** From the promotion. A primary that goes on is left only when its commits have waited for five seconds. */
const READY_WITHIN_SECONDS = 15

function show(what: string, { times, ...counts }: FailoverReport): void {
  const rounded = times.map(({ ending, promoted, ready, booked }) => [
    ending,
    ...[promoted, ready, booked].map((time) => time.toFixed(2)),
  ])
  process.stdout.write(`${what}: ${JSON.stringify(counts)}\n`)
  process.stdout.write(
    `seconds to the promotion, readiness and a booking: ${rounded.map((one) => one.join('/')).join(' ')}\n`,
  )
}

test('a synchronous standby that is promoted under load has every acknowledged booking, and none is made twice', {
  timeout: LONG_MS,
}, async () => {
  const report = await failOverUnderLoad({ failovers: FAILOVERS, standby: 'synchronous' })
  show('synchronous standby', report)
  expect(report).toMatchObject({ duplicates: 0, lost: 0, forgotten: 0 })
  expect(report.acknowledged + report.unknown).toBe(report.references)
  expect(report.acknowledged).toBeGreaterThan(10 * FAILOVERS)
  for (const { promoted, ready } of report.times) expect(ready - promoted).toBeLessThan(READY_WITHIN_SECONDS)
})

test('the same harness finds what a standby lacks that was not synchronous', { timeout: LONG_MS }, async () => {
  const report = await failOverUnderLoad({ failovers: 1, standby: 'cut off' })
  show('standby that was cut off', report)
  expect(report.lost).toBeGreaterThan(0)
  // Asked for again, they are booked again.
  expect(report.duplicates).toBeGreaterThan(0)
  expect(report.forgotten).toBeGreaterThan(0)
})

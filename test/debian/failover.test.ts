/** Promise: a promoted standby has every acknowledged booking (contract, section 7). */

import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { size } from '../size.ts'
import { startLoad } from './booking-callers.ts'
import { startMovingAddress } from './moving-address.ts'
import { addressOf, openServer, startStandby } from './postgres-servers.ts'

/*
 * Callers book through two gateways on one address that moves from a primary to its promoted synchronous standby, again and again. Each old
 * primary becomes the next standby. `npm run test:whole` does it twenty times.
 */

const LONG_MS = 900_000
const FAILOVERS = size(2, 20)
/** After the promotion. A primary that keeps running is left only when its commits have waited for five seconds. */
const READY_WITHIN_SECONDS = 15
const SERVICE_TAKES_MS = 8
const LONGEST_LIFE_MS = 1_500
const POLL_MS = 10

/**
 * How a primary ends: `killed`, so that the address leads to a standby that accepts no writes for a moment; `cut` off from the address
 * only; or it `goes on`, and open connections still reach it.
 */
const ENDINGS = ['killed', 'goes on', 'cut', 'goes on'] as const

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(POLL_MS)
}

const isReady = ({ url }: { readonly url: string }) =>
  fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )

test('a synchronous standby that is promoted under load has every acknowledged booking, and none is made twice', {
  timeout: LONG_MS,
}, async () => {
  let primary = await openServer()
  let standby = await startStandby(primary)
  onTestFinished(async () => void (await Promise.allSettled([primary.remove(), standby.remove()])))
  const address = await startMovingAddress(primary.port)
  onTestFinished(address.close)
  const secure = async () => {
    await primary.set('synchronous_standby_names', '*')
    await primary.until("SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'")
  }
  await secure()
  const { gateways, callers, finish } = await startLoad(addressOf(address), SERVICE_TAKES_MS)
  for (let nth = 0; nth < FAILOVERS; nth += 1) {
    await pause(Math.random() * LONGEST_LIFE_MS)
    const ending = ENDINGS[nth % ENDINGS.length]
    if (ending === 'killed') {
      await primary.kill()
      address.moveTo(standby.port)
    }
    await standby.promote()
    if (ending !== 'killed') address.moveTo(standby.port)
    if (ending === 'cut') address.cut(primary.port)
    const promotedAt = performance.now()
    const elapsed = () => (performance.now() - promotedAt) / 1_000
    const old = primary.port
    const ready = async () => {
      // All have left the old primary.
      await until(() => address.connectionsTo(old) === 0)
      for (const gateway of await Promise.all(gateways)) await until(() => isReady(gateway))
      return elapsed()
    }
    const booked = until(() => callers.latestAccepted() > promotedAt).then(elapsed)
    const times = await Promise.all([ready(), booked])
    process.stdout.write(`${ending}, seconds to readiness and to a booking: ${times.join(' ')}\n`)
    expect(times[0]).toBeLessThan(READY_WITHIN_SECONDS)
    ;[primary, standby] = [standby, primary]
    if (nth + 1 === FAILOVERS) break
    await standby.follow(primary)
    await secure()
  }
  const report = await finish(true)
  process.stdout.write(`${JSON.stringify(report)}\n`)
  expect(report).toMatchObject({ duplicates: 0, lost: 0, forgotten: 0 })
  expect(report.acknowledged + report.unknown).toBe(report.references)
  expect(report.acknowledged).toBeGreaterThan(10 * FAILOVERS)
})

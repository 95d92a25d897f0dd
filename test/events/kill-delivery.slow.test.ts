/** Promise: gateways that are killed lose no event, and keep the order (contract, section 10). */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newFolder } from '../command.ts'
import { size, WHOLE } from '../size.ts'
import { startPostgres } from '../store/postgres-server.ts'
import { type KillReport, killGateways } from './kill-harness.ts'

const EVENTS = size(250, 10_000)
const KILLS = size(3, 100)
const LONG_MS = 900_000

function check(engine: string, report: KillReport): void {
  const { events, kills, arrived, lost, outOfOrder } = report
  process.stdout.write(
    `${engine}: ${events} events, ${kills} kills of two gateways, ${arrived} deliveries, ${lost} lost, ${outOfOrder} out of order\n`,
  )
  expect(report).toMatchObject({ lost: 0, outOfOrder: 0 })
}

test('two gateways on one file that are killed lose no event, and keep the order', { timeout: LONG_MS }, async () => {
  const folder = newFolder('delivery-store')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  check('sqlite', await killGateways({ storeUrl: join(folder, 'store.db'), events: EVENTS, kills: KILLS }))
})

// The kills of test/events/kill-healing are on PostgreSQL.
if (WHOLE) {
  test('two gateways on PostgreSQL that are killed lose no event, and keep the order', {
    timeout: LONG_MS,
  }, async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    check('postgres', await killGateways({ storeUrl: await server.createDatabase(), events: EVENTS, kills: KILLS }))
  })
}

/** Promise: a gateway that is killed under load books nothing twice and loses nothing (contract, section 7). */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { end } from '../../src/operator/commands/harness.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { startGateway } from '../gateway.ts'
import { size } from '../size.ts'
import {
  book,
  claimOf,
  creations,
  expectBooked,
  expectUnknown,
  isCreation,
  ON_CREATION,
  openSandbox,
  statesOf,
  testFolder,
} from './desk.ts'
import { startGatewayProcess } from './gateway-process.ts'
import { killUnderLoad } from './kill-harness.ts'

/*
 * A booking is claimed durably before it is sent, and after a restart the claims of a dead process are `unknown`.
 */

const LONG_MS = 300_000
const KILLS = size(3, 20)
/** The first one is usually enough; some come before the first call. */
const CONTROL_KILLS = 40

test('a gateway that is killed under load books nothing twice and loses nothing', { timeout: LONG_MS }, async () => {
  const report = await killUnderLoad({ kills: KILLS, until: 'unknown' })
  process.stdout.write(`${JSON.stringify(report)}\n`)
  expect(report).toMatchObject({ duplicates: 0, lost: 0 })
  expect(report.acknowledged + report.unknown).toBe(report.references)
  expect(report.states).toEqual({ booked: report.acknowledged, unknown: report.unknown })
})

test('the same harness finds the duplicates of a gateway that resends unknown bookings', {
  timeout: LONG_MS,
}, async () => {
  const env = { MISTAKE: 'an unknown key is claimed again' }
  const report = await killUnderLoad({ kills: CONTROL_KILLS, until: 'duplicate', env, imports: ['mistake.ts'] })
  expect(report.duplicates).toBeGreaterThan(0)
})

/** A file for a store, a service, and a gateway that runs beside others. */
async function openBeside() {
  const path = join(testFolder(), 'store.db')
  const sandbox = await openSandbox()
  const { url, child } = await startGatewayProcess({ storeUrl: path, serviceUrl: sandbox.url })
  const begun = sandbox.next(isCreation)
  const startNext = async () => ({
    ...(await startGateway({ store: await openStore(path), serviceUrl: sandbox.url })),
    sandbox,
  })
  return { sandbox, url, child, begun, startNext }
}

test('the next start knows at once that a gateway has died during a booking', { timeout: LONG_MS }, async () => {
  const { sandbox, url, child, begun, startNext } = await openBeside()
  sandbox.fail({ kind: 'timeout', on: ON_CREATION })
  const lost = book({ url }).catch(() => undefined)
  await begun
  await end(child)
  expect(await lost).toBeUndefined()

  const gateway = await startNext()
  // The claim was on the disk before the request.
  const { handle, tenant } = await claimOf(gateway)
  expect(await statesOf(gateway, handle)).toEqual(['none', 'sending', 'unknown'])
  expect(expectUnknown(await book(gateway))).toBe(handle)
  const told = { level: 'error', booking: handle, tenant, why: 'its gateway is gone' }
  expect(gateway.lines()).toContainEqual(expect.objectContaining(told))
  expect(creations(gateway)).toBe(1)
})

test('a start beside a live gateway does not touch its bookings', { timeout: LONG_MS }, async () => {
  const { sandbox, url, begun, startNext } = await openBeside()
  const { promise: after, resolve } = Promise.withResolvers<void>()
  sandbox.fail({ kind: 'delay', ms: 0, after, on: ON_CREATION })
  const first = book({ url })
  await begun
  const gateway = await startNext()
  const { state, handle } = await claimOf(gateway)
  expect(state).toBe('sending')
  const repeated = book(gateway)
  resolve()
  expect(expectBooked(await repeated, true)).toBe(expectBooked(await first))
  expect(await statesOf(gateway, handle)).toEqual(['none', 'sending', 'booked'])
})

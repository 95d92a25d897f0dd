/** Promise: gateways with different clocks book nothing twice (contract, section 7). */

import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { output } from '../command.ts'
import { size } from '../size.ts'
import { startPostgres } from '../store/postgres-server.ts'
import { startLoad } from './booking-callers.ts'

/* Two gateways on one PostgreSQL are killed at random, and Debian's `faketime` sets the clock of one an hour ahead. */

const LONG_MS = 300_000
const KILLS = size(2, 30)
const SERVICE_TAKES_MS = 20
const LONGEST_LIFE_MS = 1_500

test('gateways with different clocks that are killed under load book nothing twice and lose nothing', {
  timeout: LONG_MS,
}, async () => {
  const server = await startPostgres()
  onTestFinished(() => server.remove())
  // The program `faketime` itself would be the parent of the gateway, and a signal to it would not reach the gateway.
  const library = await output('faketime', ['-f', '+1h', 'printenv', 'LD_PRELOAD'])
  // The timers of this gateway run normally.
  const fake = { LD_PRELOAD: library.trim(), FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' }
  const ahead = { ...fake, FAKETIME: '+1h' }
  const load = await startLoad(await server.createDatabase(), SERVICE_TAKES_MS, [ahead, {}])
  // It continues if none was killed in the middle, or hardly one was booked, because that would show nothing.
  const { acknowledged, unknown: inDoubt } = load.callers
  const isTelling = () => inDoubt.size > 0 && acknowledged.size > KILLS
  const isEnough = (killed: number) => killed >= KILLS && (isTelling() || killed >= 4 * KILLS)
  for (let killed = 0; !isEnough(killed); killed += 1) {
    await load.gateways[killed % 2]
    await pause(Math.random() * LONGEST_LIFE_MS)
    await load.kill(killed % 2)
  }
  const report = await load.finish()
  process.stdout.write(`an hour apart: ${JSON.stringify(report)}\n`)
  expect(report).toMatchObject({ duplicates: 0, lost: 0 })
  expect(report.acknowledged + report.unknown).toBe(report.references)
  expect(report.acknowledged).toBeGreaterThan(KILLS)
  expect(report.unknown).toBeGreaterThan(0)
  // A booking whose caller gave up after `Unknown` may have been recorded since.
  const { booked = 0, unknown = 0, ...others } = report.states
  expect(others).toEqual({})
  expect(booked).toBeGreaterThanOrEqual(report.acknowledged)
  expect(booked + unknown).toBe(report.references)
})

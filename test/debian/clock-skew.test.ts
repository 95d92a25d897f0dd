/** Promise: gateways with different clocks book nothing twice (contract, section 7). */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { size } from '../size.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { killUnderSkew } from './skew-harness.ts'

/* Two gateways over one PostgreSQL are killed at random, and Debian's `faketime` sets the clock of one an hour ahead. */

const LONG_MS = 300_000
const KILLS = size(5, 30)

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

test('gateways with different clocks that are killed under load book nothing twice and lose nothing', {
  timeout: LONG_MS,
}, async () => {
  const report = await killUnderSkew(await server.createDatabase(), KILLS)
  process.stdout.write(`an hour apart: ${JSON.stringify(report)}\n`)
  expect(report).toMatchObject({ kills: KILLS, duplicates: 0, lost: 0 })
  expect(report.acknowledged + report.unknown).toBe(report.references)
  expect(report.acknowledged).toBeGreaterThan(KILLS)
  // Some were killed in the middle, or this shows nothing.
  expect(report.unknown).toBeGreaterThan(0)
  const { booked = 0, unknown = 0, ...others } = report.states
  expect(others).toEqual({})
  expect([booked, unknown]).toEqual([report.acknowledged, report.unknown])
})

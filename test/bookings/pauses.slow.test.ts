import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { size, WHOLE } from '../size.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { pauseUnderLoad } from './pause-harness.ts'

const LONG_MS = 900_000
/** Of each gateway; a sample takes half a minute. */
const PAUSES = size(2, 20)
/** The first mostly will do. */
const CONTROL_PAUSES = 12
const SECOND_MS = 1_000

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

test('gateways that are paused under load book nothing twice, lose nothing and overwrite no settlement', {
  timeout: LONG_MS,
}, async () => {
  const storeUrl = await server.createDatabase()
  const times = { shortestMs: SECOND_MS, longestMs: 20 * SECOND_MS }
  const report = await pauseUnderLoad({ storeUrl, pauses: PAUSES, ...times })
  process.stdout.write(`with the second look: ${JSON.stringify(report)}\n`)
  expect(report).toMatchObject({ pauses: 2 * PAUSES, duplicates: 0, lost: 0, overwritten: 0 })
  expect(report.references).toBeGreaterThan(PAUSES)
})

// It takes minutes; `paused.slow.test.ts` has a control of its own.
if (WHOLE) {
  test('the same harness finds the duplicates of a gateway that does not look at its claims again', {
    timeout: LONG_MS,
  }, async () => {
    const storeUrl = await server.createDatabase()
    // Long enough for the other gateway and the operator.
    const times = { shortestMs: 12 * SECOND_MS, longestMs: 15 * SECOND_MS }
    const imports = [join(import.meta.dirname, 'no-second-look.ts')]
    const report = await pauseUnderLoad({ storeUrl, pauses: CONTROL_PAUSES, untilDuplicate: true, imports, ...times })
    process.stdout.write(`without it: ${JSON.stringify(report)}\n`)
    expect(report.duplicates).toBeGreaterThan(0)
  })
}

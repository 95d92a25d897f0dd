/** Promise: memory stays flat under load of every kind (contract, section 2). */

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cleanEnv, output, ROOT } from '../command.ts'
import { size } from '../size.ts'

/** More than the documented memory: three minutes took 283 and 286. */
const MOST_MEGABYTES = 320
/** A leak of half a kilobyte per call would exceed this in time. */
const GROWTH_MEGABYTES = 80
const MINUTES = size(0.2, 3)

test('under load of every kind, memory stays small and flat', { timeout: (MINUTES + 1.5) * 60_000 }, async () => {
  const out = await output(process.execPath, [join(ROOT, 'bench/soak.ts'), '--minutes', String(MINUTES)], {
    cwd: ROOT,
    env: cleanEnv(),
  })
  const { megabytes, statuses, failed, exitCode } = JSON.parse(out.trim().split('\n').at(-1) ?? '')
  expect(exitCode).toBe(0)
  expect(failed, out).toBe(0)
  expect(statuses[500]).toBeUndefined()
  // Even on a slow machine, each of the eight callers has had every kind of outcome.
  for (const status of [200, 400, 404, 413, 422]) expect(statuses[status], out).toBeGreaterThanOrEqual(8)
  expect(Math.max(...megabytes)).toBeLessThan(MOST_MEGABYTES)
  const [warm, last] = [megabytes[Math.min(3, megabytes.length - 2)], megabytes.at(-1)]
  expect(last - warm).toBeLessThan(GROWTH_MEGABYTES)
})

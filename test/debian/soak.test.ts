import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cleanEnv, output, ROOT } from '../command.ts'

/** What a process takes depends on when the collector finds time; a leak would pass this within the minute. */
const MOST_MEGABYTES = 400
const GROWTH_MEGABYTES = 64

test('under load of every kind, memory stays small and flat', { timeout: 150_000 }, async () => {
  const out = await output(process.execPath, [join(ROOT, 'bench/soak.ts'), '--minutes', '1'], {
    cwd: ROOT,
    env: cleanEnv(),
  })
  const { megabytes, statuses, failed, exitCode } = JSON.parse(out.trim().split('\n').at(-1) ?? '')
  expect(exitCode).toBe(0)
  expect(failed, out).toBe(0)
  expect(statuses[500]).toBeUndefined()
  expect(statuses[200]).toBeGreaterThan(1_000)
  expect(Math.max(...megabytes)).toBeLessThan(MOST_MEGABYTES)
  const [warm, last] = [megabytes[3], megabytes.at(-1)]
  expect(last - warm).toBeLessThan(GROWTH_MEGABYTES)
})

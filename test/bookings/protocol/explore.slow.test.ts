import { expect, test } from 'vitest'
import { WHOLE } from '../../size.ts'
import { createExplorations, NAMES } from './explorations.ts'

/* As explore.test.ts, and deeper; `npm run test:whole` goes deepest, and takes minutes and gigabytes. */

const HOUR_MS = 3_600_000

const explorations = createExplorations(WHOLE ? 'deepest' : 'slow')

test.each(NAMES)('%s', { timeout: HOUR_MS }, async (name) => {
  const line = await explorations.check(name)
  expect(line).toContain(name)
  process.stdout.write(`${line}\n`)
})

test('every step of a claim and every answer is reached', () => explorations.checkReach())

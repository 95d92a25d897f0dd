/** Promise: no order of steps of the protocol breaks what must hold, in depth; planted mistakes are found (contract, section 7). */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { WHOLE } from '../../size.ts'
import { createExplorations, NAMES } from './explorations.ts'
import type { Explored } from './explore.ts'
import { INVARIANTS } from './invariants.ts'
import { MISTAKES } from './mistakes.ts'

/* As explore.test.ts, and deeper; `npm run test:whole` goes deepest, and takes minutes and gigabytes. */

const HOUR_MS = 3_600_000
const LONG_MS = 120_000

const explorations = createExplorations(WHOLE ? 'deepest' : 'slow')

test.each(NAMES)('%s', { timeout: HOUR_MS }, async (name) => {
  const line = await explorations.check(name)
  expect(line).toContain(name)
  process.stdout.write(`${line}\n`)
})

test('every step of a claim and every answer is reached', () => explorations.checkReach())

describe('the exploration finds a mistake in the code', () => {
  /** Enough for the deepest of them. */
  const DEPTH = 16
  const child = promisify(execFile)(process.execPath, [join(import.meta.dirname, 'mistaken-child.ts'), `${DEPTH}`])
  const lines = child.then(({ stdout }) =>
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  )
  // The tests report a failure.
  lines.catch(() => undefined)

  test.each(Object.entries(MISTAKES))('%s', { timeout: LONG_MS }, async (name, { breaks }) => {
    const found: Pick<Explored, 'violation'> | undefined = (await lines).find((line) => line.name === name)
    expect(found?.violation).toMatchObject({ invariant: breaks })
  })

  test('of every invariant', () => {
    expect([...new Set(Object.values(MISTAKES).map(({ breaks }) => breaks))].sort()).toEqual(
      Object.keys(INVARIANTS).sort(),
    )
  })
})

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { createExplorations, NAMES } from './explorations.ts'
import type { Explored } from './explore.ts'
import { INVARIANTS } from './invariants.ts'
import { MISTAKES } from './mistakes.ts'

/*
 * The code that books, settles, heals and starts is explored: every order of the steps of two gateways, their callers, the
 * service, the clock, an operator and an event, to a depth. Decision 34 has the figures.
 */

const LONG_MS = 120_000

describe('every order of events keeps what must hold', () => {
  const explorations = createExplorations('sample')

  test.each(NAMES)('%s', { timeout: LONG_MS }, async (name) => {
    expect(await explorations.check(name)).toContain(name)
  })

  test('and every step of a claim and every answer is reached', () => explorations.checkReach())
})

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

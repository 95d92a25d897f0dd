/** Promise: no order of steps of the protocol breaks what must hold (contract, section 7). */

import { describe, expect, test } from 'vitest'
import { createExplorations, NAMES } from './explorations.ts'

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

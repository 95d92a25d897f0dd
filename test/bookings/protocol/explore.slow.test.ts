/** Promise: no order of the protocol's steps breaks an invariant, and planted mistakes are found (contract, section 7). */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { WHOLE } from '../../size.ts'
import { explore } from './explore.ts'
import { INVARIANTS, STEPS } from './invariants.ts'
import { MISTAKES } from './mistakes.ts'
import { SCENARIOS } from './scenarios.ts'

/*
 * Explores the code that books, settles, heals and starts: every order of the steps of two gateways, their callers, the service, the clock,
 * an operator and an event, up to a depth. `npm run test:whole` goes deepest, and takes minutes and gigabytes.
 */

const HOUR_MS = 3_600_000
const LONG_MS = 120_000

/** Every answer that a call may get, by its word and the code of its error. */
const ANSWERS = [
  'No: interrupted',
  'No: service-refused',
  'No: service-unreachable',
  'No: store-down',
  'Unknown: booking-conflict',
  'Unknown: booking-under-way',
  'Unknown: outcome-unknown',
  'Yes',
  'Yes again',
]

const reached = { steps: new Set<string>(), answers: new Set<string>() }

test.each(Object.entries(SCENARIOS))('%s', { timeout: HOUR_MS }, async (name, scenario) => {
  const explored = await explore(scenario, WHOLE ? scenario.whole : scenario.sample)
  const { violation, steps, answers, layers, states, moves } = explored
  expect(violation).toBeUndefined()
  for (const step of steps) reached.steps.add(step)
  for (const answer of answers) reached.answers.add(answer)
  const last = layers.length - 1
  const depth = layers[last] === 0 ? `all of them, the last at depth ${last - 1}` : `to depth ${last}`
  process.stdout.write(`${name}: ${states} states, ${moves} moves, ${depth}\n`)
})

test('every step of a claim and every answer is reached', () => {
  expect([...reached.steps].sort()).toEqual([...STEPS].sort())
  expect([...reached.answers].sort()).toEqual(ANSWERS)
})

describe('the exploration finds a mistake in the code', () => {
  /** Enough for the deepest of them. */
  const DEPTH = 16
  const child = promisify(execFile)(process.execPath, [join(import.meta.dirname, 'mistaken-child.ts'), `${DEPTH}`])
  const found = child.then(({ stdout }) =>
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  )
  // The tests report a failure.
  found.catch(() => undefined)

  test.each(MISTAKES)('%s', { timeout: LONG_MS }, async (mistake, [invariant]) => {
    expect((await found).find(({ name }) => name === mistake)).toMatchObject({ violation: { invariant } })
  })

  test('of every invariant', () => {
    expect(new Set(MISTAKES.map(([, [breaks]]) => breaks))).toEqual(new Set(Object.keys(INVARIANTS)))
  })
})

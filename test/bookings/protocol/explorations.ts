import { expect } from 'vitest'
import { explore } from './explore.ts'
import { STEPS } from './invariants.ts'
import { DEPTHS, SCENARIOS, type ScenarioName } from './scenarios.ts'

/** The names of all scenarios. */
export const NAMES = Object.keys(SCENARIOS) as readonly ScenarioName[]

/** Every answer that a call may get, by its word and the code of its error. */
const ANSWERS = [
  'No: booking-conflict',
  'No: booking-under-way',
  'No: interrupted',
  'No: service-refused',
  'No: service-unreachable',
  'No: store-down',
  'Unknown: outcome-unknown',
  'Yes',
  'Yes again',
]

/** Explores scenarios, and checks in the end that they reached everything that the protocol may do. */
export function createExplorations(extent: keyof typeof DEPTHS) {
  const steps = new Set<string>()
  const answers = new Set<string>()
  return {
    /** Explores one scenario; returns a line about it. */
    async check(name: ScenarioName): Promise<string> {
      const found = await explore({ depth: DEPTHS[extent][name], scenario: SCENARIOS[name] })
      expect(found.violation).toBeUndefined()
      for (const step of found.steps) steps.add(step)
      for (const answer of found.answers) answers.add(answer)
      const isWhole = found.layers.at(-1) === 0
      const depth = isWhole
        ? `all of them, the last at depth ${found.layers.length - 2}`
        : `to depth ${found.layers.length - 1}`
      return `${name}: ${found.states} states, ${found.moves} moves, ${depth}`
    },
    /** Checks that every step of a claim and every answer was reached. */
    checkReach(): void {
      expect([...steps].sort()).toEqual([...STEPS].sort())
      expect([...answers].sort()).toEqual(ANSWERS)
    },
  }
}

import fc from 'fast-check'
import { expect } from 'vitest'

/** Tries a property on examples and on generated values; a failure shows the smallest counterexample. */
export function expectLaw<Values>(law: fc.IProperty<Values>, numRuns: number, examples: Values[] = []): void {
  const details = fc.check(law, { numRuns, examples })
  expect(fc.defaultReportMessage(details)).toBeUndefined()
}

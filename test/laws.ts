import fc from 'fast-check'
import { expect } from 'vitest'

/** Tries a property on generated values; a failure shows the smallest counterexample. */
export function expectLaw<Values>(law: fc.IProperty<Values>, numRuns: number): void {
  const details = fc.check(law, { numRuns })
  expect(fc.defaultReportMessage(details)).toBeUndefined()
}

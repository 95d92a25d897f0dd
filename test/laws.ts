import fc from 'fast-check'
import { expect } from 'vitest'

/** Tries a property on examples and on generated values; a failure shows the smallest counterexample. */
export function expectLaw<Values>(law: fc.IProperty<Values>, numRuns: number, examples: Values[] = []): void {
  const details = fc.check(law, { numRuns, examples })
  expect(fc.defaultReportMessage(details)).toBeUndefined()
}

/** A character of any kind, including half of a pair. The `binary` unit of fast-check takes half a second to create each time. */
export const anyCharacter = fc.nat(0x10ffff).map((code) => String.fromCodePoint(code))

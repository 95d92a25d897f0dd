import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { STEPS as POSTGRES } from '../../src/store/postgres/schema.ts'
import type { SchemaStep } from '../../src/store/schema-step.ts'
import { STEPS as SQLITE } from '../../src/store/sqlite/schema-steps.ts'

const DIGITS = 12
const marksOf = (steps: readonly SchemaStep[]) =>
  steps.map(({ needs, sql }) => `${needs} ${hash('sha256', sql).slice(0, DIGITS)}`)

/** A released step never changes: stores have had it already. A new one is added at the end of its list. */
test('the steps of each engine are those that were released', () => {
  expect(marksOf(SQLITE)).toMatchInlineSnapshot(`
    [
      "1 51370d11bc67",
      "2 09dd6343d09e",
      "3 7bbee0d0e969",
      "4 d50d94da136a",
      "4 8272b9aa30b3",
      "4 c424aeb2ac76",
      "4 a5c0381474f5",
      "4 e3c7b0c2a396",
    ]
  `)
  expect(marksOf(POSTGRES)).toMatchInlineSnapshot(`
    [
      "1 4ad267e5bcac",
      "2 c98daae2f13a",
      "3 b546bd032455",
      "4 dfcc0eb08482",
      "4 94c64b67a5ae",
      "4 ce8f5feb5753",
      "4 dad75c6573df",
      "4 d4eba128ffe5",
    ]
  `)
})

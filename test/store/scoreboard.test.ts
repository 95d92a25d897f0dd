import { expect, test } from 'vitest'
import { BOUNDED_KINDS, mostNames } from '../../src/store/scoreboard.ts'

test('only kinds whose names callers choose are bounded', () => {
  expect(BOUNDED_KINDS.map((kind) => [kind, mostNames(kind)])).toEqual([
    ['unknown', 50],
    ['agent', 10],
    ['network', 50],
  ])
})

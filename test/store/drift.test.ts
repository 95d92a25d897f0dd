import { expect, test } from 'vitest'
import { addedDrift, boundDrift, type Drift, OTHER_DRIFT } from '../../src/store/drift.ts'

const drift = (path: string, given: Partial<Drift> = {}): Drift => ({
  kind: 'new-field',
  path,
  count: 1,
  firstAt: 5,
  lastAt: 5,
  ...given,
})
const many = (count: number) => Array.from({ length: count }, (_, i) => drift(`p${i}`))

test('two hundred differences are listed beside each other, and further ones of a kind as one', () => {
  expect(boundDrift(many(200), [])).toEqual(many(200))
  const bounded = boundDrift(
    [...many(200), drift('x'), drift('y', { lastAt: 9 }), drift('z', { kind: 'other-type' })],
    [],
  )
  expect(bounded.slice(0, 200)).toEqual(many(200))
  expect(bounded.slice(200)).toEqual([
    drift(OTHER_DRIFT, { count: 2, lastAt: 9 }),
    drift(OTHER_DRIFT, { kind: 'other-type' }),
  ])
  expect(OTHER_DRIFT).toBe('(further places)')
})

test('known differences count, and go on being listed', () => {
  expect(boundDrift([drift('p7'), drift('x'), drift('y')], many(199))).toEqual([
    drift('p7'),
    drift('x'),
    drift(OTHER_DRIFT),
  ])
})

test('a difference that occurs again adds up', () => {
  const before = drift('p', { count: 2, firstAt: 5, lastAt: 9 })
  expect(addedDrift(undefined, before)).toBe(before)
  expect(addedDrift(before, drift('p', { count: 3, firstAt: 7, lastAt: 8 }))).toEqual({ ...before, count: 5 })
  expect(addedDrift(before, drift('p', { firstAt: 1, lastAt: 10 }))).toMatchObject({ firstAt: 1, lastAt: 10 })
})

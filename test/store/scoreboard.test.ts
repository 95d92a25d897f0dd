import { describe, expect, test } from 'vitest'
import {
  addNames,
  BOUNDED_KINDS,
  boundNames,
  mostNames,
  type NameCount,
  OTHER_NAMES,
} from '../../src/store/scoreboard.ts'

const count = (name: string, given: Partial<NameCount> = {}): NameCount => ({
  tenant: 'acme',
  kind: 'agent',
  action: '',
  name,
  count: 1,
  firstAt: 5,
  lastAt: 5,
  example: '',
  ...given,
})

test('only kinds whose names callers choose are bounded', () => {
  expect(BOUNDED_KINDS.map((kind) => [kind, mostNames(kind)])).toEqual([
    ['unknown', 50],
    ['agent', 10],
    ['network', 50],
  ])
})

describe('the names of a bounded kind', () => {
  const ten = Array.from({ length: 10 }, (_, i) => count(`a${i}`))
  const none = () => []

  test('are stored up to its limit, and those beyond it as one', () => {
    expect(boundNames(ten, none)).toEqual(ten)
    const more = [count('x', { count: 2, lastAt: 9, action: 'quote.get', example: 'r' }), count('y', { firstAt: 1 })]
    expect(boundNames([...ten, ...more], none)).toEqual([
      ...ten,
      count(OTHER_NAMES, { count: 3, firstAt: 1, lastAt: 9 }),
    ])
  })

  test('have room beside the known ones, which go on being counted', () => {
    const known = ['a0', ...Array.from({ length: 8 }, (_, i) => `b${i}`)]
    expect(boundNames([count('a0'), count('x'), count('y'), count('b3')], () => known).map(({ name }) => name)).toEqual(
      ['a0', 'x', 'b3', OTHER_NAMES],
    )
    // Those beyond the limit are one more.
    expect(boundNames([count('x'), count('y')], () => [...known, OTHER_NAMES]).map(({ name }) => name)).toEqual([
      'x',
      OTHER_NAMES,
    ])
    expect(boundNames([count(OTHER_NAMES, { count: 4 }), count('x')], none)).toEqual([
      count('x'),
      count(OTHER_NAMES, { count: 4 }),
    ])
  })

  test('are bounded for each tenant and kind', () => {
    const all = ['acme', 'zeta'].flatMap((tenant) => ten.map((one) => ({ ...one, tenant })))
    const networks = ten.map((one) => ({ ...one, kind: 'network' as const }))
    expect(boundNames([...all, ...networks], none)).toHaveLength(30)
    const asked: string[] = []
    boundNames([...all, ...networks], (tenant, kind) => {
      asked.push(`${tenant} ${kind}`)
      return []
    })
    expect(asked).toEqual(['acme agent', 'zeta agent', 'acme network'])
  })

  test('of other kinds are all stored', () => {
    const fields = Array.from({ length: 500 }, (_, i) => count(`f${i}`, { kind: 'used' }))
    expect(boundNames(fields, () => expect.fail('they are not bounded'))).toEqual(fields)
  })
})

test('counts of a name add up, with the example of the latest', () => {
  const before = count('n', { kind: 'error', count: 2, firstAt: 5, lastAt: 9, example: 'one' })
  const more = (given: Partial<NameCount>) =>
    addNames(before, count('n', { kind: 'error', example: 'other', ...given }))
  expect(addNames(undefined, before)).toBe(before)
  expect(more({ count: 3, firstAt: 7, lastAt: 8 })).toEqual({ ...before, count: 5 })
  expect(more({ firstAt: 1, lastAt: 9 })).toMatchObject({ firstAt: 1, lastAt: 9, example: 'other' })
  expect(more({ lastAt: 10 })).toMatchObject({ firstAt: 5, lastAt: 10, example: 'other' })
})

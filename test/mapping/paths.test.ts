import { describe, expect, test } from 'vitest'
import { covers, type Draft, dropAt, leaves, parsePlace, placeOf, putAt, valueAt } from '../../src/mapping/paths.ts'
import { parseJson } from '../../src/text/json.ts'

describe('a path', () => {
  test.each<[string, readonly (string | number)[]]>([
    ['a', ['a']],
    ['_A9', ['_A9']],
    ['a.b.c', ['a', 'b', 'c']],
    ['a[0]', ['a', 0]],
    ['a[12][3].b_c', ['a', 12, 3, 'b_c']],
    ['a.length', ['a', 'length']],
  ])('%s is a place', (path, place) => {
    expect(parsePlace(path)).toEqual(place)
    expect(placeOf(path)).toEqual(place)
  })

  test.each([
    '',
    '.',
    '.a',
    'a.',
    'a..b',
    'a.[0]',
    '[0]',
    '[0].a',
    'a[]',
    'a[x]',
    'a[0',
    'a[0]b',
    'a b',
    '9a',
    'a.9',
    'a-b',
    'a[0].',
  ])('%j is none', (path) => {
    expect(parsePlace(path)).toBeUndefined()
    expect(() => placeOf(path)).toThrow(`${path} is not a place in a body`)
  })
})

describe('a value', () => {
  test('is put with the objects and lists that lead to it, beside what is there', () => {
    const body: Draft = { a: { x: 1 } }
    putAt(body, placeOf('a.b[0].c'), 2)
    putAt(body, placeOf('a.b[0].d'), 3)
    putAt(body, placeOf('e'), 4)
    expect(body).toEqual({ a: { x: 1, b: [{ c: 2, d: 3 }] }, e: 4 })
  })

  test.each<[string, unknown, unknown]>([
    ['a.b[0]', { a: { b: ['x'] } }, 'x'],
    ['a', { a: null }, null],
    ['a.b', { a: null }, undefined],
    ['a.b', { a: 'text' }, undefined],
    ['a.length', { a: 'text' }, undefined],
    ['a.length', { a: [1, 2] }, 2],
    ['a', null, undefined],
    ['a', undefined, undefined],
    ['a', 'text', undefined],
  ])('at %s of %j', (path, body, value) => {
    expect(valueAt(body, placeOf(path))).toBe(value)
  })

  test.each<[string, unknown, unknown]>([
    ['a', { a: 1, b: 2 }, { b: 2 }],
    ['a.b', { a: { b: 1, c: 2 } }, { a: { c: 2 } }],
    ['a[0].b', { a: [{ b: 1 }, { b: 2, c: 3 }, 'x', null] }, { a: [{}, { c: 3 }, 'x', null] }],
    ['a[0].b', { a: { b: 1, 0: { b: 2 } } }, { a: { b: 1, 0: { b: 2 } } }],
    ['a.b', { a: null }, { a: null }],
    ['a.b', { a: 'text' }, { a: 'text' }],
    ['a.b.c', { a: {} }, { a: {} }],
    ['a', null, null],
  ])('is dropped at %s of %j', (path, body, left) => {
    dropAt(body, placeOf(path))
    expect(body).toEqual(left)
  })
})

test.each<[unknown, readonly (readonly [string, unknown])[]]>([
  [
    { a: 1, b: { c: 'x' } },
    [
      ['a', 1],
      ['b.c', 'x'],
    ],
  ],
  [
    { a: [1, [2], { b: 3 }] },
    [
      ['a[0]', 1],
      ['a[1][0]', 2],
      ['a[2].b', 3],
    ],
  ],
  [
    { a: {}, b: [], c: null },
    [
      ['a', {}],
      ['b', []],
      ['c', null],
    ],
  ],
  [[1], [['[0]', 1]]],
  [{}, []],
  [[], []],
  ['x', []],
  [undefined, []],
])('the leaves of %j', (body, expected) => {
  expect([...leaves(body)]).toEqual(expected)
})

test('a number that keeps its digits is a leaf', () => {
  expect([...leaves(parseJson('{"a":1.50}'))].map(([path]) => path)).toEqual(['a'])
})

test.each([
  ['a', 'a', true],
  ['a', 'a.b', true],
  ['a', 'a[0]', true],
  ['a', 'a[0].b', true],
  ['a[0]', 'a[3]', true],
  ['a[0].b', 'a[12].b.c', true],
  ['a', 'ab', false],
  ['a', 'b.a', false],
  ['a.b', 'a', false],
  ['a[0].b', 'a[0].c', false],
  ['a[0].b', 'a.b', false],
  ['a[0]', 'a', false],
  ['a.b', 'a.bc', false],
])('%s covers %s: %s', (place, path, isCovered) => {
  expect(covers(place, path)).toBe(isCovered)
})

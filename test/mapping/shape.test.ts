/** Promise: a reply of another shape is noticed, without its values (contract, section 4). */

import { describe, expect, test } from 'vitest'
import {
  any,
  choice,
  compileShape,
  date,
  flag,
  list,
  number,
  object,
  type Shape,
  text,
} from '../../src/mapping/shape.ts'
import { parseJson } from '../../src/text/json.ts'

/** The differences of a body from its shape. */
function differences(shape: Shape, body: unknown): readonly string[] {
  const found: string[] = []
  compileShape(shape)(body, (kind, path) => found.push(`${kind} ${path}`))
  return found
}

const WRONG = ['other-type a']
const RAW_NUMBER = parseJson('1.50')

describe('a member of an object', () => {
  test.each<[string, Shape, readonly unknown[], readonly unknown[]]>([
    ['text', text, ['', 'x', null, undefined], [1, true, {}, [], RAW_NUMBER]],
    ['a number', number, [0, 1.5, RAW_NUMBER, null], ['1', false, {}, []]],
    ['a flag', flag, [true, false, null], ['true', 0, {}, []]],
    ['any value', any, ['x', 1, true, {}, [], RAW_NUMBER, null], []],
    ['a date', date, ['', '2024-08-10T08:00:00-0500', '2024-08-10T08:00:00.000+0000', null], [1, true, {}, []]],
    ['a choice', choice('x', 'y'), ['', 'x', 'y', null], [1, true, {}, []]],
    ['an object', object({}), [{}, null], ['x', 1, true, [], RAW_NUMBER]],
    ['a list', list(text), [[], ['x'], null], ['x', 1, true, {}, RAW_NUMBER]],
  ])('may be %s', (_, shape, values, others) => {
    for (const value of values) expect(differences(object({ a: shape }), { a: value })).toEqual([])
    for (const other of others) expect(differences(object({ a: shape }), { a: other })).toEqual(WRONG)
  })

  test.each([
    ['2024-08-10T08:00:00Z'],
    ['2024-08-10T08:00:00-05:00'],
    ['2024-08-10 08:00:00-0500'],
    ['2024-08-10T08:00:00.00-0500'],
    ['x2024-08-10T08:00:00-0500'],
    ['2024-08-10T08:00:00-0500x'],
  ])('is a date of another form: %s', (value) => {
    expect(differences(object({ a: date }), { a: value })).toEqual(['other-date-form a'])
  })

  test('may be new', () => {
    const shape = object({ a: object({ b: text }) })
    expect(differences(shape, { c: 1, a: { d: 1 } })).toEqual(['new-field c', 'new-field a.d'])
  })
})

describe('a required member', () => {
  const shape = object({ a: object({ b: text, c: text }, ['b']), d: number }, ['a', 'd'])

  test('may not be absent, nor null', () => {
    expect(differences(shape, { a: { b: '' }, d: 0 })).toEqual([])
    expect(differences(shape, { a: { b: null }, d: null })).toEqual(['missing-field a.b', 'missing-field d'])
    expect(differences(shape, { a: { c: 'x' } })).toEqual(['missing-field a.b', 'missing-field d'])
    expect(differences(shape, { d: 1 })).toEqual(['missing-field a'])
  })
})

describe('a list', () => {
  const shape = object({ a: list(object({ b: list(number) }, ['b'])) })

  test('is compared entry by entry', () => {
    const body = { a: [{ b: [1, 'x', true] }, {}, { b: 'x', c: 1 }, null] }
    expect(differences(shape, body)).toEqual([
      'other-type a[].b[]',
      'other-type a[].b[]',
      'missing-field a[].b',
      'other-type a[].b',
      'new-field a[].c',
      'other-type a[]',
    ])
  })
})

test('a body that is no object shows nothing', () => {
  for (const body of [undefined, null, 'x', 1, [], [{}]]) {
    expect(differences(object({ a: text }, ['a']), body)).toEqual([])
  }
})

describe('new members', () => {
  test('are told up to the fiftieth, which ends the comparison', () => {
    const news = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${'x'.repeat(i)}`, 1]))
    const shape = object({ last: text })
    expect(differences(shape, { ...news(49), last: 1 })).toHaveLength(50)
    expect(differences(shape, { ...news(50), last: 1 })).not.toContain('other-type last')
    expect(differences(shape, news(60))).toHaveLength(50)
  })

  test.each([
    ['a', 'a'],
    ['_aB-9', '_aB-9'],
    ['a123', 'a123'],
    [`a${'b'.repeat(63)}`, `a${'b'.repeat(63)}`],
    ['a1234', '(an unusual name)'],
    ['9a', '(an unusual name)'],
    ['a.b', '(an unusual name)'],
    [`a${'b'.repeat(64)}`, '(an unusual name)'],
    ['', '(an unusual name)'],
  ])('have their name shown unless it may be a value: %j', (name, shown) => {
    expect(differences(object({}), { [name]: 1 })).toEqual([`new-field ${shown}`])
    expect(differences(object({ in: object({}) }), { in: { [name]: 1 } })).toEqual([`new-field in.${shown}`])
  })
})

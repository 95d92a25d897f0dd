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
} from '../../src/language/mapping/shape.ts'
import { parseJson } from '../../src/language/text/json.ts'

/** The differences of a body from its shape. */
function differences(shape: Shape, body: unknown): readonly string[] {
  const found: string[] = []
  compileShape(shape)(body, (kind, path) => found.push(`${kind} ${path}`))
  return found
}

describe('a member of an object', () => {
  const DATE = '2024-08-10T08:00:00-0500'
  const VALUES = { text: DATE, blank: '', number: 0, digits: parseJson('1.50'), flag: false, object: {}, list: [] }
  type Kind = keyof typeof VALUES

  test.each<[string, Shape, readonly Kind[]]>([
    ['text', text, ['text', 'blank']],
    ['a number', number, ['number', 'digits']],
    ['a flag', flag, ['flag']],
    ['any value', any, ['text', 'blank', 'number', 'digits', 'flag', 'object', 'list']],
    ['a date', date, ['text', 'blank']],
    ['a choice', choice('x', DATE), ['text', 'blank']],
    ['an object', object({}), ['object']],
    ['a list', list(text), ['list']],
  ])('may be %s', (_, shape, kinds) => {
    for (const [kind, value] of Object.entries(VALUES)) {
      const wrong = kinds.some((one) => one === kind) ? [] : ['other-type a']
      expect(differences(object({ a: shape }), { a: value }), kind).toEqual(wrong)
    }
    for (const value of [null, undefined]) expect(differences(object({ a: shape }), { a: value })).toEqual([])
  })

  test('may be a date to the millisecond', () => {
    expect(differences(object({ a: date }), { a: '2024-08-10T08:00:00.000+0000' })).toEqual([])
  })

  test.each([
    ['2024-08-10T08:00:00Z'],
    ['2024-08-10T08:00:00-05:00'],
    ['x2024-08-10T08:00:00-0500'],
    ['2024-08-10T08:00:00-0500x'],
  ])('is a date of another form: %s', (value) => {
    expect(differences(object({ a: date }), { a: value })).toEqual(['other-date-form a'])
  })
})

test('a required member may not be absent, nor null', () => {
  const shape = object({ a: object({ b: text, c: text }, ['b']), d: number }, ['a', 'd'])
  expect(differences(shape, { a: { b: '' }, d: 0 })).toEqual([])
  expect(differences(shape, { a: { b: null }, d: null })).toEqual(['missing-field a.b', 'missing-field d'])
  expect(differences(shape, { a: { c: 'x' } })).toEqual(['missing-field a.b', 'missing-field d'])
  expect(differences(shape, { d: 1 })).toEqual(['missing-field a'])
})

test('a list is compared entry by entry', () => {
  const shape = object({ a: list(object({ b: list(number) }, ['b'])) })
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

  test('have their name shown unless it may be a value', () => {
    const shown = (name: string) => [
      ...differences(object({}), { [name]: 1 }),
      ...differences(object({ in: object({}) }), { in: { [name]: 1 } }),
    ]
    for (const name of ['a', '_aB-9', 'a123', 'x'.repeat(64)]) {
      expect(shown(name)).toEqual([`new-field ${name}`, `new-field in.${name}`])
    }
    for (const value of ['a1234', '9a', 'a.b', 'x'.repeat(65), '']) {
      expect(shown(value)).toEqual(['new-field (an unusual name)', 'new-field in.(an unusual name)'])
    }
  })
})

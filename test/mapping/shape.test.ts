/** Promise: a reply of another shape is noticed, without its values (contract, section 4). */

import { describe, expect, test } from 'vitest'
import { compileShape, list, number, object, type Shape, text } from '../../src/language/mapping/shape.ts'

/** The differences of a body from its shape. */
function differences(shape: Shape, body: unknown): readonly string[] {
  const found: string[] = []
  compileShape(shape)(body, (kind, path) => found.push(`${kind} ${path}`))
  return found
}

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

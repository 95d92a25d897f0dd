import { describe, expect, test } from 'vitest'
import { type FieldValue, IS_FILE, indexFields, NOT_FLAT, sortFields } from '../../src/mapping/fields.ts'

const index = indexFields(['Zip', 'Phone.', 'phone', 'Notes'])
const sorted = (...entries: readonly (readonly [string, FieldValue])[]) => sortFields(index, entries)

describe('sent fields', () => {
  test('may repeat themselves, or be blank the other time', () => {
    expect(sorted(['Zip', '1'], ['zip', '1'], ['Zip.', null], ['Notes', null], ['Notes', 'x'])).toEqual({
      values: ['1', undefined, undefined, 'x'],
      blank: [],
      unknown: [],
      problems: [],
    })
  })

  test.each<[string, string, readonly FieldValue[]]>([
    ['not-flat', 'Zip must be a single value, not an object or a list', [NOT_FLAT]],
    ['is-file', 'Zip must be text, not a file', [IS_FILE]],
    ['not-text', 'Zip must not contain a NUL or half a character', ['a\0b']],
    ['not-text', 'Zip must not contain a NUL or half a character', ['\ud83d']],
    ['too-long', 'Zip must not be longer than 4096 bytes', ['x'.repeat(4_097)]],
    ['too-long', 'Zip must not be longer than 4096 bytes', ['€'.repeat(1_366)]],
    ['disagree', 'Zip is sent twice with different values', ['1', '2']],
    ['disagree', 'Zip is sent twice with different values', ['1', '2', '1', '3']],
    ['not-flat', 'Zip must be a single value, not an object or a list', [NOT_FLAT, IS_FILE, '1', null]],
    ['is-file', 'Zip must be text, not a file', ['1', IS_FILE]],
  ])('are a problem: %s', (code, message, values) => {
    const { values: sortedValues, problems, blank } = sorted(...values.map((value) => ['zip', value] as const))
    expect(problems).toEqual([{ field: 'Zip', code, message }])
    expect(sortedValues[0]).toBeTypeOf('symbol')
    expect(blank).toEqual([])
  })

  test.each([['x'.repeat(4_096)], ['€'.repeat(1_365)], ['é'.repeat(2_048)]])('may have 4096 bytes: %#', (value) => {
    expect(sorted(['Zip', value])).toMatchObject({ values: [value, undefined, undefined, undefined], problems: [] })
  })
})

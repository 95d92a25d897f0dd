import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { issueText } from '../../src/config/json-file.ts'

describe('the error of a value in a file', () => {
  const schema = z.strictObject({
    text: z.string().min(1),
    own: z.string('must be a name'),
    list: z.array(z.string()),
    flag: z.boolean(),
    whole: z.int().min(2).max(5),
    more: z.number().gt(1),
    record: z.record(z.string(), z.string()),
    inner: z.object({}),
    choice: z.enum(['a', 'b']),
    date: z.date(),
    digits: z.string().regex(/^\d+$/),
  })
  const right = {
    ...{
      text: 'x',
      own: 'x',
      list: [],
      flag: true,
      whole: 2,
      more: 2,
      record: {},
      inner: {},
      choice: 'a',
      digits: '1',
    },
    date: new Date(0),
  }

  test('is none of a right one', () => {
    expect(schema.safeParse(right).success).toBe(true)
  })

  test.each<[string, unknown, string]>([
    ['text', undefined, 'is required'],
    ['text', 5, 'must be text'],
    ['text', '', 'must not be empty'],
    ['own', 5, 'must be a name'],
    ['list', {}, 'must be a list'],
    ['flag', 'true', 'must be true or false'],
    ['whole', 1.5, 'must be a whole number'],
    ['whole', 1, 'must be at least 2'],
    ['whole', 6, 'must be at most 5'],
    ['more', 1, 'must be more than 1'],
    ['record', 'x', 'must be an object'],
    ['inner', 'x', 'must be an object'],
    ['choice', 'c', 'must be a or b'],
    ['date', 'x', 'must be a date'],
    ['digits', 'x', 'has a value that is not accepted'],
    ['other', 'x', 'unknown key other'],
  ])('%s: %j', (name, value, text) => {
    const { error } = schema.safeParse({ ...right, [name]: value })
    expect(error?.issues.map(issueText)).toEqual([text])
  })
})

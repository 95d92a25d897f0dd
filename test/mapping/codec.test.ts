import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { codec, type Fail, Failed, type LeaveOut, LeftOut } from '../../src/mapping/codec.ts'

/** A codec of a schema whose conversions do nothing. */
const plain = <T>(schema: z.ZodType<T>) =>
  codec<T>(schema, { name: 'plain', summary: '', decode: (text) => text as T, encode: String })

const encodes = (schema: z.ZodType, value: unknown) => {
  const text = plain(schema).encode?.(value)
  return text instanceof Failed ? 'refused' : text
}

describe('a schema that asks for types only is checked without zod', () => {
  test.each<[string, z.ZodType, readonly unknown[], readonly unknown[]]>([
    ['text', z.string(), ['', 'a'], [1, true, null, undefined, {}]],
    ['a number', z.number(), [0, -1.5], ['1', Number.NaN, Number.POSITIVE_INFINITY, 1n, null]],
    ['a flag', z.boolean(), [true, false], ['true', 1, null]],
    ['text or a number', z.union([z.string(), z.number()]), ['a', 1], [true, null, Number.NaN]],
    [
      'a record of text',
      z.record(z.string(), z.string()),
      [{}, { a: 'b' }],
      ['a', 1, null, undefined, [], ['a'], { a: 1 }, { a: 'b', c: null }],
    ],
  ])('%s', (_, schema, values, others) => {
    for (const value of values) expect(encodes(schema, value)).toBe(String(value))
    for (const other of others) expect(encodes(schema, other)).toBe('refused')
  })

  test.each<[string, z.ZodType]>([
    ['text of a length', z.string().min(2)],
    ['text of a format', z.email()],
    ['an integer', z.int()],
    ['a number up to a limit', z.number().max(5)],
    ['a choice', z.enum(['a', 'b'])],
    ['text or a choice', z.union([z.string(), z.enum(['a', 'b'])])],
    ['a record of numbers', z.record(z.string(), z.number())],
    ['a record of text or numbers', z.record(z.string(), z.union([z.string(), z.number()]))],
    ['a record of certain keys', z.record(z.enum(['a', 'b']), z.string())],
    ['a record of short text', z.record(z.string(), z.string().max(5))],
    ['an object', z.object({ a: z.string() })],
    ['a list', z.array(z.string())],
  ])('but %s is left to zod', (_, schema) => {
    expect(plain(schema)).not.toHaveProperty('encode')
  })
})

describe('a conversion', () => {
  interface Ends {
    readonly fail: Fail
    readonly leaveOut: LeaveOut
  }
  const FAULT = new TypeError('a fault of the codec')

  /** A codec whose conversions end as the text says. */
  const ending = (problem?: string) => {
    const end = (text: string, { fail, leaveOut }: Ends): string => {
      if (text === 'fail') return fail()
      if (text === 'fail otherwise') return fail('must be otherwise')
      if (text === 'leave out') return leaveOut('nobody needs it')
      if (text === 'throw') throw FAULT
      return `${text}!`
    }
    const leaveOut: LeaveOut = () => {
      throw FAULT
    }
    return codec(z.string(), {
      name: 'ending',
      summary: '',
      ...(problem !== undefined && { problem }),
      decode: (text, fail, left) => end(text, { fail, leaveOut: left }),
      encode: (text, fail) => end(text, { fail, leaveOut }),
    })
  }
  const { decode, encode, schema } = ending('must not fail')

  test('gives its value', () => {
    expect(decode?.('a')).toBe('a!')
    expect(encode?.('a')).toBe('a!')
    expect(z.decode(schema, 'a')).toBe('a!')
    expect(z.encode(schema, 'a')).toBe('a!')
  })

  test.each([
    ['fail', 'must not fail'],
    ['fail otherwise', 'must be otherwise'],
  ])('ends with a problem: %s', (text, problem) => {
    for (const failed of [decode?.(text), encode?.(text)]) {
      expect(failed).toBeInstanceOf(Failed)
      expect(failed).toHaveProperty('message', problem)
    }
    const issue = { code: 'custom', message: problem, path: [] }
    expect(z.safeDecode(schema, text).error?.issues).toMatchObject([issue])
    expect(z.safeEncode(schema, text).error?.issues).toMatchObject([issue])
  })

  test('that names no problem has the standard one', () => {
    expect(ending().decode?.('fail')).toHaveProperty('message', 'cannot be read')
  })

  test('may leave its value out', () => {
    expect(decode?.('leave out')).toBeInstanceOf(LeftOut)
    expect(decode?.('leave out')).toHaveProperty('message', 'nobody needs it')
    expect(z.safeDecode(schema, 'leave out').success).toBe(false)
  })

  test('passes a fault of its own on', () => {
    expect(() => decode?.('throw')).toThrow(FAULT)
    expect(() => encode?.('throw')).toThrow(FAULT)
    expect(() => z.safeDecode(schema, 'throw')).toThrow(FAULT)
    expect(() => z.safeEncode(schema, 'throw')).toThrow(FAULT)
  })

  test('that encodes to no text has failed', () => {
    const numbers = codec(z.number(), {
      name: 'numbers',
      summary: '',
      decode: Number,
      // Plain JavaScript: no compiler has refused the number.
      encode: (value) => value as unknown as string,
    })
    expect(numbers.encode?.(5)).toBeInstanceOf(Failed)
  })
})

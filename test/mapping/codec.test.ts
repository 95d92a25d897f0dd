import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { codec, type Fail, Failed, type LeaveOut, LeftOut } from '../../src/mapping/codec.ts'

test('encodes only values of its type', () => {
  const years = codec(z.int().min(1886), { name: 'years', summary: '', decode: Number, encode: String })
  expect(years.encode(2023)).toBe('2023')
  for (const other of ['2023', 2023.5, 5, null, undefined, {}, []]) expect(years.encode(other)).toBeInstanceOf(Failed)
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
  const { decode, encode } = ending('must not fail')

  test('gives its value', () => {
    expect(decode('a')).toBe('a!')
    expect(encode('a')).toBe('a!')
  })

  test.each([
    ['fail', 'must not fail'],
    ['fail otherwise', 'must be otherwise'],
  ])('ends with a problem: %s', (text, problem) => {
    for (const failed of [decode(text), encode(text)]) {
      expect(failed).toBeInstanceOf(Failed)
      expect(failed).toHaveProperty('message', problem)
    }
  })

  test('that names no problem has the standard one', () => {
    expect(ending().decode('fail')).toHaveProperty('message', 'cannot be read')
  })

  test('may leave its value out', () => {
    expect(decode('leave out')).toBeInstanceOf(LeftOut)
    expect(decode('leave out')).toHaveProperty('message', 'nobody needs it')
  })

  test('passes a fault of its own on', () => {
    expect(() => decode('throw')).toThrow(FAULT)
    expect(() => encode('throw')).toThrow(FAULT)
  })

  test('that encodes to no text has failed', () => {
    const numbers = codec(z.number(), {
      name: 'numbers',
      summary: '',
      decode: Number,
      // Plain JavaScript: no compiler has refused the number.
      encode: (value) => value as unknown as string,
    })
    expect(numbers.encode(5)).toBeInstanceOf(Failed)
  })
})

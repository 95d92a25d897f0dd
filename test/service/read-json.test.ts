/** Promise: a reply that is no JSON is told as such (contract, section 9). */

import { expect, test } from 'vitest'
import { readJson } from '../../src/service/service.ts'

const reply = (body: string) => ({ status: 200, headers: {}, body: Buffer.from(body) })

test('an empty body is nothing', () => {
  expect(readJson(reply(''))).toBeUndefined()
})

test.each([
  ['null', null],
  ['"x"', 'x'],
  ['[]', []],
])('%s is read', (body, value) => {
  expect(readJson(reply(body))).toEqual(value)
})

test.each([' ', '{', 'OK'])('%j cannot be read; of a change, it may have been made', (body) => {
  const code = 'service-unreadable'
  expect(() => readJson(reply(body))).toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(/Try again later\.$/) }),
  )
  expect(() => readJson(reply(body), true)).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining('may have been made or not') }),
  )
})

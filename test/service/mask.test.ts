/** Promise: a credential that the service repeats is hidden (contract, section 5). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMask } from '../../src/service/credential.ts'

const BASIC = `Basic ${Buffer.from('acme:top?secret~?').toString('base64')}`
const CREDENTIAL = BASIC.slice('Basic '.length)

/** Passes the parts of a body through a mask; returns what comes out, part by part. */
function through(parts: readonly string[], authorization = BASIC, isSuccess = true): readonly string[] {
  const mask = createMask(authorization, isSuccess)
  return [...parts.map((part) => mask.bytes(Buffer.from(part)).toString()), mask.rest().toString()]
}

const stars = ({ length }: string) => '*'.repeat(length)

test('the credential has a slash and a plus or an equals sign, which some writers escape', () => {
  expect(CREDENTIAL).toMatch(/\/.*=/)
})

describe.each([
  ['Basic', BASIC, CREDENTIAL],
  ['basic', BASIC.replace('Basic', 'basic'), CREDENTIAL],
  ['Bearer', 'Bearer tok/EN+1=', 'tok/EN+1='],
])('the mask of a credential of %s', (_, authorization, secret) => {
  test.each([
    ['as it was sent', secret],
    ['with escaped slashes', secret.replaceAll('/', '\\/')],
    ['in an address', encodeURIComponent(secret)],
  ])('covers it %s, in headers and bodies, wherever the parts of a body end', (_how, text) => {
    const whole = `{"got":"${text}","and":"${text}"}`
    const hidden = whole.replaceAll(text, stars(text))
    expect(hidden).not.toContain(secret)
    expect(createMask(authorization, true).text(whole)).toBe(hidden)
    expect(createMask(authorization, true).text(text)).toBe(stars(text))
    expect(through([whole], authorization).join('')).toBe(hidden)
    for (let at = 0; at <= whole.length; at += 1) {
      expect(through([whole.slice(0, at), whole.slice(at)], authorization).join('')).toBe(hidden)
    }
    expect(through([...whole], authorization).join('')).toBe(hidden)
  })
})

test('nothing is held back that cannot be the beginning of the credential', () => {
  expect(through(['{"id":1}', ' ', ''])).toEqual(['{"id":1}', ' ', '', ''])
  expect(through(['...', CREDENTIAL.slice(0, 5)])).toEqual(['...', '', CREDENTIAL.slice(0, 5)])
  expect(through([CREDENTIAL.slice(0, 5), '!'])).toEqual(['', `${CREDENTIAL.slice(0, 5)}!`, ''])
})

test('a beginning that repeats itself is held back as far as it goes', () => {
  expect(through(['ttt', 'oken.'], 'Bearer ttoken')).toEqual(['t', '******.', ''])
})

test('the secret by itself is covered in what is no success, unless it is short', () => {
  expect(through(['wrong: top?secret~?!'], BASIC, false).join('')).toBe(`wrong: ${stars('top?secret~?')}!`)
  expect(through(['wrong: top?secret~?!'], BASIC, true).join('')).toBe('wrong: top?secret~?!')
  const ofSecret = (secret: string) => `Basic ${Buffer.from(`id:${secret}`).toString('base64')}`
  expect(through(['no truck'], ofSecret('truck'), false).join('')).toBe('no truck')
  expect(through(['no trucks'], ofSecret('trucks'), false).join('')).toBe('no ******')
})

test('what is short is not covered: it may be a part of any word', () => {
  expect(through(['a token and tokens'], 'Bearer token').join('')).toBe('a token and tokens')
  expect(through(['a token and tokens'], 'Bearer tokens').join('')).toBe('a token and ******')
})

test('the bytes that arrived stay as they are', () => {
  const arrived = Buffer.from(CREDENTIAL)
  createMask(BASIC, true).bytes(arrived)
  expect(arrived.toString()).toBe(CREDENTIAL)
})

test('any bytes pass unchanged, in any parts', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }), fc.boolean(), (parts, isSuccess) => {
      const mask = createMask(BASIC, isSuccess)
      const shown = Buffer.concat([...parts.map((part) => mask.bytes(Buffer.from(part))), mask.rest()])
      expect(shown).toEqual(Buffer.concat(parts))
    }),
  )
})

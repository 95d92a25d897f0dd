/** Promise: a call without a right credential is told what to send (contract, section 5). */

import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import {
  asksForToken,
  isBearer,
  missingCredential,
  recipientOf,
  recipientsOf,
  refuseTokens,
  wrongCredential,
} from '../../src/callers/caller.ts'
import { CHALLENGE } from '../../src/errors.ts'

test.each([
  ['/oauth2/token', true],
  ['/oauth2/token?grant_type=x', true],
  ['/oauth2/%74oken', true],
  ['/oauth2/token/', false],
  ['/v2/../oauth2/token', false],
  ['/v2/x%', false],
  ['/oauth2', false],
])('%s asks for a token: %s', (url, asks) => {
  expect(asksForToken(url)).toBe(asks)
  const refuse = () => refuseTokens({ url } as IncomingMessage)
  if (asks) expect(refuse).toThrow(expect.objectContaining({ code: 'token-not-given' }))
  else expect(refuse).not.toThrow()
})

test.each([
  ['Bearer x', true],
  ['bearer x', true],
  ['Bearerx', false],
  ['Basic x', false],
  [' Bearer x', false],
  [undefined, false],
])('%s is a token: %s', (authorization, isToken) => {
  expect(isBearer(authorization)).toBe(isToken)
})

test('a call without a credential, or with a wrong one, is told what to send', () => {
  const challenged = { status: 401, headers: { 'WWW-Authenticate': CHALLENGE } }
  const missing = (authorization?: string) => missingCredential({ headers: { authorization } } as IncomingMessage)
  for (const none of [undefined, '']) {
    expect(missing(none)).toMatchObject({ ...challenged, message: expect.stringMatching(/^No credential was sent/) })
  }
  expect(missing('x')).toMatchObject({
    ...challenged,
    code: 'credential-missing',
    message: expect.stringMatching(/^The Authorization header /),
  })
  expect(wrongCredential()).toMatchObject({ ...challenged, code: 'credential-wrong' })
})

test('the recipient of an event is the one with its secret', () => {
  const one = recipientsOf('one', { secrets: ['a', 'b'], signingKeys: undefined })
  const two = recipientsOf('two', { secrets: ['c'], signingKeys: undefined, hasCallback: true })
  expect(one).toMatchObject([{ tenant: 'one', signingKeys: [], hasCallback: false }])
  expect(two).toMatchObject([{ tenant: 'two', hasCallback: true }])
  for (const secrets of [undefined, []]) expect(recipientsOf('none', { secrets, signingKeys: undefined })).toEqual([])
  const found = ['a', 'b', 'c', 'd', ''].map((secret) => recipientOf(secret, [...one, ...two])?.tenant)
  expect(found).toEqual(['one', 'one', 'two', undefined, undefined])
})

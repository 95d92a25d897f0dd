/** Promise: each failure of the service is answered as what it is (contract, section 9). */

import { describe, expect, test } from 'vitest'
import type { GatewayError } from '../../src/errors.ts'
import { NoReply, type Silence } from '../../src/service/exchange.ts'
import { credentialRefused, noReplyError, refusal, unansweredError } from '../../src/service/failures.ts'

const told = ({ code, status, message }: GatewayError) => [code, status, message]

const refused = (status: number, headers: Readonly<Record<string, string>> = {}, body = '') =>
  refusal({ status, headers, body: Buffer.from(body) })

describe('a reply without success', () => {
  test.each([
    [400, 'service-refused', 'The service refused the call.'],
    [401, 'service-refused', 'The service does not accept the credential. Check the Client ID and the Client Secret.'],
    [403, 'service-refused', 'The service does not permit this call with the credential that was sent.'],
    [404, 'service-refused', 'The service does not know this number. Check it.'],
    [429, 'service-refused', 'The service receives too many calls. Try again later.'],
    [499, 'service-refused', 'The service refused the call.'],
  ] as const)('of status %i keeps its status', (status, code, message) => {
    expect(told(refused(status))).toEqual([code, status, message])
    expect(refused(status).serviceStatus).toBe(status)
  })

  test.each([
    [300, 502, 'The service answered with a redirect (300), which is not followed.'],
    [399, 502, 'The service answered with a redirect (399), which is not followed.'],
    [299, 502, 'The service failed with status 299. Try again later.'],
    [500, 502, 'The service failed with status 500. Try again later.'],
    [504, 502, 'The service failed with status 504. Try again later.'],
    [503, 503, 'The service is not available. Try again later.'],
  ])('of status %i is answered with %i', (status, answered, message) => {
    expect(told(refused(status)).slice(1)).toEqual([answered, message])
    expect(refused(status).serviceStatus).toBe(status)
  })

  test('is explained in the words of the service', () => {
    const said = JSON.stringify({ message: 'Closed on Sundays.' })
    for (const status of [422, 401, 500, 503]) {
      expect(refused(status, {}, said).message).toMatch(/ The service says: Closed on Sundays\.$/)
    }
  })

  test('says when to call again, where the service does, and after five seconds while it is not available', () => {
    const asked = { 'retry-after': '30' }
    expect(refused(429, asked).headers).toEqual({ 'Retry-After': '30' })
    expect(refused(401, asked).headers).toEqual({
      'Retry-After': '30',
      'WWW-Authenticate': expect.stringMatching(/^Basic /),
    })
    expect(refused(503, asked).headers).toEqual({ 'Retry-After': '30' })
    expect(refused(503).headers).toEqual({ 'Retry-After': '5' })
    expect(refused(429).headers).toEqual({})
  })

  test('to another call with the credential asks for a credential', () => {
    expect(told(credentialRefused())).toEqual(told(refused(401)))
    expect(credentialRefused().headers).toEqual({ 'WWW-Authenticate': 'Basic realm="transload", charset="UTF-8"' })
  })
})

const SILENCES: readonly (readonly [Silence, status: number, message: RegExp, retryAfter: string | undefined])[] = [
  ['unsent', 502, /cannot be reached; nothing was sent/, undefined],
  ['busy', 503, /no free connection to the service; nothing was sent/, '1'],
  ['withdrawn', 503, /./, '1'],
  ['late', 504, /did not answer in time\. Try again later/, undefined],
  ['lost', 502, /broke before it answered\. Try again/, undefined],
  ['too-large', 502, /reply is too large/, undefined],
]

const CALL = { method: 'POST', path: '/v2/shipments', mayBook: false }

describe('without a whole reply', () => {
  test.each(SILENCES)('%s is answered with %i', (silence, status, message, retryAfter) => {
    const cause = new NoReply(silence)
    for (const error of [noReplyError(cause), unansweredError(cause, { ...CALL, method: 'GET' })]) {
      expect(error).toMatchObject({ status, cause, message: expect.stringMatching(message) })
      expect(error.headers['Retry-After']).toBe(retryAfter)
    }
  })

  test.each(SILENCES)('%s: a change may have been done, or not', (silence) => {
    const isDoubtful = silence === 'late' || silence === 'lost' || silence === 'too-large'
    const error = unansweredError(new NoReply(silence), { ...CALL, mayBook: true })
    expect(error.mayHaveBooked).toBe(isDoubtful)
    expect(/look before you send this again/.test(error.message)).toBe(isDoubtful)
  })

  test.each([
    [Object.assign(new Error('reset'), { code: 'ECONNRESET' }), 502],
    [new Error('without a code'), 502],
    ['no error', 502],
  ])('%s', (cause, status) => {
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      const error = unansweredError(cause, { ...CALL, method })
      expect(error).toMatchObject({ status, mayHaveBooked: false, cause: { name: 'NoReply', cause } })
      expect(error.message).not.toMatch(/look before/)
    }
    expect(unansweredError(cause, { ...CALL, method: 'PUT' })).toMatchObject({
      status,
      cause,
      mayHaveBooked: false,
      message: expect.stringMatching(/look before you send this again/),
    })
  })

  test.each([
    ['/v2/quote', false],
    ['/v2/quote/?x=1', false],
    ['/v2/quotes', true],
    ['/v2/quote/q-1/approve', true],
    ['/v2/shipments?next=/v2/quote', true],
    ['/oauth2/token', false],
  ])('POST %s may have made something: %s', (path, mayHaveMade) => {
    const error = unansweredError(new NoReply('lost'), { ...CALL, path })
    expect(/may have done/.test(error.message)).toBe(mayHaveMade)
    expect(error.mayHaveBooked).toBe(false)
  })
})

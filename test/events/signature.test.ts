/** Promise: signatures agree with the reference implementation (contract, section 10). */

import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import {
  type ReceivedHeaders,
  type SigningKey,
  signatureHeaders,
  signingKey,
  verifySignature,
} from '../../src/language/webhook-signature.ts'
import { runs } from '../size.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OLD_SECRET = `whsec_${Buffer.alloc(24, 9).toString('base64')}`
const NOW = 1_700_000_000
const BODY = Buffer.from('{"event":"shipment.created","note":"Déjà"}')

function keyOf(secret: string): SigningKey {
  return signingKey(secret) ?? expect.fail('not a signing secret')
}
const KEY = keyOf(SECRET)
const OLD_KEY = keyOf(OLD_SECRET)

/** The headers that the reference implementation sends. */
function sentBy(secret: string, id = 'msg_1', seconds = NOW, body = BODY): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': new Webhook(secret).sign(id, new Date(seconds * 1000), body),
  }
}

test('whatever is signed is valid, for both implementations alike', () => {
  const id = fc.stringMatching(/^[\w.-]{1,64}$/)
  const bytes = fc.uint8Array({ minLength: 24, maxLength: 64 })
  fc.assert(
    fc.property(id, fc.string({ unit: 'grapheme' }), bytes, (name, text, key) => {
      const secret = `whsec_${Buffer.from(key).toString('base64')}`
      const keys = [keyOf(secret)]
      const body = Buffer.from(text.toWellFormed())
      const headers = signatureHeaders(keys, { id: name, timestamp: NOW, body })
      expect(headers).toEqual(sentBy(secret, name, NOW, body))
      expect(verifySignature(keys, headers, body, NOW)).toBe('valid')
      expect(verifySignature(keys, headers, Buffer.concat([body, Buffer.from(' ')]), NOW)).toBe('wrong')
    }),
    { numRuns: runs(50, 1_000), seed: 1 },
  )
})

const good = sentBy(SECRET)
const signature = good['webhook-signature'] ?? ''

test.each<[name: string, headers: ReceivedHeaders, verdict: string]>([
  ['no headers', {}, 'missing'],
  ['no signature', { 'webhook-signature': undefined }, 'missing'],
  ['a list of ids', { 'webhook-id': ['msg_1'] }, 'malformed'],
  ['a long id', { 'webhook-id': 'm'.repeat(257) }, 'malformed'],
  ['the longest id', sentBy(SECRET, 'm'.repeat(256)), 'valid'],
  ['a date as timestamp', { 'webhook-timestamp': '2024-08-10T08:00:00Z' }, 'malformed'],
  ['a timestamp in milliseconds', { 'webhook-timestamp': `${NOW}000` }, 'malformed'],
  ['300 s ago', sentBy(SECRET, 'msg_1', NOW - 300), 'valid'],
  ['301 s ago', sentBy(SECRET, 'msg_1', NOW - 301), 'too-old'],
  ['in 300 s', sentBy(SECRET, 'msg_1', NOW + 300), 'valid'],
  ['in 301 s', sentBy(SECRET, 'msg_1', NOW + 301), 'too-new'],
  ['another id', { 'webhook-id': 'msg_3' }, 'wrong'],
  ['another secret', sentBy(OLD_SECRET), 'wrong'],
  ['an asymmetric one', { 'webhook-signature': signature.replace('v1', 'v1a') }, 'wrong'],
  ['the right one as the last of sixteen', { 'webhook-signature': `${'v1,AAAA '.repeat(15)}${signature}` }, 'valid'],
  ['the right one behind too many', { 'webhook-signature': `${'v1,AAAA '.repeat(16)}${signature}` }, 'wrong'],
])('a delivery with %s', (name, headers, verdict) => {
  const sent = name === 'no headers' ? {} : { ...good, ...headers }
  expect(verifySignature([KEY], sent, BODY, NOW)).toBe(verdict)
})

test('each of several keys is tried, and without keys nothing is valid', () => {
  expect(verifySignature([OLD_KEY, KEY], good, BODY, NOW)).toBe('valid')
  expect(verifySignature([], good, BODY, NOW)).toBe('wrong')
})

test('a secret has the form whsec_ and a key of 24 to 64 bytes', () => {
  const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 1).toString('base64')}`
  expect([23, 24, 64, 65].map((bytes) => signingKey(secretOf(bytes))?.length)).toEqual([undefined, 24, 64, undefined])
  expect(KEY).toEqual(Buffer.alloc(32, 7))
  for (const other of ['', 'whsec_', 'whsec_AAAA', SECRET.slice('whsec_'.length), ` ${SECRET}`, `${SECRET}!`])
    expect(signingKey(other), other).toBeUndefined()
})

/** Promise: headers of one hop and the caller's credential are not passed on (contract, section 1). */

import { expect, test } from 'vitest'
import { challengesIn, replyLines, requestLines } from '../../src/calls/pass-through.ts'

const OF_ONE_HOP = [
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-request-id',
]

test.each(OF_ONE_HOP.flatMap((name) => [name, name.toUpperCase()]))('%s is of one hop', (name) => {
  expect(requestLines(['A', '1', name, 'x', 'B', '2'], 'id', undefined)).toEqual([
    'A',
    '1',
    'B',
    '2',
    'x-request-id',
    'id',
  ])
  expect(replyLines(['A', '1', name, 'x', 'B', '2'], 'id')).toEqual(['A', '1', 'B', '2', 'X-Request-Id', 'id'])
})

test('other lines pass as they are, repeated ones too', () => {
  const lines = ['Accept', '*/*', 'COOKIE', 'a=1', 'cookie', 'b=2', 'X-9', '']
  expect(requestLines(lines, 'id', undefined)).toEqual([...lines, 'x-request-id', 'id'])
  expect(replyLines(lines, 'id')).toEqual([...lines, 'X-Request-Id', 'id'])
})

test("the caller's credential gives way to that of the call", () => {
  expect(requestLines(['Authorization', 'a', 'B', 'c'], 'id', 'd')).toEqual([
    ...['B', 'c', 'x-request-id', 'id'],
    ...['authorization', 'd'],
  ])
  expect(requestLines(['authorization', 'a'], 'id', undefined)).toEqual(['x-request-id', 'id'])
  // In a reply, it is a header like any other.
  expect(replyLines(['Authorization', 'a'], 'id')).toEqual(['Authorization', 'a', 'X-Request-Id', 'id'])
})

test.each(['Content_Length', 'Content.Length', 'X_Forwarded_For', 'a b', ''])(
  'a request has no header that is not spelled plainly: %j',
  (name) => {
    expect(requestLines([name, '1'], 'id', undefined)).toEqual(['x-request-id', 'id'])
    expect(replyLines([name, '1'], 'id')).toEqual([name, '1', 'X-Request-Id', 'id'])
  },
)

test('headers that Connection names are of one hop, in any case and in several lines', () => {
  const lines = ['Connection', 'close, X-One ', 'x-one', '1', 'X-TWO', '2', 'connection', 'x-two', 'X-Three', '3']
  expect(requestLines(lines, 'id', undefined)).toEqual(['X-Three', '3', 'x-request-id', 'id'])
  expect(replyLines(lines, 'id')).toEqual(['X-Three', '3', 'X-Request-Id', 'id'])
})

test('names of any length and number are treated the same the second time', () => {
  for (let round = 0; round < 2; round += 1) {
    for (let i = 0; i < 1_200; i += 1) {
      const name = `x-${i}`
      expect(replyLines([name, '1', 'TE', '2'], 'id')).toEqual([name, '1', 'X-Request-Id', 'id'])
    }
    const long = 'x'.repeat(100)
    expect(requestLines([long, '1', `${long}_`, '2'], 'id', undefined)).toEqual([long, '1', 'x-request-id', 'id'])
  }
})

test('the challenges of a refusal are one header', () => {
  const lines = ['WWW-Authenticate', 'Basic', 'X', 'www-authenticate', 'www-authenticate', 'Bearer x="1"']
  expect(challengesIn({ lines })).toEqual({ 'www-authenticate': 'Basic, Bearer x="1"' })
  expect(challengesIn({ lines: ['X', 'www-authenticate'] })).toEqual({})
})

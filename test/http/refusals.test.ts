/** Promise: requests that readers could take differently are refused (contract, section 9). */

import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { parserRefusal, refusal, refusalBytes, refusals, unsupported } from '../../src/http/refusals.ts'

const HOST = ['Host', 'example.com']

/** A request as Node's parser reads it; the listener looks at these parts alone. */
function request({ rawHeaders = HOST, ...more }: Partial<IncomingMessage>): IncomingMessage {
  const pairs = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1]]] : []))
  const headers = Object.fromEntries(pairs)
  return { httpVersion: '1.1', method: 'GET', url: '/', rawHeaders, headers, ...more } as IncomingMessage
}
const many = (count: number) => Array.from({ length: count }, (_, i) => [`x-${i}`, '']).flat()

test('the table of refusals', () => {
  const lines = Object.entries(refusals).map(([name, { status, message }]) => `${name}: ${status} ${message}`)
  expect(lines).toEqual([
    'malformed: 400 Malformed HTTP request.',
    'target: 400 The request target must be a path, without a host.',
    'backslash: 400 The path contains a backslash. Use / instead.',
    'severalHosts: 400 Send one Host header.',
    'host: 400 Malformed Host header.',
    'method: 405 The method {method} is not supported.',
    'timeout: 408 The request took too long to arrive. Send it again.',
    'chunkExtensions: 413 The chunk extensions are too large. Send chunks without extensions.',
    'expectation: 417 Expect: 100-continue is the only expectation supported.',
    'headers: 431 The headers are too large. Send fewer of them.',
    'coding: 501 Send the body with a Content-Length, or chunked over HTTP/1.1.',
    'version: 505 Use HTTP/1.1 or HTTP/1.0.',
  ])
})

describe('a request is accepted', () => {
  test.each<[string, Partial<IncomingMessage>]>([
    ['over HTTP/1.1', {}],
    ['over HTTP/1.0', { httpVersion: '1.0' }],
    ['over HTTP/1.0 without a host', { httpVersion: '1.0', rawHeaders: [] }],
    ['with a backslash in its query', { url: '/x?a=\\' }],
    ['with 200 headers', { rawHeaders: [...HOST, ...many(199)] }],
    ['in chunks', { rawHeaders: [...HOST, 'Transfer-Encoding', ' Chunked '] }],
    ['with an empty host', { rawHeaders: ['Host', ''] }],
    ['with a port', { rawHeaders: ['Host', 'a_b.example-1:65535'] }],
    ['with an address', { rawHeaders: ['Host', '[2001:db8::1]:80'] }],
  ])('%s', (_, parts) => {
    expect(refusal(request(parts))).toBeUndefined()
  })
})

describe('a request is refused', () => {
  test.each<[keyof typeof refusals, Partial<IncomingMessage>]>([
    ['version', { httpVersion: '0.9' }],
    ['version', { httpVersion: '2.0' }],
    ['version', { httpVersion: '1.10' }],
    ['target', { url: 'http://example.com/' }],
    ['target', { url: '*' }],
    ['target', { url: '' }],
    ['backslash', { url: '/a\\b' }],
    ['backslash', { url: '/\\?x' }],
    ['headers', { rawHeaders: [...HOST, ...many(200)] }],
    ['severalHosts', { rawHeaders: [...HOST, 'HOST', 'example.com'] }],
    ['severalHosts', { rawHeaders: [] }],
    ['host', { rawHeaders: ['Host', 'a b'] }],
    ['host', { rawHeaders: ['Host', 'a/b'] }],
    ['host', { rawHeaders: ['Host', 'a@b'] }],
    ['host', { rawHeaders: ['Host', 'a:b'] }],
    ['host', { rawHeaders: ['Host', 'a:99999'.replace('9', '99')] }],
    ['coding', { rawHeaders: [...HOST, 'Transfer-Encoding', 'gzip, chunked'] }],
    ['coding', { rawHeaders: [...HOST, 'Transfer-Encoding', 'chunked'], httpVersion: '1.0' }],
  ])('%s: %j', (name, parts) => {
    expect(refusal(request(parts))).toBe(refusals[name])
  })

  test.each(['TRACE', 'CONNECT'])('with the method %s', (method) => {
    const refused = { status: 405, message: `The method ${method} is not supported.` }
    expect(refusal(request({ method }))).toEqual(refused)
    expect(unsupported(method)).toEqual(refused)
  })

  test.each([
    ['HPE_HEADER_OVERFLOW', refusals.headers],
    ['HPE_CHUNK_EXTENSIONS_OVERFLOW', refusals.chunkExtensions],
    ['ERR_HTTP_REQUEST_TIMEOUT', refusals.timeout],
    ['HPE_INVALID_METHOD', refusals.malformed],
    [undefined, refusals.malformed],
  ])('by the parser with %s', (code, expected) => {
    expect(parserRefusal(code)).toBe(expected)
  })
})

test('a refusal may be answered with bytes, which close the connection', () => {
  const answer = { status: 400, headers: { Deprecation: '@1' }, body: '{"Message":"Später."}' }
  const [head = '', body] = refusalBytes(answer, undefined).split('\r\n\r\n')
  expect(body).toBe(answer.body)
  expect(head.split('\r\n')).toEqual([
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(answer.body)}`,
    expect.stringMatching(/^X-Request-Id: [\da-f-]{36}$/),
    'Deprecation: @1',
    'Connection: close',
  ])
})

/** Promise: each malformed request is answered as it should be, and nothing else is sent on (contract, section 9). */

import { expect, test } from 'vitest'
import { basic, get, startGateway } from '../gateway.ts'
import { notJson, openLine } from './line.ts'

const KEPT = 'kept'
const CLOSED = 'closed'

/** The bytes to send, the expected statuses, the end of the connection, and the requests at the service. */
type Case = readonly [
  what: string,
  bytes: string,
  statuses: readonly number[],
  connection: typeof KEPT | typeof CLOSED,
  reached?: readonly string[],
]

const HOST = 'Host: x\r\n'
const AUTH = `Authorization: ${basic()}\r\n`
const BODY = 'TempShipFromPostalCode=10314&TempShipToPostalCode=33166'
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
const QUOTED = ['POST /v2/quote']

const head = (line: string, headers = HOST) => `${line}\r\n${headers}\r\n`
const alive = (headers = '') => head('GET /healthz HTTP/1.1', HOST + headers)
const at = (path: string, headers = HOST + AUTH) => head(`GET ${path} HTTP/1.1`, headers)
const quote = (headers: string, body = BODY, line = 'POST /getShippingQuote.php HTTP/1.1') =>
  head(line, HOST + AUTH + headers) + body
const passed = (headers: string, body = '{}') => head('POST /v2/nothing HTTP/1.1', HOST + AUTH + headers) + body
const LENGTH = `Content-Length: ${BODY.length}\r\n`
const TE = 'Transfer-Encoding: chunked\r\n'

const GOOD: readonly Case[] = [
  ['a plain request', alive(), [200], KEPT],
  ['header names in lower case', 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n', [200], KEPT],
  ['no blank after the colon', 'GET /healthz HTTP/1.1\r\nHost:x\r\n\r\n', [200], KEPT],
  ['blanks around a value', 'GET /healthz HTTP/1.1\r\nHost: \t x \t\r\n\r\n', [200], KEPT],
  ['an empty Host', 'GET /healthz HTTP/1.1\r\nHost:\r\n\r\n', [200], KEPT],
  ['a Host with a port', 'GET /healthz HTTP/1.1\r\nHost: x.example:8080\r\n\r\n', [200], KEPT],
  ['a Host in IPv6', 'GET /healthz HTTP/1.1\r\nHost: [::1]:80\r\n\r\n', [200], KEPT],
  ['empty lines before the request', `\r\n\r\n${alive()}`, [200], KEPT],
  ['Connection: close', alive('Connection: close\r\n'), [200], CLOSED],
  ['Connection: CLOSE', alive('Connection: CLOSE\r\n'), [200], CLOSED],
  ['HTTP/1.0', head('GET /healthz HTTP/1.0'), [200], CLOSED],
  ['HTTP/1.0 without Host', head('GET /healthz HTTP/1.0', ''), [200], CLOSED],
  ['HTTP/1.0 that keeps the connection', head('GET /healthz HTTP/1.0', 'Connection: keep-alive\r\n'), [200], KEPT],
  ['bytes beyond ASCII in a value', alive('X-Name: J\xfcrgen\r\n'), [200], KEPT],
  ['a repeated unknown header', alive('A: 1\r\nA: 2\r\n'), [200], KEPT],
  ['200 headers', alive(Array.from({ length: 199 }, (_, i) => `H${i}: 1\r\n`).join('')), [200], KEPT],
  ['a body on GET', `${alive('Content-Length: 2\r\n')}{}`, [200], KEPT],
  ['an upgrade to a web socket', alive('Connection: Upgrade\r\nUpgrade: websocket\r\n'), [200], KEPT],
  ['an upgrade to HTTP/2', alive('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n'), [200], KEPT],
  ['TE: trailers', alive('TE: trailers\r\n'), [200], KEPT],
  ['two requests at once', alive() + alive(), [200, 200], KEPT],
  ['a form', quote(LENGTH), [200], KEPT, QUOTED],
  ['a form in one chunk', quote(TE, CHUNKED), [200], KEPT, QUOTED],
  [
    'a form in chunks of one byte',
    quote(TE, `${[...BODY].map((c) => `1\r\n${c}\r\n`).join('')}0\r\n\r\n`),
    [200],
    KEPT,
    QUOTED,
  ],
  ['a chunk with an extension', quote(TE, CHUNKED.replace('\r\n', ';a=b\r\n')), [200], KEPT, QUOTED],
  ['a chunk with leading zeros', quote(TE, `0000${CHUNKED}`), [200], KEPT, QUOTED],
  ['a trailer', quote(TE, CHUNKED.replace(/\r\n$/, 'X: y\r\n\r\n')), [200], KEPT, QUOTED],
  ['a trailer that would be a header', quote(TE, CHUNKED.replace(/\r\n$/, 'Host: y\r\n\r\n')), [200], KEPT, QUOTED],
  ['CHUNKED', quote('transfer-encoding: CHUNKED\r\n', CHUNKED), [200], KEPT, QUOTED],
  ['Expect: 100-continue', quote(`${LENGTH}Expect: 100-continue\r\n`), [100, 200], KEPT, QUOTED],
  ['an empty Expect', quote(`${LENGTH}Expect:\r\n`), [200], KEPT, QUOTED],
  ['Expect: 100-Continue', quote(`${LENGTH}Expect: 100-Continue\r\n`), [100, 200], KEPT, QUOTED],
  ['a form over HTTP/1.0', quote(LENGTH, BODY, 'POST /getShippingQuote.php HTTP/1.0'), [200], CLOSED, QUOTED],
  ['a form and a page', quote(LENGTH) + alive(), [200, 200], KEPT, QUOTED],
  ['line ends behind a body', `${quote(LENGTH)}\r\n${alive()}`, [200, 200], KEPT, QUOTED],
  ['what passes through', passed('Content-Length: 2\r\n'), [404], KEPT, ['POST /v2/nothing']],
  ['what passes through in chunks', passed(TE, '2\r\n{}\r\n0\r\n\r\n'), [404], KEPT, ['POST /v2/nothing']],
  ['a query', at('/v2/nothing?a=%0d%0ab'), [404], KEPT, ['GET /v2/nothing?a=%0d%0ab']],
  [
    'a method that is not known to the service',
    head('PURGE /v2/x HTTP/1.1', HOST + AUTH),
    [404],
    KEPT,
    ['PURGE /v2/x'],
  ],
]

const tooLong = 'x'.repeat(20_000)
const LINES: readonly Case[] = [
  ['garbage', 'GARBAGE\r\n\r\n', [400], CLOSED],
  ['a greeting of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', [400], CLOSED],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400], CLOSED],
  ['HTTP/0.9', 'GET /healthz\r\n\r\n', [505], CLOSED],
  ['HTTP/0.9 by name', head('GET /healthz HTTP/0.9'), [505], CLOSED],
  ['HTTP/1.2', head('GET /healthz HTTP/1.2'), [400], CLOSED],
  ['HTTP/2.0', head('GET /healthz HTTP/2.0'), [505], CLOSED],
  ['HTTP/1', head('GET /healthz HTTP/1'), [400], CLOSED],
  ['http/1.1', head('GET /healthz http/1.1'), [400], CLOSED],
  ['RTSP', head('DESCRIBE /healthz RTSP/1.0'), [404], CLOSED],
  ['two blanks before the path', head('GET  /healthz HTTP/1.1'), [200], KEPT],
  ['two blanks before the version', head('GET /healthz  HTTP/1.1'), [200], KEPT],
  ['a tab for a blank', head('GET\t/healthz HTTP/1.1'), [400], CLOSED],
  ['a blank in the path', head('GET /heal thz HTTP/1.1'), [400], CLOSED],
  ['a blank before the method', head(' GET /healthz HTTP/1.1'), [400], CLOSED],
  ['a blank behind the version', head('GET /healthz HTTP/1.1 '), [400], CLOSED],
  ['a method in lower case', head('get /healthz HTTP/1.1'), [400], CLOSED],
  ['a method that is none', head('BREW /healthz HTTP/1.1'), [400], CLOSED],
  ['no method', head('/healthz HTTP/1.1'), [400], CLOSED],
  ['a bare line feed', 'GET /healthz HTTP/1.1\nHost: x\n\n', [400], CLOSED],
  ['a bare line feed behind a header', 'GET /healthz HTTP/1.1\r\nHost: x\n\r\n', [400], CLOSED],
  ['a bare carriage return', 'GET /healthz HTTP/1.1\rHost: x\r\r', [400], CLOSED],
  ['a bare carriage return in a value', alive('A: b\rc\r\n'), [400], CLOSED],
  ['two carriage returns', alive('A: b\r\r\n'), [400], CLOSED],
  ['a NUL in the path', head('GET /heal\0thz HTTP/1.1'), [400], CLOSED],
  ['a NUL in a value', alive('A: b\0c\r\n'), [400], CLOSED],
  ['a control character in a value', alive('A: b\x01c\r\n'), [400], CLOSED],
  ['DEL in a value', alive('A: b\x7fc\r\n'), [400], CLOSED],
  ['a header on two lines', alive('A: b\r\n c\r\n'), [400], CLOSED],
  ['a first header that begins with a blank', 'GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n', [400], CLOSED],
  ['a blank before a colon', alive('A : b\r\n'), [400], CLOSED],
  ['a blank in a name', alive('A B: c\r\n'), [400], CLOSED],
  ['a header without a colon', alive('Nothing\r\n'), [400], CLOSED],
  ['a header without a name', alive(': b\r\n'), [400], CLOSED],
  ['a name beyond ASCII', alive('\xc4: b\r\n'), [400], CLOSED],
  ['a header that is too large', alive(`A: ${tooLong}\r\n`), [431], CLOSED],
  ['a name that is too large', alive(`${tooLong}: a\r\n`), [431], CLOSED],
  ['a path that is too long', head(`GET /${tooLong} HTTP/1.1`), [431], CLOSED],
  ['201 headers', alive(Array.from({ length: 200 }, (_, i) => `H${i}: 1\r\n`).join('')), [431], CLOSED],
]

const TARGETS: readonly Case[] = [
  ['an absolute target', at('http://evil.example/healthz'), [400], CLOSED],
  ['an absolute target in the service', at('http://evil.example/v2/nothing'), [400], CLOSED],
  [
    'an absolute target with a body',
    quote(LENGTH, BODY, 'POST http://evil.example/getShippingQuote.php HTTP/1.1'),
    [400],
    CLOSED,
  ],
  ['an asterisk', head('OPTIONS * HTTP/1.1'), [400], CLOSED],
  ['an authority', at('evil.example:80'), [400], CLOSED],
  ['a path of a query alone', at('?a=b'), [400], CLOSED],
  ['a fragment', at('#a'), [400], CLOSED],
  ['CONNECT', head('CONNECT x:443 HTTP/1.1'), [405], CLOSED],
  ['TRACE', head('TRACE /healthz HTTP/1.1'), [405], CLOSED],
  ['half an escape', at('/v2/%2'), [400], KEPT],
  ['out of /v2/', at('/v2/../admin'), [400], KEPT],
  ['out of /v2/ with a backslash', at('/v2/..\\admin'), [400], CLOSED],
  ['what is nowhere', at('/nothing'), [404], KEPT],
  ['bytes beyond ASCII', at('/\xc3\xa4'), [400], CLOSED],
]

const HEADERS: readonly Case[] = [
  ['no Host', head('GET /healthz HTTP/1.1', ''), [400], CLOSED],
  ['no Host and a body', `${head('POST /v2/x HTTP/1.1', `${AUTH}Content-Length: 2\r\n`)}{}`, [400], CLOSED],
  ['two Hosts', alive('Host: y\r\n'), [400], CLOSED],
  ['two Hosts in another spelling', alive('hOST: y\r\n'), [400], CLOSED],
  ['two Hosts over HTTP/1.0', head('GET /healthz HTTP/1.0', HOST + HOST), [400], CLOSED],
  ['three Hosts to the service', at('/v2/x', HOST.repeat(3) + AUTH), [400], CLOSED],
  ['a Host with a path', at('/healthz', 'Host: a/b\r\n'), [400], CLOSED],
  ['a Host with userinfo', at('/healthz', 'Host: a@b\r\n'), [400], CLOSED],
  ['a Host with a blank', at('/healthz', 'Host: a b\r\n'), [400], CLOSED],
  ['a Host with a backslash', at('/healthz', 'Host: a\\b\r\n'), [400], CLOSED],
  ['half a Host in IPv6', at('/healthz', 'Host: [::1\r\n'), [400], CLOSED],
  ['a Host with a long port', at('/v2/x', `Host: x:123456\r\n${AUTH}`), [400], CLOSED],
  ['Expect: something', alive('Expect: something\r\n'), [417], CLOSED],
  ['Expect: something with a body', quote(`${LENGTH}Expect: 200-ok\r\n`), [417], CLOSED],
  ['Expect: something, then a request', alive('Expect: something\r\n') + at('/v2/x'), [417], CLOSED],
  ['two Content-Lengths', quote(LENGTH + LENGTH), [400], CLOSED],
  ['two Content-Lengths that differ', quote(`${LENGTH}Content-Length: 0\r\n`), [400], CLOSED],
  ['a list of Content-Lengths', quote(`Content-Length: ${BODY.length}, ${BODY.length}\r\n`), [400], CLOSED],
  ['a hexadecimal Content-Length', quote('Content-Length: 0x37\r\n'), [400], CLOSED],
  ['a Content-Length with a sign', quote(`Content-Length: +${BODY.length}\r\n`), [400], CLOSED],
  ['a negative Content-Length', quote('Content-Length: -1\r\n'), [400], CLOSED],
  ['an empty Content-Length', quote('Content-Length:\r\n'), [400], CLOSED],
  ['a Content-Length beyond 64 bits', quote('Content-Length: 18446744073709551617\r\n'), [400], CLOSED],
  ['a Content-Length with an exponent', quote('Content-Length: 5e1\r\n'), [400], CLOSED],
  ['a Content-Length with a blank before the colon', quote(`Content-Length : ${BODY.length}\r\n`), [400], CLOSED],
  ['Content-Length and Transfer-Encoding', quote(LENGTH + TE, CHUNKED), [400], CLOSED],
  ['Transfer-Encoding with a blank before the colon', quote('Transfer-Encoding : chunked\r\n', CHUNKED), [400], CLOSED],
  ['Transfer-Encoding: gzip, chunked', quote('Transfer-Encoding: gzip, chunked\r\n', CHUNKED), [501], CLOSED],
  [
    'Transfer-Encoding: chunked twice in a list',
    quote('Transfer-Encoding: chunked, chunked\r\n', CHUNKED),
    [400],
    CLOSED,
  ],
  ['Transfer-Encoding: chunked on two lines', quote(TE + TE, CHUNKED), [400], CLOSED],
  ['Transfer-Encoding: gzip', quote('Transfer-Encoding: gzip\r\n', CHUNKED), [501], CLOSED],
  ['Transfer-Encoding: identity', quote('Transfer-Encoding: identity\r\n'), [501], CLOSED],
  ['an empty Transfer-Encoding', quote('Transfer-Encoding:\r\n', CHUNKED), [400], CLOSED],
  ['Transfer-Encoding over HTTP/1.0', quote(TE, CHUNKED, 'POST /getShippingQuote.php HTTP/1.0'), [501], CLOSED],
  [
    'a refused coding, then a request',
    quote('Transfer-Encoding: gzip, chunked\r\n', CHUNKED) + at('/v2/x'),
    [501],
    CLOSED,
  ],
  ['an absolute target, then a request', at('http://evil.example/') + at('/v2/x'), [400], CLOSED],
  ['two Hosts, then a request', alive('Host: y\r\n') + at('/v2/x'), [400], CLOSED],
  ['TRACE, then a request', head('TRACE / HTTP/1.1') + at('/v2/x'), [405], CLOSED],
  ['HTTP/0.9, then a request', `GET /healthz\r\n\r\n${at('/v2/x')}`, [505], CLOSED],
  ['a request behind Connection: close', alive('Connection: close\r\n') + at('/v2/x'), [200], CLOSED],
  ['CONNECT, then a request', head('CONNECT x:1 HTTP/1.1') + at('/v2/x'), [405], CLOSED],
]

const BODIES: readonly Case[] = [
  ['a chunk size that is none', quote(TE, `zz\r\n${BODY}\r\n0\r\n\r\n`), [400], CLOSED],
  ['a chunk size with a sign', quote(TE, `+${CHUNKED}`), [400], CLOSED],
  ['a chunk size beyond 64 bits', quote(TE, `10000000000000037\r\n${BODY}\r\n0\r\n\r\n`), [400], CLOSED],
  ['a chunk size that ends in a line feed', quote(TE, CHUNKED.replace('\r\n', '\n')), [400], CLOSED],
  ['a chunk that ends in a line feed', quote(TE, `${BODY.length.toString(16)}\r\n${BODY}\n0\r\n\r\n`), [400], CLOSED],
  ['a chunk that is longer than it says', quote(TE, `1\r\n${BODY}\r\n0\r\n\r\n`), [400], CLOSED],
  ['an empty chunk size', quote(TE, `\r\n${CHUNKED}`), [400], CLOSED],
  ['a NUL in an extension', quote(TE, CHUNKED.replace('\r\n', ';a=\0\r\n')), [400], CLOSED],
  ['a line feed in an extension', quote(TE, CHUNKED.replace('\r\n', ';a\nb\r\n')), [400], CLOSED],
  ['extensions that are too large', quote(TE, CHUNKED.replace('\r\n', `;${tooLong}\r\n`)), [413], CLOSED],
  ['a trailer that is none', quote(TE, CHUNKED.replace(/\r\n$/, 'X\0: y\r\n\r\n')), [400], CLOSED],
  [
    'a body that is too large by its length',
    quote('Content-Length: 300000\r\n', 'a='.padEnd(300_000, 'x')),
    [413],
    KEPT,
  ],
  ['bytes behind a body', `${quote(LENGTH)}XXXX`, [200], CLOSED, QUOTED],
  ['bytes behind a chunked body', `${quote(TE, CHUNKED)}\0\0\r\n\r\n`, [200], CLOSED, QUOTED],
  ['a page, then garbage', `${alive()}GARBAGE\r\n\r\n`, [200], CLOSED],
  ['what passes through, then garbage', `${at('/v2/x')}GARBAGE\r\n\r\n`, [404], CLOSED, ['GET /v2/x']],
  ['a form, a page, then garbage', `${quote(LENGTH)}${alive()}\0`, [200, 200], CLOSED, QUOTED],
  ['a form, then CONNECT', quote(LENGTH) + head('CONNECT x:1 HTTP/1.1'), [200], CLOSED, QUOTED],
  ['a form, then a bad chunk', quote(LENGTH) + quote(TE, `zz\r\n${BODY}\r\n`), [200], CLOSED, QUOTED],
  ['chunks that break for the service', passed(TE, '2\r\n{}\r\nzz\r\n'), [400], CLOSED],
]

/** Cases after which the caller sends nothing. */
const HALVES: readonly Case[] = [
  ['nothing', '', [], CLOSED],
  ['half a method', 'GE', [400], CLOSED],
  ['half a request line', 'GET /healthz HT', [400], CLOSED],
  ['half the headers', 'GET /healthz HTTP/1.1\r\nHost: x\r\n', [400], CLOSED],
  ['half a header', 'GET /healthz HTTP/1.1\r\nHo', [400], CLOSED],
  ['half a form', quote('Content-Length: 500\r\n', 'a='), [400], CLOSED],
  ['half a chunk', quote(TE, '500\r\na='), [400], CLOSED],
  ['no last chunk', quote(TE, `1\r\na\r\n`), [400], CLOSED],
  ['half a body for the service', passed('Content-Length: 500\r\n'), [400], CLOSED],
  ['a page, then half a request', `${alive()}GET /v2/`, [200, 400], CLOSED],
]

const GROUPS = { GOOD, LINES, TARGETS, HEADERS, BODIES, HALVES }

const told = (
  what: string,
  replies: readonly { readonly status: number }[],
  connection: string,
  reached: readonly string[],
) => `${what}: ${replies.map(({ status }) => status)} ${connection} ${reached}`

test.each(Object.entries(GROUPS))(
  '%s: each is answered as it should be, and nothing else is sent on',
  async (group, cases) => {
    const gateway = await startGateway({ env: { SOURCE_CONNECTIONS: '10000' } })
    // Otherwise the first body that streams would ask whether the service accepts the credential.
    await get(gateway, '/v2/shipments/none')
    gateway.sandbox.requests.length = 0
    const seen: string[] = []
    for (const [what, bytes, statuses, connection] of cases) {
      const before = gateway.sandbox.requests.length
      const line = await openLine(gateway)
      line.write(bytes)
      if (group === 'HALVES') line.end()
      let replies = connection === CLOSED ? await line.closed() : await line.replies(statuses.length)
      if (connection === KEPT) {
        line.write(alive())
        replies = (await line.replies(statuses.length + 1)).slice(0, -1)
      }
      const actual = line.isClosed() ? CLOSED : KEPT
      line.hangUp()
      const reached = gateway.sandbox.requests.slice(before).map(({ method, path }) => `${method} ${path}`)
      const unreadable = notJson(replies.filter(({ headers }) => !headers.has('sandbox')))
      seen.push(told(what, replies, actual, reached) + unreadable.map(({ body }) => ` not JSON: ${body}`).join(''))
    }
    expect(seen).toEqual(
      cases.map(([what, , statuses, connection, reached = []]) => {
        return told(
          what,
          statuses.map((status) => ({ status })),
          connection,
          reached,
        )
      }),
    )
    // Nothing came late either.
    expect(gateway.sandbox.requests).toHaveLength(cases.flatMap(([, , , , reached = []]) => reached).length)
  },
)

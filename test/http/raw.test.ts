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
  ['names in lower case, no blank after the colon', 'GET /healthz HTTP/1.1\r\nhost:x\r\n\r\n', [200], KEPT],
  ['an empty Host', 'GET /healthz HTTP/1.1\r\nHost:\r\n\r\n', [200], KEPT],
  ['a Host in IPv6', 'GET /healthz HTTP/1.1\r\nHost: [::1]:80\r\n\r\n', [200], KEPT],
  ['empty lines before the request', `\r\n\r\n${alive()}`, [200], KEPT],
  ['Connection: CLOSE', alive('Connection: CLOSE\r\n'), [200], CLOSED],
  ['HTTP/1.0 without Host', head('GET /healthz HTTP/1.0', ''), [200], CLOSED],
  ['HTTP/1.0 that keeps the connection', head('GET /healthz HTTP/1.0', 'Connection: keep-alive\r\n'), [200], KEPT],
  ['bytes beyond ASCII in a value', alive('X-Name: J\xfcrgen\r\n'), [200], KEPT],
  ['200 headers', alive(Array.from({ length: 199 }, (_, i) => `H${i}: 1\r\n`).join('')), [200], KEPT],
  ['a body on GET', `${alive('Content-Length: 2\r\n')}{}`, [200], KEPT],
  ['an upgrade to a web socket', alive('Connection: Upgrade\r\nUpgrade: websocket\r\n'), [200], KEPT],
  ['an upgrade to HTTP/2', alive('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n'), [200], KEPT],
  ['a form in one chunk', quote(TE, CHUNKED), [200], KEPT, QUOTED],
  [
    'a form in chunks of one byte',
    quote(TE, `${[...BODY].map((c) => `1\r\n${c}\r\n`).join('')}0\r\n\r\n`),
    [200],
    KEPT,
    QUOTED,
  ],
  ['a trailer that would be a header', quote(TE, CHUNKED.replace(/\r\n$/, 'Host: y\r\n\r\n')), [200], KEPT, QUOTED],
  ['an empty Expect', quote(`${LENGTH}Expect:\r\n`), [200], KEPT, QUOTED],
  ['Expect: 100-Continue', quote(`${LENGTH}Expect: 100-Continue\r\n`), [100, 200], KEPT, QUOTED],
  ['a form over HTTP/1.0', quote(LENGTH, BODY, 'POST /getShippingQuote.php HTTP/1.0'), [200], CLOSED, QUOTED],
  ['a form and a page at once', `${quote(LENGTH)}\r\n${alive()}`, [200, 200], KEPT, QUOTED],
  ['what passes through in chunks', passed(TE, '2\r\n{}\r\n0\r\n\r\n'), [404], KEPT, ['POST /v2/nothing']],
  ['a query', at('/v2/nothing?a=%0d%0ab'), [404], KEPT, ['GET /v2/nothing?a=%0d%0ab']],
  ['a method that the service alone may know', head('PURGE /v2/x HTTP/1.1', HOST + AUTH), [404], KEPT, ['PURGE /v2/x']],
]

const tooLong = 'x'.repeat(20_000)
const REFUSED: readonly Case[] = [
  ['a greeting of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', [400], CLOSED],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400], CLOSED],
  ['HTTP/0.9', 'GET /healthz\r\n\r\n', [505], CLOSED],
  ['HTTP/1.2', head('GET /healthz HTTP/1.2'), [400], CLOSED],
  ['RTSP', head('DESCRIBE /healthz RTSP/1.0'), [404], CLOSED],
  ['a method that is none', head('BREW /healthz HTTP/1.1'), [400], CLOSED],
  ['a bare line feed', 'GET /healthz HTTP/1.1\nHost: x\n\n', [400], CLOSED],
  ['a NUL in a value', alive('A: b\0c\r\n'), [400], CLOSED],
  ['a header on two lines', alive('A: b\r\n c\r\n'), [400], CLOSED],
  ['a header that is too large', alive(`A: ${tooLong}\r\n`), [431], CLOSED],
  ['a path that is too long', head(`GET /${tooLong} HTTP/1.1`), [431], CLOSED],
  ['201 headers', alive(Array.from({ length: 200 }, (_, i) => `H${i}: 1\r\n`).join('')), [431], CLOSED],
  ['an absolute target in the service', at('http://evil.example/v2/nothing'), [400], CLOSED],
  ['an asterisk', head('OPTIONS * HTTP/1.1'), [400], CLOSED],
  ['an authority', at('evil.example:80'), [400], CLOSED],
  ['a fragment', at('#a'), [400], CLOSED],
  ['CONNECT', head('CONNECT x:443 HTTP/1.1'), [405], CLOSED],
  ['TRACE', head('TRACE /healthz HTTP/1.1'), [405], CLOSED],
  ['out of /v2/ with a backslash', at('/v2/..\\admin'), [400], CLOSED],
  ['bytes beyond ASCII', at('/\xc3\xa4'), [400], CLOSED],
  ['no Host and a body', `${head('POST /v2/x HTTP/1.1', `${AUTH}Content-Length: 2\r\n`)}{}`, [400], CLOSED],
  ['two Hosts in another spelling', alive('hOST: y\r\n'), [400], CLOSED],
  ['two Hosts over HTTP/1.0', head('GET /healthz HTTP/1.0', HOST + HOST), [400], CLOSED],
  ...['a/b', 'a@b', 'a b', 'a\\b', '[::1', 'x:123456'].map(
    (host): Case => [`the Host ${host}`, at('/v2/x', `Host: ${host}\r\n${AUTH}`), [400], CLOSED],
  ),
  ['an empty Content-Length', quote('Content-Length:\r\n'), [400], CLOSED],
  ['Content-Length and Transfer-Encoding', quote(LENGTH + TE, CHUNKED), [400], CLOSED],
  ['Transfer-Encoding: chunked on two lines', quote(TE + TE, CHUNKED), [400], CLOSED],
  ['Transfer-Encoding: identity', quote('Transfer-Encoding: identity\r\n'), [501], CLOSED],
  ['Transfer-Encoding over HTTP/1.0', quote(TE, CHUNKED, 'POST /getShippingQuote.php HTTP/1.0'), [501], CLOSED],
  ['extensions that are too large', quote(TE, CHUNKED.replace('\r\n', `;${tooLong}\r\n`)), [413], CLOSED],
  ['a body too large by its length', quote('Content-Length: 300000\r\n', 'a='.padEnd(300_000, 'x')), [413], KEPT],
  ['chunks that break for the service', passed(TE, '2\r\n{}\r\nzz\r\n'), [400], CLOSED],
]

/** Requests with another one, or with garbage, behind them. */
const FOLLOWED: readonly Case[] = [
  ['Expect: something', alive('Expect: something\r\n') + at('/v2/x'), [417], CLOSED],
  ['a refused coding', quote('Transfer-Encoding: gzip, chunked\r\n', CHUNKED) + at('/v2/x'), [501], CLOSED],
  ['an absolute target', at('http://evil.example/') + at('/v2/x'), [400], CLOSED],
  ['two Hosts', alive('Host: y\r\n') + at('/v2/x'), [400], CLOSED],
  ['TRACE', head('TRACE / HTTP/1.1') + at('/v2/x'), [405], CLOSED],
  ['HTTP/0.9', `GET /healthz\r\n\r\n${at('/v2/x')}`, [505], CLOSED],
  ['Connection: close', alive('Connection: close\r\n') + at('/v2/x'), [200], CLOSED],
  ['CONNECT', head('CONNECT x:1 HTTP/1.1') + at('/v2/x'), [405], CLOSED],
  ['a chunked body, and garbage', `${quote(TE, CHUNKED)}\0\0\r\n\r\n`, [200], CLOSED, QUOTED],
  ['what passes through, and garbage', `${at('/v2/x')}GARBAGE\r\n\r\n`, [404], CLOSED, ['GET /v2/x']],
  ['a form, a page, and garbage', `${quote(LENGTH)}${alive()}\0`, [200, 200], CLOSED, QUOTED],
  ['a form, and CONNECT', quote(LENGTH) + head('CONNECT x:1 HTTP/1.1'), [200], CLOSED, QUOTED],
  ['a form, and a bad chunk', quote(LENGTH) + quote(TE, `zz\r\n${BODY}\r\n`), [200], CLOSED, QUOTED],
]

/** Cases after which the caller sends nothing. */
const HALVES: readonly Case[] = [
  ['nothing', '', [], CLOSED],
  ['half a request line', 'GET /healthz HT', [400], CLOSED],
  ['half the headers', 'GET /healthz HTTP/1.1\r\nHost: x\r\n', [400], CLOSED],
  ['half a form', quote('Content-Length: 500\r\n', 'a='), [400], CLOSED],
  ['no last chunk', quote(TE, `1\r\na\r\n`), [400], CLOSED],
  ['half a body for the service', passed('Content-Length: 500\r\n'), [400], CLOSED],
  ['a page, then half a request', `${alive()}GET /v2/`, [200, 400], CLOSED],
]

const GROUPS = { GOOD, REFUSED, FOLLOWED, HALVES }

const told = (what: string, statuses: readonly number[], connection: string, reached: readonly string[]) =>
  `${what}: ${statuses} ${connection} ${reached}`

test.each(Object.entries(GROUPS))(
  '%s: each is answered as it should be, and nothing else is sent on',
  async (group, cases) => {
    const { sandbox, ...gateway } = await startGateway({ env: { SOURCE_CONNECTIONS: '10000' } })
    // Otherwise the first body that streams would ask whether the service accepts the credential.
    await get(gateway, '/v2/shipments/none')
    sandbox.requests.length = 0
    const seen: string[] = []
    for (const [what, bytes, statuses, connection] of cases) {
      const before = sandbox.requests.length
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
      const reached = sandbox.requests.slice(before).map(({ method, path }) => `${method} ${path}`)
      const unreadable = notJson(replies.filter(({ headers }) => !headers.has('sandbox')))
      const found = replies.map(({ status }) => status)
      seen.push(told(what, found, actual, reached) + unreadable.map(({ body }) => ` not JSON: ${body}`).join(''))
    }
    expect(seen).toEqual(
      cases.map(([what, , statuses, connection, reached = []]) => told(what, statuses, connection, reached)),
    )
    // Nothing came late either.
    expect(sandbox.requests).toHaveLength(cases.flatMap(([, , , , reached = []]) => reached).length)
  },
)

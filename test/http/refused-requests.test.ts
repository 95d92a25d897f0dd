/** Promise: refusals before routing look like all other errors (contract, section 9). */

import { describe, expect, test } from 'vitest'
import { startGateway } from '../gateway.ts'
import { send, type WireReply } from './wire.ts'

const END_OF_VERSION_1 = { SUNSET: '2026-06-30', MIGRATION_GUIDE_URL: 'https://example.com/guide' }
const timeouts = { headersMs: 200, requestMs: 200, checkMs: 20 }

const open = (env: Readonly<Record<string, string>> = {}) =>
  startGateway({ env: { ...END_OF_VERSION_1, ...env }, timeouts })

const SLOW = 'The request took too long to arrive. Send it again.'
const LARGE = 'The headers are too large. Send fewer of them.'
const MALFORMED = 'Malformed HTTP request.'
const ONE_HOST = 'Send one Host header.'

/** Each refusal of a request whose path is known: its status and message, and the rest of the request after the path. */
const KNOWN_PATH: readonly (readonly [status: number, message: string, rest: string])[] = [
  [400, ONE_HOST, 'HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n'],
  [400, ONE_HOST, 'HTTP/1.1\r\nContent-Length: 0\r\n\r\n'],
  [400, 'Malformed Host header.', 'HTTP/1.1\r\nHost: a/b\r\nContent-Length: 0\r\n\r\n'],
  [417, 'Expect: 100-continue is the only expectation supported.', 'HTTP/1.1\r\nHost: x\r\nExpect: coffee\r\n\r\n'],
  [
    501,
    'Send the body with a Content-Length, or chunked over HTTP/1.1.',
    'HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n',
  ],
  [431, LARGE, `HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(200)}\r\n`],
  [505, 'Use HTTP/1.1 or HTTP/1.0.', 'HTTP/2.0\r\nHost: x\r\n\r\n'],
  [408, SLOW, 'HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{'],
  [400, MALFORMED, 'HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n'],
]

/** Each refusal of bytes that name no path. */
const NO_PATH: typeof KNOWN_PATH = [
  [400, MALFORMED, 'GARBAGE\r\n\r\n'],
  [408, SLOW, 'POST /createShip'],
  [431, LARGE, `POST /createShipment.php HTTP/1.1\r\nBig: ${'x'.repeat(20_000)}\r\n\r\n`],
  [
    400,
    'The request target must be a path, without a host.',
    'POST http://x.example/createShipment.php HTTP/1.1\r\nHost: x\r\n\r\n',
  ],
]

const BOOKING = '/quotes/createShipment.php/'
const QUOTE = '/getShippingQuote.php?a=b'

/** The headers that say how version 1 ends. */
const endOf = ({ headers }: WireReply) => ['deprecation', 'sunset', 'link'].map((name) => headers.get(name))

const ENDS = [
  ['@1767225600'],
  ['Tue, 30 Jun 2026 00:00:00 GMT'],
  [
    '<https://example.com/guide>; rel="deprecation"; type="text/html", <https://example.com/guide>; rel="sunset"; type="text/html"',
  ],
]
const NO_ENDS = [undefined, undefined, undefined]

const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)
/** Sends bytes that are refused; the connection is closed after the answer, which has an id. */
async function refused(gateway: { readonly url: string }, bytes: string): Promise<WireReply> {
  const reply = await send(gateway, bytes)
  expect(reply.headers.get('connection')).toEqual(['close'])
  expect(reply.headers.get('x-request-id')).toEqual([ID])
  return reply
}

describe('a refusal before routing is answered like any other error', () => {
  test('of a booking, a quote and a dry run, and without a path', async () => {
    const [gateway, ok] = [await open(), await open({ ERROR_STATUS: 'ok' })]
    for (const [status, message, rest] of KNOWN_PATH) {
      const booking = await refused(gateway, `POST ${BOOKING} ${rest}`)
      expect([booking.status, booking.json]).toEqual([status, { Message: message, TransportationBooked: 'No' }])
      const quote = await refused(ok, `POST ${QUOTE} ${rest}`)
      expect([quote.status, quote.json]).toEqual([200, { Cost: '', ShipmentNumber: '', Message: message }])
      for (const reply of [booking, quote]) expect(endOf(reply)).toEqual(ENDS)
      const explained = await refused(ok, `POST /dry-run/createShipment.php ${rest}`)
      expect(explained.headers.get('content-type')).toEqual(['application/problem+json; charset=utf-8'])
      expect(explained.json).toEqual({ type: 'about:blank', title: expect.any(String), status, detail: message })
      expect([explained.status, ...endOf(explained)]).toEqual([status, ...NO_ENDS])
    }
    for (const [status, message, bytes] of NO_PATH) {
      const reply = await refused(ok, bytes)
      expect([reply.status, reply.json]).toEqual([status, { Message: message, TransportationBooked: 'No' }])
      expect(endOf(reply)).toEqual(NO_ENDS)
    }
  })

  test('of an unknown path it has no sign of version 1 but its shape, of version 2 none at all', async () => {
    const gateway = await open({ ERROR_STATUS: 'ok' })
    for (const target of ['/v2/quote', '/nothing.php', '/%zz']) {
      const reply = await send(gateway, `POST ${target} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`)
      expect([reply.status, ...endOf(reply)]).toEqual([400, ...NO_ENDS])
      expect(reply.json).toEqual(
        target === '/v2/quote'
          ? { type: 'about:blank', title: 'Bad Request', status: 400, detail: ONE_HOST }
          : { Message: ONE_HOST, TransportationBooked: 'No' },
      )
    }
  })

  test("keeps the caller's request id if it is harmless", async () => {
    const gateway = await open()
    const idOf = async (id: string) =>
      (await send(gateway, `POST ${BOOKING} HTTP/1.1\r\nX-Request-Id: ${id}\r\n\r\n`)).headers.get('x-request-id')
    expect([await idOf('mine-1'), await idOf('not mine')]).toEqual([['mine-1'], [ID]])
  })

  test('on the admin listener it has problem details', async () => {
    const { adminUrl } = await open()
    const reply = await refused({ url: adminUrl }, 'GET /metrics HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n')
    expect(reply.json).toEqual({ type: 'about:blank', title: 'Bad Request', status: 400, detail: ONE_HOST })
  })
})

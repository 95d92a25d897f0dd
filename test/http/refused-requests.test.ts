/** Promise: refusals before routing look like all other errors (contract, section 9). */

import { describe, expect, test } from 'vitest'
import { refusals } from '../../src/http/refusals.ts'
import { startGateway } from '../gateway.ts'
import { send, type WireReply } from './wire.ts'

const END_OF_VERSION_1 = { SUNSET: '2026-06-30', MIGRATION_GUIDE_URL: 'https://example.com/guide' }
const timeouts = { headersMs: 200, requestMs: 200, checkMs: 20 }

const open = (env: Readonly<Record<string, string>> = {}) =>
  startGateway({ env: { ...END_OF_VERSION_1, ...env }, timeouts })

/** Each refusal of a request whose path is known: the name of its message, and the bytes that cause it. */
const KNOWN_PATH: readonly (readonly [name: keyof typeof refusals, bytesAt: (target: string) => string])[] = [
  ['severalHosts', (target) => `POST ${target} HTTP/1.1\r\nHost: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n`],
  ['severalHosts', (target) => `POST ${target} HTTP/1.1\r\nContent-Length: 0\r\n\r\n`],
  ['host', (target) => `POST ${target} HTTP/1.1\r\nHost: a/b\r\nContent-Length: 0\r\n\r\n`],
  ['expectation', (target) => `POST ${target} HTTP/1.1\r\nHost: x\r\nExpect: coffee\r\nContent-Length: 0\r\n\r\n`],
  ['coding', (target) => `POST ${target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n`],
  ['headers', (target) => `POST ${target} HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(200)}\r\n`],
  ['version', (target) => `POST ${target} HTTP/2.0\r\nHost: x\r\n\r\n`],
  ['timeout', (target) => `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{`],
  ['malformed', (target) => `POST ${target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n`],
]

/** Each refusal of bytes that name no path. */
const NO_PATH: readonly (readonly [name: keyof typeof refusals, bytes: string])[] = [
  ['malformed', 'GARBAGE\r\n\r\n'],
  ['timeout', 'POST /createShip'],
  ['headers', `POST /createShipment.php HTTP/1.1\r\nBig: ${'x'.repeat(20_000)}\r\n\r\n`],
  ['target', 'POST http://x.example/createShipment.php HTTP/1.1\r\nHost: x\r\n\r\n'],
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

const isClosed = ({ headers }: WireReply) => expect(headers.get('connection')).toEqual(['close'])

describe('a refusal before routing is answered like any other error', () => {
  test.each(KNOWN_PATH)('of a booking: %s', async (name, bytesAt) => {
    const reply = await send(await open(), bytesAt(BOOKING))
    const { status, message } = refusals[name]
    expect([reply.status, reply.json]).toEqual([status, { Message: message, TransportationBooked: 'No' }])
    expect(endOf(reply)).toEqual(ENDS)
    expect(reply.headers.get('x-request-id')).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
    isClosed(reply)
  })

  test.each(KNOWN_PATH)('of a quote with ERROR_STATUS=ok: %s', async (name, bytesAt) => {
    const reply = await send(await open({ ERROR_STATUS: 'ok' }), bytesAt(QUOTE))
    const { message } = refusals[name]
    expect([reply.status, reply.json]).toEqual([200, { Cost: '', ShipmentNumber: '', Message: message }])
    expect(endOf(reply)).toEqual(ENDS)
    isClosed(reply)
  })

  test.each(KNOWN_PATH)('of a dry run: %s', async (name, bytesAt) => {
    const reply = await send(await open({ ERROR_STATUS: 'ok' }), bytesAt('/dry-run/createShipment.php'))
    const { status, message } = refusals[name]
    expect(reply.headers.get('content-type')).toEqual(['application/problem+json; charset=utf-8'])
    expect(reply.json).toEqual({ type: 'about:blank', title: expect.any(String), status, detail: message })
    expect([reply.status, ...endOf(reply)]).toEqual([status, ...NO_ENDS])
    isClosed(reply)
  })

  test('of version 2 and of an unknown path it has no sign of version 1 but its shape', async () => {
    const gateway = await open({ ERROR_STATUS: 'ok' })
    for (const target of ['/v2/quote', '/nothing.php', '/%zz']) {
      const reply = await send(gateway, `POST ${target} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`)
      expect([reply.status, ...endOf(reply)]).toEqual([400, ...NO_ENDS])
      expect(reply.json).toEqual({ Message: refusals.severalHosts.message, TransportationBooked: 'No' })
    }
  })

  test.each(NO_PATH)('without a path: %s', async (name, bytes) => {
    const reply = await send(await open({ ERROR_STATUS: 'ok' }), bytes)
    const { status, message } = refusals[name]
    expect([reply.status, reply.json]).toEqual([status, { Message: message, TransportationBooked: 'No' }])
    expect(endOf(reply)).toEqual(NO_ENDS)
    expect(reply.headers.get('x-request-id')).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
    isClosed(reply)
  })

  test("keeps the caller's request id if it is harmless", async () => {
    const gateway = await open()
    const refused = (id: string) =>
      send(gateway, `POST ${BOOKING} HTTP/1.1\r\nHost: x\r\nHost: y\r\nX-Request-Id: ${id}\r\n\r\n`)
    expect((await refused('mine-1')).headers.get('x-request-id')).toEqual(['mine-1'])
    expect((await refused('not mine')).headers.get('x-request-id')).not.toEqual(['not mine'])
  })

  test('on the admin listener it has problem details', async () => {
    const { adminUrl } = await open()
    const reply = await send({ url: adminUrl }, 'GET /metrics HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n')
    const { status, message: detail } = refusals.severalHosts
    expect(reply.json).toEqual({ type: 'about:blank', title: 'Bad Request', status, detail })
    isClosed(reply)
  })
})

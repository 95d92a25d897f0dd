/** Promise: refusals before routing look like all other errors (contract, section 9). */

import { afterAll, expect, test } from 'vitest'
import { startGateway } from '../gateway.ts'
import { send, type WireReply } from './wire.ts'

const GUIDE = 'https://example.com/guide'
const timeouts = { headersMs: 200, requestMs: 200, checkMs: 20 }

const ENDING = { SUNSET: '2026-06-30', MIGRATION_GUIDE_URL: GUIDE }
const plain = await startGateway({ env: ENDING, timeouts, closeAt: afterAll })

const SLOW = 'The request took too long to arrive. Send it again.'
const MALFORMED = 'Malformed HTTP request.'
const ONE_HOST = 'Send one Host header.'
const TWO_HOSTS = 'HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'
const BOOKING = '/quotes/createShipment.php/'

/** The headers that say how version 1 ends. */
const endOf = ({ headers }: WireReply) => ['deprecation', 'sunset', 'link'].map((name) => headers.get(name)?.[0])
const LINKS = ['deprecation', 'sunset'].map((rel) => `<${GUIDE}>; rel="${rel}"; type="text/html"`).join(', ')
const END = ['@1767225600', 'Tue, 30 Jun 2026 00:00:00 GMT', LINKS]
const NO_END = [undefined, undefined, undefined]

const ID = expect.stringMatching(/^[0-9a-f-]{36}$/)

const quote = (Message: string) => ({ Cost: '', ShipmentNumber: '', Message })
const booking = (Message: string) => ({ Message, TransportationBooked: 'No' })
const unknown = (Message: string) => ({ Message, TransportationBooked: 'Unknown' })
const PROBLEM = { type: 'about:blank', title: 'Bad Request', status: 400, detail: ONE_HOST }

test('a refusal has the shape of its path, and announces the end of version 1 only on version-1 paths', async () => {
  const ok = await startGateway({ env: { ...ENDING, ERROR_STATUS: 'ok' }, timeouts })
  for (const [target, status, json, end] of [
    [BOOKING, 200, booking(ONE_HOST), END],
    ['/getShippingQuote.php?a=b', 200, quote(ONE_HOST), END],
    ['/dry-run/createShipment.php', 400, PROBLEM, NO_END],
    ['/v2/quote', 400, PROBLEM, NO_END],
    ['/nothing.php', 400, booking(ONE_HOST), NO_END],
    ['/deleteShipment.php', 200, unknown(ONE_HOST), END],
    ['/deleteShipment.php%zz', 400, unknown(ONE_HOST), NO_END],
  ] as const) {
    for (const gateway of [plain, ok]) {
      const reply = await send(gateway, `POST ${target} ${TWO_HOSTS}`)
      expect([target, reply.status, reply.json]).toEqual([target, gateway === ok ? status : 400, json])
      expect(endOf(reply)).toEqual(end)
      const type = json === PROBLEM ? 'application/problem+json' : 'application/json'
      expect(reply.headers.get('content-type')).toEqual([`${type}; charset=utf-8`])
    }
  }
  const admin = await send({ url: plain.adminUrl }, `GET /metrics ${TWO_HOSTS}`)
  expect(admin.json).toEqual(PROBLEM)
})

test('a malformed request has the shape of its path; a cancel is never answered No', async () => {
  const ok = await startGateway({ env: { ERROR_STATUS: 'ok' } })
  const big = 'x'.repeat(20_000)
  for (const [status, what, line, headers] of [
    [431, 'large headers', '', `Cookie: ${big}`],
    [431, 'a long query', `?ReferenceNumber=${big}`, ''],
    [400, 'two lengths', '', 'Content-Length: 2\r\nContent-Length: 3'],
    [400, 'a length and chunks', '', 'Content-Length: 2\r\nTransfer-Encoding: chunked'],
    [400, 'no length', '', 'Content-Length: abc'],
    [400, 'a control character', '', 'X: \x01'],
    [400, 'a blank after a name', '', 'X : a'],
  ] as const) {
    for (const [path, shape] of [
      ['/quotes/deleteShipment.php', unknown],
      ['http://x/deleteShipment.php', unknown],
      ['/quotes\\deleteShipment.php', unknown],
      ['/updateShipment.php', unknown],
      ['/getShipment.php', unknown],
      ['/createShipment.php', booking],
      ['/getShippingQuote.php', quote],
    ] as const) {
      const bytes = `POST ${path}${line} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`
      const refused = await send(plain, bytes)
      const { Message } = refused.json
      expect([what, path, refused.status, refused.json]).toEqual([what, path, status, shape(String(Message))])
      const accepted = await send(ok, bytes)
      expect([accepted.status, accepted.json]).toEqual([200, refused.json])
    }
  }
})

test('a call whose path cannot be read is answered Unknown', async () => {
  for (const target of ['/deleteShipment.php%zz', '/deleteShipment.php\x01', 'deleteShipment.php']) {
    const reply = await send(plain, `POST ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect([target, reply.status, reply.json]).toEqual([target, 400, unknown(String(reply.json['Message']))])
  }
})

test.each([
  [400, booking(ONE_HOST), `POST ${BOOKING} ${TWO_HOSTS}`, END],
  [408, booking(SLOW), `POST ${BOOKING} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{`, END],
  [
    400,
    booking(MALFORMED),
    `POST ${BOOKING} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n`,
    END,
  ],
  [400, unknown(MALFORMED), 'GARBAGE\r\n\r\n', NO_END],
  [408, unknown(SLOW), 'POST /createShip', NO_END],
])('each way to refuse gives it an id and closes the connection: %i, %j', async (status, json, bytes, end) => {
  const reply = await send(plain, bytes)
  expect([reply.status, reply.json]).toEqual([status, json])
  expect([reply.headers.get('connection'), reply.headers.get('x-request-id')]).toEqual([['close'], [ID]])
  expect(endOf(reply)).toEqual(end)
})

test.each([
  ['mine-1', 'mine-1'],
  ['not mine', ID],
])("a refusal keeps the caller's request id if it is harmless: %s", async (id, kept) => {
  const reply = await send(plain, `POST ${BOOKING} HTTP/1.1\r\nX-Request-Id: ${id}\r\n\r\n`)
  expect(reply.headers.get('x-request-id')).toEqual([kept])
})

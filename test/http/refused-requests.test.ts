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

const booking = (Message: string) => ({ Message, TransportationBooked: 'No' })
const PROBLEM = { type: 'about:blank', title: 'Bad Request', status: 400, detail: ONE_HOST }

test('a refusal has the shape of its path, and the signs of the end of version 1 on its paths alone', async () => {
  const ok = await startGateway({ env: { ...ENDING, ERROR_STATUS: 'ok' }, timeouts })
  for (const [target, status, json, end] of [
    [BOOKING, 200, booking(ONE_HOST), END],
    ['/getShippingQuote.php?a=b', 200, { Cost: '', ShipmentNumber: '', Message: ONE_HOST }, END],
    ['/dry-run/createShipment.php', 400, PROBLEM, NO_END],
    ['/v2/quote', 400, PROBLEM, NO_END],
    ['/nothing.php', 400, booking(ONE_HOST), NO_END],
    ['/%zz', 400, booking(ONE_HOST), NO_END],
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

test.each([
  [400, ONE_HOST, `POST ${BOOKING} ${TWO_HOSTS}`, END],
  [408, SLOW, `POST ${BOOKING} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{`, END],
  [400, MALFORMED, `POST ${BOOKING} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n`, END],
  [400, MALFORMED, 'GARBAGE\r\n\r\n', NO_END],
  [408, SLOW, 'POST /createShip', NO_END],
])('each way to refuse gives it an id and closes the connection: %i, %s', async (status, message, bytes, end) => {
  const reply = await send(plain, bytes)
  expect([reply.status, reply.json]).toEqual([status, booking(message)])
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

/** Promise: slow callers are disconnected without effect on others (contract, section 5). */

import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { size, WHOLE } from '../size.ts'
import { type Line, openLine, TLS } from './line.ts'

const EACH = size(40, 200)
/** Paces the slow callers, and honest ones beside them. */
const TRICKLE_MS = size(200, 1_000)
/** A sample waits for less time than the gateway normally does. */
const timeouts = WHOLE ? {} : { headersMs: 1_500, requestMs: 3_000, checkMs: 200 }

const HEAD = `POST /createShipment.php HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic()}\r\n`

/** The beginning of a slow call, the part that it repeats, and the answer at the end. */
const MANNERS = {
  'says nothing': ['', '', [408]],
  'never ends its headers': [HEAD, 'X: y\r\n', [408]],
  'never ends a header': [`${HEAD}X: `, 'y', [408]],
  'never ends its body': [`${HEAD}Content-Length: 100000\r\n\r\n`, 'a', [408]],
  'never ends its chunks': [`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\na\r\n', [408]],
  'never comes back': ['GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n', '', [200]],
  'never ends its second call': [`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n${HEAD}`, 'X: y\r\n', [200, 408]],
} as const

/** Calls as an honest caller does; returns the statuses. */
async function probe(gateway: TestGateway, number: string): Promise<readonly number[]> {
  const answers = [
    get(gateway, '/healthz'),
    post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: number }),
  ]
  return (await Promise.all(answers)).map(({ status }) => status)
}

/** Resolves when callers that stop in the middle of a TLS handshake are disconnected. */
async function silentInTls(): Promise<void> {
  const gateway = await startGateway({ env: TLS, timeouts })
  const closed = ['', '\x16\x03\x01\x02\x00'].map((bytes) => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1', () => socket.write(bytes, 'latin1'))
    return new Promise((resolve) =>
      socket
        .resume()
        .on('error', () => {})
        .once('close', resolve),
    )
  })
  await Promise.all(closed)
}

test('hundreds of slow callers of each kind get 408 and are disconnected, without effect on others', async () => {
  const gateway = await startGateway({ env: { SOURCE_CONNECTIONS: '10000' }, timeouts })
  const probes: Promise<readonly number[]>[] = []
  const silent = silentInTls()
  const outcomes = await Promise.all(
    Object.entries(MANNERS).map(async ([what, [begin, more, statuses]]) => {
      const lines = await Promise.all(Array.from({ length: EACH }, () => openLine(gateway)))
      for (const line of lines) line.write(begin)
      const trickle = setInterval(() => {
        probes.push(probe(gateway, `${what} ${probes.length}`))
        if (more !== '') for (const line of lines) line.write(more)
      }, TRICKLE_MS)
      const told = await Promise.all(lines.map((line: Line) => line.closed()))
      clearInterval(trickle)
      const right = told.filter((replies) => String(replies.map(({ status }) => status)) === String(statuses)).length
      return { what, right }
    }),
  )
  await silent
  expect(outcomes).toEqual(Object.keys(MANNERS).map((what) => ({ what, right: EACH })))
  const statuses = (await Promise.all(probes)).flat()
  expect(statuses).not.toEqual([])
  expect(statuses.filter((status) => status !== 200)).toEqual([])
  expect(gateway.sandbox.requests.filter(({ path }) => path === '/v2/shipments')).toEqual([])
})

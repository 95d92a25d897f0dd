/** Promise: a body is read in every encoding, up to the limit (contract, section 2). */

import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, OWN, post, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { dial, send } from '../http/wire.ts'

const QUOTE = '/getShippingQuote.php'
const BODY = JSON.stringify(quoteExample)
const TRIP = { pickup: '10314', delivery: '33166', vehicle_type: 'truck_ext', transport_type: 'open' }
const HEAD = `POST ${QUOTE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic()}\r\n`

test('a body is inflated, and one without a label is read', async () => {
  const gateway = await startGateway({ env: OWN })
  const expectRead = (status: number, encoding: string) => {
    const body = JSON.parse(gateway.sandbox.requests.at(-1)?.body ?? 'null')
    expect([status, body], encoding).toEqual([200, TRIP])
    gateway.sandbox.requests.length = 0
  }
  const { status } = await send(gateway, `${HEAD}Connection: close\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`)
  expectRead(status, 'no label')
})

const padded = (bytes: number) => BODY.padEnd(bytes, ' ')

test('BODY_LIMIT_BYTES holds after inflation and for chunks, and for a length before any of the body arrives', async () => {
  const gateway = await startGateway({ env: { ...OWN, BODY_LIMIT_BYTES: '20000' } })
  const packed = (bytes: number) => Uint8Array.from(gzipSync(padded(bytes)))
  const statusOf = async (bytes: number) =>
    (await post(gateway, QUOTE, packed(bytes), { 'content-encoding': 'gzip' })).status
  expect(packed(5_000_000).length).toBeLessThan(20_000)
  expect([await statusOf(20_000), await statusOf(5_000_000)]).toEqual([200, 413])
  for (const rest of [
    `Transfer-Encoding: chunked\r\n\r\n4e21\r\n${padded(20_001)}\r\n`,
    'Content-Length: 99999999\r\n\r\n',
  ]) {
    const wire = await dial(gateway)
    wire.write(HEAD + rest)
    expect(await wire.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 413 /)
  }
})

test.each([
  [204, null],
  [202, '0'],
])('a reply %i without a body to a version-2 body is returned without a type', async (code, length) => {
  const service = await openService((_, outgoing) => outgoing.writeHead(code).end())
  const gateway = await startGateway({ serviceUrl: service.url })
  const body = { external_id: bookingExample.ReferenceNumber }
  const { status, text, headers } = await post(gateway, '/createShipment.php', body)
  expect([status, text]).toEqual([code, ''])
  expect([headers.get('content-length'), headers.get('content-type')]).toEqual([length, null])
})

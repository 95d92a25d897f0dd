/** Promise: a caller that sends no more after its request is answered (contract, section 1). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, startGateway, type TestGateway } from '../gateway.ts'
import { openLine } from './line.ts'

const CERTIFICATES = join(import.meta.dirname, 'certificates')
const DELAY_MS = 200

/** A request as bytes, one that leaves the connection open. */
function request(method: string, path: string, body = ''): string {
  const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic()}\r\n${length}\r\n${body}`
}
const QUOTE = request('POST', '/getShippingQuote.php', JSON.stringify(quoteExample))
const BOOKING = request('POST', '/createShipment.php', JSON.stringify(bookingExample))

/** A gateway with a slow service: the caller closes its half long before the answer. */
async function startSlowGateway(env: Readonly<Record<string, string>> = {}): Promise<TestGateway> {
  const gateway = await startGateway({ env })
  gateway.sandbox.fail({ kind: 'delay', ms: DELAY_MS, times: 'always' })
  return gateway
}

describe('a caller that sends no more after its request', () => {
  test('is answered, and the connection ends', async () => {
    const gateway = await startSlowGateway()
    const calls = [
      ['a translated call', QUOTE, [200]],
      ['a booking', BOOKING, [200]],
      ['a call that is passed through', request('GET', '/v2/shipments/x'), [404]],
      ['a page of the gateway', request('GET', '/openapi.json'), [200]],
      ['a refused call', request('POST', '/createShipment.php', '{'), [400]],
      ['several calls at once', QUOTE + BOOKING + request('GET', '/healthz'), [200, 200, 200]],
      ['HTTP/1.0', request('GET', '/v2/shipments/x').replace('HTTP/1.1', 'HTTP/1.0'), [404]],
    ] as const
    for (const [what, bytes, statuses] of calls) {
      const line = await openLine(gateway)
      line.write(bytes)
      line.end()
      expect(
        (await line.closed()).map(({ status }) => status),
        what,
      ).toEqual(statuses)
    }
  })

  test('is answered over TLS', async () => {
    const files = { TLS_CERT_FILE: join(CERTIFICATES, 'server.pem'), TLS_KEY_FILE: join(CERTIFICATES, 'server.key') }
    const gateway = await startSlowGateway(files)
    const options = {
      port: Number(new URL(gateway.url).port),
      host: '127.0.0.1',
      servername: 'localhost',
      ca: readFileSync(join(CERTIFICATES, 'authority.pem')),
      // Obeyed, although its type does not say so.
      allowHalfOpen: true,
    }
    const socket = connect(options)
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
    const line = await openLine(gateway, socket)
    line.write(BOOKING)
    line.end()
    expect((await line.closed()).map(({ status }) => status)).toEqual([200])
  })
})

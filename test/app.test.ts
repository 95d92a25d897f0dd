/** Promise: every call goes through the Hono app, and has one id, one log line and one sample (contract, section 1). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../mappings/booking-rows.ts'
import { quoteExample } from '../mappings/quote-rows.ts'
import { basic, get, startGateway } from './gateway.ts'
import { openService } from './http/service.ts'
import { dial, repliesIn, send } from './http/wire.ts'

type RoutedRequest = readonly [kind: string, method: string, path: string, body: string, status: number, route: string]

const QUOTE = JSON.stringify(quoteExample)
const BOOKING = JSON.stringify(bookingExample)
const READ = `/getShipment.php?ReferenceNumber=${bookingExample.ReferenceNumber}`
const DRY_RUN = '/dry-run/createShipment.php'
const DRY_RUN_OF_REPLY = '/own/dry-run/reply/:action'

/** One call of each kind, its status, and its route as the log and the metrics name it. */
const calls: readonly RoutedRequest[] = [
  ['quote', 'POST', '/quotes/getShippingQuote.php', QUOTE, 200, '/legacy/getShippingQuote.php'],
  ['booking', 'POST', '/createShipment.php', BOOKING, 200, '/legacy/createShipment.php'],
  ['read', 'GET', READ, '', 200, '/legacy/getShipment.php'],
  ['read-by-head', 'HEAD', READ, '', 200, '/legacy/getShipment.php'],
  ['unreadable-body', 'POST', '/createShipment.php', 'nonsense', 400, '/legacy/createShipment.php'],
  ['wrong-method', 'GET', '/createShipment.php', '', 405, '/legacy/createShipment.php'],
  ['dry-run', 'POST', DRY_RUN, BOOKING, 200, DRY_RUN],
  ['dry-run-wrong-method', 'PUT', DRY_RUN, '', 405, DRY_RUN],
  ['dry-run-of-a-reply', 'POST', '/dry-run/reply/quote.get', '{}', 200, DRY_RUN_OF_REPLY],
  ['dry-run-unknown', 'POST', '/dry-run/reply/no.such', '{}', 404, DRY_RUN_OF_REPLY],
  ['version-2', 'POST', '/v2/quote', '{}', 422, '/service'],
  ['version-2-by-head', 'HEAD', '/v2/shipments/none', '', 405, '/service'],
  ['token', 'POST', '/oauth2/token', 'grant_type=client_credentials', 200, '/token'],
  ['token-wrong-method', 'GET', '/oauth2/token', '', 405, '/token'],
  ['welcome', 'GET', '/', '', 200, '/own/'],
  ['call-without-a-path', 'POST', '/', BOOKING, 405, '/own/'],
  ['description', 'GET', '/openapi.json', '', 200, '/own/openapi.json'],
  ['description-wrong-method', 'POST', '/openapi.json', '', 405, '/own/openapi.json'],
  ['alive', 'GET', '/healthz', '', 200, '/own/healthz'],
  ['ready-by-head', 'HEAD', '/readyz', '', 200, '/own/readyz'],
  ['unknown', 'GET', '/index.php', '', 404, '/*'],
  ['unreadable-path', 'GET', '/%zz', '', 400, '/unreadable'],
]

describe('every call goes through the app', () => {
  test('every kind of call has one request id, one log line and one sample of the metrics', async () => {
    const gateway = await startGateway({ proven: false })
    for (const [kind, method, path, body, status] of calls) {
      const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${basic()}\r\n`
      const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`
      const reply = await send(gateway, `${head}X-Request-Id: ${kind}\r\n${length}\r\n${body}`)
      expect([kind, reply.status, reply.headers.get('x-request-id')]).toEqual([kind, status, [kind]])
    }

    const lines = gateway.lines().filter(({ msg }) => msg === 'call')
    expect(lines.map(({ id, method, path, status }) => [id, method, path, status])).toEqual(
      calls.map(([kind, method, , , status, route]) => [kind, method, route, status]),
    )

    const { text } = await get({ url: gateway.adminUrl }, '/metrics')
    const samples = [...text.matchAll(SAMPLE)].flatMap(([, route, status, count]) =>
      Array<string>(Number(count)).fill(`${route} ${status}`),
    )
    expect(samples.sort()).toEqual(calls.map(([, , , , status, route]) => `${route} ${status}`).sort())
  })

  test('HEAD has the headers of GET and no body, and the connection goes on', async () => {
    const service = await openService((_incoming, outgoing) => {
      outgoing.writeHead(404, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    for (const path of ['/v2/shipments/none', '/getShipment.php?ReferenceNumber=NONE', '/healthz', '/nothing']) {
      const wire = await dial(gateway)
      const head = `${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic()}\r\nX-Request-Id: same\r\n`
      wire.write(`HEAD ${head}\r\n`)
      const byHead = await wire.until(/\r\n\r\n/)
      wire.write(`GET ${head}Connection: close\r\n\r\n`)
      const [byGet] = repliesIn((await wire.closed()).slice(byHead.length))
      const [first, ...lines] = byHead.trimEnd().split('\r\n')
      const names = lines.map((line) => line.slice(0, line.indexOf(':')).toLowerCase())
      expect(byHead, path).toMatch(/\r\n\r\n$/)
      expect(first).toContain(`HTTP/1.1 ${byGet?.status} `)
      expect(new Set(names)).toEqual(new Set([...(byGet?.headers.keys() ?? []), 'keep-alive']))
      expect(byHead.toLowerCase()).toContain(`content-length: ${byGet?.headers.get('content-length')}`)
      expect(byGet?.body).not.toBe('')
    }
  })
})

const SAMPLE = /^transload_calls_total\{route="([^"]*)",action="[^"]*",status="(\d+)",.*\} (\d+)$/gm

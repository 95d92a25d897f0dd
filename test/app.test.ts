/** Promise: every call goes through the Hono app, and has one id, one log line and one sample (contract, section 1). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../mappings/booking-rows.ts'
import { quoteExample } from '../mappings/quote-rows.ts'
import calls from './app.json' with { type: 'json' }
import { basic, metricsOf, startGateway } from './gateway.ts'
import { openService } from './http/service.ts'
import { dial, repliesIn, send } from './http/wire.ts'

const EXAMPLES: Readonly<Record<string, string>> = {
  '{quote}': JSON.stringify(quoteExample),
  '{booking}': JSON.stringify(bookingExample),
}

describe('every call goes through the app', () => {
  test('every kind of call has one request id, one log line and one metrics sample', async () => {
    const gateway = await startGateway({ proven: false })
    for (const { id, method, path, body = '', status } of calls) {
      const sent = EXAMPLES[body] ?? body
      const target = path.replace('{reference}', bookingExample.ReferenceNumber)
      const head = `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${basic()}\r\n`
      const length = `Content-Length: ${Buffer.byteLength(sent)}\r\n`
      const reply = await send(gateway, `${head}X-Request-Id: ${id}\r\n${length}\r\n${sent}`)
      expect([id, reply.status, reply.headers.get('x-request-id')]).toEqual([id, status, [id]])
    }

    expect(gateway.lines().filter(({ msg }) => msg === 'call')).toMatchObject(
      calls.map(({ id, method, status, route }) => ({ id, method, path: route, status })),
    )
    const text = await metricsOf(gateway)
    const samples = [...text.matchAll(SAMPLE)].flatMap(([, route, status, count]) =>
      Array<string>(Number(count)).fill(`${route} ${status}`),
    )
    expect(samples.sort()).toEqual(calls.map(({ route, status }) => `${route} ${status}`).sort())
  })

  test('HEAD has the headers of GET but no body, and the connection stays open', async () => {
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

/** Promise: whatever callers do, what they held is returned (contract, section 5). */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, get, OWN, startGateway, type TestGateway } from '../gateway.ts'
import { rawRequests } from '../http/raw.ts'
import { openService } from '../http/service.ts'
import { runs } from '../size.ts'
import { connectFrom, held, heldBy, type Stranger } from './sockets.ts'

const RUNS = runs(6, 6)
const RUN_MS = 30_000

const LONG = JSON.stringify({ ...quoteExample, Padding: ' '.repeat(100_000) })
const PACKED = gzipSync(LONG)
const GZIP = 'Content-Encoding: gzip'

const sized = (start: string, body: string | Buffer, ...lines: string[]) => {
  const fields = [start, 'Host: localhost', `Authorization: ${basic()}`, `Content-Length: ${body.length}`, ...lines]
  return Buffer.concat([Buffer.from(`${fields.join('\r\n')}\r\n\r\n`), Buffer.from(body)])
}

const POST = 'POST /getShippingQuote.php HTTP/1.1'
const READ = 'GET /getShipment.php?number=TL-1 HTTP/1.1'
/** All kinds of requests, which the gateway reads, holds and answers in different ways. */
const REQUESTS: readonly Buffer[] = [
  sized(POST, LONG),
  sized(POST, PACKED, GZIP),
  sized(POST, PACKED.subarray(0, 100), GZIP),
  sized(POST, gzipSync(' '.repeat(1_000_000)), GZIP),
  sized(POST, ' '.repeat(300_000)),
  sized(POST, LONG, 'Expect: 100-continue'),
  sized(POST, '{"pickup":"10314","delivery":"33166"}'),
  sized('POST /dry-run/getShippingQuote.php HTTP/1.1', LONG),
  sized('POST /dry-run/reply/quote.get HTTP/1.1', '{"price":1}'),
  sized('POST /nothing HTTP/1.1', LONG),
  sized('PUT /getShippingQuote.php HTTP/1.1', LONG),
  sized(READ, LONG),
  sized('POST /v2/quote HTTP/1.1', LONG),
  sized('POST /v2/quote HTTP/1.1', PACKED, GZIP),
  ...rawRequests.map(({ bytes }) => Buffer.from(bytes, 'latin1')),
]

/** A caller's behavior: it sends all or part of a request, then waits, closes or resets the connection. */
const anyBehavior = fc.record({
  request: fc.nat({ max: REQUESTS.length - 1 }),
  from: fc.integer({ min: 1, max: 3 }),
  part: fc.constantFrom(0.2, 0.6, 0.98, 1, 1, 1, 1),
  ending: fc.constantFrom('waits', 'waits', 'ends', 'resets', 'asks more'),
})
type Behavior = typeof anyBehavior extends fc.Arbitrary<infer T> ? T : never

/** A service that answers, fails, breaks off or says nothing, in turn. */
async function openUnreliable() {
  const answers: ((incoming: IncomingMessage, outgoing: ServerResponse) => void)[] = [
    (_incoming, outgoing) => outgoing.end(JSON.stringify({ shipment_id: 'q', id: 'q', price: 1 })),
    (_incoming, outgoing) => outgoing.writeHead(500).end(),
    (incoming) => incoming.socket.destroy(),
    (_incoming, outgoing) => outgoing.writeHead(200, { 'content-length': '100' }).end('{'),
    (incoming, outgoing) => void incoming.once('close', () => outgoing.end('{}')),
    // Sends nothing until the gateway gives up.
    () => {},
    (_incoming, outgoing) => outgoing.writeHead(413).end('{}'),
  ]
  let turn = 0
  return openService((incoming, outgoing) => {
    if (turn % 2 === 0) incoming.resume()
    answers[turn % answers.length]?.(incoming, outgoing)
    turn += 1
  })
}

async function act(gateway: TestGateway, { request, from, part, ending }: Behavior): Promise<Stranger> {
  const stranger = await connectFrom(gateway, `127.0.1.${from}`)
  const bytes = REQUESTS[request] ?? Buffer.alloc(0)
  stranger.write(bytes.subarray(0, Math.ceil(part * bytes.length)))
  if (ending === 'asks more') stranger.write(sized(READ, ''))
  if (ending === 'ends') stranger.socket.end()
  // Once the gateway has received a part of it.
  if (ending === 'resets') setImmediate(() => stranger.socket.resetAndDestroy())
  return stranger
}

test('all resources of calls are returned, whatever the behavior of callers and the outcome', {
  timeout: RUNS * RUN_MS,
}, async () => {
  const env = {
    ...OWN,
    UPSTREAM_TIMEOUT_MS: '300',
    MAX_IN_FLIGHT: '8',
    SOURCE_IN_FLIGHT: '4',
    BODIES_LIMIT_BYTES: '1200000',
    V2_SHIPMENT_PATH: '/v2/shipments',
  }
  const timeouts = { headersMs: 400, requestMs: 600, replyMs: 600, checkMs: 50, lingerMs: 50 }
  const gateway = await startGateway({ env, serviceUrl: (await openUnreliable()).url, timeouts })
  const law = fc.asyncProperty(fc.array(anyBehavior, { minLength: 1, maxLength: 40 }), async (behaviors) => {
    const strangers = await Promise.all(behaviors.map((behavior) => act(gateway, behavior)))
    const { calls, bodyBytes } = await heldBy(gateway)
    expect(calls).toBeLessThanOrEqual(8)
    expect(bodyBytes).toBeLessThanOrEqual(1_200_000)
    await Promise.all(strangers.map(({ reply }) => reply))
    for (const { socket } of strangers) socket.destroy()
    await held(gateway, (now) => now.connections + now.calls + now.bodyBytes === 0)
    expect((await get(gateway, '/healthz')).status).toBe(200)
  })
  await fc.assert(law, { numRuns: RUNS })
})

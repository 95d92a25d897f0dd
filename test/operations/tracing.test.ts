/** Promise: the caller's trace continues to the service (contract, section 11). */

import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { SpanKind } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { OWN, startGateway } from '../gateway.ts'
import { exporter, unloadSdk } from './sdk.ts'

describe('with an SDK', () => {
  const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
  const CALLER_SPAN = 'b7ad6b7169203331'
  /** In the spelling of some callers. */
  const TRACE = { TraceParent: `00-${TRACE_ID}-${CALLER_SPAN}-01`, TraceState: 'a=1' }

  /** The spans of the gateway; the test's own client is instrumented, too. */
  const spans = () =>
    exporter.getFinishedSpans().filter(({ instrumentationScope }) => instrumentationScope.name === 'transload')
  const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId

  beforeEach(() => exporter.reset())
  afterAll(unloadSdk)

  /** Sends a call as a caller with a trace does, without instrumentation that adds headers. */
  async function send({ url }: { readonly url: string }, path: string, body?: object): Promise<void> {
    const sent = httpRequest(url + path, { method: body ? 'POST' : 'GET', headers: TRACE })
    const replied = once(sent.end(body && JSON.stringify(body)), 'response')
    const [reply]: IncomingMessage[] = await replied
    await textOf(reply ?? expect.fail('no reply'))
  }

  test('a call, the store and the service have spans of one trace', async () => {
    const gateway = await startGateway({ env: OWN })
    exporter.reset()
    await send(gateway, '/getShippingQuote.php?secret=1', quoteExample)
    const [call, service, store] = ['POST /legacy/getShippingQuote.php', 'POST /v2/quote', 'put'].map((name) =>
      spans().find((span) => span.name === name),
    )
    expect(spans()).toHaveLength(3)
    for (const span of spans()) expect(span.spanContext().traceId).toBe(TRACE_ID)
    const parents = [call, service, store].map((span) => span?.parentSpanContext?.spanId)
    expect(parents).toEqual([CALLER_SPAN, idOf(call), idOf(call)])
    expect([call?.kind, service?.kind]).toEqual([SpanKind.SERVER, SpanKind.CLIENT])
    expect(call?.attributes).toEqual({
      ...{ 'http.request.method': 'POST', 'http.route': '/legacy/getShippingQuote.php' },
      ...{ 'http.response.status_code': 200, 'network.protocol.version': '1.1', 'client.address': '127.0.0.1' },
      ...{ 'url.scheme': 'http', 'url.path': '/getShippingQuote.php', 'transload.action': 'quote.get' },
    })
    expect(service?.attributes).toEqual({
      ...{ 'http.request.method': 'POST', 'http.response.status_code': 200 },
      'url.full': `${gateway.sandbox.url}/v2/quote`,
      ...{ 'server.address': '127.0.0.1', 'server.port': Number(new URL(gateway.sandbox.url).port) },
    })
    expect(store?.attributes).toEqual({ 'db.system.name': 'memory', 'db.operation.name': 'put' })
    const [request] = gateway.sandbox.requests
    expect(request?.headers['traceparent']).toBe(`00-${TRACE_ID}-${idOf(service)}-01`)
    expect(request?.headers['tracestate']).toBe(TRACE.TraceState)
  })

  test('exactly one traceparent is sent with every kind of request, even if undici queues it', async () => {
    const gateway = await startGateway({ env: { ...OWN, UPSTREAM_CONNECTIONS: '1' } })
    gateway.sandbox.requests.length = 0
    exporter.reset()
    await Promise.all([
      ...Array.from({ length: 5 }, () => send(gateway, '/getShippingQuote.php', quoteExample)),
      ...Array.from({ length: 5 }, () => send(gateway, '/v2/shipments/none')),
      send(gateway, '/createShipment.php', bookingExample),
    ])
    const sent = gateway.sandbox.requests
    expect(sent).toHaveLength(11)
    const ids = spans().flatMap((span) => (span.kind === SpanKind.CLIENT ? [idOf(span)] : []))
    for (const { headers } of sent) {
      const [, id] = /^00-[\da-f]{32}-([\da-f]{16})-01$/.exec(String(headers['traceparent'])) ?? []
      expect(ids).toContain(id)
      expect(headers['tracestate']).toBe(TRACE.TraceState)
    }
    expect(new Set(sent.map(({ headers }) => headers['traceparent'])).size).toBe(11)
    // The instrumentation has made no separate spans for them.
    const others = exporter.getFinishedSpans().filter((span) => !spans().includes(span))
    const addresses = others.map(({ attributes }) => String(attributes['url.full']))
    expect(addresses.filter((url) => url.startsWith(gateway.sandbox.url))).toEqual([])
  })
})

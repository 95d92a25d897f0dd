import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { traceHeadersOf } from '../../src/observe/trace.ts'
import { book } from '../bookings/desk.ts'
import { get, post, startGateway } from '../gateway.ts'

const TRACE = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=1,b=2' }

describe('without an SDK', () => {
  test("the caller's trace headers go on unchanged, for every request of a call", async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', quoteExample, TRACE)
    await book(gateway, {}, TRACE)
    await post(gateway, '/updateShipment.php', { ReferenceNumber: 'R-9', PickupCity: 'Dallas' }, TRACE)
    await get(gateway, '/v2/shipments/none', TRACE)
    const sent = gateway.sandbox.requests
    expect(sent.length).toBeGreaterThanOrEqual(4)
    for (const { headers } of sent) {
      expect([headers['traceparent'], headers['tracestate']]).toEqual([TRACE.traceparent, TRACE.tracestate])
    }
  })

  test('calls without them send none', async () => {
    const gateway = await startGateway()
    await post(gateway, '/getShippingQuote.php', quoteExample)
    await get(gateway, '/v2/shipments/none')
    for (const { headers } of gateway.sandbox.requests) expect(headers).not.toHaveProperty('traceparent')
    expect(gateway.sandbox.requests).toHaveLength(2)
  })
})

test.each([
  [{}, undefined],
  [TRACE, TRACE],
  [{ traceparent: TRACE.traceparent }, { traceparent: TRACE.traceparent }],
  [{ tracestate: 'a=1' }, undefined],
  [{ traceparent: `${TRACE.traceparent}, ${TRACE.traceparent}` }, undefined],
  [{ traceparent: `${TRACE.traceparent}-more` }, { traceparent: `${TRACE.traceparent}-more` }],
  [{ traceparent: 'x'.repeat(10_000) }, undefined],
  [{ ...TRACE, tracestate: 'x'.repeat(10_000) }, { traceparent: TRACE.traceparent }],
])('of the headers %j, %j go on', (headers, sent) => {
  expect(traceHeadersOf(headers)).toEqual(sent)
})

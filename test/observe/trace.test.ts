import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { traceHeadersOf, withTraceHeaders } from '../../src/observe/call.ts'
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

test('the state of a trace goes on up to 2,048 characters, and a later version up to 256 more', () => {
  const state = (length: number) => traceHeadersOf({ ...TRACE, tracestate: 'x'.repeat(length) })?.['tracestate']?.length
  expect([2_048, 2_049].map(state)).toEqual([2_048, undefined])
  const later = (length: number) => traceHeadersOf({ traceparent: `${TRACE.traceparent}-${'x'.repeat(length)}` })
  expect([0, 1, 256, 257].map((length) => later(length) !== undefined)).toEqual([false, true, true, false])
})

test('trace headers replace those of a caller, in any spelling', () => {
  const lines = [
    'Accept',
    'traceparent',
    'TraceParent',
    'old',
    'tracestate',
    'a=1',
    'X-B3',
    '1',
    'X-Other',
    'traceparent',
  ]
  expect(withTraceHeaders(lines, { traceparent: 'new', 'x-b3': '2' })).toEqual([
    ...['Accept', 'traceparent', 'X-Other', 'traceparent'],
    ...['traceparent', 'new', 'x-b3', '2'],
  ])
  expect(withTraceHeaders([], {})).toEqual([])
})

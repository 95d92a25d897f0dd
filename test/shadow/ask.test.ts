import { expect, test } from 'vitest'
import { quoteGet } from '../../mappings/quote-get.ts'
import { shipmentGet } from '../../mappings/shipment-get.ts'
import { type ErrorCode, errorTable, GatewayError } from '../../src/errors.ts'
import { NoReply } from '../../src/service/exchange.ts'
import { failedOutcome, nativeOutcome } from '../../src/shadow/ask.ts'

const answerOf = (status: number, body = '{}') => ({ status, headers: {}, body: Buffer.from(body) })
const NO_VERDICT = [401, 403, 405, 408, 425, 429, 500, 502, 503, 504]

test('a native refusal is a verdict on the call, unless it is about the credential, the time or the rate', () => {
  for (const status of [400, 402, 409, 410, 412, 413, 422, 499])
    expect(nativeOutcome(answerOf(status), false, { action: quoteGet }), `${status}`).toEqual({ kind: 'refused' })
  for (const status of [302, ...NO_VERDICT])
    expect(nativeOutcome(answerOf(status), true, { action: shipmentGet }), `${status}`).toEqual({
      kind: 'none',
      why: `the service answered ${status}`,
    })
})

test('a native 404 is a verdict on calls that name something, and else there is no such path', () => {
  const none = { kind: 'none', why: 'the service answered 404' }
  expect(nativeOutcome(answerOf(404), false, { action: quoteGet })).toEqual(none)
  expect(nativeOutcome(answerOf(404), true, { action: quoteGet })).toEqual({ kind: 'refused' })
  expect(nativeOutcome(answerOf(404), false, { action: shipmentGet })).toEqual({ kind: 'refused' })
})

test('a native answer has a field of version 1', () => {
  const none = { kind: 'none', why: 'the service did not answer in version 1' }
  for (const body of ['', '[]', '{}', '"Cost"', '{"price":1}'])
    expect(nativeOutcome(answerOf(200, body), false, { action: quoteGet }), body).toEqual(none)
  expect(nativeOutcome(answerOf(200, '{"Cost":"1.00","id":" "}'), false, { action: quoteGet })).toEqual({
    kind: 'answered',
    fields: new Map([['Cost', '1.00']]),
  })
})

const failed = (code: ErrorCode, serviceStatus?: number) =>
  failedOutcome(new GatewayError(code, 'a message', { ...(serviceStatus !== undefined && { serviceStatus }) }))

test('a translated call that fails is refused by what it asks, or has no verdict', () => {
  const codes = Object.keys(errorTable) as ErrorCode[]
  const refused = codes.filter((code) => failed(code).kind === 'refused')
  expect(refused.sort()).toEqual([
    'number-unknown',
    'reply-doubtful',
    'service-refused',
    'service-unreadable',
    'several-matches',
    'untranslatable',
  ])
  for (const code of codes.filter((one) => !refused.includes(one)))
    expect(failed(code)).toEqual({ kind: 'none', why: code })
})

test('a refusal of the service is a verdict, unless it is about the credential, the time or the rate', () => {
  for (const status of [400, 404, 409, 422, 499]) expect(failed('service-refused', status).kind).toBe('refused')
  for (const status of NO_VERDICT)
    expect(failed('service-refused', status)).toEqual({ kind: 'none', why: 'service-refused' })
})

test('a service that is silent gives no verdict', () => {
  const error = new NoReply('busy')
  expect(failedOutcome(error)).toEqual({ kind: 'none', why: 'no reply of the service: busy' })
})

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type ErrorCode, GatewayError } from '../../src/errors.ts'
import { beginCall, recordError } from '../../src/observe/call.ts'
import { callLine } from '../../src/observe/end-of-call.ts'
import { CALL_LINE_END } from '../../src/observe/log.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function begun(id?: string | string[]) {
  const incoming = new IncomingMessage(new Socket())
  if (id !== undefined) Object.assign(incoming.headers, { 'x-request-id': id })
  return beginCall(incoming)
}

test.each(['call-1', 'A.b_c-9', 'x'.repeat(64)])('the request id %s of a caller is kept', (id) => {
  expect(begun(id).id).toBe(id)
})

test.each([undefined, '', 'x'.repeat(65), 'a b', 'a"b', 'é', ['a']])('instead of %j a call gets a new id', (id) => {
  expect(begun(id).id).toMatch(UUID)
})

test('a call begins with nothing known', () => {
  const { id, startedAt, share, ...rest } = begun()
  expect(startedAt).toBeLessThanOrEqual(performance.now())
  expect(rest).toEqual({
    route: '',
    own: '',
    notes: [],
    replayed: false,
    serviceMs: 0,
    tries: 0,
    storeMs: 0,
    unknownFields: 0,
    unauthorized: false,
  })
  // Without limits, nothing is refused.
  for (const what of ['expectBody', 'takeBody', 'streamBody', 'holdAnswer'] as const) share[what](Number.MAX_VALUE)
})

test('an error is recorded with its cause only if the gateway itself failed', () => {
  const recorded = (code: ErrorCode, status?: number) => {
    const call = begun()
    recordError(call, new GatewayError(code, 'text', { cause: 'reason', ...(status !== undefined && { status }) }))
    return [call.error, call.unauthorized, call.cause]
  }
  expect(recorded('gateway-failed')).toEqual(['gateway-failed', false, 'reason'])
  expect(recorded('credential-wrong')).toEqual(['credential-wrong', true, undefined])
  expect(recorded('service-refused', 401)).toEqual(['service-refused', true, undefined])
  expect(recorded('untranslatable')).toEqual(['untranslatable', false, undefined])
})

const NOTHING = {
  action: undefined,
  store_ms: undefined,
  service_ms: undefined,
  service_status: undefined,
  tries: undefined,
  replayed: undefined,
  tenant: undefined,
  unknown_fields: undefined,
  notes: undefined,
  error: undefined,
  source: undefined,
  client: undefined,
  user_agent: undefined,
}

test('the line of a call has its fields in this order, and none that are not known', () => {
  const least = { id: 'i', method: 'GET', path: '/*', status: 404, ms: 1.5, gateway_ms: 1, ...NOTHING }
  expect(callLine(least, 7)).toBe(
    '{"level":"info","time":7,"name":"transload","id":"i","method":"GET","path":"/*","status":404,"ms":1.5,"gateway_ms":1,"msg":"call"}\n',
  )
  const all = {
    id: 'i',
    method: 'GET',
    path: '/*',
    action: 'quote.get',
    status: 404,
    ms: 1.5,
    gateway_ms: 1,
    store_ms: 0,
    service_ms: 2,
    service_status: 200,
    tries: 3,
    replayed: true as const,
    tenant: 'a "b"\n',
    unknown_fields: 4,
    notes: ['PickupZip lossy'],
    error: 'untranslatable',
    source: '2001:db8::/64',
    client: 'é',
    user_agent: 'OldShop/4.2 (PHP) \\',
  }
  const line = callLine(all, 8)
  expect(line.endsWith(CALL_LINE_END)).toBe(true)
  expect(line).toBe(
    [
      '{"level":"info","time":8,"name":"transload","id":"i","method":"GET","path":"/*","action":"quote.get","status":404,"ms":1.5',
      '"gateway_ms":1,"store_ms":0,"service_ms":2,"service_status":200,"tries":3,"replayed":true,"tenant":"a \\"b\\"\\n"',
      '"unknown_fields":4,"notes":["PickupZip lossy"],"error":"untranslatable","source":"2001:db8::/64","client":"é"',
      '"user_agent":"OldShop/4.2 (PHP) \\\\","msg":"call"}\n',
    ].join(','),
  )
})

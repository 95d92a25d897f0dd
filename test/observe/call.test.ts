import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type ErrorCode, GatewayError } from '../../src/errors.ts'
import { beginCall, recordError } from '../../src/observe/call.ts'

function begun(id?: string | string[]) {
  const incoming = new IncomingMessage(new Socket())
  if (id !== undefined) Object.assign(incoming.headers, { 'x-request-id': id })
  return beginCall(incoming)
}

test.each(['call-1', 'A.b_c-9', 'x'.repeat(64)])('the request id %s of a caller is kept', (id) => {
  expect(begun(id).id).toBe(id)
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

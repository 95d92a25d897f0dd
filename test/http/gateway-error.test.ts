/** Promise: anything thrown is answered as an error of the right shape (contract, section 9). */

import { describe, expect, test } from 'vitest'
import { GatewayError, gatewayError } from '../../src/errors.ts'
import { type ErrorShape, legacyError, problemDetails, toGatewayError } from '../../src/http/answers.ts'
import { NoReply } from '../../src/service/exchange.ts'
import { LockTimeout, StoreDown } from '../../src/store/store.ts'

describe('anything thrown is an error that can be answered', () => {
  test('as it is, if it is one', () => {
    const error = gatewayError('draining', {})
    expect(toGatewayError(error)).toBe(error)
  })

  test.each<[string, unknown, object]>([
    ['no reply', new NoReply('late'), { code: 'service-silent', status: 504 }],
    ['no store', new StoreDown('down'), { code: 'store-down', status: 503, headers: { 'Retry-After': '5' } }],
    [
      'no lock',
      new LockTimeout('late'),
      {
        code: 'shipment-changed',
        headers: { 'Retry-After': '5' },
        message: expect.stringMatching(/^Other updates of this shipment are under way/),
      },
    ],
    ['a fault', new TypeError('x'), { code: 'gateway-failed', status: 500 }],
    ['what is no error', 'x', { code: 'gateway-failed', status: 500 }],
  ])('of %s', (_, thrown, error) => {
    expect(toGatewayError(thrown)).toBeInstanceOf(GatewayError)
    expect(toGatewayError(thrown)).toMatchObject({ ...error, cause: thrown })
  })
})

describe('an error of version 1', () => {
  const answered = (error: GatewayError, shape: ErrorShape) => {
    const { status, headers, body } = legacyError(error, shape, 'N-1')
    return { status, headers, json: JSON.parse(String(body)) }
  }
  const error = new GatewayError('too-many-calls', 'One\nline.', { headers: { 'Retry-After': '1' } })

  test('has the shape of its path', () => {
    const answer = { status: 429, headers: { 'Retry-After': '1' } }
    expect(answered(error, 'quote')).toEqual({
      ...answer,
      json: { Cost: '', ShipmentNumber: 'N-1', Message: 'One line.' },
    })
    expect(answered(error, 'booking')).toEqual({
      ...answer,
      json: { Message: 'One line.', TransportationBooked: 'No' },
    })
  })

  test('about a shipment says only of an unknown number that it is not booked', () => {
    const unknown = gatewayError('number-unknown', { kind: 'shipment', names: 'id 1' })
    expect(answered(unknown, 'shipment').json.TransportationBooked).toBe('No')
    expect(answered(error, 'shipment').json.TransportationBooked).toBe('Unknown')
  })

  test('does not deny a booking that may have been made', () => {
    const unknown = gatewayError('outcome-unknown', { key: 'bk_1' })
    const perhaps = gatewayError('service-silent', {}, { mayHaveBooked: true })
    for (const one of [unknown, perhaps]) {
      expect(answered(one, 'booking').json).toMatchObject({ TransportationBooked: 'Unknown' })
    }
  })
})

test('an error of the gateway is problem details', () => {
  const problems = [{ field: 'Zip', code: 'zip', message: 'Zip must be five digits' }]
  const details = { headers: { A: 'b' }, problems }
  const { status, headers, body } = problemDetails(new GatewayError('untranslatable', 'Zip\tis wrong.', details))
  const type = 'application/problem+json; charset=utf-8'
  expect([status, headers]).toEqual([422, { 'Content-Type': type, A: 'b' }])
  expect(JSON.parse(String(body))).toEqual({
    type: 'urn:transload:error:untranslatable',
    title: 'Some fields cannot be translated',
    status: 422,
    detail: 'Zip is wrong.',
    problems,
  })
  expect(JSON.parse(String(problemDetails(gatewayError('draining', {})).body))).not.toHaveProperty('problems')
})

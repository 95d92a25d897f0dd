import { describe, expect, test } from 'vitest'
import { answerOf, unchanged } from '../../src/calls/legacy-answer.ts'
import { compileAction } from '../../src/mapping/compile.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'
import { actionNamed, planOf, replyOf } from './requests.ts'

const NO_TABLE = compileLookup()

describe('the answer of a call', () => {
  test('is translated', () => {
    const plan = planOf('quote.get', { ShipmentNumber: 'N' })
    const reply = { shipment_id: 'Q', price: 5 }
    const headers = { 'Transload-Assumed': 'vehicle_type=car, transport_type=open' }
    expect(answerOf(plan, reply)).toEqual({ status: 200, headers, body: '{"Cost":"5.00","ShipmentNumber":"N"}' })
    const service = planOf('quote.get', { ShipmentNumber: 'N' }, { settings: { shipment_number: 'service' } })
    expect(answerOf(service, reply).body).toBe('{"Cost":"5.00","ShipmentNumber":"Q"}')
  })

  test('may have another message', () => {
    const plan = planOf('quote.get', { ShipmentNumber: 'N' })
    expect(JSON.parse(answerOf(plan, { price: 5 }, (told) => ({ ...told, Message: 'Told.' })).body)).toEqual({
      Cost: '5.00',
      ShipmentNumber: 'N',
      Message: 'Told.',
    })
  })

  test('is an error where the service left out what it must have', () => {
    expect(() => answerOf(planOf('quote.get', {}), { shipment_id: 'Q' })).toThrow(
      expect.objectContaining({ code: 'service-unreadable', message: expect.stringContaining('price') }),
    )
    const { action } = actionNamed('quote.get')
    const [cost] = action.reply
    const reply = cost?.kind === 'move' ? [cost, { ...cost, v1: 'Fee', v2: 'fee' }] : expect.fail('it is no move')
    const both = planOf(compileAction({ ...action, reply }, new Map([['vehicle_types', NO_TABLE]])), {})
    expect(() => answerOf(both, {})).toThrow('price and fee')
  })

  test.each([
    [
      { id: 'S 1', number: 'TL-1' },
      { 'Transload-Shipment-Id': 'S%201', 'Transload-Shipment-Number': 'TL-1' },
    ],
    [
      { id: 'S', number: 5 },
      { 'Transload-Shipment-Id': 'S', 'Transload-Shipment-Number': '5' },
    ],
    [{ id: 'S', number: '' }, { 'Transload-Shipment-Id': 'S' }],
    [{ id: 'S', number: '  ' }, { 'Transload-Shipment-Id': 'S' }],
    [
      { id: 'S', number: ' TL-1 ' },
      { 'Transload-Shipment-Id': 'S', 'Transload-Shipment-Number': 'TL-1' },
    ],
    [{ id: 'S' }, { 'Transload-Shipment-Id': 'S' }],
    [{ id: {}, number: '..' }, { 'Transload-Shipment-Number': '..' }],
  ])('that records a shipment has its ids as headers: %j', (reply, headers) => {
    const plan = planOf('shipment.create', { EquipmentType: 'OPEN AUTO' })
    expect(answerOf(plan, reply).headers).toEqual(headers)
  })

  test('that records no shipment has none', () => {
    expect(answerOf(planOf('shipment.get', {}), { id: 'S', number: 'TL-1' }).headers).toEqual({})
  })
})

test('a reply of the service passes with these headers, spelled as the gateway spells them', () => {
  const headers = {
    'content-type': 'text/plain',
    'content-encoding': 'gzip',
    etag: '"1"',
    location: '/x',
    'retry-after': '5',
    'www-authenticate': 'Basic',
  }
  const reply = replyOf('text', 418, { ...headers, 'set-cookie': ['a=b'], 'x-other': 'c' })
  expect(unchanged(reply)).toEqual({
    status: 418,
    headers: {
      'Content-Type': 'text/plain',
      'Content-Encoding': 'gzip',
      ETag: '"1"',
      Location: '/x',
      'Retry-After': '5',
      'WWW-Authenticate': 'Basic',
    },
    body: reply.body,
  })
  expect(unchanged(replyOf('', 204)).headers).toEqual({})
})

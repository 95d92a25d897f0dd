import { describe, expect, test } from 'vitest'
import { bookingOf, madeOf } from '../../src/calls/book.ts'
import { actionNamed, planOf } from './requests.ts'

const caller = { tenant: 'acme', credential: 'c' }
const SENT = { VinNo: ' vin 1', ReferenceNumber: 'R', ActionName: 'MakeBooking', PickupZip: '10314', Unknown: 'x' }

describe('the booking of a plan', () => {
  test('has the values of its key, and its fields in the order of their rows', () => {
    const { fields, ...booking } = bookingOf(planOf('shipment.create', SENT), {}, caller, 5)
    expect(booking).toEqual({
      ...caller,
      reference: 'R',
      vin: 'VIN1',
      idempotencyKey: undefined,
      deadline: 5,
    })
    // What is not translated is no part of it, however it is written.
    expect(Object.fromEntries(fields)).toEqual({ VinNo: ' vin 1', ReferenceNumber: 'R', PickupZip: '10314' })
    const other = bookingOf(
      planOf('shipment.create', Object.fromEntries(Object.entries(SENT).reverse())),
      {},
      caller,
      5,
    )
    expect(other.fields).toEqual(fields)
  })

  test('may have no reference and no VIN', () => {
    expect(bookingOf(planOf('shipment.create', {}), {}, caller, 5)).toMatchObject({
      reference: '',
      vin: '',
      fields: [],
    })
    const { action, ...rest } = actionNamed('shipment.create')
    const { xrefRecord: _, ...recordless } = action
    expect(bookingOf(planOf({ ...rest, action: recordless }, SENT), {}, caller, 5)).toMatchObject({
      reference: '',
      vin: '',
    })
    const nameless = { ...rest, action: { ...action, xrefRecord: { kind: 'shipment', id: 'id', names: [] } as const } }
    expect(bookingOf(planOf(nameless, SENT), {}, caller, 5)).toMatchObject({ reference: '', vin: '' })
  })

  test.each([
    ['a', 'a'],
    ['', undefined],
    [['a', 'b'], undefined],
    [undefined, undefined],
  ])('has the key of its header: %j', (key, idempotencyKey) => {
    const headers = { 'idempotency-key': key } as Parameters<typeof bookingOf>[1]
    expect(bookingOf(planOf('shipment.create', SENT), headers, caller, 5).idempotencyKey).toBe(idempotencyKey)
  })

  test('leaves out fields that only name something', () => {
    const { fields } = bookingOf(planOf('quote.update', { ShipmentNumber: 'N', CSR: 'x' }), {}, caller, 5)
    expect(fields.map(([name]) => name)).not.toContain('ShipmentNumber')
  })
})

test('what was made has its answer and its record', () => {
  const made = madeOf(planOf('shipment.create', SENT), { id: 'S', number: 'TL-1' })
  expect(made.answer.headers).toMatchObject({ 'Transload-Shipment-Id': 'S', 'Transload-Shipment-Number': 'TL-1' })
  expect(made.record).toMatchObject({ id: 'S', names: ['R'], serviceNames: ['TL-1'], vin: 'VIN1' })
  expect(() => madeOf(planOf('shipment.create', SENT), {})).toThrow('A verified reply to a booking has an id.')
})

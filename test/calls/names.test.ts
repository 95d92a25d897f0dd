import { expect, test } from 'vitest'
import { missingName, namesIn, namingOf, vinOf } from '../../src/calls/find.ts'
import { NOT_FLAT } from '../../src/mapping/fields.ts'
import { actionNamed, requestOf } from './requests.ts'

const SENT = { number: 'TL-1', ReferenceNumber: 'R', VinNo: 'V' }

test.each([
  ['shipment.get', { newestWillDo: true, changesVin: false }],
  ['shipment.update', { newestWillDo: false, changesVin: true }],
  ['shipment.cancel', { newestWillDo: false, changesVin: false }],
])('%s names a shipment by its fields, in their order', (action, naming) => {
  const { target } = actionNamed(action).action
  const names = (target?.namedBy ?? []).flatMap((field) => Object.entries(SENT).filter(([name]) => name === field))
  expect(names).toHaveLength(2)
  expect(namingOf(requestOf(action, SENT))).toEqual({ names, vin: 'V', ...naming })
})

test('a call may name nothing', () => {
  expect(namingOf(requestOf('shipment.get', { VinNo: 'V' }))).toBeUndefined()
  expect(namingOf(requestOf('shipment.create', SENT))).toBeUndefined()
})

test('names are those of the sent fields among some', () => {
  expect(namesIn(requestOf('shipment.get', SENT), ['VinNo', 'id', 'number'])).toEqual([
    ['VinNo', 'V'],
    ['number', 'TL-1'],
  ])
})

test('the VIN is the field that tells shipments apart', () => {
  for (const action of ['shipment.get', 'shipment.create']) expect(vinOf(requestOf(action, SENT))).toBe('V')
  expect(vinOf(requestOf('shipment.get', {}))).toBeUndefined()
  expect(vinOf(requestOf('quote.get', { VinNo: 'V' }))).toBeUndefined()
  expect(vinOf(requestOf('quote.update', { VinNo: 'V' }))).toBeUndefined()
})

test('a call that must name something and does not has a problem', () => {
  expect(missingName(requestOf('quote.update', { CSR: 'x' }))).toEqual({
    field: 'ShipmentNumber',
    code: 'required',
    message: 'ShipmentNumber or OrderRefNumber is required to name the quote',
  })
  expect(missingName(requestOf('shipment.get', {}))?.message).toMatch(/ is required to name the shipment$/)
  expect(missingName(requestOf('quote.update', { OrderRefNumber: 'O' }))).toBeUndefined()
  expect(missingName(requestOf('quote.get', {}))).toBeUndefined()
  // One that cannot be used is another problem already.
  expect(missingName(requestOf('quote.update', { OrderRefNumber: NOT_FLAT }))).toBeUndefined()
})

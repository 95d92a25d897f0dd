import { expect, test } from 'vitest'
import { explainReplyTranslation } from '../../src/mapping/explain.ts'
import { actionOf } from '../cases/read.ts'

const SETTINGS = {
  transport_type: 'open',
  vehicle_type: 'car',
  send_quote_id: false,
  shipment_number: 'caller',
} as const

test('the id of a quote is not shown to a caller that has a number of its own, and the account says why', () => {
  const { unused } = explainReplyTranslation(actionOf('quote.get'), { shipment_id: 'x', price: 5 }, SETTINGS, 'N-1')
  expect(unused).toEqual([{ field: 'shipment_id', why: 'the caller has a number of its own for it' }])
})

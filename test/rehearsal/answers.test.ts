/** Promise: recorded replies are compared field by field (contract, section 8). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quoteGet } from '../../mappings/quote-get.ts'
import { shipmentGet } from '../../mappings/shipment-get.ts'
import {
  answered,
  type ComparedAnswer,
  compareAnswers,
  comparisonsOf,
  masked,
} from '../../src/labs/rehearse/compare.ts'
import { anyCharacter } from '../laws.ts'

const ofQuote = comparisonsOf(quoteGet.reply)
const ofRead = comparisonsOf(shipmentGet.reply)

const answer = (fields: object): ComparedAnswer => answered(JSON.stringify(fields)) ?? new Map()
test.each<[field: string, one: unknown, other: unknown, expected: string | undefined, again?: string]>([
  ['Cost', '1234.5', '1234.50', 'equal'],
  ['Cost', 1234.5, '1234.50', 'equal'],
  ['Cost', '$1,234.50', '1234.50', 'equal'],
  ['Cost', '1234.50', '1234.51', 'differs'],
  ['Cost', 'on request', '1234.50', 'differs'],
  ['Cost', 'on request', 'on request', 'equal'],
  ['Cost', '', '1234.50', 'differs'],
  ['Cost', null, '', undefined],
  ['Cost', { amount: 1 }, '1.00', 'differs'],
  ['PickupPhNo.', '(214) 555-0000', '2145550000', 'equal'],
  ['PickupPhNo.', '(214) 555-0001', '2145550000', 'differs'],
  ['PickupPhNo.', '2145550000 x12', '2145550000', 'differs'],
  ['PickupZip', '2134', '02134', 'equal'],
  ['PickupZip', '02134-1234', '02134', 'differs'],
  ['PickupState', 'new york', 'NY', 'equal'],
  ['PickupCity', 'Dallas', 'DALLAS', 'differs'],
  ['PickupCity', ' Dallas ', 'Dallas', 'equal'],
  ['Message', 'Shipment 1', 'Shipment 1 is new.', 'equal'],
  ['Message', '', 'Shipment 1 is new.', 'differs'],
  ['Unheard', '1', '1', 'equal'],
  ['Unheard', '1', '2', 'differs'],
  // Differences between the native answers are noise.
  ['Cost', '10.00', '11.00', 'noise', '12.00'],
  ['Cost', '10.00', '10.00', 'noise', '12.00'],
  ['Cost', '10.00', '10.00', 'equal', '10'],
])('a value is compared by the codec of its row: %s %j and %j: %s', (field, one, other, expected, again) => {
  const natives = [answer({ [field]: one }), answer({ [field]: again ?? one })] as const
  const fields = compareAnswers(natives, answer({ [field]: other }), ofQuote.has(field) ? ofQuote : ofRead)
  expect(fields.find((result) => result.field === field)?.verdict).toBe(expected)
})

test('refusals are compared as refusals', () => {
  const refused = 'refused'
  const quote = answer({ Cost: '1.00' })
  const wholly = (one: ComparedAnswer, two: ComparedAnswer, own: ComparedAnswer) =>
    compareAnswers([one, two], own, ofQuote)
  expect(wholly(refused, refused, refused)).toMatchObject([{ field: '(answer)', verdict: 'equal' }])
  expect(wholly(refused, refused, quote)).toEqual([
    { field: '(answer)', verdict: 'differs', native: 'refused', translated: 'answered' },
  ])
  expect(wholly(quote, quote, refused)).toMatchObject([{ verdict: 'differs' }])
  expect(wholly(quote, refused, quote)).toMatchObject([{ verdict: 'noise' }])
})

test('a mask keeps the shape, but no letter or digit', () => {
  expect(masked('x'.repeat(24))).toBe('a'.repeat(24))
  expect(masked('x'.repeat(25))).toBe(`${'a'.repeat(24)}…`)
  expect(masked('(214) 555-0000')).toBe('(999) 999-9999')
  expect(masked('Pat Éxample <pat@example.com>')).toBe('Aaa Aaaaaaa ?aaa@aaaaaaa…')
  expect(masked('\u001b[31m٣')).toBe('??99a9')
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      expect(masked(text)).toMatch(/^[aA9? .,:;()+@/#&'~_-]{0,24}…?$/)
    }),
  )
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { quoteGet } from '../../mappings/quote-get.ts'
import { shipmentGet } from '../../mappings/shipment-get.ts'
import { answered, compareAnswers, confirmed, type Outcome } from '../../src/compare/answers.ts'
import { masked } from '../../src/compare/mask.ts'
import { comparisonsOf } from '../../src/compare/same.ts'
import { createTally } from '../../src/compare/tally.ts'

const ofQuote = comparisonsOf(quoteGet.reply)
const ofRead = comparisonsOf(shipmentGet.reply)

const answer = (fields: object): Outcome => answered(JSON.stringify(fields)) ?? { kind: 'none', why: '' }
const verdict = (comparisons: typeof ofQuote, field: string, one: unknown, other: unknown, again = one) => {
  const natives = [answer({ [field]: one }), answer({ [field]: again })] as const
  const comparison = compareAnswers(natives, answer({ [field]: other }), comparisons)
  if (!comparison.compared) throw new Error(comparison.why)
  return comparison.fields.find((result) => result.field === field)?.verdict
}

describe('a value is compared by the codec of its row', () => {
  test.each([
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
  ])('%s %j and %j: %s', (field, one, other, expected) => {
    expect(verdict(ofQuote.has(field) ? ofQuote : ofRead, field, one, other)).toBe(expected)
  })
})

test('what the native answers disagree on is noise', () => {
  expect(verdict(ofQuote, 'Cost', '10.00', '11.00', '12.00')).toBe('noise')
  expect(verdict(ofQuote, 'Cost', '10.00', '10.00', '12.00')).toBe('noise')
  expect(verdict(ofQuote, 'Cost', '10.00', '10.00', '10')).toBe('equal')
})

test('refusals are compared as such, and no verdict is no comparison', () => {
  const refused: Outcome = { kind: 'refused' }
  const quote = answer({ Cost: '1.00' })
  const wholly = (one: Outcome, two: Outcome, own: Outcome) => compareAnswers([one, two], own, ofQuote)
  expect(wholly(refused, refused, refused)).toMatchObject({ fields: [{ field: '(answer)', verdict: 'equal' }] })
  expect(wholly(refused, refused, quote)).toMatchObject({ fields: [{ verdict: 'differs' }] })
  expect(wholly(quote, quote, refused)).toMatchObject({ fields: [{ verdict: 'differs' }] })
  expect(wholly(quote, refused, quote)).toMatchObject({ fields: [{ verdict: 'noise' }] })
  expect(wholly(quote, { kind: 'none', why: 'late' }, quote)).toEqual({ compared: false, why: 'late' })
})

test('a difference that does not last is noise', () => {
  const native = answer({ Cost: '1.00' })
  const first = compareAnswers([native, native], answer({ Cost: '2.00' }), ofQuote)
  const later = compareAnswers([native, native], native, ofQuote)
  expect(confirmed(first, first)).toEqual(first)
  expect(confirmed(first, later)).toMatchObject({ fields: [{ verdict: 'equal' }, { field: 'Cost', verdict: 'noise' }] })
  expect(confirmed(first, { compared: false, why: 'late' })).toEqual({ compared: false, why: 'late' })
})

test('a mask keeps the shape and no letter or digit', () => {
  expect(masked('(214) 555-0000')).toBe('(999) 999-9999')
  expect(masked('Pat Éxample <pat@example.com>')).toBe('Aaa Aaaaaaa ?aaa@aaaaaaa…')
  expect(masked('\u001b[31m٣')).toBe('??99a9')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(masked(text)).toMatch(/^[aA9? .,:;()+@/#&'~_-]{0,24}…?$/)
    }),
  )
})

test('what is compared holds no value', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[b-z]{4,30}$/), fc.stringMatching(/^[B-Z]{4,30}$/), (one, other) => {
      const natives = [answer({ PickupName: one }), answer({ PickupName: one })] as const
      const written = JSON.stringify(compareAnswers(natives, answer({ PickupName: other }), ofRead))
      expect(written).not.toContain(one.slice(0, 4))
      expect(written).not.toContain(other.slice(0, 4))
    }),
  )
})

test('a tally counts, keeps few examples, and calls nothing but refusals no proof', () => {
  const tally = createTally()
  expect(tally.equalShare()).toBeUndefined()
  const refused: Outcome = { kind: 'refused' }
  tally.add('quote.get', compareAnswers([refused, refused], refused, ofQuote))
  expect(tally.equalShare()).toBeUndefined()
  for (let i = 0; i < 9; i += 1) {
    const native = answer({ Cost: '1.00', ShipmentNumber: 'a'.repeat(i + 1) })
    tally.add('quote.get', compareAnswers([native, native], answer({ Cost: '1.00', ShipmentNumber: 'b' }), ofQuote))
  }
  expect(tally.fields().map(({ field, counts }) => [field, counts.equal, counts.differs])).toEqual([
    ['(answer)', 10, 0],
    ['Cost', 9, 0],
    ['ShipmentNumber', 0, 9],
  ])
  expect(tally.fields()[2]?.examples).toHaveLength(3)
  expect(tally.equalShare()).toBeCloseTo(19 / 28)
})

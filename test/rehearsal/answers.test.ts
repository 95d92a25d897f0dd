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
import compared from './compared.json' with { type: 'json' }

const ofQuote = comparisonsOf(quoteGet.reply)
const ofRead = comparisonsOf(shipmentGet.reply)

const answer = (fields: object): ComparedAnswer => answered(JSON.stringify(fields)) ?? new Map()
/** A field, its values in version 1 and in a translated answer, the verdict, and another value in version 1. */
test.each(compared)('a value is compared by the codec of its row: %s %j and %j: %s', (...row: unknown[]) => {
  const [name, one, other, expected, again = one] = row
  const field = String(name)
  const natives = [answer({ [field]: one }), answer({ [field]: again })] as const
  const fields = compareAnswers(natives, answer({ [field]: other }), ofQuote.has(field) ? ofQuote : ofRead)
  expect(fields.find((result) => result.field === field)?.verdict ?? null).toBe(expected)
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

import { describe, expect, test } from 'vitest'
import { fromQuote, lookup, phraseIn, setting, wholeValue } from '../../src/mapping/declare.ts'
import { indexFields, NOT_FLAT } from '../../src/mapping/fields.ts'
import { compileRequest } from '../../src/mapping/request.ts'
import { tables, translated } from './translated.ts'

const quiet = { problems: [], notes: [] }

describe('a place of a table', () => {
  const row = lookup([wholeValue('Kind'), phraseIn('Text')], 'a', 'types', [setting('transport_type')])

  test.each<[Record<string, string | typeof NOT_FLAT>, string, string]>([
    [{ Kind: 'suv', Text: 'a box truck' }, 'suv', 'Kind'],
    [{ Kind: 'big suv', Text: 'a box truck' }, 'truck', 'Text'],
    [{ Kind: NOT_FLAT, Text: 'a box truck' }, 'truck', 'Text'],
    [{ Text: 'my suv' }, 'suv', 'Text'],
  ])('is decided by the first field that it knows: %o', (sent, after, field) => {
    expect(translated(row, sent)).toMatchObject({
      ...quiet,
      body: { a: after },
      explanations: [{ to: 'a', from: [field], before: sent[field], after, rule: 'types', origin: 'caller' }],
    })
  })

  test('falls back where it knows none of them', () => {
    expect(translated(row, { Kind: 'x' })).toMatchObject({
      body: { a: 'open' },
      notes: [{ name: 'a', code: 'assumed' }],
      explanations: [{ assumed: 'the table types knows none of Kind, Text' }],
    })
  })

  test('needs the table', () => {
    const other = lookup([wholeValue('Kind')], 'a', 'others')
    expect(() => compileRequest([other], indexFields(['Kind']), tables)).toThrow('there is no table others')
  })
})

describe('a place of the remembered quote', () => {
  const facts = { quote_id: 'Q-1' }

  test('is filled with its fact', () => {
    const { body, explanations } = translated(fromQuote('a', 'quote_id'), {}, { facts })
    expect(body).toEqual({ a: 'Q-1' })
    expect(explanations).toMatchObject([{ to: 'a', from: [], after: 'Q-1', origin: 'quote' }])
    expect(translated(fromQuote('a', 'quote_id'), {}).body).toEqual({})
  })

  test('falls back without one', () => {
    const row = fromQuote('a', 'quote_id', { fallbacks: [setting('vehicle_type')] })
    expect(translated(row, {}).explanations).toMatchObject([
      { after: 'car', assumed: 'version 1 has no field for it and no quote is remembered' },
    ])
  })

  test('may depend on a setting', () => {
    const row = fromQuote('a', 'quote_id', { onlyWith: 'send_quote_id' })
    expect(translated(row, {}, { facts, sendQuoteId: true }).body).toEqual({ a: 'Q-1' })
    expect(translated(row, {}, { facts }).body).toEqual({})
  })
})

import { describe, expect, test } from 'vitest'
import { text, year } from '../../mappings/codecs.ts'
import { compileAction } from '../../src/mapping/compile.ts'
import {
  type Action,
  anyOf,
  fixed,
  join,
  lookup,
  move,
  quoteFact,
  type Requirement,
  ref,
  setByService,
  wholeValue,
} from '../../src/mapping/declare.ts'
import { explainRequestTranslation } from '../../src/mapping/explain.ts'
import { sortFields } from '../../src/mapping/fields.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'

const settings = { transport_type: '', vehicle_type: '', send_quote_id: true, shipment_number: 'caller' } as const
const tables = new Map([['types', compileLookup({ SUV: 'suv' })]])
const lines = { name: 'lines', summary: '', join: (parts: readonly string[]) => parts.join(), split: () => [] }

const declared: Action = {
  name: 'trip.update',
  summary: 'Change a trip.',
  family: 'shipment',
  legacy: { method: 'POST', paths: ['/updateTrip.php'], actionNames: 'any' },
  service: { method: 'PUT', path: '/v2/shipments/{shipment_id}' },
  target: { kind: 'shipment', namedBy: ['Number', 'VinNo'], disambiguateBy: 'VinNo' },
  request: [
    ref('Number', 'names it'),
    move('VinNo', 'vehicles[0].vin', text),
    move('Year', 'vehicles[0].year', year, { required: true }),
    lookup([wholeValue('Kind')], 'type', 'types'),
  ],
  remember: [move('Paid', 'paid', year), join(['A', 'B'], 'note', lines)],
  reply: [move('Cost', 'price', text, { required: true }), fixed('Booked', 'Yes'), ...setByService(['price'], 'why')],
  example: { request: {}, reply: {} },
}
const compiled = compileAction(declared, tables)

function translated(sent: Readonly<Record<string, string>>, action = compiled, namedBy?: string, facts?: object) {
  const fields = sortFields(action.fields, Object.entries(sent))
  return action.request(fields, { settings, facts: facts as Record<string, string>, namedBy })
}

describe('a rule over several fields', () => {
  const rule = (requirement: Requirement) =>
    compileAction(
      { ...declared, request: [...declared.request, move('To', 'to', text)], requires: [requirement] },
      tables,
    )
  const required = (requirement: Requirement, sent: Readonly<Record<string, string>>, facts?: object) =>
    translated({ Year: '2020', ...sent }, rule(requirement), undefined, facts).problems

  test.each<[Requirement, string, string]>([
    [anyOf('To'), 'To', 'To is required'],
    [anyOf('Kind', 'To'), 'Kind', 'Kind or To is required'],
    [anyOf(['Kind', 'To'], 'VinNo'), 'Kind', 'Kind with To, or VinNo is required'],
    [anyOf('VinNo', ['Kind', 'To', 'Number']), 'VinNo', 'VinNo, or Kind with To and Number is required'],
    [anyOf(quoteFact('to'), 'To'), 'To', 'To is required'],
  ])('%o is a problem', (requirement, field, message) => {
    expect(required(requirement, {})).toEqual([{ field, code: 'required', message }])
  })

  test.each<[Requirement, Readonly<Record<string, string>>, object | undefined, boolean]>([
    [anyOf('Kind', 'To'), { To: 'x' }, undefined, true],
    [anyOf(['Kind', 'To']), { To: 'x' }, undefined, false],
    [anyOf(['Kind', 'To']), { To: 'x', Kind: 'y' }, undefined, true],
    [anyOf('To', quoteFact('a', 'b')), {}, { b: 1 }, true],
    [anyOf('To', quoteFact('a', 'b')), {}, { c: 1 }, false],
    [anyOf('To', quoteFact('a', 'b')), {}, undefined, false],
  ])('%o holds of %o and %o: %s', (requirement, sent, facts, holds) => {
    expect(required(requirement, sent, facts)).toHaveLength(holds ? 0 : 1)
  })
})

describe('a field that is not used', () => {
  test.each<[string, Readonly<Record<string, string | null>>, string | undefined, string, string]>([
    ['only names the thing', { Number: 'N' }, undefined, 'Number', 'names it'],
    ['is blank', { VinNo: null }, undefined, 'VinNo', 'blank, which counts as not sent'],
    ['has a problem', { Year: 'soon' }, undefined, 'Year', 'cannot be translated: see problems'],
    ['named the thing', { VinNo: 'X' }, 'VinNo', 'VinNo', 'names the thing: its id stands in the path'],
    [
      'is not in its table',
      { Kind: 'x' },
      undefined,
      'Kind',
      'an earlier field decided, or the lookup table does not know the value',
    ],
    [
      'is to be remembered',
      { Paid: '2020' },
      undefined,
      'Paid',
      'remembered for a later booking; this call does not send it',
    ],
    [
      'cannot be remembered',
      { Paid: 'soon' },
      undefined,
      'Paid',
      expect.stringMatching(/^not remembered for a later booking: Paid must be a year/),
    ],
  ])('%s', (_, sent, namedBy, field, why) => {
    const fields = sortFields(compiled.fields, Object.entries(sent))
    const { unused } = explainRequestTranslation(compiled, fields, settings, undefined, namedBy)
    expect(unused).toEqual([{ field, why }])
  })

  test('or not known is told once', () => {
    const fields = sortFields(compiled.fields, [
      ['Other', 'x'],
      ['Other', 'y'],
    ])
    expect(explainRequestTranslation(compiled, fields, settings, undefined)).toMatchObject({
      unused: [],
      unknown: ['Other'],
    })
  })
})

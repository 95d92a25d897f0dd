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
  v2Only,
  wholeValue,
} from '../../src/mapping/declare.ts'
import { explainRequestTranslation } from '../../src/mapping/explain.ts'
import { type Entry, sortFields } from '../../src/mapping/fields.ts'
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

describe('the field that named the thing', () => {
  const sent = { VinNo: 'X', Year: '2020' }
  test.each([
    [undefined, { vehicles: [{ vin: 'X', year: 2020 }] }],
    ['Number', { vehicles: [{ vin: 'X', year: 2020 }] }],
    ['VinNo', { vehicles: [{ year: 2020 }] }],
    // Not among the names of the declaration.
    ['Year', { vehicles: [{ vin: 'X', year: 2020 }] }],
  ])('%s is no change of it', (namedBy, body) => {
    expect(translated(sent, compiled, namedBy).body).toEqual(body)
  })
})

test('problems begin with those of sorting', () => {
  const fields = sortFields(compiled.fields, [
    ['VinNo', 'a'],
    ['VinNo', 'b'],
  ])
  const { problems } = compiled.request(fields, { settings, facts: undefined })
  expect(problems.map(({ field, code }) => `${field} ${code}`)).toEqual(['VinNo disagree', 'Year required'])
  // The fields can be translated again.
  expect(compiled.request(fields, { settings, facts: undefined }).problems).toEqual(problems)
})

test('facts are those of the body and the rows to remember, without what cannot be read', () => {
  const remembered = (...entries: readonly Entry[]) =>
    compiled.remember(sortFields(compiled.fields, entries), { type: 'suv' }, settings)
  expect(remembered(['Paid', '2020'], ['A', 'x'], ['B', 'y'])).toEqual({
    facts: { type: 'suv', paid: 2020, note: 'x,y' },
    problems: [],
  })
  const { facts, problems } = remembered(['Paid', 'soon'])
  expect(facts).toEqual({ type: 'suv' })
  expect(problems).toMatchObject([{ field: 'Paid', code: 'year' }])
})

test('a reply has every field, and says which places are missing', () => {
  const { reply, missing } = compiled.reply({}, { settings, own: undefined })
  expect(reply).toEqual({ Cost: '', Booked: 'Yes' })
  expect(missing).toEqual(['price'])
  expect(compiled.reply({ price: '5' }, { settings, own: undefined }).missing).toEqual([])
})

test('an update leaves out what only the service sets, not what only version 2 has', () => {
  const { overlay } = compileAction(
    { ...declared, request: [...setByService(['photos'], 'why'), ...v2Only(['trim'], 'why')] },
    tables,
  )
  expect(overlay({ id: 1, price: 2, photos: [3], trim: 4 }, {}, 0)).toEqual({ id: 1, trim: 4 })
})

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

  test('holds without the field that named the thing', () => {
    const { problems } = translated({ Year: '2020', VinNo: 'X' }, rule(anyOf('VinNo')), 'VinNo')
    expect(problems).toEqual([])
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

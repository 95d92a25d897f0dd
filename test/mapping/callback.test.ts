import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { text } from '../../mappings/codecs.ts'
import { eventStatuses, shipmentEvent } from '../../mappings/shipment-event.ts'
import { type Callback, type CallbackContext, callback, changed, compileCallback } from '../../src/mapping/callback.ts'
import { compileCatalog, MappingErrors } from '../../src/mapping/catalog.ts'
import { codec } from '../../src/mapping/codec.ts'
import { shapeMistakes } from '../../src/mapping/declaration-schema.ts'
import { callerNumber, choose, fixed, move, type Row, split, v1Only } from '../../src/mapping/declare.ts'
import { explainCallback } from '../../src/mapping/explain.ts'
import { SETTINGS } from '../events/office.ts'
import { runs } from '../size.ts'

const NO_NAMES = { own: undefined, number: undefined, reference: undefined }
const context = { settings: SETTINGS, names: NO_NAMES, statuses: eventStatuses }
const ALWAYS = ['Event', 'EventDate', 'ShipmentNumber', 'ReferenceNumber', 'Message']

const valid: Callback = callback({
  name: 'delivered',
  summary: 'Tell.',
  events: ['shipment.delivered'],
  fields: [move('What', 'event', text), ...changed([move('Zip', 'pickup.zipcode', text)])],
  example: { shipment_id: 'S', event: 'shipment.delivered', event_date: 'now' },
})

function mistakesOf(...callbacks: readonly Callback[]): readonly string[] {
  try {
    compileCatalog([], { tables: new Map(), callbacks })
    return []
  } catch (error) {
    if (error instanceof MappingErrors) return error.mistakes
    throw error
  }
}
const withRows = (...rows: readonly Row[]): Callback => ({ ...valid, fields: [...valid.fields, ...rows] })

describe('a declaration', () => {
  test.each<[string, readonly Callback[], RegExp]>([
    ['a row of another section', [withRows(...v1Only(['X'], 'why'))], /v1Only row cannot be used in a callback/],
    ['a field twice', [withRows(fixed('what', 'x'))], /covered twice/],
    ['a place that is none', [withRows(move('X', 'a..b', text))], /is not a place/],
    ['a name twice', [valid, { ...valid, events: 'any' }], /two callbacks have this name/],
    ['an event twice', [valid, { ...valid, name: 'other' }], /two callbacks are for shipment.delivered/],
  ])('%s is a mistake', (_, callbacks, mistake) => {
    expect(mistakesOf(...callbacks).join('\n')).toMatch(mistake)
  })

  test.each([
    [{ ...valid, events: 5 }, /events: must be a list of strings, or 'any'/],
    [{ ...valid, fields: undefined }, /fields: must be a list of rows/],
    [{ ...valid, reply: [] }, /reply/],
    [{ ...valid, example: {} }, /example/],
  ])('of another shape is refused', (declared, mistake) => {
    expect(shapeMistakes(declared).join('\n')).toMatch(mistake)
  })

  test('for an event comes before the one for any', () => {
    const { callbackOf } = compileCatalog([], { tables: new Map(), callbacks: [shipmentEvent, valid] })
    expect(callbackOf('shipment.delivered')?.callback.name).toBe('delivered')
    expect(callbackOf('shipment.created')?.callback.name).toBe('shipment.event')
    expect(compileCatalog([], { tables: new Map(), callbacks: [valid] }).callbackOf('x')).toBeUndefined()
  })
})

describe('a changed field', () => {
  const { translate } = compileCallback(shipmentEvent)
  const zipOf = (data: unknown) =>
    translate({ shipment_id: 'S', event: 'shipment.modified', event_date: 'now', data }, context)['PickupZip']

  test.each<[string, unknown, string | undefined]>([
    ['by its dotted path', { 'pickup.zipcode': { old_value: 1, new_value: 2134 } }, '02134'],
    ['nested', { pickup: { zipcode: { old_value: 1, new_value: 2134 } } }, '02134'],
    ['in an object that changes as one', { pickup: { old_value: null, new_value: { zipcode: 2134 } } }, '02134'],
    ['that is cleared', { 'pickup.zipcode': { old_value: 1, new_value: null } }, ''],
    [
      'that has not changed',
      { pickup: { old_value: { zipcode: 1 }, new_value: { zipcode: 1, city: 'x' } } },
      undefined,
    ],
    ['without a new value', { 'pickup.zipcode': { old_value: 1 } }, undefined],
    ['as a plain value', { 'pickup.zipcode': 2134 }, undefined],
    ['as all there is', { old_value: {}, new_value: { pickup: { zipcode: 2134 } } }, undefined],
    ['in no object', [1], undefined],
    ['in nothing', null, undefined],
  ])('%s', (_, data, zip) => {
    expect(zipOf(data)).toBe(zip)
  })
})

describe('an event', () => {
  const parts = codec(z.record(z.string(), z.string()), {
    name: 'parts',
    summary: '',
    decode: (): Record<string, string> => ({}),
    encode: ({ one = '-', two = '-' }) => `${one}~${two}`,
  })
  const strict = codec(z.string(), { name: 'strict', summary: '', decode: String, encode: String })
  const told = compileCallback({
    ...valid,
    fields: [
      ...['event', 'event_date', 'shipment_id', 'number', 'reference', 'status'].map((v2) => move(v2, v2, text)),
      callerNumber('Own', 'number'),
      ...changed([
        move('Price', 'price', text, { required: true }),
        move('Miles', 'distance', strict, { required: true }),
        split('Parts', { one: 'a.one', two: 'a.two' }, parts),
        move('Vin', 'vehicles[0].vin', text),
        fixed('Fixed', 'x'),
        choose('Choice', 'price', {}, 'y'),
      ]),
    ],
  })
  const event = { shipment_id: 'S', event: 'happened', event_date: 'now' }
  const always = { event: 'happened', event_date: 'now', shipment_id: 'S', number: 'S', reference: '' }
  const noticed = (data?: unknown, more: Partial<CallbackContext> = {}) =>
    told.translate({ ...event, data }, { ...context, statuses: { happened: 'done' }, ...more })

  test('is told with the names of its shipment', () => {
    expect(noticed(undefined, { statuses: {} })).toEqual({ ...always, Own: 'S' })
    const names = { own: 'N-1', number: 'TL-1', reference: 'R-1' }
    expect(noticed(undefined, { names })).toEqual({
      ...always,
      ...{ number: 'TL-1', reference: 'R-1', status: 'done', Own: 'N-1' },
    })
  })

  test.each<[string, unknown, string]>([
    ['the one that it tells', { status: { old_value: 'new', new_value: 'on_hold' } }, 'on_hold'],
    ['the one that it implies', {}, 'done'],
    ['the one that it implies, if it tells no text', { status: { old_value: 'new', new_value: 5 } }, 'done'],
    ['the one that it implies, if it tells no change', { status: { old_value: 'new', new_value: 'new' } }, 'done'],
  ])('has a status: %s', (_, data, status) => {
    expect(noticed(data)['status']).toBe(status)
  })

  test('tells what has changed, and nothing else', () => {
    const change = (new_value: unknown) => ({ old_value: undefined, new_value })
    expect(noticed({ price: change('5') })).toMatchObject({ Price: '5' })
    expect(noticed({ price: change('5') })).not.toHaveProperty('Parts')
    expect(noticed({ 'a.two': change('x') })).toMatchObject({ Parts: '-~x' })
    expect(noticed({ a: change({ one: 'x', two: 'y' }) })).toMatchObject({ Parts: 'x~y' })
    for (const data of [{}, { other: change('x') }]) expect(Object.keys(noticed(data))).toEqual(Object.keys(noticed()))
    // No change is required, so a value that its codec does not know is told all the same.
    expect(noticed({ distance: change(5) })).toMatchObject({ Miles: '5' })
    // What is no move and no split cannot tell a change.
    expect(noticed({ price: change('5') })).not.toHaveProperty('Fixed')
    expect(noticed({ price: change('5') })).not.toHaveProperty('Choice')
  })

  test.each<[string, unknown, string | undefined]>([
    ['as one', { vehicles: { old_value: [{ vin: 'a' }], new_value: [{ vin: 'b' }] } }, 'b'],
    [
      'as one, and not its first entry',
      { vehicles: { old_value: [{ vin: 'a' }], new_value: [{ vin: 'a' }, {}] } },
      undefined,
    ],
    ['by entry', { 'vehicles.[0]': { old_value: { vin: 'a' }, new_value: { vin: 'b' } } }, 'b'],
    ['by place', { 'vehicles.[0].vin': { old_value: 'a', new_value: 'b' } }, 'b'],
    ['to nothing', { vehicles: { old_value: [{ vin: 'a' }], new_value: [] } }, ''],
    ['in a nested list', { vehicles: [{ vin: { old_value: 'a', new_value: 'b' } }] }, 'b'],
    // The change of a place comes before that of the whole.
    [
      'twice',
      {
        'vehicles.[0].vin': { old_value: 'a', new_value: 'b' },
        vehicles: { old_value: [], new_value: [{ vin: 'c' }] },
      },
      'b',
    ],
  ])('tells the change of a list %s', (_, data, vin) => {
    expect(noticed(data)['Vin']).toBe(vin)
  })

  test('is explained: what was told, and the changes that no row knows', () => {
    const change = { old_value: 1, new_value: 'x' }
    const data = { price: change, status: change, 'a.two': change, a: change, 'a.three': change, color: change }
    const { v1, fields, unknown } = explainCallback(told, { ...event, data }, context)
    expect(v1).toMatchObject({ Price: 'x', status: 'x' })
    expect(fields.map(({ to }) => to)).toEqual(Object.keys(v1))
    expect(unknown).toEqual(['a.three', 'color'])
    for (const none of [undefined, null, 'x']) {
      expect(explainCallback(told, { ...event, data: none }, context).unknown).toEqual([])
    }
  })
})

test('any event has the five fields and changed ones, all of them text, and pollutes nothing', () => {
  const compiled = compileCallback(shipmentEvent)
  const change = fc.record({ old_value: fc.jsonValue(), new_value: fc.jsonValue() }, { requiredKeys: [] })
  const path = fc.constantFrom('pickup.zipcode', 'vehicles', 'price', 'status', '__proto__.x', 'constructor', 'pickup')
  const data = fc.oneof(fc.jsonValue(), fc.dictionary(fc.oneof(path, fc.string()), fc.oneof(change, fc.jsonValue())))
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), data, (shipment_id, event, event_date, changes) => {
      const { v1, unknown } = explainCallback(compiled, { shipment_id, event, event_date, data: changes }, context)
      expect(Object.keys(v1)).toEqual(expect.arrayContaining(ALWAYS))
      for (const value of Object.values(v1)) {
        expect(typeof value).toBe('string')
        expect(value).not.toMatch(/\p{Cc}/u)
      }
      for (const key of unknown) expect(Object.keys(Object(changes))).toContain(key)
      expect(Object.keys(Object.prototype)).toEqual([])
    }),
    { numRuns: runs(500, 20_000) },
  )
})

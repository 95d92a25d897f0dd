import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { text } from '../../mappings/codecs.ts'
import { eventStatuses, shipmentEvent } from '../../mappings/shipment-event.ts'
import { type Callback, callback, changed, compileCallback } from '../../src/mapping/callback.ts'
import { compileCatalog, MappingErrors } from '../../src/mapping/catalog.ts'
import { isAction, isCallback, shapeMistakes } from '../../src/mapping/declaration-schema.ts'
import { fixed, move, type Row, v1Only } from '../../src/mapping/declare.ts'
import { explainCallback } from '../../src/mapping/explain-callback.ts'
import { SETTINGS } from '../delivery/office.ts'
import { runs } from '../size.ts'

const NO_NAMES = { own: undefined, number: undefined, reference: undefined }
const context = { settings: SETTINGS, names: NO_NAMES, statuses: eventStatuses }
const ALWAYS = ['Event', 'EventDate', 'ShipmentNumber', 'ReferenceNumber', 'Status', 'Message']

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
  test('that is right has no mistakes', () => {
    expect(mistakesOf(valid, shipmentEvent)).toEqual([])
    for (const declared of [valid, shipmentEvent]) {
      expect(shapeMistakes(declared)).toEqual([])
      expect([isCallback(declared), isAction(declared)]).toEqual([true, false])
    }
  })

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
    ['in no object', [1], undefined],
    ['in nothing', null, undefined],
  ])('%s', (_, data, zip) => {
    expect(zipOf(data)).toBe(zip)
  })
})

test('any event has the six fields and changed ones, all of them text, and pollutes nothing', () => {
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

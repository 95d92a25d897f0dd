/** Promise: a wrong declaration is refused at the start, with its module and row (contract, section 4). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { text, zipcode } from '../../mappings/codecs.ts'
import { actions as builtIn } from '../../mappings/index.ts'
import { eventStatuses, shipmentEvent } from '../../mappings/shipment-event.ts'
import { type Callback, callback, changed, compileCallback, NO_NAMES } from '../../src/language/mapping/callback.ts'
import { type CatalogOptions, compileCatalog, MappingErrors } from '../../src/language/mapping/catalog.ts'
import { codec } from '../../src/language/mapping/codec.ts'
import { isAction, shapeMistakes } from '../../src/language/mapping/declaration-schema.ts'
import {
  type Action,
  anyOf,
  callerNumber,
  choose,
  fixed,
  fromQuote,
  ifPresent,
  join,
  lookup,
  message,
  move,
  quoteFact,
  type Row,
  ref,
  setByService,
  split,
  v1Only,
  wholeValue,
} from '../../src/language/mapping/declare.ts'
import { explainCallback } from '../../src/language/mapping/explain.ts'
import { compileLookup } from '../../src/language/mapping/lookup.ts'
import { SETTINGS } from '../events/office.ts'
import { runs } from '../size.ts'

const tables = new Map([['vehicle_types', compileLookup({ SUV: 'suv' })]])
/** A codec of several parts. */
const parts = codec(z.record(z.string(), z.string()), {
  name: 'parts',
  summary: '',
  decode: (): Record<string, string> => ({}),
  encode: ({ one = '-', two = '-' }) => `${one}~${two}`,
})
const joiner = { name: 'lines', summary: 'Lines.', join: (lines: readonly string[]) => lines.join(), split: () => [] }

/** A valid declaration; each test spoils one thing. */
const valid: Action = {
  name: 'rate.get',
  verb: 'quote',
  summary: 'Price a trip.',
  family: 'quote',
  legacy: { method: 'POST', paths: ['/getRate.php'], actionNames: ['Get Rate'], byDefault: true },
  service: { method: 'POST', path: '/v2/quote' },
  request: [move('From', 'pickup', text), ref('Number', 'names it'), ...v1Only(['CSR'], 'nobody asks')],
  reply: [move('Cost', 'price', text)],
  example: { request: { From: '10314' }, reply: { price: 1 } },
}

interface Rows {
  readonly request?: readonly Row[]
  readonly remember?: readonly Row[]
  readonly reply?: readonly Row[]
}

const withRows = ({ request = [], reply = [], ...rows }: Rows): Action => ({
  ...valid,
  ...rows,
  request: [...valid.request, ...request],
  reply: [...valid.reply, ...reply],
})

/** Another action at the same path. */
const other = (legacy: Partial<Action['legacy']>, more: Partial<Action> = {}): Action => ({
  ...valid,
  name: 'rate.change',
  legacy: { method: 'POST', paths: ['/getRate.php'], actionNames: ['Change Rate'], ...legacy },
  ...more,
})

/** The errors of declarations, as an operator reads them. */
function mistakesOf(actions: readonly Action[], options: Partial<CatalogOptions> = {}): readonly string[] {
  try {
    compileCatalog(actions, { tables, ...options })
    return []
  } catch (error) {
    if (error instanceof MappingErrors) return error.mistakes
    throw error
  }
}

describe('mistakes', () => {
  test('the valid declaration, and the built-in ones, have no mistake', () => {
    expect(mistakesOf([valid])).toEqual([])
    expect(mistakesOf(builtIn)).toEqual([])
    for (const action of builtIn) expect(shapeMistakes(action)).toEqual([])
    expect(isAction(valid)).toBe(true)
  })

  test.each<[mistake: string, Rows]>([
    [
      'request row "join Street + pickupphno_ → address": pickupphno_ is covered twice (already as PickupPhNo.)',
      { request: [ref('PickupPhNo.', 'a'), join(['Street', 'pickupphno_'], 'address', joiner)] },
    ],
    ['reply row "fixed cost": cost is covered twice (already as Cost)', { reply: [fixed('cost', '0')] }],
    ['request row "fromQuote pickup": pickup is written twice', { request: [fromQuote('pickup', 'quote_id')] }],
    [
      'request row "move Photo → photos[0].url": photos[0].url overlaps photos',
      { request: [...setByService(['photos'], 'the service takes them'), move('Photo', 'photos[0].url', text)] },
    ],
    [
      'request row "move Two → vehicles[1].vin": vehicles[1].vin overlaps vehicles[0].vin',
      { request: [move('One', 'vehicles[0].vin', text), move('Two', 'vehicles[1].vin', text)] },
    ],
    ['request row "ref OrderRef": the why is missing', { request: [ref('OrderRef', ' ')] }],
    [
      'request row "move City → delivery..city": delivery..city is not a place such as pickup.zipcode or vehicles[0].year',
      { request: [move('City', 'delivery..city', text)] },
    ],
    [
      'reply row "message Message": the number is not a place such as pickup.zipcode or vehicles[0].year',
      { reply: [message('Message', [ifPresent('number', 'It is {the number}.')])] },
    ],
    [
      'request row "lookup Kind → type": there is no table body_types',
      { request: [lookup([wholeValue('Kind')], 'type', 'body_types', [])] },
    ],
    [
      'no action remembers the fact goal',
      { request: [move('To', 'delivery', zipcode, { fallbacks: [quoteFact('quote_id', 'goal')] })] },
    ],
    ['request row "fixed Booked": a fixed row cannot be used in a request', { request: [fixed('Booked', 'Yes')] }],
  ])('of a row: %s', (mistake, rows) => {
    expect(mistakesOf([withRows(rows)])).toEqual([`rate.get: ${mistake}`])
  })

  const unclaimed = (field: string) => `no request row covers ${field}, which the declaration uses`
  const found = { service: { method: 'PUT', path: '/v2/quote/{quote_id}' } } as const

  test.each<[mistake: string, Partial<Action>]>([
    [unclaimed('Nick'), { ...found, target: { kind: 'quote', namedBy: ['Number', 'Nick'] } }],
    [unclaimed('Via'), { requires: [anyOf('From', ['Via', 'CSR'])] }],
    ['no action remembers the fact credit', { requires: [anyOf(quoteFact('credit'))] }],
    [
      'the service path contains no id, but the action has a shipment as its target',
      { target: { kind: 'shipment', namedBy: ['Number'] } },
    ],
    [
      'the service path contains {quote_id}, but the action has a shipment as its target',
      { ...found, target: { kind: 'shipment', namedBy: ['Number'] } },
    ],
    ['the service path contains {quote_id}, but the action has no target', found],
    ['no legacy path', { legacy: { ...valid.legacy, paths: [] } }],
    ['the legacy path /rates/ is not one such as /getRate.php', { legacy: { ...valid.legacy, paths: ['/rates/'] } }],
  ])('of a declaration: %s', (mistake, change) => {
    expect(mistakesOf([{ ...valid, ...change }])).toEqual([`rate.get: ${mistake}`])
  })

  test.each<[mistake: string, Action]>([
    [
      '/getRate.php: the ActionName get_RATE means both rate.get and rate.change',
      other({ paths: ['/GETRATE.php'], actionNames: ['get_RATE'] }),
    ],
    ['/getRate.php: an absent ActionName means two of rate.get and rate.change', other({ byDefault: true })],
    ['/getRate.php: an absent ActionName means two of rate.get and rate.change', other({ actionNames: 'any' })],
    ['/getRate.php: rate.get and rate.change differ in their method', other({ method: 'GET' })],
    ['/getRate.php: rate.get and rate.change differ in their family', other({}, { family: 'shipment' })],
    ['rate.get: two actions have this name', other({}, { name: 'rate.get' })],
  ])('of two actions: %s', (mistake, action) => {
    expect(mistakesOf([valid, action])).toEqual([mistake])
  })

  test('two actions at different paths may share their ActionNames; synonyms may not mean two', () => {
    const apart = other({ paths: ['/other.php'], actionNames: ['Get Rate'], byDefault: true })
    expect(mistakesOf([valid, apart])).toEqual([])
    expect(mistakesOf([valid, other({})], { synonyms: { Refresh: 'rate.get', REFRESH: 'rate.change' } })).toEqual([
      '/getRate.php: the ActionName REFRESH means both rate.get and rate.change',
    ])
  })

  test('every mistake is listed at once, of all modules', () => {
    const first = withRows({
      request: [move('CSR', 'agent', text), ...v1Only(['Fax'], ''), fromQuote('color', 'paint')],
    })
    const second: Action = { ...valid, name: 'rate.change', service: { method: 'POST', path: '/quote' } }
    const mistakes = mistakesOf([first, second], { synonyms: { Refresh: 'rate.refresh' } })
    expect(mistakes).toEqual([
      'rate.get: request row "v1Only Fax": the why is missing',
      'rate.get: request row "move CSR → agent": CSR is covered twice (already as CSR)',
      'rate.get: no action remembers the fact paint',
      'rate.change: the service path /quote does not begin with /v2/',
      'the ActionName Refresh means rate.refresh, which is no action',
      '/getRate.php: the ActionName Get Rate means both rate.get and rate.change',
      '/getRate.php: an absent ActionName means two of rate.get and rate.change',
    ])
    expect(new MappingErrors(mistakes).message).toBe(`the mappings have 7 mistakes:\n${mistakes.join('\n')}`)
  })

  const moved = (codec: object) => ({ request: [{ ...move('A', 'a', text), codec: { ...text, ...codec } }] })

  test.each<[mistake: string, change: object]>([
    ['legacy.paths: must be a list of strings', { legacy: {} }],
    ['service.method: must be GET or POST or PUT or DELETE', { service: { method: 'POTS', path: '/v2/quote' } }],
    ['reply[0].kind: is not a row; use the constructors', { reply: [{ kind: 'mvoe' }] }],
    ['request[0]: is a list; spread it with ...', { request: [v1Only(['A'], 'b')] }],
    ['request[0].codec.decode: must be a function', moved({ decode: undefined })],
    [
      'request[0].fallbacks[0]: must be quoteFact(…), setting(…), assumedAgain(…) or guess(…)',
      { request: [{ ...move('A', 'a', text), fallbacks: ['open'] }] },
    ],
    ['requests is not a key', { requests: [] }],
    ['request[0].codec.keeps.class: must be exact, canonical(…) or lossy(…)', moved({ keeps: { class: 'most' } })],
  ])('of a module that no compiler has seen: %s', (mistake, change) => {
    expect(shapeMistakes({ ...valid, ...change })).toContain(`rate.get: ${mistake}`)
  })
})

describe('a callback', () => {
  const context = { settings: SETTINGS, names: NO_NAMES, statuses: eventStatuses }
  const event = { shipment_id: 'S', event: 'shipment.delivered', event_date: 'now' }

  /** Does not know numbers. */
  const words = codec(z.string(), { name: 'words', summary: '', decode: String, encode: String })

  const declared: Callback = callback({
    name: 'delivered',
    summary: 'Tell.',
    events: ['shipment.delivered'],
    fields: [
      ...['event', 'status'].map((v2) => move(v2, v2, text)),
      callerNumber('Own', 'number'),
      ...changed([
        move('Price', 'price', words, { required: true }),
        move('Zip', 'pickup.zipcode', zipcode),
        split('Parts', { one: 'a.one', two: 'a.two' }, parts),
        move('Vin', 'vehicles[0].vin', text),
        // What is no move and no split cannot tell a change.
        fixed('Fixed', 'x'),
        choose('Choice', 'price', {}, 'y'),
      ]),
    ],
    example: event,
  })
  const withField = (row: Row): Callback => ({ ...declared, fields: [...declared.fields, row] })

  test.each<[string, readonly Callback[], RegExp]>([
    ['a row of another section', [withField(ref('X', 'why'))], /ref row cannot be used in a callback/],
    ['a field twice', [withField(fixed('price', 'x'))], /covered twice/],
    ['a place that is none', [withField(move('X', 'a..b', text))], /is not a place/],
    ['a name twice', [declared, { ...declared, events: 'any' }], /two callbacks have this name/],
    ['an event twice', [declared, { ...declared, name: 'other' }], /two callbacks are for shipment.delivered/],
  ])('with %s is a mistake', (_, callbacks, mistake) => {
    expect(mistakesOf([], { callbacks }).join('\n')).toMatch(mistake)
  })

  test('for an event comes before the one for any', () => {
    const { callbackOf } = compileCatalog([], { tables, callbacks: [shipmentEvent, declared] })
    expect(callbackOf('shipment.delivered')?.callback.name).toBe('delivered')
    expect(callbackOf('shipment.created')?.callback.name).toBe('shipment.event')
  })

  const compiled = compileCallback(declared)
  /** A change of a value, or of a part of the shipment as one. */
  const change = (new_value: unknown, old_value?: unknown) => ({ old_value, new_value })

  test.each<[string, unknown, Readonly<Record<string, string>>]>([
    ['nothing', null, {}],
    ['a dotted path', { 'pickup.zipcode': change(2134) }, { Zip: '02134' }],
    ['a nested change', { pickup: { zipcode: change(2134) } }, { Zip: '02134' }],
    ['an object that changes as one', { pickup: change({ zipcode: 2134 }, null) }, { Zip: '02134' }],
    ['a value that is cleared', { 'pickup.zipcode': change(null, 1) }, { Zip: '' }],
    ['the same value in another object', { pickup: change({ zipcode: 1, city: 'x' }, { zipcode: 1 }) }, {}],
    ['no new value', { 'pickup.zipcode': { old_value: 1 } }, {}],
    ['a value that its codec does not know, as none is required', { price: change(5) }, { Price: '5' }],
    ['one part of several', { 'a.two': change('x') }, { Parts: '-~x' }],
    ['several parts', { a: change({ one: 'x', two: 'y' }) }, { Parts: 'x~y' }],
    ['a list as one', { vehicles: change([{ vin: 'b' }], [{ vin: 'a' }]) }, { Vin: 'b' }],
    ['a place in a list', { 'vehicles.[0].vin': change('b', 'a') }, { Vin: 'b' }],
    ['a list that is empty now', { vehicles: change([], [{ vin: 'a' }]) }, { Vin: '' }],
    // The change of a place comes before that of the whole.
    ['a place and the whole', { 'vehicles.[0].vin': change('b'), vehicles: change([{ vin: 'c' }]) }, { Vin: 'b' }],
  ])('tells what has changed, and nothing else: %s', (_, data, told) => {
    const always = { event: event.event, status: 'delivered', Own: 'S' }
    expect(compiled.translate({ ...event, data }, context)).toEqual({ ...always, ...told })
  })

  test('of any event has the five fields and changed ones, all of them text, and pollutes nothing', () => {
    const shipped = compileCallback(shipmentEvent)
    const anyChange = fc.record({ old_value: fc.jsonValue(), new_value: fc.jsonValue() }, { requiredKeys: [] })
    const path = fc.constantFrom(
      'pickup.zipcode',
      'vehicles',
      'price',
      'status',
      '__proto__.x',
      'constructor',
      'pickup',
    )
    const data = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.oneof(path, fc.string()), fc.oneof(anyChange, fc.jsonValue())),
    )
    const law = fc.property(fc.string(), fc.string(), fc.string(), data, (shipment_id, event, event_date, changes) => {
      const { v1, unknown } = explainCallback(shipped, { shipment_id, event, event_date, data: changes }, context)
      const always = ['Event', 'EventDate', 'ShipmentNumber', 'ReferenceNumber', 'Message']
      expect(Object.keys(v1)).toEqual(expect.arrayContaining(always))
      for (const value of Object.values(v1)) {
        expect(typeof value).toBe('string')
        expect(value).not.toMatch(/\p{Cc}/u)
      }
      for (const key of unknown) expect(Object.keys(Object(changes))).toContain(key)
      expect(Object.keys(Object.prototype)).toEqual([])
    })
    fc.assert(law, { numRuns: runs(500, 20_000) })
  })
})

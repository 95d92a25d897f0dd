/** Promise: a wrong declaration is refused at the start, with its module and row (contract, section 4). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import * as codecs from '../../mappings/codecs.ts'
import { actions as builtIn } from '../../mappings/index.ts'
import { eventStatuses, shipmentEvent } from '../../mappings/shipment-event.ts'
import { createToolbox, type Toolbox } from '../../mappings/toolbox.ts'
import { type Callback, callback, changed, compileCallback, NO_NAMES } from '../../src/language/mapping/callback.ts'
import { type CatalogOptions, catalogMistakes, compileCatalog } from '../../src/language/mapping/catalog.ts'
import { codec, Failed, NOT_OWN } from '../../src/language/mapping/codec.ts'
import { isDeclaration, shapeMistakes } from '../../src/language/mapping/declaration-schema.ts'
import {
  type Action,
  callerNumber,
  choose,
  fixed,
  fromQuote,
  move,
  type Row,
  ref,
  split,
  v1Only,
} from '../../src/language/mapping/declare.ts'
import { explainCallback } from '../../src/language/mapping/explain.ts'
import { compileLookup } from '../../src/language/mapping/lookup.ts'
import { SETTINGS } from '../events/office.ts'
import { runs } from '../size.ts'

const { text, zipcode } = codecs
const tables = new Map([['vehicle_types', compileLookup({ SUV: 'suv' })]])
const lines = { name: 'lines', summary: 'Lines.', join: (lines: readonly string[]) => lines.join(), split: () => [] }

type Change = Partial<Omit<Action, 'legacy'>> & { readonly legacy?: Partial<Action['legacy']> }

const read = (name: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, name), 'utf8'), (key, value) => {
    if (key === 'codec' && typeof value === 'string') return Reflect.get(codecs, value)
    return key === 'joiner' ? lines : value
  })

/** A valid declaration, another one at the same path, and changes of them with their mistakes. */
const documents: { readonly valid: Action; readonly other: Change } & Readonly<
  Record<'declaration' | 'pair' | 'shape', readonly (readonly [mistake: string, Change])[]>
> = read('mistakes.json')

/** Returns a declaration with rows added and other members replaced. */
const altered = (base: Action, { request = [], reply = [], legacy, ...rest }: Change): Action => ({
  ...base,
  ...rest,
  legacy: { ...base.legacy, ...legacy },
  request: [...base.request, ...request],
  reply: [...base.reply, ...reply],
})
const { valid } = documents
const other = altered(valid, documents.other)

/** The errors of declarations, as an operator sees them. */
function mistakesOf(actions: readonly Action[], options: Partial<CatalogOptions> = {}): readonly string[] {
  return catalogMistakes(actions, { tables, ...options })
}

describe('mistakes', () => {
  test('the valid declaration, and the built-in ones, have no mistake', () => {
    expect(mistakesOf([valid, other])).toEqual([])
    expect(mistakesOf(builtIn)).toEqual([])
    for (const action of builtIn) expect(shapeMistakes(action)).toEqual([])
    expect(isDeclaration(valid)).toBe(true)
  })

  test.each(documents.declaration)('of a declaration: %s', (mistake, change) => {
    expect(mistakesOf([altered(valid, change)])).toEqual([`rate.get: ${mistake}`])
  })

  test.each(documents.pair)('of two actions: %s', (mistake, change) => {
    expect(mistakesOf([valid, altered(other, change)])).toEqual([mistake])
  })

  test.each(documents.shape)('of a module that no compiler has seen: %s', (mistake, change) => {
    expect(shapeMistakes(altered(valid, change))).toContain(`rate.get: ${mistake}`)
  })

  test('two actions at different paths may share their ActionNames; synonyms may not mean two', () => {
    const legacy = { ...valid.legacy, paths: ['/other.php'] }
    expect(mistakesOf([valid, altered(other, { legacy })])).toEqual([])
    expect(mistakesOf([valid, other], { synonyms: { Refresh: 'rate.get', REFRESH: 'rate.change' } })).toEqual([
      '/getRate.php: the ActionName REFRESH means both rate.get and rate.change',
    ])
  })

  test('the mistakes of all modules are listed at once', () => {
    const request = [move('CSR', 'agent', text), ...v1Only(['Fax'], ''), fromQuote('color', 'paint')]
    const second: Action = { ...valid, name: 'rate.change', service: { method: 'POST', path: '/quote' } }
    const mistakes = mistakesOf([altered(valid, { request }), second], { synonyms: { Refresh: 'rate.refresh' } })
    expect(mistakes).toEqual([
      'rate.get: request row "v1Only Fax": the why is missing',
      'rate.get: request row "move CSR → agent": CSR is covered twice (already as CSR)',
      'rate.get: no action remembers the fact paint',
      'rate.change: the service path /quote does not begin with /v2/',
      'the ActionName Refresh means rate.refresh, which is not an action',
      '/getRate.php: the ActionName Get Rate means both rate.get and rate.change',
      '/getRate.php: an absent ActionName means two of rate.get and rate.change',
    ])
  })
})

test('a codec of a module encodes what its schema makes of a value', () => {
  const { codec, z } = createToolbox() as Toolbox
  const known = z.preprocess((value) => (value === 'N/A' ? undefined : value), z.string().optional())
  const { encode } = codec(known, { name: 'known', summary: '', decode: String, encode: (text) => text ?? '-' })
  expect(['a', 'N/A', 5].map(encode)).toEqual(['a', '-', expect.any(Failed)])
})

describe('a callback', () => {
  const context = { settings: SETTINGS, names: NO_NAMES, statuses: eventStatuses }
  const event = { shipment_id: 'S', event: 'shipment.delivered', event_date: 'now' }
  const named = { name: 'parts', summary: '' }
  /** A codec for several parts, and one that does not accept numbers. */
  const parts = codec((value) => z.record(z.string(), z.string()).safeParse(value).data ?? NOT_OWN, {
    ...named,
    decode: (): Record<string, string> => ({}),
    encode: ({ one = '-', two = '-' }) => `${one}~${two}`,
  })
  const words = codec((value) => z.string().safeParse(value).data ?? NOT_OWN, {
    ...named,
    decode: String,
    encode: String,
  })

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
        // Only a move or a split can report a change.
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

  test('for an event takes precedence over the one for any event', () => {
    const { callbackOf } = compileCatalog([], { tables, callbacks: [shipmentEvent, declared] })
    expect(callbackOf('shipment.delivered')?.callback.name).toBe('delivered')
    expect(callbackOf('shipment.created')?.callback.name).toBe('shipment.event')
  })

  const changes: readonly [string, unknown, Readonly<Record<string, string>>][] = read('changes.json')
  test.each(changes)('tells what has changed, and nothing else: %s', (_, data, told) => {
    const always = { event: event.event, status: 'delivered', Own: 'S' }
    expect(compileCallback(declared).translate({ ...event, data }, context)).toEqual({ ...always, ...told })
  })

  test('for any event has the five fields and changed ones, all as text, and pollutes nothing', () => {
    const shipped = compileCallback(shipmentEvent)
    const change = fc.record({ old_value: fc.jsonValue(), new_value: fc.jsonValue() }, { requiredKeys: [] })
    const path = fc.constantFrom(
      ...['pickup.zipcode', 'vehicles', 'price', 'status', '__proto__.x', 'constructor', 'pickup'],
    )
    const data = fc.oneof(fc.jsonValue(), fc.dictionary(fc.oneof(path, fc.string()), fc.oneof(change, fc.jsonValue())))
    const law = fc.property(fc.string(), fc.string(), fc.string(), data, (shipment_id, event, event_date, data) => {
      const { v1, unknown } = explainCallback(shipped, { shipment_id, event, event_date, data }, context)
      const always = ['Event', 'EventDate', 'ShipmentNumber', 'ReferenceNumber', 'Message']
      expect(Object.keys(v1)).toEqual(expect.arrayContaining(always))
      for (const value of Object.values(v1)) expect(value).toEqual(expect.stringMatching(/^\P{Cc}*$/u))
      for (const key of unknown) expect(Object.keys(Object(data))).toContain(key)
      expect(Object.keys(Object.prototype)).toEqual([])
    })
    fc.assert(law, { numRuns: runs(500, 20_000) })
  })
})

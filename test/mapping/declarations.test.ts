/** Promise: a wrong declaration is refused at the start, with its module and row (contract, section 4). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { text, year, zipcode } from '../../mappings/codecs.ts'
import { actions as builtIn } from '../../mappings/index.ts'
import { eventStatuses, shipmentEvent } from '../../mappings/shipment-event.ts'
import { type Callback, type CallbackContext, callback, changed, compileCallback } from '../../src/mapping/callback.ts'
import { compileCatalog, MappingErrors } from '../../src/mapping/catalog.ts'
import { codec } from '../../src/mapping/codec.ts'
import { compileAction } from '../../src/mapping/compile.ts'
import { isAction, shapeMistakes } from '../../src/mapping/declaration-schema.ts'
import {
  type Action,
  anyOf,
  callerNumber,
  choose,
  fixed,
  fromQuote,
  ifPresent,
  ifSeveral,
  join,
  lookup,
  message,
  move,
  quoteFact,
  type Requirement,
  type Row,
  ref,
  setByService,
  split,
  v1Only,
  v2Only,
  wholeValue,
} from '../../src/mapping/declare.ts'
import { explainCallback, explainRequestTranslation } from '../../src/mapping/explain.ts'
import { sortFields } from '../../src/mapping/fields.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'
import { SETTINGS } from '../events/office.ts'
import { runs } from '../size.ts'

describe('mistakes', () => {
  const tables = new Map([['vehicle_types', compileLookup({ SUV: 'suv' })]])
  const parts = { ...text, name: 'parts' } as unknown as Parameters<typeof split>[2]
  const joiner = { name: 'lines', summary: 'Lines.', join: (lines: readonly string[]) => lines.join(), split: () => [] }

  /** A valid declaration; each test spoils one thing. */
  const valid: Action = {
    name: 'rate.get',
    summary: 'Price a trip.',
    family: 'quote',
    legacy: { method: 'POST', paths: ['/getRate.php'], actionNames: ['Get Rate'], byDefault: true },
    service: { method: 'POST', path: '/v2/quote' },
    request: [move('From', 'pickup', text), ref('Number', 'names it'), ...v1Only(['CSR'], 'nobody asks')],
    reply: [move('Cost', 'price', text)],
    example: { request: { From: '10314' }, reply: { price: 1 } },
  }

  const withRows = (...rows: readonly Row[]): Action => ({ ...valid, request: [...valid.request, ...rows] })

  /** The errors of declarations, as an operator reads them. */
  function mistakesOf(actions: readonly Action[], synonyms: Readonly<Record<string, string>> = {}): readonly string[] {
    try {
      compileCatalog(actions, { tables, synonyms })
      return []
    } catch (error) {
      if (error instanceof MappingErrors) return error.mistakes
      throw error
    }
  }

  test('the valid declaration, and the built-in ones, have no mistake', () => {
    expect(mistakesOf([valid])).toEqual([])
    expect(mistakesOf(builtIn)).toEqual([])
  })

  describe('a row that breaks a rule is refused, by module and row', () => {
    test.each<[string, Action, string]>([
      [
        'a field that is covered twice',
        withRows(move('CSR', 'agent', text)),
        'rate.get: request row "move CSR → agent": CSR is covered twice (already as CSR)',
      ],
      [
        'a field that is covered again without its period',
        withRows(move('PickupPhNo.', 'phone', text), move('PickupPhNo', 'other', text)),
        'rate.get: request row "move PickupPhNo → other": PickupPhNo is covered twice (already as PickupPhNo.)',
      ],
      [
        'a field that is covered again as PHP writes it, in another case',
        withRows(ref('PickupPhNo.', 'a'), join(['Street', 'pickupphno_'], 'address', joiner)),
        'rate.get: request row "join Street + pickupphno_ → address": pickupphno_ is covered twice (already as PickupPhNo.)',
      ],
      [
        'a field that one row covers twice',
        withRows(lookup([wholeValue('Kind'), wholeValue('kind')], 'type', 'vehicle_types', [])),
        'rate.get: request row "lookup Kind + kind → type": kind is covered twice (already as Kind)',
      ],
      [
        'a field that is covered by the request and to be remembered',
        { ...valid, remember: [move('From', 'origin', text)] },
        'rate.get: request row "move From → origin": From is covered twice (already as From)',
      ],
      [
        'a field of a reply that is told twice',
        { ...valid, reply: [...valid.reply, fixed('cost', '0')] },
        'rate.get: reply row "fixed cost": cost is covered twice (already as Cost)',
      ],
      [
        'a place that is written twice',
        withRows(fromQuote('pickup', 'quote_id')),
        'rate.get: request row "fromQuote pickup": pickup is written twice',
      ],
      [
        'a place inside another one',
        withRows(move('City', 'pickup.city', text)),
        'rate.get: request row "move City → pickup.city": pickup.city overlaps pickup',
      ],
      [
        'a place around another one',
        withRows(move('City', 'delivery.city', text), split('To', { all: 'delivery' }, parts)),
        'rate.get: request row "split To → delivery": delivery overlaps delivery.city',
      ],
      [
        'a place inside a list that is only the service’s',
        withRows(...setByService(['photos'], 'the service takes them'), move('Photo', 'photos[0].url', text)),
        'rate.get: request row "move Photo → photos[0].url": photos[0].url overlaps photos',
      ],
      [
        'the same place in every entry of a list',
        withRows(move('One', 'vehicles[0].vin', text), move('Two', 'vehicles[1].vin', text)),
        'rate.get: request row "move Two → vehicles[1].vin": vehicles[1].vin overlaps vehicles[0].vin',
      ],
      [
        'a fact that is remembered twice',
        { ...valid, remember: [move('A', 'city', text), move('B', 'city', text)] },
        'rate.get: remember row "move B → city": city is written twice',
      ],
      [
        'a field without its why',
        withRows(...v1Only(['Fax'], ' ')),
        'rate.get: request row "v1Only Fax": the why is missing',
      ],
      [
        'a reference without its why',
        withRows(ref('OrderRef', '')),
        'rate.get: request row "ref OrderRef": the why is missing',
      ],
      [
        'a place of a reply without its why',
        { ...valid, reply: [...valid.reply, ...v2Only(['id'], '')] },
        'rate.get: reply row "v2Only id": the why is missing',
      ],
      [
        'a place that is none',
        withRows(move('City', 'delivery..city', text)),
        'rate.get: request row "move City → delivery..city": delivery..city is not a place such as pickup.zipcode or vehicles[0].year',
      ],
      [
        'a place of a reply that is none',
        { ...valid, reply: [...valid.reply, callerNumber('Number', '[0].id')] },
        'rate.get: reply row "callerNumber Number → [0].id": [0].id is not a place such as pickup.zipcode or vehicles[0].year',
      ],
      [
        'a sentence about a place that is none',
        { ...valid, reply: [...valid.reply, message('Message', [ifSeveral('vehicles[]', 'Several.')])] },
        'rate.get: reply row "message Message": vehicles[] is not a place such as pickup.zipcode or vehicles[0].year',
      ],
      [
        'a sentence that quotes a place that is none',
        { ...valid, reply: [...valid.reply, message('Message', [ifPresent('number', 'It is {the number}.')])] },
        'rate.get: reply row "message Message": the number is not a place such as pickup.zipcode or vehicles[0].year',
      ],
      [
        'a table that nobody has',
        withRows(lookup([wholeValue('Kind')], 'type', 'body_types', [])),
        'rate.get: request row "lookup Kind → type": there is no table body_types',
      ],
      [
        'a fact that nobody remembers',
        withRows(fromQuote('color', 'paint')),
        'rate.get: no action remembers the fact paint',
      ],
      [
        'a fallback to a fact that nobody remembers',
        withRows(move('To', 'delivery', zipcode, { fallbacks: [quoteFact('quote_id', 'goal')] })),
        'rate.get: no action remembers the fact goal',
      ],
      [
        'a row of a reply in a request',
        withRows(fixed('Booked', 'Yes')),
        'rate.get: request row "fixed Booked": a fixed row cannot be used in a request',
      ],
      [
        'a row of a request in a reply',
        { ...valid, reply: [...valid.reply, ref('Number', 'names it')] },
        'rate.get: reply row "ref Number": a ref row cannot be used in a reply',
      ],
      [
        'a lookup that is to be remembered',
        { ...valid, remember: [lookup([wholeValue('Kind')], 'type', 'vehicle_types', [])] },
        'rate.get: remember row "lookup Kind → type": a lookup row cannot be used in a remember',
      ],
    ])('%s', (_what, action, mistake) => {
      expect(mistakesOf([action])).toEqual([mistake])
    })
  })

  describe('a declaration that contradicts itself is refused', () => {
    const unclaimed = (field: string) => [`rate.get: no request row covers ${field}, which the declaration uses`]
    const found = { ...valid, service: { method: 'PUT', path: '/v2/quote/{quote_id}' } } as const

    test.each<[string, Action, readonly string[]]>([
      ['a name to find it by', { ...found, target: { kind: 'quote', namedBy: ['Number', 'Nick'] } }, unclaimed('Nick')],
      [
        'a field that chooses among several',
        { ...found, target: { kind: 'quote', namedBy: ['Number'], disambiguateBy: 'Vin' } },
        unclaimed('Vin'),
      ],
      ['a name to recall by', { ...valid, quoteNamedBy: ['number'] }, unclaimed('number')],
      [
        'a name to keep it under',
        { ...valid, xrefRecord: { kind: 'quote', names: ['Nick'], id: 'id' } },
        unclaimed('Nick'),
      ],
      [
        'a field that tells several apart',
        { ...valid, xrefRecord: { kind: 'quote', names: ['Number'], disambiguateBy: 'Vin', id: 'id' } },
        unclaimed('Vin'),
      ],
      ['a field that is needed', { ...valid, requires: [anyOf('From', ['Via', 'CSR'])] }, unclaimed('Via')],
    ])('%s that no row covers', (_what, action, mistakes) => {
      expect(mistakesOf([action])).toEqual(mistakes)
    })

    test.each<[string, Action, string]>([
      [
        'a needed fact that nobody remembers',
        { ...valid, requires: [anyOf(quoteFact('credit'))] },
        'rate.get: no action remembers the fact credit',
      ],
      [
        'a path without the id of what is found',
        { ...valid, target: { kind: 'shipment', namedBy: ['Number'] } },
        'rate.get: the service path contains no id, but the action has a shipment as its target',
      ],
      [
        'a path with the id of something else',
        { ...found, target: { kind: 'shipment', namedBy: ['Number'] } },
        'rate.get: the service path contains {quote_id}, but the action has a shipment as its target',
      ],
      [
        'a path with an id that nothing finds',
        found,
        'rate.get: the service path contains {quote_id}, but the action has no target',
      ],
      [
        'a path of another generation',
        { ...valid, service: { method: 'POST', path: '/quote' } },
        'rate.get: the service path /quote does not begin with /v2/',
      ],
      ['no legacy path', { ...valid, legacy: { ...valid.legacy, paths: [] } }, 'rate.get: no legacy path'],
      [
        'a legacy path without its slash',
        { ...valid, legacy: { ...valid.legacy, paths: ['getRate.php'] } },
        'rate.get: the legacy path getRate.php is not one such as /getRate.php',
      ],
      [
        'a legacy path that no call could match',
        { ...valid, legacy: { ...valid.legacy, paths: ['/rates/'] } },
        'rate.get: the legacy path /rates/ is not one such as /getRate.php',
      ],
    ])('%s', (_what, action, mistake) => {
      expect(mistakesOf([action])).toEqual([mistake])
    })
  })

  describe('actions that clash are refused', () => {
    const other = (legacy: Partial<Action['legacy']>, more: Partial<Action> = {}): Action => ({
      ...valid,
      name: 'rate.change',
      legacy: { method: 'POST', paths: ['/getRate.php'], actionNames: ['Change Rate'], ...legacy },
      ...more,
    })

    test.each<[string, Action, string]>([
      [
        'one ActionName for two of them, in any spelling',
        other({ actionNames: ['get_RATE'] }),
        '/getRate.php: the ActionName get_RATE means both rate.get and rate.change',
      ],
      [
        'an absent ActionName for two of them',
        other({ byDefault: true }),
        '/getRate.php: an absent ActionName means two of rate.get and rate.change',
      ],
      [
        'any ActionName beside a default',
        other({ actionNames: 'any' }),
        '/getRate.php: an absent ActionName means two of rate.get and rate.change',
      ],
      ['two methods', other({ method: 'GET' }), '/getRate.php: rate.get and rate.change differ in their method'],
      [
        'two shapes of errors',
        other({}, { family: 'shipment' }),
        '/getRate.php: rate.get and rate.change differ in their family',
      ],
      [
        'at one path that is written in two ways',
        other({ paths: ['/GETRATE.php'], actionNames: ['Get Rate'] }),
        '/getRate.php: the ActionName Get Rate means both rate.get and rate.change',
      ],
      ['two of one name', other({}, { name: 'rate.get' }), 'rate.get: two actions have this name'],
    ])('%s', (_what, action, mistake) => {
      expect(mistakesOf([valid, action])).toEqual([mistake])
    })

    test('two at different paths may share their ActionNames', () => {
      expect(mistakesOf([valid, other({ paths: ['/other.php'], actionNames: ['Get Rate'], byDefault: true })])).toEqual(
        [],
      )
    })

    test('a synonym for no action', () => {
      expect(mistakesOf([valid], { 'Refresh Rate': 'rate.refresh' })).toEqual([
        'the ActionName Refresh Rate means rate.refresh, which is no action',
      ])
    })

    test('a synonym that means another action already', () => {
      expect(mistakesOf([valid, other({})], { 'get rate': 'rate.change' })).toEqual([
        '/getRate.php: the ActionName get rate means both rate.get and rate.change',
      ])
      expect(mistakesOf([valid, other({})], { Refresh: 'rate.get', REFRESH: 'rate.change' })).toEqual([
        '/getRate.php: the ActionName REFRESH means both rate.get and rate.change',
      ])
    })
  })

  test('every mistake is listed at once, of all modules', () => {
    const first = withRows(move('CSR', 'agent', text), ...v1Only(['Fax'], ''), fromQuote('color', 'paint'))
    const second: Action = { ...valid, name: 'rate.change', service: { method: 'POST', path: '/quote' } }
    const mistakes = mistakesOf([first, second], { Refresh: 'rate.refresh' })
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

  describe('the outline of a module that no compiler has seen', () => {
    test('every built-in action has it', () => {
      for (const action of builtIn) expect(shapeMistakes(action)).toEqual([])
      expect(isAction(valid)).toBe(true)
    })

    test.each<[string, object, string]>([
      ['without a family', { family: undefined }, 'rate.get: family: must be quote or shipment'],
      ['without legacy paths', { legacy: {} }, 'rate.get: legacy.paths: must be a list of strings'],
      ['with nothing where an object belongs', { service: null }, 'rate.get: service: must be an object'],
      [
        'with a method that nobody speaks',
        { service: { method: 'POTS', path: '/v2/quote' } },
        'rate.get: service.method: must be GET or POST or PUT or DELETE',
      ],
      ['with rows that are no list', { request: {} }, 'rate.get: request: must be a list of rows'],
      [
        'with a row of no kind',
        { reply: [{ kind: 'mvoe' }] },
        'rate.get: reply[0].kind: is not a row; use the constructors',
      ],
      [
        'with a list of rows among rows',
        { request: [v1Only(['A'], 'b')] },
        'rate.get: request[0]: is a list; spread it with ...',
      ],
      [
        'with a row without its codec',
        { request: [{ ...move('A', 'a', text), codec: undefined }] },
        'rate.get: request[0].codec: must be a codec',
      ],
      [
        'with a codec that reads nothing',
        { request: [{ ...move('A', 'a', text), codec: { ...text, decode: undefined } }] },
        'rate.get: request[0].codec.decode: must be a function',
      ],
      [
        'with a row without its field',
        { reply: [{ kind: 'fixed', value: 'x' }] },
        'rate.get: reply[0].v1: must be a string',
      ],
      [
        'with a fallback of its own making',
        { request: [{ ...move('A', 'a', text), fallbacks: ['open'] }] },
        'rate.get: request[0].fallbacks[0]: must be quoteFact(…) or setting(…)',
      ],
      ['with a key that means nothing', { requests: [] }, 'rate.get: requests is not a key'],
      [
        'with a codec of no known class',
        { request: [move('A', 'a', { ...text, keeps: { class: 'most' } } as unknown as typeof text)] },
        'rate.get: request[0].codec.keeps.class: must be exact, canonical(…) or lossy(…)',
      ],
      [
        'with a class that does not say what is lost',
        { request: [move('A', 'a', { ...text, keeps: { class: 'lossy' } } as unknown as typeof text)] },
        'rate.get: request[0].codec.keeps.lost: must be a string',
      ],
      ['without an example', { example: undefined }, 'rate.get: example: must have a request and a reply'],
    ])('%s', (_what, spoiled, mistake) => {
      expect(shapeMistakes({ ...valid, ...spoiled })).toContain(mistake)
    })

    test.each([[undefined], [null], [5], ['quote.get'], [[]]])('is not that of %j', (value) => {
      expect(shapeMistakes(value)).toEqual([
        'the default export is not an action, a list of actions, or a function that returns them',
      ])
    })
  })
})

describe('the catalog', () => {
  const tables = new Map()

  /** A valid declaration with another name and other legacy paths. */
  const declared = (name: string, legacy: Partial<Action['legacy']> = {}, more: Partial<Action> = {}): Action => ({
    name,
    summary: 'Do it.',
    family: 'quote',
    legacy: { method: 'POST', paths: [`/${name}.php`], actionNames: [`${name} it`], ...legacy },
    service: { method: 'POST', path: '/v2/x' },
    request: [],
    reply: [],
    example: { request: {}, reply: {} },
    ...more,
  })
  const compiled = (actions: readonly Action[], synonyms: Readonly<Record<string, string>> = {}) =>
    compileCatalog(actions, { tables, synonyms })

  describe('an endpoint', () => {
    const paths = ['/Both.php']
    const one = declared('one', { paths: ['/one.php', '/Both.php'], actionNames: ['One', 'First'] })
    const two = declared('two', { paths, byDefault: true })

    const chosen = (actions: readonly Action[], path: string, synonyms: Readonly<Record<string, string>> = {}) => {
      const endpoint = compiled(actions, synonyms).endpoints.get(path) ?? expect.fail('it is not there')
      return (...args: Parameters<typeof endpoint.choose>) => endpoint.choose(...args)?.action.name
    }

    test('knows the synonyms of its actions', () => {
      const synonyms = { Zwei: 'two', Eins: 'one' }
      const choose = chosen([one, two], '/both.php', synonyms)
      expect(['zwei', 'EINS'].map((name) => choose(name))).toEqual(['two', 'one'])
      const { endpoints } = compiled([one, two], synonyms)
      expect(endpoints.get('/both.php')?.accepted).toEqual(['One', 'First', 'two it', 'Zwei', 'Eins'])
      expect(endpoints.get('/one.php')?.accepted).toEqual(['One', 'First', 'Eins'])
      expect(chosen([one, two], '/one.php', synonyms)('Zwei')).toBeUndefined()
    })

    test("knows a tenant's synonyms, after its own names", () => {
      const choose = chosen([one, two], '/both.php')
      const more = { Drei: 'two', 'On E': 'two', Vier: 'three' }
      expect(['DREI', 'one', 'Vier', 'first'].map((name) => choose(name, more))).toEqual([
        'two',
        'one',
        undefined,
        'one',
      ])
      expect(chosen([one, two], '/one.php')('Drei', more)).toBeUndefined()
    })
  })

  test('facts are the places of an action that remembers', () => {
    const parts = { ...text, name: 'parts' } as unknown as Parameters<typeof split>[2]
    const used = (...facts: readonly string[]) =>
      declared('uses', {}, { request: facts.map((fact, at) => fromQuote(`at${at}`, fact)) })
    const remembers = declared(
      'remembers',
      {},
      { request: [move('A', 'a', text)], remember: [split('B', { x: 'b', y: 'c' }, parts)] },
    )
    expect(() => compiled([remembers, used('quote_id', 'a', 'b', 'c')])).not.toThrow()
    expect(() => compiled([declared('forgets', {}, { request: [move('A', 'a', text)] }), used('a')])).toThrow(
      'uses: no action remembers the fact a',
    )
    // The id of a quote is always one.
    expect(() => compiled([declared('uses', {}, { requires: [{ anyOf: [quoteFact('quote_id')] }] })])).not.toThrow()
  })
})

describe('an action', () => {
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
})

describe('a callback', () => {
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
    const noticed = (data?: unknown, more: Partial<CallbackContext> = {}) =>
      told.translate({ ...event, data }, { ...context, statuses: { happened: 'done' }, ...more })

    test('tells what has changed, and nothing else', () => {
      const change = (new_value: unknown) => ({ old_value: undefined, new_value })
      expect(noticed({ price: change('5') })).toMatchObject({ Price: '5' })
      expect(noticed({ price: change('5') })).not.toHaveProperty('Parts')
      expect(noticed({ 'a.two': change('x') })).toMatchObject({ Parts: '-~x' })
      expect(noticed({ a: change({ one: 'x', two: 'y' }) })).toMatchObject({ Parts: 'x~y' })
      for (const data of [{}, { other: change('x') }])
        expect(Object.keys(noticed(data))).toEqual(Object.keys(noticed()))
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
    const path = fc.constantFrom(
      'pickup.zipcode',
      'vehicles',
      'price',
      'status',
      '__proto__.x',
      'constructor',
      'pickup',
    )
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
})

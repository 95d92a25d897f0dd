import { describe, expect, test } from 'vitest'
import { text, zipcode } from '../../mappings/codecs.ts'
import { actions as builtIn } from '../../mappings/index.ts'
import { compileCatalog, MappingErrors } from '../../src/mapping/catalog.ts'
import { isAction, shapeMistakes } from '../../src/mapping/declaration-schema.ts'
import {
  type Action,
  anyOf,
  callerNumber,
  fixed,
  fromQuote,
  ifPresent,
  ifSeveral,
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
  v2Only,
  wholeValue,
} from '../../src/mapping/declare.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'

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

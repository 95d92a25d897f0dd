import { describe, expect, test } from 'vitest'
import { text } from '../../mappings/codecs.ts'
import { isAction, isCallback, shapeMistakes } from '../../src/mapping/declaration-schema.ts'
import * as declare from '../../src/mapping/declare.ts'

const { move, setting, quoteFact, canonical, lossy, exact } = declare
const joiner = { name: 'lines', summary: '', join: String, split: () => [] }

/** Uses every row, every option and every class. */
const whole: declare.Action = {
  name: 'trip.do',
  summary: 'Do it.',
  family: 'shipment',
  legacy: { method: 'GET', paths: ['/trip.php'], actionNames: ['Do'], byDefault: false },
  service: { method: 'DELETE', path: '/v2/x', mergeInto: 'current', notIdempotent: true, doneWhenStatus: 'canceled' },
  target: { kind: 'quote', namedBy: ['A'], disambiguateBy: 'B' },
  quoteNamedBy: ['A'],
  xrefRecord: { kind: 'shipment', id: 'id', names: ['A'], replyNames: ['number'], disambiguateBy: 'B' },
  requires: [declare.anyOf('A', ['B', 'C'], quoteFact('d'))],
  request: [
    move('A', 'a', { ...text, remark: () => undefined, passThroughUnknown: true, keeps: exact }, { required: true }),
    move(
      'A',
      'a',
      { ...text, keeps: canonical('x', String) },
      { fallbacks: [quoteFact('b'), setting('vehicle_type')] },
    ),
    move('A', 'a', { ...text, keeps: lossy('x', String) }, { fallbacks: [setting('transport_type')] }),
    declare.split('A', { one: 'a' }, text as unknown as Parameters<typeof declare.split>[2]),
    declare.join(['A', 'B'], 'a', { ...joiner, keeps: lossy('x') }),
    declare.lookup([declare.wholeValue('A'), declare.phraseIn('B')], 'a', 'types', [setting('vehicle_type')]),
    declare.fromQuote('a', 'b', { onlyWith: 'send_quote_id' }),
    declare.ref('A', 'why'),
    ...declare.v1Only(['A'], 'why'),
    ...declare.setByService(['a'], 'why'),
  ],
  remember: [],
  reply: [
    declare.callerNumber('A', 'a'),
    declare.fixed('A', ''),
    declare.choose('A', 'a', { x: 'y' }, ''),
    declare.message('A', [
      { text: 'One.' },
      declare.ifPresent('a', 'Two.'),
      declare.ifAbsent('a', 'Three.'),
      declare.ifSeveral('a', 'Four.'),
    ]),
    ...declare.v2Only(['b'], 'why'),
  ],
  example: { request: { A: 'x' }, reply: [1, null, { a: 'b' }] },
}
const told = declare.callback({
  name: 'told',
  summary: 'Tell.',
  events: ['x'],
  fields: [declare.fixed('A', '')],
  example: { shipment_id: 'S', event: 'x', event_date: 'now', data: { a: [1] } },
})

/** Returns a copy of a value with another one at a path. */
function spoiled(value: unknown, [step, ...rest]: readonly (string | number)[], other: unknown): unknown {
  if (step === undefined) return other
  const inner = Reflect.get(Object(value), step)
  if (Array.isArray(value)) return value.with(Number(step), spoiled(inner, rest, other))
  return { ...Object(value), [step]: spoiled(inner, rest, other) }
}

test('an action and a callback may use all there is', () => {
  for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
    expect(shapeMistakes(spoiled(whole, ['service', 'method'], method))).toEqual([])
  }
  for (const value of ['POST', 'GET']) expect(shapeMistakes(spoiled(whole, ['legacy', 'method'], value))).toEqual([])
  for (const value of ['quote', 'shipment']) expect(shapeMistakes(spoiled(whole, ['family'], value))).toEqual([])
  expect(shapeMistakes(spoiled(whole, ['legacy', 'actionNames'], 'any'))).toEqual([])
  expect([isAction(whole), isCallback(whole)]).toEqual([true, false])
  for (const events of ['any', ['x']]) expect(shapeMistakes({ ...told, events })).toEqual([])
  expect([isAction(told), isCallback(told)]).toEqual([false, true])
})

test.each([
  ['target'],
  ['quoteNamedBy'],
  ['xrefRecord'],
  ['requires'],
  ['remember'],
  ['legacy.byDefault'],
  ['service.mergeInto'],
  ['service.notIdempotent'],
  ['service.doneWhenStatus'],
  ['target.disambiguateBy'],
  ['xrefRecord.replyNames'],
  ['xrefRecord.disambiguateBy'],
])('an action may be without %s', (path) => {
  expect(shapeMistakes(spoiled(whole, path.split('.'), undefined))).toEqual([])
})

const STRING = 'must be a string'
const STRINGS = 'must be a list of strings'
const BY_TEXT = 'must be an object of strings'
const FLAG = 'must be true or false'
const FUNCTION = 'must be a function'
const KEEPS = 'must be exact, canonical(…) or lossy(…)'
const QUOTE_OR_SHIPMENT = 'must be quote or shipment'

describe('a part of another shape is a mistake, with its place', () => {
  test.each<[string, unknown, string]>([
    ['summary', 5, STRING],
    ['family', 'x', QUOTE_OR_SHIPMENT],
    ['legacy', null, 'must be an object'],
    ['legacy.method', 'PUT', 'must be GET or POST'],
    ['legacy.paths', '/x', STRINGS],
    ['legacy.paths.0', '', 'must not be empty'],
    ['legacy.actionNames', 'x', "must be a list of strings, or 'any'"],
    ['legacy.byDefault', 1, FLAG],
    ['service', 5, 'must be an object'],
    ['service.method', 'HEAD', 'must be GET or POST or PUT or DELETE'],
    ['service.path', undefined, STRING],
    ['service.mergeInto', 'x', 'must be current'],
    ['service.notIdempotent', 'yes', FLAG],
    ['service.doneWhenStatus', '', 'must not be empty'],
    ['target.kind', 'x', QUOTE_OR_SHIPMENT],
    ['target.namedBy', 'A', STRINGS],
    ['target.disambiguateBy', 5, STRING],
    ['quoteNamedBy', 'A', STRINGS],
    ['xrefRecord.kind', 'x', QUOTE_OR_SHIPMENT],
    ['xrefRecord.id', 5, STRING],
    ['xrefRecord.names', 'A', STRINGS],
    ['xrefRecord.replyNames', 'A', STRINGS],
    ['xrefRecord.disambiguateBy', 5, STRING],
    ['requires', {}, 'must be a list of anyOf(…)'],
    ['requires.0.anyOf.0', 'A', 'must be a list of fields or quoteFact(…)'],
    ['request', {}, 'must be a list of rows'],
    ['remember', {}, 'must be a list of rows'],
    ['reply', {}, 'must be a list of rows'],
    ['example', null, 'must have a request and a reply'],
    ['example.request', 'x', BY_TEXT],
    ['example.request.A', 5, STRING],
    ['request.0.v1', '', 'must not be empty'],
    ['request.0.v2', 5, STRING],
    ['request.0.required', 'yes', FLAG],
    ['request.0.fallbacks', 'x', 'must be a list of fallbacks'],
    ['request.0.codec', null, 'must be a codec'],
    ['request.0.codec.name', '', 'must not be empty'],
    ['request.0.codec.summary', 5, STRING],
    ['request.0.codec.decode', null, FUNCTION],
    ['request.0.codec.encode', {}, FUNCTION],
    ['request.0.codec.remark', 'x', FUNCTION],
    ['request.0.codec.passThroughUnknown', 'x', FLAG],
    ['request.0.codec.keeps.class', 'x', KEEPS],
    ['request.1.codec.keeps.form', '', 'must not be empty'],
    ['request.1.codec.keeps.sense', 'x', FUNCTION],
    ['request.1.fallbacks.0', 'b', 'must be quoteFact(…) or setting(…)'],
    ['request.1.fallbacks.1', { kind: 'setting', setting: 'x' }, 'must be quoteFact(…) or setting(…)'],
    ['request.2.codec.keeps.lost', 5, STRING],
    ['request.3.v2', 'a', BY_TEXT],
    ['request.3.v2.one', 5, STRING],
    ['request.4.v1', 'A', STRINGS],
    ['request.4.joiner', null, 'must be a joiner'],
    ['request.4.joiner.summary', 5, STRING],
    ['request.4.joiner.join', 'x', FUNCTION],
    ['request.4.joiner.split', undefined, FUNCTION],
    ['request.4.joiner.keeps.class', 'x', KEEPS],
    ['request.5.sources', 'A', 'must be a list of sources'],
    ['request.5.sources.0.by', 'x', 'must be wholeValue or phraseIn'],
    ['request.5.table', '', 'must not be empty'],
    ['request.6.onlyWith', 'x', 'must be send_quote_id'],
    ['request.7.why', 5, STRING],
    ['request.8.why', 5, STRING],
    ['request.9.setByService', 'x', FLAG],
    ['reply.0.v2', 5, STRING],
    ['reply.1.value', 5, STRING],
    ['reply.2.cases', 'x', BY_TEXT],
    ['reply.2.default', 5, STRING],
    ['reply.3.sentences', 'x', 'must be a list of sentences'],
    ['reply.3.sentences.0.text', '', 'must not be empty'],
    ['reply.3.sentences.1.when.is', 'x', 'must be present or absent or several'],
    ['reply.4', [], 'is a list; spread it with ...'],
    ['reply.4', 5, 'is not a row; use the constructors'],
  ])('%s', (path, other, message) => {
    const steps = path.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step))
    const place = steps.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
    // A row of no kind is told by its kind, where it has one.
    const expected = ['', '.kind'].map((more) => `trip.do: ${place.slice(1)}${more}: ${message}`)
    const mistakes = shapeMistakes(spoiled(whole, steps, other))
    expect(mistakes.filter((line) => expected.includes(line))).toHaveLength(1)
  })

  test.each<[string, unknown, string]>([
    ['events', 5, "must be a list of strings, or 'any'"],
    ['fields', {}, 'must be a list of rows'],
    ['example.shipment_id', '', 'must not be empty'],
    ['example.event', 5, STRING],
    ['example.event_date', 5, STRING],
    ['example.more', 5, 'more is not a key'],
  ])('of a callback: %s', (path, other, message) => {
    const mistakes = shapeMistakes(spoiled(told, path.split('.'), other))
    const place = path.endsWith('more') ? 'example' : path
    expect(mistakes).toEqual([`told: ${place}: ${message}`])
  })
})

test('keys that do not exist are a mistake of every part', () => {
  const places = [[], ['legacy'], ['service'], ['target'], ['xrefRecord'], ['example'], ['requires', 0], ['request', 0]]
  for (const place of places) {
    const at = place.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
    const expected = ['trip.do', at.slice(1), 'more is not a key'].filter(Boolean).join(': ')
    expect(shapeMistakes(spoiled(whole, [...place, 'more'], 1))).toEqual([expected])
  }
})

test('a mistake of what has no name shows its place alone', () => {
  expect(shapeMistakes({ ...whole, name: 5 })).toEqual(['name: must be a string'])
  expect(shapeMistakes({ ...whole, name: '' })).toEqual(['name: must not be empty'])
  expect(shapeMistakes({ kind: 'callback' })).toContain("events: must be a list of strings, or 'any'")
})

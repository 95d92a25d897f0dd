import { describe, expect, test } from 'vitest'
import { text } from '../../mappings/codecs.ts'
import { compileCatalog } from '../../src/mapping/catalog.ts'
import { type Action, fixed, fromQuote, move, quoteFact, split } from '../../src/mapping/declare.ts'

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

  test('is known by its path in lower case, and shows it as its first action writes it', () => {
    const { endpoints, actions } = compiled([one, declared('two', { paths: ['/BOTH.php'] })])
    expect([...endpoints.keys()]).toEqual(['/one.php', '/both.php'])
    const { actions: here, ...both } = endpoints.get('/both.php') ?? expect.fail('it is not there')
    expect(both).toMatchObject({
      path: '/Both.php',
      method: 'POST',
      family: 'quote',
      accepted: ['One', 'First', 'two it'],
    })
    expect(here).toEqual([actions.get('one'), actions.get('two')])
  })

  const chosen = (actions: readonly Action[], path: string, synonyms: Readonly<Record<string, string>> = {}) => {
    const endpoint = compiled(actions, synonyms).endpoints.get(path) ?? expect.fail('it is not there')
    return (...args: Parameters<typeof endpoint.choose>) => endpoint.choose(...args)?.action.name
  }

  test('chooses an action by its names, in any spelling', () => {
    const choose = chosen([one, two], '/both.php')
    expect(['one', 'FIRST', 'Two-It', 'two'].map((name) => choose(name))).toEqual(['one', 'one', 'two', undefined])
  })

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
    expect(['DREI', 'one', 'Vier', 'first'].map((name) => choose(name, more))).toEqual(['two', 'one', undefined, 'one'])
    expect(chosen([one, two], '/one.php')('Drei', more)).toBeUndefined()
  })
})

test('the fields of version 1 are those of any action, in any spelling', () => {
  const { isVersion1 } = compiled([
    declared('one', {}, { request: [move('Zip.', 'zip', text)] }),
    declared('two', {}, { remember: [move('Paid', 'paid', text)], reply: [fixed('Booked', 'Yes')] }),
  ])
  expect(['zip', 'ZIP_', 'Zip.', 'paid', 'Booked', 'Zips', ''].map(isVersion1)).toEqual([
    ...[true, true, true, true],
    ...[false, false, false],
  ])
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

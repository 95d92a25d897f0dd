import { expect, test } from 'vitest'
import * as vocabulary from '../../src/mapping/declare.ts'
import { renamedConstructors, unknownKeys, unknownKind } from '../../src/mapping/renamed.ts'

/** The vocabulary of the modules that operators wrote for earlier versions, with today's. */
const CONSTRUCTORS = {
  code: 'wholeValue',
  words: 'phraseIn',
  recall: 'fromQuote',
  remembered: 'quoteFact',
  serverSets: 'setByService',
  ownNumber: 'callerNumber',
  say: 'message',
  has: 'ifPresent',
  lacks: 'ifAbsent',
  several: 'ifSeveral',
  need: 'anyOf',
  fields: 'anyOf, which takes field names and lists of them',
  fact: 'quoteFact',
}
const KEYS = {
  finds: 'target',
  by: 'namedBy',
  among: 'disambiguateBy',
  with: 'disambiguateBy',
  recalls: 'quoteNamedBy',
  keeps: 'xrefRecord',
  under: 'names',
  also: 'replyNames',
  needs: 'requires',
  over: 'mergeInto',
  once: 'notIdempotent',
  until: 'doneWhenStatus',
  otherwise: 'fallbacks',
  joint: 'joiner',
  part: 'split',
  passesOn: 'passThroughUnknown',
  serverSets: 'setByService',
}
const KINDS = { recall: 'fromQuote', ownNumber: 'callerNumber', say: 'message' }

test.each(Object.entries(CONSTRUCTORS))('the constructor %s is refused with its new name: %s', (old, now) => {
  expect(renamedConstructors[old]).toThrow(`the constructor ${old} is now ${now}`)
  expect(vocabulary).toHaveProperty(now.split(',')[0] ?? '', expect.any(Function))
})

test('every constructor that exists is not among them', () => {
  expect(Object.keys(renamedConstructors).sort()).toEqual(Object.keys(CONSTRUCTORS).sort())
  for (const old of Object.keys(renamedConstructors)) expect(vocabulary).not.toHaveProperty(old)
})

test.each(Object.entries(KEYS))('the key %s is refused with its new name: %s', (old, now) => {
  expect(unknownKeys([old, 'nonsense'])).toBe(`${old} is now ${now}; nonsense is not a key`)
})

test.each(Object.entries(KINDS))('the kind %s of a row is refused with its new name: %s', (old, now) => {
  expect(unknownKind(old)).toBe(`${old} is now ${now}`)
})

test.each([['nonsense'], [5], [undefined]])('the kind %s of a row never was one', (kind) => {
  expect(unknownKind(kind)).toBe('is not a row; use the constructors')
})

import { describe, expect, test } from 'vitest'
import { approvedQuote, type Keepers, namedClaim, staysThing } from '../../src/store/kept-things.ts'

/** Returns who is asked about a thing that nothing keeps. */
function asked(id: string): readonly string[] {
  const questions: string[] = []
  const ask = (question: string) => (about?: string) => {
    questions.push(about === undefined ? question : `${question} ${about}`)
    return false
  }
  expect(staysThing(id, keepers(ask))).toBe(false)
  return questions
}

const keepers = (answer: (question: string) => (about?: string) => boolean): Keepers => ({
  isUsed: answer('used'),
  hasClaim: answer('claimed'),
  isClaim: answer('claim'),
  isFresh: answer('fresh'),
  hasOldOpenClaim: answer('open'),
})

describe.each([
  ['a shipment or a quote', 's-1', ['used s-1', 'claimed s-1']],
  ['the names of a settlement', 'names of bk_1', ['used names of bk_1', 'claim bk_1']],
  [
    'the ids in an approval',
    'ids in approval of q-1',
    ['used ids in approval of q-1', 'used q-1', 'claimed q-1', 'fresh q-1', 'open'],
  ],
  ['an approval', 'approval of q-1', ['used approval of q-1', 'used q-1', 'claimed q-1', 'fresh q-1', 'open']],
])('%s', (_, id, questions) => {
  test('goes if nothing keeps it', () => expect(asked(id)).toEqual(questions))

  test.each(questions)('stays if this is so: %s', (only) => {
    const answer = (question: string) => (about?: string) =>
      only === (about === undefined ? question : `${question} ${about}`)
    expect(staysThing(id, keepers(answer))).toBe(true)
  })
})

test('an id tells what it records', () => {
  expect(['approval of q-1', 'names of bk_1', 'q-1'].map(approvedQuote)).toEqual(['q-1', undefined, undefined])
  expect(['approval of q-1', 'names of bk_1', 'bk_1'].map(namedClaim)).toEqual([undefined, 'bk_1', undefined])
})

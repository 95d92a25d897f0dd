import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { codec } from '../../src/mapping/codec.ts'
import { ifAbsent, ifPresent, ifSeveral, message, move, type Sentence } from '../../src/mapping/declare.ts'
import { compileReply } from '../../src/mapping/reply.ts'
import type { Explanation } from '../../src/mapping/request.ts'

const settings = { transport_type: '', vehicle_type: '', send_quote_id: false, shipment_number: 'caller' } as const
const strictZip = codec(z.number(), {
  name: 'zip',
  summary: '',
  passThroughUnknown: false,
  decode: Number,
  encode: String,
})

/** Translates a body with a message of these sentences, after a row that reads its `zip`. */
function translated(sentences: readonly Sentence[], body: unknown, field = 'Message') {
  const explanations: Explanation[] = []
  const reply: Record<string, string> = {}
  const run = { body, own: undefined, settings, reply, missing: [], unreadable: [], explanations }
  for (const step of compileReply([move('Zip', 'zip', strictZip), message(field, sentences)])) step(run)
  return { message: reply[field], explanations: explanations.filter(({ to }) => to === field) }
}

const always = (sentence: string): Sentence => ({ text: sentence })

describe('a sentence', () => {
  test.each<[string, Sentence, unknown, string | undefined]>([
    ['counts without a condition', always('Booked.'), {}, 'Booked.'],
    ['quotes a place', always('It is {a.b}.'), { a: { b: ' TL-1 ' } }, 'It is TL-1.'],
    ['quotes a number', always('{a} miles, {a}.'), { a: 5 }, '5 miles, 5.'],
    ['quotes the first place that has a value', always('{a|b|c}'), { a: ' ', b: 'x', c: 'y' }, 'x'],
    ['quotes nothing where no place has a value', always('({a|b})'), { a: {} }, '()'],
    ['quotes no pattern', always('{a}'), { a: '$&$1' }, '$&$1'],
    ['counts the entries of a list', always('{list.length}'), { list: [1, 2] }, '2'],
    ['for a value counts if it is there', ifPresent('a', 'Yes.'), { a: 0 }, 'Yes.'],
    ['for a value counts not for blanks', ifPresent('a', 'Yes.'), { a: ' ' }, undefined],
    ['for a value counts not for an object', ifPresent('a', 'Yes.'), { a: {} }, undefined],
    ['for a value counts not if no codec can read it', ifPresent('zip', 'Yes.'), { zip: 'nowhere' }, undefined],
    ['for no value counts if there is none', ifAbsent('a', 'No.'), {}, 'No.'],
    ['for no value counts if no codec can read it', ifAbsent('zip', 'No.'), { zip: 'nowhere' }, 'No.'],
    ['for no value counts not if there is one', ifAbsent('a', 'No.'), { a: 'x' }, undefined],
    ['for several counts from two entries on', ifSeveral('a', 'Many.'), { a: [1, 2] }, 'Many.'],
    ['for several counts not for one', ifSeveral('a', 'Many.'), { a: [1] }, undefined],
    ['for several counts not for a text', ifSeveral('a', 'Many.'), { a: 'abc' }, undefined],
  ])('%s', (_, sentence, body, told) => {
    expect(translated([sentence], body).message).toBe(told)
  })
})

describe('a message', () => {
  test('has at most 500 characters, and another field 4096', () => {
    const long = Array.from({ length: 1_000 }, () => always('xxxxxxxxx'))
    expect(translated(long, {}).message).toHaveLength(500)
    expect(translated(long, {}, 'Notes').message).toHaveLength(4_096)
  })
})

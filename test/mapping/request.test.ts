import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Codec, codec } from '../../src/mapping/codec.ts'
import { join, move, quoteFact, setting, split } from '../../src/mapping/declare.ts'
import { NOT_FLAT } from '../../src/mapping/fields.ts'
import type { KnownFacts } from '../../src/mapping/request.ts'
import { translated } from './translated.ts'

/** Text with remarks on its words, as its first letter wants it. */
const odd: Codec<string> = codec(z.string(), {
  name: 'odd',
  summary: '',
  keeps: { class: 'lossy', lost: 'its case' },
  decode: (text, fail, leaveOut) => {
    if (text === 'bad') return fail('must be good')
    return text === 'none' ? leaveOut('means nothing') : text.toLowerCase()
  },
  encode: String,
  remark: (text) => {
    if (text === 'Lossy') return { loss: 'the case' }
    if (text === 'Assumed') return { assumed: 'a case' }
    return text === 'Warning' ? { warning: 'a case' } : undefined
  },
})
const quiet = { problems: [], notes: [] }

describe('a field that moves', () => {
  const row = move('Field', 'a.b', odd)

  test.each([
    ['Lossy', 'lossy', { loss: 'the case' }],
    ['Assumed', 'assumed', { assumed: 'a case' }],
    ['Warning', 'warning', { warning: 'a case' }],
  ])('has the remarks of its codec: %s', (text, code, remark) => {
    const { notes, explanations } = translated(row, { Field: text })
    expect(notes).toEqual([{ name: 'Field', code }])
    expect(explanations).toMatchObject([remark])
  })

  test('that counts as absent is noted as lost', () => {
    expect(translated(row, { Field: 'none' })).toEqual({
      body: {},
      problems: [],
      notes: [{ name: 'Field', code: 'lossy' }],
      explanations: [],
    })
  })
})

describe('a field that is absent', () => {
  const keeps = 'one way: the caller did not send it'

  const fallbacks = [quoteFact('one', 'two'), setting('vehicle_type'), quoteFact('three')]
  test.each<[KnownFacts | undefined, string | number]>([
    [{ two: 2, three: 3 }, 2],
    [{ one: 'first', two: 2 }, 'first'],
  ])('falls back to a fact of %j', (facts, after) => {
    const { body, notes, problems, explanations } = translated(
      move('Field', 'a', odd, { required: true, fallbacks }),
      {},
      facts && { facts },
    )
    expect([body, notes, problems]).toEqual([{ a: after }, [], []])
    expect(explanations).toStrictEqual([{ to: 'a', from: [], after, keeps, origin: 'quote' }])
  })

  test.each([[{ three: 3 }], [undefined]])('falls back to a setting without a fact before it: %j', (facts) => {
    const row = move('Field', 'a', odd, { required: true, fallbacks })
    const { body, notes, problems, explanations } = translated(row, { Field: 'none' }, facts && { facts })
    expect([body, problems]).toEqual([{ a: 'car' }, []])
    expect(notes).toEqual([
      { name: 'Field', code: 'lossy' },
      { name: 'a', code: 'assumed' },
    ])
    expect(explanations).toStrictEqual([
      { to: 'a', from: [], after: 'car', keeps, origin: 'default', assumed: 'no Field was sent' },
    ])
  })
})

describe('a field of several places', () => {
  const pair = codec(z.record(z.string(), z.string()), {
    name: 'pair',
    summary: '',
    decode: (text, fail, leaveOut) => {
      if (text.startsWith('bad')) return fail()
      if (text.startsWith('none')) return leaveOut('means nothing')
      const [one = '', two] = text.split('~')
      return { one, ...(two !== undefined && { two }) }
    },
    encode: () => '',
    remark: (text) => (text.endsWith('!') ? { loss: 'the sign' } : undefined),
  })
  const row = split('Field', { one: 'a', two: 'b.c' }, pair)

  test('is put at the places of its parts', () => {
    const explained = { from: ['Field'], before: 'x~y!', rule: 'pair', origin: 'caller', loss: 'the sign' }
    expect(translated(row, { Field: 'x~y!' })).toEqual({
      body: { a: 'x', b: { c: 'y!' } },
      problems: [],
      notes: [{ name: 'Field', code: 'lossy' }],
      explanations: [
        { ...explained, to: 'a', after: 'x' },
        { ...explained, to: 'b.c', after: 'y!' },
      ],
    })
    expect(translated(row, { Field: 'x' })).toMatchObject({ ...quiet, body: { a: 'x' }, explanations: [{ to: 'a' }] })
  })

  test('is left out if it is absent, counts as absent, or cannot be read', () => {
    const nothing = { body: {}, explanations: [] }
    expect(translated(row, {})).toEqual({ ...nothing, ...quiet })
    // Nor has it the remarks of its codec then.
    expect(translated(row, { Field: 'none!' })).toMatchObject({ ...nothing, notes: [{ code: 'lossy' }] })
    expect(translated(row, { Field: 'bad!' })).toMatchObject({
      ...nothing,
      notes: [],
      problems: [{ field: 'Field', code: 'pair', message: 'Field cannot be read' }],
    })
  })
})

test('several fields are joined at one place, without those that are absent', () => {
  const lines = { name: 'lines', summary: '', join: (parts: readonly string[]) => parts.join('/'), split: () => [] }
  const row = join(['One', 'Two', 'Three'], 'a', lines)
  expect(translated(row, { One: 'x', Two: 'y', Three: 'z' }).body).toEqual({ a: 'x/y/z' })
  expect(translated(row, { One: 'x', Two: NOT_FLAT, Three: 'z' })).toEqual({
    ...quiet,
    body: { a: 'x/z' },
    explanations: [
      { to: 'a', from: ['One', 'Three'], before: ['x', 'z'], after: 'x/z', rule: 'lines', origin: 'caller' },
    ],
  })
  expect(translated(row, {})).toEqual({ ...quiet, body: {}, explanations: [] })
})

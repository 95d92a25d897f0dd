/** Promise: values are read and written as in the tables of the contract (section 4). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import * as codecs from '../../mappings/codecs.ts'
import { contactParts, money, quoteZip, year } from '../../mappings/codecs.ts'
import { vehicleTypes } from '../../mappings/vehicle-types.ts'
import { type Codec, Failed, LeftOut } from '../../src/language/mapping/codec.ts'
import { compileLookup } from '../../src/language/mapping/lookup.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'
import { anyField, READABLE } from './fields.ts'

const isCodec = (value: unknown): value is Codec =>
  typeof value === 'object' && value !== null && 'decode' in value && 'summary' in value
const all = Object.values<unknown>(codecs).filter(isCodec)

test('the latest year is the one after next', () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 11, 31) })
  onTestFinished(() => void vi.useRealTimers())
  expect([year.decode('2028'), year.decode('2029')]).toEqual([2028, expect.any(Failed)])
  vi.setSystemTime(Date.UTC(2027, 0, 1))
  expect(year.decode('2029')).toBe(2029)
})

describe('vehicle types', () => {
  const types = compileLookup(vehicleTypes)

  test('are found as whole words, and every built-in phrase in both directions', () => {
    const codes = ['box truck', 'BOX - TRUCK', 'truck_ext', 'BOX', 'BOX TRUCK 26FT', '', '-', 'toString', '__proto__']
    expect(codes.map(types.wholeValue)).toEqual([...Array(3).fill('truck_ext'), ...Array(6).fill(undefined)])
    for (const [phrase, type] of Object.entries(vehicleTypes)) {
      expect([phrase, types.wholeValue(phrase), types.phraseIn(phrase)]).toEqual([phrase, type, type])
    }
  })

  test("an operator's table wins over the built-in one, in any spelling, and may have any phrase", () => {
    const own = JSON.parse('{"box-truck": "truck", "REEFER BOX TRUCK": "service_body", "__proto__": "suv"}')
    const { wholeValue, phraseIn } = compileLookup(vehicleTypes, own)
    expect(['BOX TRUCK', 'SEDAN', '__proto__'].map(wholeValue)).toEqual(['truck', 'car', 'suv'])
    expect(['26ft box truck', 'a reefer box truck'].map(phraseIn)).toEqual(['truck', 'service_body'])
  })
})

/** The results of each codec for callers' texts, with its remarks, and for the service's values. */
const TABLES: Readonly<Record<string, Readonly<Record<'reads' | 'writes', readonly (readonly unknown[])[]>>>> =
  JSON.parse(readFileSync(join(import.meta.dirname, 'codecs.json'), 'utf8'))

describe('every codec', () => {
  test.each(all)('$name reads and writes as its table says', ({ name, decode, encode, remark, problem }) => {
    const { reads = [], writes = [] } = TABLES[name] ?? expect.fail('no table')
    const read = (text: string) => {
      const made = decode(text)
      if (made instanceof LeftOut) return 'left out'
      return made instanceof Failed ? (made.message === problem ? 'fails' : made.message) : made
    }
    expect(reads.map(([text]) => [text, read(String(text)), remark?.(String(text))])).toEqual(
      reads.map(([text, value, remarks]) => [text, value, remarks]),
    )
    expect(writes.map(([value]) => [value, encode(value)])).toEqual(writes)
  })

  test('lines of an address are joined and split at their commas', () => {
    expect(codecs.joinStreet([' 1 Test Dr ', '', '  ', 'Suite 5'])).toBe('1 Test Dr, Suite 5')
    expect(codecs.joinStreet([])).toBe('')
    expect(['1 Test Dr', ' 1 Test Dr , Suite 5, Floor 2 ', ', x', ''].map(codecs.splitStreet)).toEqual([
      ['1 Test Dr', ''],
      ['1 Test Dr', 'Suite 5, Floor 2'],
      ['', 'x'],
      ['', ''],
    ])
  })

  test('a choice names what it accepts, and writes the first of two names', () => {
    const speed = codecs.choice({ STANDARD: 'std', 'VERY FAST': 'exp', RUSH: 'exp' }, 'speed')
    expect([speed.name, speed.summary, speed.problem]).toEqual([
      'speed',
      'STANDARD, VERY FAST or RUSH, in any case.',
      'must be STANDARD, VERY FAST or RUSH',
    ])
    expect([speed.encode('exp'), speed.decode('very__fast')]).toEqual(['VERY FAST', 'exp'])
    expect(codecs.choice({ ONE: '1' }, 'one').problem).toBe('must be ONE')
    expect(codecs.choice({}, 'none').problem).toBe('must be ')
  })
})

describe('laws', () => {
  const RUNS = runs(100, 1_000)
  const anyValue = fc.oneof(fc.anything(), fc.double(), fc.string(), fc.integer())

  describe.each(all)('$name', ({ remark, decode, encode }) => {
    test('never throws, refuses in words that do not repeat the value, and writes what reads back unchanged', () => {
      const isRead = (before: string) => {
        remark?.(before)
        const first = decode(before)
        if (first instanceof LeftOut) return false
        if (!(first instanceof Failed)) {
          const written = encode(first)
          if (written !== '') expect(encode(decode(String(written)))).toBe(written)
          return true
        }
        expect(first.message).toMatch(/^must |^has several/)
        if (before.length > 12) expect(first.message).not.toContain(before)
        return false
      }
      expect(READABLE.filter(isRead)).not.toEqual([])
      const law = fc.property(anyField, (before) => void isRead(before))
      expectLaw(law, RUNS)
    })

    test('never throws on a value from the service, and writes only strings', () => {
      const law = fc.property(anyValue, (value) => {
        const written = encode(value)
        if (!(written instanceof Failed)) expect(written).toBeTypeOf('string')
      })
      expectLaw(law, RUNS)
    })

    test('takes linear time on long input', () => {
      // With quadratic time, one of them would exceed the timeout of the test.
      const LENGTH = 200_000
      const PIECES = [' ', '1', 'x', '#', '# ', 'x ', '~', '-', ',', '1,', '1 ', 'x1', '\u00a0', '.']
      const results: unknown[] = []
      for (const piece of PIECES) {
        for (const before of [`75201${piece.repeat(LENGTH)}!`, `2145550000 x${piece.repeat(LENGTH)}!`]) {
          remark?.(before)
          results.push(decode(before), encode(before))
        }
      }
      expect(results).toHaveLength(4 * PIECES.length)
    })
  })

  const cents = fc.integer({ min: -1e12, max: 1e12 }).map((cents) => Number(`${cents}e-2`))
  const contact = fc.record(
    {
      contact_name: fc.stringMatching(/^[A-Z]{1,20}$/),
      contact_phone: fc.stringMatching(/^[2-9]\d{6,11}$/),
      contact_email: fc.stringMatching(/^[a-z.]{1,9}@[a-z.]{1,9}$/),
    },
    { requiredKeys: [] },
  )
  // The laws of reading and updating a shipment test the same for the codecs of its places.
  test.each<[string, Codec, fc.Arbitrary<unknown>]>([
    ['quoteZip', quoteZip, fc.stringMatching(/^(\d{5}|\d{5}-\d{4}|[A-Z]\d[A-Z] \d[A-Z]\d)$/)],
    ['money', money, cents],
    ['contactParts', contactParts, contact],
  ])('a value of version 2 survives writing and reading: %s', (_, { decode, encode }, value) => {
    const law = fc.property(value, (before) => {
      expect(decode(String(encode(before)))).toEqual(before)
    })
    expectLaw(law, RUNS)
  })

  test('looking up agrees with trying every phrase at every place', () => {
    const value = fc.constantFrom('car', 'van', 'truck')
    const word = fc.constantFrom('A', 'B', 'C', 'd')
    const phrase = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '))
    const law = fc.property(fc.dictionary(phrase, value), fc.array(word), (entries, words) => {
      const { wholeValue, phraseIn } = compileLookup(entries)
      const phrases = new Map(Object.entries(entries).map(([key, type]) => [key.toUpperCase(), type]))
      const longestFirst = words.flatMap((_, shorter) =>
        words.slice(0, shorter + 1).map((_, start) => words.slice(start, start + words.length - shorter).join(' ')),
      )
      const found = longestFirst.map((part) => phrases.get(part.toUpperCase()))
      expect(phraseIn(words.join(', '))).toBe(found.find((type) => type !== undefined))
      expect(wholeValue(words.join('_'))).toBe(found[0])
    })
    expectLaw(law, runs(150, 2_000))
  })
})

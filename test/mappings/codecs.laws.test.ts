import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  contactParts,
  equipmentType,
  joinStreet,
  money,
  phone,
  quoteZip,
  splitStreet,
  state,
  text,
  twoDecimals,
  vin,
  year,
  zipcode,
} from '../../mappings/codecs.ts'
import { vehicleTypes } from '../../mappings/vehicle-types.ts'
import { type Codec, Failed, LeftOut } from '../../src/mapping/codec.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

const codecs: readonly Codec[] = [text, zipcode, quoteZip, phone, state, year, vin, money, equipmentType, contactParts]

/** Strings that have broken parsers before. */
const NAUGHTY = [
  '0',
  '-1',
  'null',
  'undefined',
  'NaN',
  'true',
  '__proto__',
  'constructor',
  '\0',
  '\ud800',
  'ß',
  'İstanbul',
  '\u202eTX',
  'ﬃ',
  '１２３４５',
  '٣٤٥٦٧',
  '👩‍👩‍👧',
  "'; DROP TABLE shipments; --",
  '{{7*7}}',
  '$&',
  '%s%n',
  '~',
  '~~~~~',
  '@',
  '.',
  '-',
  '+1',
  '1e309',
  '1e-9999999999',
  '9'.repeat(400),
]

/** Strings that one codec or another reads. */
const READABLE = ['75201', '2134-1234', '(214) 555-0000', 'TX', 'new york', '2023', '1FDXE4FN9PDD32477', '$1,234.50']
READABLE.push('OPEN AUTO', 'enclosed', 'Pat Example~2145550000~~~pat@example.com')

/** Strings as the engine hands them over, near to what each codec looks for. */
const anyField = fc
  .oneof(
    fc.constantFrom(...NAUGHTY),
    fc.constantFrom(...READABLE),
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...'0123456789 -.+,$#~@xeXE()/NYny') }),
    fc.stringMatching(/^\d{3,9}(-\d{4})?$/),
    fc.stringMatching(/^\+?1?[ (]?\d{3}[)-]? ?\d{3}-?\d{4} ?((x|ext\.?|#) ?\d{1,4})?$/),
    fc.stringMatching(/^[A-Za-z ]{0,9}~[\d() -]{0,14}~~~[a-z]{0,5}@?[a-z]{0,5}$/),
  )
  .map((value) => value.trim())
  .filter((value) => value !== '')

const anyValue = fc.oneof(fc.anything(), fc.double(), fc.string(), fc.integer())

describe.each(codecs.map((codec) => [codec.name, codec] as const))('%s', (_, { remark, decode, encode }) => {
  test('never throws, and refuses in words that do not repeat the value', () => {
    expectLaw(
      fc.property(anyField, (before) => {
        remark?.(before)
        const made = decode(before)
        if (!(made instanceof Failed)) return
        expect(made.message).toMatch(/^must /)
        if (before.length > 12) expect(made.message).not.toContain(before)
      }),
      runs(200, 1_000),
    )
  })

  test('never throws on a value of the service, and writes only strings', () => {
    expectLaw(
      fc.property(anyValue, (value) => {
        const written = encode(value)
        if (!(written instanceof Failed)) expect(written).toBeTypeOf('string')
      }),
      runs(200, 1_000),
    )
  })

  test('writes values that read back unchanged', () => {
    const isRead = (before: string) => {
      const first = decode(before)
      if (first instanceof Failed || first instanceof LeftOut) return false
      const written = encode(first)
      if (written !== '') expect(encode(decode(String(written)))).toBe(written)
      return true
    }
    expect(READABLE.filter(isRead)).not.toEqual([])
    expectLaw(
      fc.property(anyField, (before) => void isRead(before)),
      runs(200, 1_000),
    )
  })

  test('takes linear time on long input', () => {
    // In quadratic time, one of them would exceed the time-out of the test.
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

const trimmed = (unit: string, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...unit), minLength: 1, maxLength })

const VIN_ALPHABET = 'ABCDEFGHJKLMNPRSTUVWXYZ0123456789'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** Reading is a left inverse of writing, for each value that version 2 may hold. */
function roundTrip<T>({ decode, encode }: Codec<T>, value: fc.Arbitrary<T>) {
  expectLaw(
    fc.property(value, (before) => {
      expect(decode(String(encode(before)))).toEqual(before)
    }),
    runs(200, 1_000),
  )
}

describe('a value of version 2 survives writing and reading', () => {
  test('text', () => roundTrip(text, fc.string()))
  test('zipcode', () => roundTrip(zipcode, fc.integer({ min: 1, max: 99_999 })))
  test('quoteZip', () => roundTrip(quoteZip, fc.stringMatching(/^(\d{5}|\d{5}-\d{4}|[A-Z]\d[A-Z] \d[A-Z]\d)$/)))
  test('phone', () => roundTrip(phone, fc.stringMatching(/^[2-9]\d{6,14}$/)))
  test('state', () => roundTrip(state, fc.string({ unit: fc.constantFrom(...LETTERS), minLength: 2, maxLength: 2 })))
  test('year', () => roundTrip(year, fc.integer({ min: 1886, max: new Date().getUTCFullYear() + 2 })))
  test('vin', () => roundTrip(vin, trimmed(VIN_ALPHABET, 17)))
  test('money', () =>
    roundTrip(
      money,
      fc.integer({ min: -1e12, max: 1e12 }).map((cents) => Number(`${cents}e-2`)),
    ))
  test('equipmentType', () => roundTrip(equipmentType, fc.constantFrom('open', 'enclosed')))
  test('contactParts', () =>
    roundTrip(
      contactParts,
      fc.record(
        {
          contact_name: trimmed(LETTERS, 20),
          contact_phone: fc.stringMatching(/^[2-9]\d{6,11}$/),
          contact_email: fc.stringMatching(/^[a-z.]{1,9}@[a-z.]{1,9}$/),
        },
        { requiredKeys: [] },
      ),
    ))
})

test('an amount of any size and scale is rounded half up on its decimal digits', () => {
  expectLaw(
    fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat(40), (units, scale) => {
      // The model: cents = floor(|units| · 100 / 10^scale + ½).
      const size = units < 0n ? -units : units
      const cents = (size * 200n + 10n ** BigInt(scale)) / (2n * 10n ** BigInt(scale))
      const sign = units < 0n && cents > 0n ? '-' : ''
      const expected = `${sign}${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`

      const digits = String(size).padStart(scale + 1, '0')
      const cut = digits.length - scale
      const minus = units < 0n ? '-' : ''
      expect(twoDecimals(`${minus}${digits.slice(0, cut)}.${digits.slice(cut)}`)).toBe(expected)
      expect(twoDecimals(`${units}e-${scale}`)).toBe(expected)
    }),
    runs(500, 5_000),
  )
})

test('a number is rounded like the digits that it is written with', () => {
  expectLaw(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const after = twoDecimals(value)
      expect(after).toMatch(/^-?\d+\.\d\d$/)
      expect(after).toBe(twoDecimals(String(value)))
      // Within half a cent, as far as a floating-point number can tell.
      expect(Math.abs(Number(after) - value)).toBeLessThanOrEqual(0.005 + Math.abs(value) * Number.EPSILON)
    }),
    runs(500, 5_000),
  )
})

test('two lines of a street survive, if the first has no comma', () => {
  const line = fc.string().map((value) => value.trim())
  fc.assert(
    fc.property(
      line.filter((value) => value !== '' && !value.includes(',')),
      line,
      (first, second) => {
        expect(splitStreet(joinStreet([first, second]))).toEqual([first, second])
      },
    ),
  )
})

test('a street that came apart joins to the same text, but for blanks and blank parts', () => {
  fc.assert(
    fc.property(fc.string(), (line) => {
      const once = joinStreet(splitStreet(line))
      const letters = (value: string) => value.replace(/[\s,]/g, '')
      expect(letters(once)).toBe(letters(line))
    }),
  )
})

test('looking up agrees with trying every phrase at every place', () => {
  const value = fc.constantFrom('car', 'van', 'truck')
  const word = fc.constantFrom('A', 'B', 'C', 'd')
  const phrase = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' '))
  const table = fc.dictionary(phrase, value)
  fc.assert(
    fc.property(table, fc.array(word), (entries, words) => {
      const lookup = compileLookup(entries)
      const phrases = new Map(Object.entries(entries).map(([key, type]) => [key.toUpperCase(), type]))
      let expected: string | undefined
      search: for (let length = words.length; length > 0; length--) {
        for (let start = 0; start + length <= words.length; start++) {
          expected = phrases.get(
            words
              .slice(start, start + length)
              .join(' ')
              .toUpperCase(),
          )
          if (expected !== undefined) break search
        }
      }
      expect(lookup.phraseIn(words.join(', '))).toBe(expected)
      expect(lookup.wholeValue(words.join('_'))).toBe(phrases.get(words.join(' ').toUpperCase()))
    }),
    { numRuns: runs(300, 2_000) },
  )
})

test('looking up never throws and gives nothing but built-in types', () => {
  const types = compileLookup(vehicleTypes)
  const builtIn = new Set<string | undefined>([undefined, ...Object.values(vehicleTypes)])
  fc.assert(
    fc.property(anyField, (before) => {
      expect(builtIn).toContain(types.phraseIn(before))
      expect(builtIn).toContain(types.wholeValue(before))
    }),
  )
})

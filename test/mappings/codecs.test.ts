/** Promise: values are read and written by the tables of the contract (section 4). */

import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import * as codecs from '../../mappings/codecs.ts'
import { contactParts, money, quoteZip, year } from '../../mappings/codecs.ts'
import { vehicleTypes } from '../../mappings/vehicle-types.ts'
import { type Codec, Failed, LeftOut } from '../../src/language/mapping/codec.ts'
import { keepsText } from '../../src/language/mapping/keeps.ts'
import { compileLookup } from '../../src/language/mapping/lookup.ts'
import { NAUGHTY } from '../calls/naughty-values.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

const isCodec = (value: unknown): value is Codec =>
  typeof value === 'object' && value !== null && 'decode' in value && 'summary' in value
const all = Object.values<unknown>(codecs).filter(isCodec)

test('the last year is the one after next', () => {
  vi.useFakeTimers({ now: Date.UTC(2026, 11, 31) })
  onTestFinished(() => void vi.useRealTimers())
  expect([year.decode('2028'), year.decode('2029')]).toEqual([2028, expect.any(Failed)])
  vi.setSystemTime(Date.UTC(2027, 0, 1))
  expect(year.decode('2029')).toBe(2029)
})

describe('vehicle types', () => {
  const types = compileLookup(vehicleTypes)

  test('are found in any spelling, by their own names too, and not in part', () => {
    const codes = ['BOX TRUCK', 'box truck', 'Box_Truck', 'BOX - TRUCK', 'truck_ext', 'work_van']
    const found = ['truck_ext', 'truck_ext', 'truck_ext', 'truck_ext', 'truck_ext', 'work_van']
    expect(codes.map(types.wholeValue)).toEqual(found)
    const others = ['BOX', 'BOX TRUCK 26FT', '', '-', 'toString', '__proto__', 'constructor']
    expect(others.map(types.wholeValue).filter((type) => type !== undefined)).toEqual([])
  })

  test('every built-in phrase finds its own type both ways', () => {
    for (const [phrase, type] of Object.entries(vehicleTypes)) {
      expect([phrase, types.wholeValue(phrase), types.phraseIn(phrase)]).toEqual([phrase, type, type])
    }
  })

  test("an operator's table wins over the built-in one, in any spelling", () => {
    const extended = compileLookup(vehicleTypes, { 'box-truck': 'truck', 'REEFER BOX TRUCK': 'service_body' })
    expect(extended.wholeValue('BOX TRUCK')).toBe('truck')
    expect(extended.phraseIn('26ft box truck')).toBe('truck')
    expect(extended.phraseIn('a reefer box truck')).toBe('service_body')
    expect(extended.wholeValue('SEDAN')).toBe('car')
  })

  test('a phrase named like an inherited property is a phrase like others', () => {
    const odd = compileLookup(JSON.parse('{"__proto__": "van", "constructor": "suv"}'))
    expect(odd.wholeValue('__proto__')).toBe('van')
    expect(odd.phraseIn('the constructor')).toBe('suv')
  })
})

describe('every codec', () => {
  /** Texts that callers send somewhere, and the values that the service answers. */
  const TEXTS: Readonly<Record<string, readonly string[]>> = {
    equipmentType: ['OPEN AUTO', 'open  auto', 'Open_Auto', 'enclosed-auto', 'ENCLOSED', 'OPENAUTO', 'x'],
    contactParts: [
      'Pat Example',
      'Pat Example~2145550000~~~pat@example.com',
      ' Pat ~ (214) 555-0000 x12 ~pat@example.com',
      '2145550000',
      '24/7 Towing~x',
      '123456~1234567',
      '1234567',
      'pat@example.com',
      'pat@example.com~other@example.com~pat@example.com',
      '~~',
      'Pat~555 0000~5550000~5550000',
      'Pat~a@b~c d@e~@~N/A',
      'Pat~12ab~1a~123ab',
      'Pat~2145550000 ext 5~other~21455',
    ],
    money: [
      '0',
      '1',
      '12.5',
      '12.50',
      '1234.5',
      '1,234.50',
      '$1,234.5',
      '-$ 5',
      '+5',
      '.5',
      '5.',
      '.',
      '',
      '-',
      '1,23',
      '1e3',

      '1.005',
      '0.005',
      '0.004',
      '-0.004',
      '-0.005',
      '99.995',
      '00012',
      '123456789012345.67',
      '1234567890123456',
      '1e-3',
      '1e400',
      '12.345',
      '1e999999999',
      'x',
      'USD 5',
      '1 000',
      '1.2.3',
      '0x10',
    ],
    email: ['Pat@Example.com', 'TBD', 'n/a', '-', 'none at all'],
    phone: [
      '1-800-FLOWERS ext 9',
      '1-800-FLOWERS / 214-555-0000',
      '1-800-FLOWERS',
      '+1 (800) Contacts',
      '214-555-CARS',
      '214-555-0000 cell',
      '555-0000 home',
      '214-555-0000 / 214-555-1111',
      '2145550000 2145551111',
      '555-1111 or 555-2222 x5',
      '2145550000.0',

      '2145550000',
      '(214) 555-0000',
      '+1 214 555 0000',
      '12145550000',
      '+1 1 214 555 0000',
      '214-555-0000 x12',
      '#12',

      '5550000 ext. 5',
      '555000 ext 5',
      '2145550000;ext=9',
      '2145550000 extension #3',
      'TBD',
      '5551',
      'x',
      '+44 20 7946 0000',
      '2145550000extn: 7',
      'Alex 5',
      '2145550000 # 8',
      '+12145550000 x1',
      '22145550000',
    ],
    state: [
      'TX',
      'tx',
      'Texas',
      'new york',
      'N.Y.',
      'Washington, DC',
      'ZZ',
      'x',
      'T1',
      'ß',
      'straße',
      'Nowhere',
      'Virgin Islands',
    ],
    text: ['x', ' x ', '0', 'é'],
    vin: [
      'TBD',
      'N/A',
      '?',
      '--',
      '1FDXE4FN9PDD32477',
      '1fdxe4fn9 pdd32477',
      '1FDXE4FN9PDD3247',
      '1FDXE4FN9PDD324777',
      'IFDXE4FN9PDD32477',
      '1FDXE4FN9PDD32477 / 1HGCM82633A004352',
      '1FDXE4FN9PDD324771HGCM82633A004352',
      'x',
    ],
    year: [
      '0',
      '-2023',
      "'23",
      '2e3',
      'MMXX',
      '2023 Ford',
      '2023.',
      'TBD',
      'N/A',
      '?',
      '--',
      '1885',
      '1886',
      '2023',
      '2023.0',
      '2023.00',
      '2023.5',
      '23',
      '02023',
      '9999',
      'x',
    ],
    zipcode: [
      '10314.0',
      '2134.0',
      '75201',
      '75201-1234',
      '75201 1234',
      '752011234',
      '75201 – 1234',
      '2134',
      '213',
      '21',
      '00000',
      '0',
      'x',
      '75201-12',
      '021341',
      'TBD',
      'TX 75201',
      'TX 75201-1234 USA',
      'TX 75201 or 10314',
      'TX75201',
    ],
    quoteZip: [
      '75201',
      '75201-1234',
      '75201 1234',
      '75201 - 1234',
      '75201–1234',
      '2134',
      '213',
      '21',
      'K1A 0B1',
      '00000',
      'x',
      '752011234',
    ],
  }

  const VALUES = [
    '',
    'x',
    'TX',
    'open',
    'enclosed',
    '2145550000',
    '75201-1234',
    '2134',
    '1234.5',
    '1,234',
    'NaN',
    0,
    1,
    2023,
    2134,
    75_201,
    1234.5,
    1.005,
    -0.001,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1e21,
    true,
    null,
    [],
    {},
    { contact_name: 'Pat ~ Example', contact_phone: '2145550000', contact_email: 'pat@example.com' },
    { contact_phone: '5' },
    { contact_name: 5 },
  ]

  function told(value: unknown): string {
    if (value instanceof Failed) return `fails: ${value.message}`
    if (value instanceof LeftOut) return `left out: ${value.message}`
    return JSON.stringify(value) ?? 'nothing'
  }

  const decoded = ({ decode }: Codec, text: string): string => told(decode(text))

  const encoded = ({ encode }: Codec, value: unknown): string => told(encode(value))

  test('every codec reads and writes as it did', async () => {
    expect(all.map(({ name }) => name).sort()).toEqual(Object.keys(TEXTS).sort())
    const lines = all.flatMap((codec) => {
      const { name, summary, problem, keeps, passThroughUnknown, remark } = codec
      const senseOf = keeps && 'sense' in keeps ? keeps.sense : undefined
      return [
        `${name}: ${summary}`,
        `  ${problem ?? 'no problem'}; ${keeps ? keepsText(keeps) : '-'}; unknown values: ${passThroughUnknown ?? 'passed through'}`,
        ...(TEXTS[name] ?? []).map((text) => {
          const remarks = remark?.(text)
          const sense = senseOf ? ` {${senseOf(text)}}` : ''
          return `  ${JSON.stringify(text)} → ${decoded(codec, text)}${sense}${remarks ? ` ${JSON.stringify(remarks)}` : ''}`
        }),
        ...VALUES.map((value) => `  ${told(value)} ← ${encoded(codec, value)}`),
        '',
      ]
    })
    await expect(lines.join('\n')).toMatchFileSnapshot('codecs.txt')
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
    expect(encoded(speed, 'exp')).toBe('"VERY FAST"')
    expect(decoded(speed, 'very__fast')).toBe('"exp"')
    expect(codecs.choice({ ONE: '1' }, 'one').problem).toBe('must be ONE')
    expect(codecs.choice({}, 'none').problem).toBe('must be ')
  })
})

describe('laws', () => {
  /** Strings that one codec or another reads. */
  const READABLE = ['75201', '2134-1234', '(214) 555-0000', 'TX', 'new york', '2023', '1FDXE4FN9PDD32477', '$1,234.50']
  READABLE.push('OPEN AUTO', 'enclosed', 'Pat Example~2145550000~~~pat@example.com')

  /** Strings as the engine hands them over, near to what each codec looks for. */
  const anyField = fc
    .oneof(
      fc.constantFrom(...NAUGHTY.filter((one) => one.length < 1_000)),
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

  describe.each(all.map((codec) => [codec.name, codec] as const))('%s', (_, { remark, decode, encode }) => {
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

  const cents = fc.integer({ min: -1e12, max: 1e12 }).map((cents) => Number(`${cents}e-2`))
  const contact = fc.record(
    {
      contact_name: fc.stringMatching(/^[A-Z]{1,20}$/),
      contact_phone: fc.stringMatching(/^[2-9]\d{6,11}$/),
      contact_email: fc.stringMatching(/^[a-z.]{1,9}@[a-z.]{1,9}$/),
    },
    { requiredKeys: [] },
  )
  // The laws of reading and updating a shipment say the same of the codecs of its places.
  test.each<[string, Codec, fc.Arbitrary<unknown>]>([
    ['quoteZip', quoteZip, fc.stringMatching(/^(\d{5}|\d{5}-\d{4}|[A-Z]\d[A-Z] \d[A-Z]\d)$/)],
    ['money', money, cents],
    ['contactParts', contactParts, contact],
  ])('a value of version 2 survives writing and reading: %s', (_, { decode, encode }, value) => {
    const law = fc.property(value, (before) => {
      expect(decode(String(encode(before)))).toEqual(before)
    })
    expectLaw(law, runs(200, 1_000))
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
})

import { expect, test } from 'vitest'
import * as codecs from '../../mappings/codecs.ts'
import { type Codec, Failed, LeftOut } from '../../src/mapping/codec.ts'
import { keepsText } from '../../src/mapping/keeps.ts'

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
    ...[
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
    ],
    ...[
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
    ],
    ...['1e400', '12.345', '1e999999999', 'x', 'USD 5', '1 000', '1.2.3', '0x10'],
  ],
  email: ['Pat@Example.com', 'TBD', 'n/a', '-', 'none at all'],
  phone: [
    ...['1-800-FLOWERS', '+1 (800) Contacts', '214-555-CARS', '214-555-0000 cell', '555-0000 home'],
    ...['214-555-0000 / 214-555-1111', '2145550000 2145551111', '555-1111 or 555-2222 x5', '2145550000.0'],
    ...[
      '2145550000',
      '(214) 555-0000',
      '+1 214 555 0000',
      '12145550000',
      '+1 1 214 555 0000',
      '214-555-0000 x12',
      '#12',
    ],
    ...[
      '5550000 ext. 5',
      '555000 ext 5',
      '2145550000;ext=9',
      '2145550000 extension #3',
      'TBD',
      '5551',
      'x',
      '+44 20 7946 0000',
    ],
    ...['2145550000extn: 7', 'Alex 5', '2145550000 # 8', '+12145550000 x1', '22145550000'],
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
    'x',
  ],
  year: ['TBD', 'N/A', '?', '--', '1885', '1886', '2023', '2023.0', '2023.00', '2023.5', '23', '02023', '9999', 'x'],
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
  ...['', 'x', 'TX', 'open', 'enclosed', '2145550000', '75201-1234', '2134', '1234.5', '1,234', 'NaN'],
  ...[0, 1, 2023, 2134, 75_201, 1234.5, 1.005, -0.001, Number.NaN, Number.POSITIVE_INFINITY, 1e21, true, null, [], {}],
  { contact_name: 'Pat ~ Example', contact_phone: '2145550000', contact_email: 'pat@example.com' },
  { contact_phone: '5' },
  { contact_name: 5 },
]

const isCodec = (value: unknown): value is Codec =>
  typeof value === 'object' && value !== null && 'decode' in value && 'summary' in value

function told(value: unknown): string {
  if (value instanceof Failed) return `fails: ${value.message}`
  if (value instanceof LeftOut) return `left out: ${value.message}`
  return JSON.stringify(value) ?? 'nothing'
}

const decoded = ({ decode }: Codec, text: string): string => told(decode(text))

const encoded = ({ encode }: Codec, value: unknown): string => told(encode(value))

test('every codec reads and writes as it did', async () => {
  const all = Object.values<unknown>(codecs).filter(isCodec)
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

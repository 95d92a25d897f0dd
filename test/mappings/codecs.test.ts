import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  choice,
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

/** The decoded value, or the problem after the field's name. */
function decoded<T>({ decode }: Codec<T>, before: string): unknown {
  const made = decode(before)
  return made instanceof Failed || made instanceof LeftOut ? { problem: made.message } : made
}

/** The encoded string, or undefined if there is none; replies may have any type. */
function encoded<T>({ encode }: Codec<T>, value: unknown): string | undefined {
  const written = encode(value)
  return written instanceof Failed ? undefined : written
}

const ZIP_PROBLEM = { problem: 'must be a US ZIP code such as 75201 or 75201-1234' }
const ZEROS = { assumed: 'leading zeros that got lost on the way' }

describe('zipcode', () => {
  test.each([
    ['75201', 75201, undefined],
    ['02134', 2134, undefined],
    ['00501', 501, undefined],
    ['02134-1234', 2134, { loss: 'the ZIP+4 extension 1234' }],
    ['021341234', 2134, { loss: 'the ZIP+4 extension 1234' }],
    ['02134 1234', 2134, { loss: 'the ZIP+4 extension 1234' }],
    ['75201 - 1234', 75201, { loss: 'the ZIP+4 extension 1234' }],
    ['75201–0001', 75201, { loss: 'the ZIP+4 extension 0001' }],
    ['2134', 2134, ZEROS],
    ['501', 501, ZEROS],
  ])('reads %j as %j', (before, after, remark) => {
    expect(decoded(zipcode, before)).toBe(after)
    expect(zipcode.remark?.(before)).toEqual(remark)
  })

  test.each([
    '1',
    '12',
    '123456',
    '1234567',
    '12345678',
    '0123456789',
    '00000',
    '000',
    'K1A 0B1',
    '7520l',
    '75 201',
    '75201-',
    '75201-12',
    '-75201',
    '7520.1',
    '1e4',
    '٧٥٢٠١',
  ])('refuses %j', (before) => {
    expect(decoded(zipcode, before)).toEqual(ZIP_PROBLEM)
  })

  test.each([
    [2134, '02134'],
    [75201, '75201'],
    [501, '00501'],
    ['02134', '02134'],
    ['2134', '02134'],
    ['02134-1234', '02134-1234'],
    ['K1A 0B1', 'K1A 0B1'],
  ])('writes %j as %j', (value, after) => {
    expect(encoded(zipcode, value)).toBe(after)
  })
})

describe('quoteZip', () => {
  test.each([
    ['75201', '75201', undefined],
    ['02134-1234', '02134-1234', undefined],
    ['021341234', '021341234', undefined],
    ['75201 - 1234', '75201-1234', undefined],
    ['2134', '02134', ZEROS],
    ['501', '00501', ZEROS],
    ['K1A 0B1', 'K1A 0B1', undefined],
    ['SW1A 1AA', 'SW1A 1AA', undefined],
    ['12', '12', undefined],
    ['10314.0', '10314', undefined],
    ['2134.00', '02134', ZEROS],
    ['TBD', 'TBD', undefined],
  ])('reads %j as %j', (before, after, remark) => {
    expect(decoded(quoteZip, before)).toBe(after)
    expect(quoteZip.remark?.(before)).toEqual(remark)
  })

  test.each([
    ['02134', '02134'],
    [2134, '02134'],
    ['K1A 0B1', 'K1A 0B1'],
  ])('writes %j as %j', (value, after) => {
    expect(encoded(quoteZip, value)).toBe(after)
  })
})

describe('phone', () => {
  const ODD = { warning: 'is not a US phone number of ten digits' }

  test.each([
    ['2145550000', '2145550000', undefined],
    ['(214) 555-0000', '2145550000', undefined],
    ['214.555.0000', '2145550000', undefined],
    ['+1 214 555 0000', '2145550000', undefined],
    ['+1 (214) 555-0000', '2145550000', undefined],
    ['+ 1 214 555 0000', '2145550000', undefined],
    ['12145550000', '2145550000', undefined],
    ['1-214-555-0000', '2145550000', undefined],
    ['+1 1 214 555 0000', '2145550000', undefined],
    ['fax: 214 555 0000', '2145550000', undefined],
    ['214-555-0000 x123', '2145550000', { loss: 'the extension 123' }],
    ['2145550000x123', '2145550000', { loss: 'the extension 123' }],
    ['214-555-0000 ext. 5', '2145550000', { loss: 'the extension 5' }],
    ['214-555-0000 EXT 5', '2145550000', { loss: 'the extension 5' }],
    ['214-555-0000, extension 9', '2145550000', { loss: 'the extension 9' }],
    ['2145550000 #12', '2145550000', { loss: 'the extension 12' }],
    ['2145550000 ext #12', '2145550000', { loss: 'the extension 12' }],
    ['tel:+1-214-555-0000;ext=7', '2145550000', { loss: 'the extension 7' }],
    ['+1 214 555 0000 x1', '2145550000', { loss: 'the extension 1' }],
    ['555-0000 x1', '5550000', { loss: 'the extension 1', ...ODD }],
    ['555-0000', '5550000', ODD],
    ['911', '911', ODD],
    ['+44 20 7946 0000', '442079460000', ODD],
    ['22145550000', '22145550000', ODD],
    ['# 214 555 0000', '2145550000', undefined],
  ])('reads %j as %j', (before, after, remark) => {
    expect(decoded(phone, before)).toBe(after)
    expect(phone.remark?.(before)).toEqual(remark)
  })

  test.each(['n/a', 'TBD', '-', '+', '+1', 'ext.', '٢١٤'])('leaves out %j, which has no number', (before) => {
    expect(phone.decode?.(before)).toEqual(new LeftOut('a phone number without any digit'))
    expect(phone.remark?.(before)).toBeUndefined()
  })

  test.each([
    ['2145550000', '2145550000'],
    [2145550000, '2145550000'],
    ['+442079460000', '+442079460000'],
  ])('writes %j as %j', (value, after) => {
    expect(encoded(phone, value)).toBe(after)
  })
})

describe('state', () => {
  const ODD = { warning: 'is not a US state or territory' }

  test.each([
    ['TX', 'TX', undefined],
    ['tx', 'TX', undefined],
    ['TX.', 'TX', undefined],
    ['N.Y.', 'NY', undefined],
    ['n. y.', 'NY', undefined],
    ['d.c.', 'DC', undefined],
    ['Texas', 'TX', undefined],
    ['NEW YORK', 'NY', undefined],
    ['new  york', 'NY', undefined],
    ['District of Columbia', 'DC', undefined],
    ['Washington, D.C.', 'DC', undefined],
    ['washington', 'WA', undefined],
    ['Puerto Rico', 'PR', undefined],
    ['guam', 'GU', undefined],
    ['U.S. Virgin Islands', 'VI', undefined],
    ['American Samoa', 'AS', undefined],
    ['Northern Mariana Islands', 'MP', undefined],
    ['ae', 'AE', undefined],
    ['ON', 'ON', ODD],
    ['zz', 'ZZ', ODD],
  ])('reads %j as %j', (before, after, remark) => {
    expect(decoded(state, before)).toBe(after)
    expect(state.remark?.(before)).toEqual(remark)
  })

  test.each(['T', 'Tex', 'Ontario', '12', 'T1', 'TX 75201', '.', 'ß', 'ﬁ', 'toString', '__proto__', 'constructor'])(
    'refuses %j',
    (before) => {
      expect(decoded(state, before)).toEqual({ problem: 'must be a US state such as TX or Texas' })
    },
  )

  test('passes on unknown values of the service', () => {
    expect(encoded(state, 'TX')).toBe('TX')
    expect(encoded(state, 'Ontario')).toBe('Ontario')
  })
})

describe('year', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  test.each([
    ['1886', 1886],
    ['2023', 2023],
    ['2023.0', 2023],
    ['2023.00', 2023],
    ['2028', 2028],
  ])('reads %j as %j', (before, after) => {
    vi.useFakeTimers({ now: Date.UTC(2026, 11, 31) })
    expect(decoded(year, before)).toBe(after)
  })

  test.each([
    '23',
    "'23",
    '1885',
    '2029',
    '0',
    '-2023',
    '2023.5',
    '2023.',
    '02023',
    '20230',
    '2e3',
    'MMXX',
    '2023 Ford',
  ])('refuses %j', (before) => {
    vi.useFakeTimers({ now: Date.UTC(2026, 11, 31) })
    expect(decoded(year, before)).toEqual({
      problem: 'must be a year of four digits, from 1886 to the year after next',
    })
  })

  test('takes a year later after New Year', () => {
    vi.useFakeTimers({ now: Date.UTC(2027, 0, 1) })
    expect(decoded(year, '2029')).toBe(2029)
  })

  test.each([
    [2023, '2023'],
    ['2023', '2023'],
  ])('writes %j as %j', (value, after) => {
    expect(encoded(year, value)).toBe(after)
  })
})

describe('vin', () => {
  const ODD = { warning: 'is not 17 characters of the VIN alphabet' }

  test.each([
    ['1FDXE4FN9PDD32477', '1FDXE4FN9PDD32477', undefined],
    ['1fdxe4fn9pdd32477', '1FDXE4FN9PDD32477', undefined],
    ['1FDXE 4FN9 PDD 32477', '1FDXE4FN9PDD32477', undefined],
    ['1FDXE4FN0PDD32477', '1FDXE4FN0PDD32477', undefined],
    ['1FDXE4FN9PDD3247', '1FDXE4FN9PDD3247', ODD],
    ['1FDXE4FN9PDD3247O', '1FDXE4FN9PDD3247O', ODD],
    ['1FDXE4FN9-PDD32477', '1FDXE4FN9-PDD32477', ODD],
    ['s 1047 b', 'S1047B', ODD],
  ])('reads %j as %j', (before, after, remark) => {
    expect(decoded(vin, before)).toBe(after)
    expect(vin.remark?.(before)).toEqual(remark)
  })
})

describe('money', () => {
  test.each([
    [1.005, '1.01'],
    [1234.5, '1234.50'],
    [1e3, '1000.00'],
    ['1e3', '1000.00'],
    ['1E+3', '1000.00'],
    [1e21, '1000000000000000000000.00'],
    [1e-7, '0.00'],
    [0, '0.00'],
    [-0, '0.00'],
    [-1.005, '-1.01'],
    [-0.001, '0.00'],
    ['-0.004', '0.00'],
    [0.005, '0.01'],
    [0.0049, '0.00'],
    [99.995, '100.00'],
    [2.675, '2.68'],
    [1.255, '1.26'],
    [8.345, '8.35'],
    ['1.0049999999999999999999', '1.00'],
    ['90071992547409931.005', '90071992547409931.01'],
    ['1234', '1234.00'],
    ['1234.50', '1234.50'],
    ['007', '7.00'],
    ['5.', '5.00'],
    ['.5', '0.50'],
    [' 12 ', '12.00'],
    ['+12', '12.00'],
    ['12.345e1', '123.45'],
    ['12345e-3', '12.35'],
    ['1,234.50', '1234.50'],
    ['$1,234,567.5', '1234567.50'],
    ['-$ 5', '-5.00'],
    ['0e999999999', '0.00'],
    ['1e-999999999', '0.00'],
  ])('writes %j as %j', (value, after) => {
    expect(encoded(money, value)).toBe(after)
    expect(twoDecimals(value)).toBe(after)
  })

  test.each([
    '',
    ' ',
    '.',
    'e3',
    'abc',
    'TBD',
    '12abc',
    '1.2.3',
    '1,5',
    '1.234,50',
    '12,34.5',
    ',123',
    '0x10',
    '1_000',
    'NaN',
    'Infinity',
    '1e400',
    '1e999999999',
    '--1',
    '$',
    '٣',
  ])('has no price for %j', (value) => {
    expect(encoded(money, value)).toBeUndefined()
    expect(twoDecimals(value)).toBeUndefined()
  })

  test.each([[null], [undefined], [true], [{}], [[1]], [Number.NaN], [Number.POSITIVE_INFINITY]])(
    'has no price for %j of another type',
    (value) => {
      expect(encoded(money, value)).toBeUndefined()
    },
  )

  test.each([
    ['1234.50', 1234.5],
    ['$1,234.5', 1234.5],
    ['-0.05', -0.05],
    ['free', { problem: 'must be an amount such as 1234.50' }],
  ])('reads %j as %j', (before, after) => {
    expect(decoded(money, before)).toEqual(after)
  })
})

describe('choice', () => {
  test.each([
    ['OPEN AUTO', 'open'],
    ['open auto', 'open'],
    ['Open   Auto', 'open'],
    ['open_auto', 'open'],
    ['OPEN-AUTO', 'open'],
    ['OPEN - AUTO', 'open'],
    ['Enclosed\tAuto', 'enclosed'],
  ])('reads %j as %j', (before, after) => {
    expect(decoded(equipmentType, before)).toBe(after)
  })

  test.each(['OPEN', 'OPENAUTO', 'open auto 2', 'toString', '__proto__', 'constructor', 'hasOwnProperty'])(
    'refuses %j and lists what it accepts',
    (before) => {
      expect(decoded(equipmentType, before)).toEqual({ problem: 'must be OPEN AUTO or ENCLOSED AUTO' })
    },
  )

  test.each([
    ['open', 'OPEN AUTO'],
    ['enclosed', 'ENCLOSED AUTO'],
    ['driveaway', 'driveaway'],
    ['toString', 'toString'],
    ['__proto__', '__proto__'],
  ])('writes %j as %j', (value, after) => {
    expect(encoded(equipmentType, value)).toBe(after)
  })

  test('lists three words, and writes the first of two words for one value', () => {
    const speed = choice({ SLOW: 's', FAST: 'f', 'AT-ONCE': 'f' }, 'speed')
    expect(decoded(speed, '?')).toEqual({ problem: 'must be SLOW, FAST or AT-ONCE' })
    expect(decoded(speed, 'at once')).toBe('f')
    expect(encoded(speed, 'f')).toBe('FAST')
  })
})

describe('contactParts', () => {
  const REST = 'parts that are neither the name, the phone number nor the e-mail address'

  test.each([
    [
      'Pat Example~2145550000~~~pat@example.com',
      { contact_name: 'Pat Example', contact_phone: '2145550000', contact_email: 'pat@example.com' },
      undefined,
    ],
    [
      ' Pat Example ~ pat@example.com ~ +1 (214) 555-0000 x12 ',
      { contact_name: 'Pat Example', contact_phone: '2145550000', contact_email: 'pat@example.com' },
      { loss: 'the extension 12' },
    ],
    ['Pat Example', { contact_name: 'Pat Example' }, undefined],
    ['Pat Example~~~~', { contact_name: 'Pat Example' }, undefined],
    ['~2145550000~~~', { contact_phone: '2145550000' }, undefined],
    ['pat@example.com', { contact_email: 'pat@example.com' }, undefined],
    ['2145550000~~~~pat@example.com', { contact_phone: '2145550000', contact_email: 'pat@example.com' }, undefined],
    ['7-11~2145550000', { contact_name: '7-11', contact_phone: '2145550000' }, undefined],
    ['84 Lumber~2145550000', { contact_name: '84 Lumber', contact_phone: '2145550000' }, undefined],
    ['Pat~999-999-9999', { contact_name: 'Pat', contact_phone: '9999999999' }, undefined],
    ['Pat~9::', { contact_name: 'Pat' }, { loss: REST }],
    ['Pat~12345@9', { contact_name: 'Pat', contact_email: '12345@9' }, undefined],
    ['Pat~2145550000~Suite', { contact_name: 'Pat', contact_phone: '2145550000' }, { loss: REST }],
    [
      'Pat~2145550000 x1~2145550001',
      { contact_name: 'Pat', contact_phone: '2145550000' },
      { loss: `the extension 1, and ${REST}` },
    ],
    ['~~~~', {}, undefined],
    ['__proto__~toString', { contact_name: '__proto__' }, { loss: REST }],
  ])('reads %j as %j', (before, after, remark) => {
    expect(decoded(contactParts, before)).toEqual(after)
    expect(contactParts.remark?.(before)).toEqual(remark)
  })

  test.each([
    [
      { contact_name: 'Pat Example', contact_phone: '2145550000', contact_email: 'pat@example.com' },
      'Pat Example~2145550000~~~pat@example.com',
    ],
    [{ contact_name: 'Pat' }, 'Pat~~~~'],
    [{ contact_email: 'pat@example.com' }, '~~~~pat@example.com'],
    [{ contact_name: 'Pat~Example' }, 'Pat Example~~~~'],
    [{ contact_name: undefined }, ''],
    [{}, ''],
  ])('writes %j as %j', (value, after) => {
    expect(encoded(contactParts, value)).toBe(after)
  })
})

describe('street lines', () => {
  test.each([
    [['1 Test Dr', ''], '1 Test Dr'],
    [['1 Test Dr', 'Suite 4'], '1 Test Dr, Suite 4'],
    [[' 1 Test Dr ', ' Suite 4 '], '1 Test Dr, Suite 4'],
    [['', 'Suite 4'], 'Suite 4'],
    [['', ''], ''],
    [[], ''],
  ])('join %j as %j', (lines, after) => {
    expect(joinStreet(lines)).toBe(after)
  })

  test.each([
    ['1 Test Dr', ['1 Test Dr', '']],
    ['1 Test Dr, Suite 4', ['1 Test Dr', 'Suite 4']],
    ['1 Test Dr,Suite 4', ['1 Test Dr', 'Suite 4']],
    ['1 Test Dr, Bldg 2, Suite 4', ['1 Test Dr', 'Bldg 2, Suite 4']],
    ['', ['', '']],
  ])('split %j as %j', (line, after) => {
    expect(splitStreet(line)).toEqual(after)
  })
})

describe('text', () => {
  test.each([
    ['as it is', 'as it is'],
    [7, '7'],
    [true, 'true'],
  ])('writes %j as %j', (value, after) => {
    expect(encoded(text, value)).toBe(after)
  })

  test.each([[null], [{}], [[]]])('has no text for %j', (value) => {
    expect(encoded(text, value)).toBeUndefined()
  })
})

describe('vehicle types', () => {
  const types = compileLookup(vehicleTypes)

  test.each([
    ['BOX TRUCK', 'truck_ext'],
    ['box truck', 'truck_ext'],
    ['Box_Truck', 'truck_ext'],
    ['BOX - TRUCK', 'truck_ext'],
    ['BOX VAN', 'truck_ext'],
    ['SEDAN', 'car'],
    ['CARGO VAN', 'work_van'],
    ['CREW CAB', 'truck_ext'],
    ['UTILITY BODY', 'service_body'],
    ['car', 'car'],
    ['suv', 'suv'],
    ['van', 'van'],
    ['truck', 'truck'],
    ['truck_ext', 'truck_ext'],
    ['work_van', 'work_van'],
    ['service_body', 'service_body'],
    ['BOX', undefined],
    ['BOX TRUCK 26FT', undefined],
    ['VEHICLE', undefined],
    ['', undefined],
    ['-', undefined],
    ['toString', undefined],
    ['__proto__', undefined],
    ['constructor', undefined],
  ])('the code %j is %j', (code, type) => {
    expect(types.wholeValue(code)).toBe(type)
  })

  test.each([
    ['2023 Ford E-450 RWD, Box Van', 'truck_ext'],
    ['a van', 'van'],
    ['2021 Ford F-150', 'truck'],
    ['2021 Ford F-150 Crew Cab', 'truck_ext'],
    ['2021 Ford F 150 Crew Cab', 'truck_ext'],
    ['2020 Ram ProMaster 1500', 'work_van'],
    ['2020 Ram 1500 Quad Cab', 'truck_ext'],
    ['2019 Honda CR-V; runs and drives', 'suv'],
    ['2019 Toyota RAV4/blue', 'suv'],
    ['Toyota Camry (sedan)', 'car'],
    ['2022 Ford Mustang Mach-E', 'suv'],
    ['2022 Ford Mustang', 'car'],
    ['Jeep Gladiator', 'truck'],
    ['2018 Dodge Grand Caravan', 'van'],
    ['Chrysler Town & Country', 'van'],
    ['sedan, or SUV', 'car'],
    ['box-truck', 'truck_ext'],
    ['vandalised', undefined],
    ['something else', undefined],
    ['', undefined],
    [', - /', undefined],
    ['__proto__ constructor toString', undefined],
  ])('the text %j is %j', (words, type) => {
    expect(types.phraseIn(words)).toBe(type)
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

  test('a phrase that could never match is refused', () => {
    expect(() => compileLookup({ ' - ': 'van' })).toThrow('a phrase of a lookup table has no words')
  })
})

import { afterEach, describe, expect, test, vi } from 'vitest'
import { year } from '../../mappings/codecs.ts'
import { vehicleTypes } from '../../mappings/vehicle-types.ts'
import { type Codec, Failed, LeftOut } from '../../src/mapping/codec.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'

/** The decoded value, or the problem after the field's name. */
function decoded<T>({ decode }: Codec<T>, before: string): unknown {
  const made = decode(before)
  return made instanceof Failed || made instanceof LeftOut ? { problem: made.message } : made
}

describe('year', () => {
  afterEach(() => {
    vi.useRealTimers()
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

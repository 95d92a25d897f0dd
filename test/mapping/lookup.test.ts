import { describe, expect, test } from 'vitest'
import { compileLookup } from '../../src/mapping/lookup.ts'

const table = compileLookup(
  { CAR: 'car', 'PICKUP TRUCK': 'pickup', TRUCK: 'truck', 'CREW CAB': 'crew', 'F-150': 'ford', 'BOX TRUCK': 'box' },
  { 'CREW CAB LONG BED': 'long' },
)

describe('a whole text', () => {
  test.each([
    ['CAR', 'car'],
    ['car', 'car'],
    ['  Car ', 'car'],
    ['box truck', 'box'],
    ['BOX_TRUCK', 'box'],
    ['Box-Truck', 'box'],
    ['box \t - truck', 'box'],
    ['box–truck', 'box'],
    ['box—truck', 'box'],
    ['box, (truck)', 'box'],
    ['f 150', 'ford'],
    ['BOX', undefined],
    ['a box truck', undefined],
    ['box truck 2', undefined],
    ['', undefined],
    ['constructor', undefined],
  ])('%j', (text, value) => {
    expect(table.wholeValue(text)).toBe(value)
  })
})

describe('the phrase in a text', () => {
  test.each([
    ['a car', 'car'],
    ['cars', undefined],
    ['2023 Ford E-450, Box Truck', 'box'],
    ['the (box) [truck]', 'box'],
    ['box|truck/"x"', 'box'],
    ['car truck', 'car'],
    ['truck car', 'truck'],
    // The one of most words, wherever it stands.
    ['truck crew cab', 'crew'],
    ['crew cab truck', 'crew'],
    ['crew cab long bed', 'long'],
    ['crew cab long car', 'crew'],
    // Parts of one word count as one.
    ['F-150 crew cab', 'crew'],
    ['f-150 car', 'ford'],
    ['box-truck pickup truck', 'pickup'],
    // What separates words is none.
    ['box - - truck crew cab long bed', 'long'],
    ['box', undefined],
    ['', undefined],
    [' , ', undefined],
  ])('%j', (text, value) => {
    expect(table.phraseIn(text)).toBe(value)
  })
})

describe('a table', () => {
  test('wins over an earlier one', () => {
    const both = compileLookup({ VAN: 'van', SUV: 'suv' }, { 'v-an': 'other', Van: 'mine' })
    expect(both.wholeValue('van')).toBe('mine')
    expect(both.wholeValue('suv')).toBe('suv')
  })

  test.each([[''], [' - '], ['()']])('has no phrase without words: %j', (phrase) => {
    expect(() => compileLookup({ CAR: 'car', [phrase]: 'x' })).toThrow('a phrase of a lookup table has no words')
  })
})

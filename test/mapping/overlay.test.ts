import { describe, expect, test } from 'vitest'
import { compileOverlay } from '../../src/mapping/overlay.ts'
import type { Draft } from '../../src/mapping/paths.ts'

const overlay = compileOverlay(['price', 'vehicles[0].weight'])

describe('an update', () => {
  test.each<[string, unknown, Draft, number, unknown]>([
    ['changes what was sent', { id: 1, a: 1 }, { a: 2, b: 3 }, 0, { id: 1, a: 2, b: 3 }],
    ['changes parts, which keep their ids', { a: { id: 1, b: 2 } }, { a: { b: 3 } }, 0, { a: { id: 1, b: 3 } }],
    [
      'changes one entry of a list',
      { vehicles: [{ id: 1 }, { id: 2, vin: 'x' }] },
      { vehicles: [{ vin: 'y' }] },
      1,
      { vehicles: [{ id: 1 }, { id: 2, vin: 'y' }] },
    ],
    [
      'changes the first entry of a list inside an entry',
      { vehicles: [{}, { parts: [{ id: 1 }, { id: 2 }] }] },
      { vehicles: [{ parts: [{ a: 1 }] }] },
      1,
      { vehicles: [{}, { parts: [{ id: 1, a: 1 }, { id: 2 }] }] },
    ],
    [
      'changes the first entry of a list in a part',
      { a: { list: [{ id: 1 }, { id: 2 }] } },
      { a: { list: [{ b: 1 }] } },
      1,
      { a: { list: [{ id: 1, b: 1 }, { id: 2 }] } },
    ],
    ['adds the parts that are not there', {}, { a: { b: 1 }, c: [{ d: 2 }] }, 0, { a: { b: 1 }, c: [{ d: 2 }] }],
    [
      'replaces what is no part',
      { a: 'x', b: null, c: 5 },
      { a: { b: 1 }, b: { c: 2 }, c: [{ d: 3 }] },
      0,
      {
        a: { b: 1 },
        b: { c: 2 },
        c: [{ d: 3 }],
      },
    ],
    ['replaces an entry that is no object', { a: ['x', 'y'] }, { a: [{ b: 1 }] }, 1, { a: ['x', { b: 1 }] }],
    ['may clear a value', { a: { b: 1 } }, { a: null }, 0, { a: null }],
    [
      'leaves out what only the service sets',
      { price: 5, vehicles: [{ id: 1, weight: 5 }, { weight: 6 }] },
      {},
      0,
      { vehicles: [{ id: 1 }, {}] },
    ],
    ['of nothing is what was sent', null, { a: 1 }, 0, { a: 1 }],
    ['of a list is what was sent', [1], { a: 1 }, 0, { a: 1 }],
  ])('%s', (_, current, sent, entry, whole) => {
    const before = JSON.stringify([current, sent])
    expect(overlay(current, sent, entry)).toEqual(whole)
    expect(JSON.stringify([current, sent])).toBe(before)
  })
})

/** Promise: each row keeps what its class says (contract, section 4). */

import { expect, test } from 'vitest'
import { z } from 'zod'
import { actions, callbacks } from '../../mappings/index.ts'
import { codec } from '../../src/language/mapping/codec.ts'
import { move, type Row } from '../../src/language/mapping/declare.ts'
import { keepsOf, keepsTextOf } from '../../src/language/mapping/row-parts.ts'
import { runs } from '../size.ts'
import { wrongClass } from './keeps.ts'

const RUNS = runs(1_000, 10_000)
/** A million runs take minutes. */
const LAW_MS = 1_800_000

const all: readonly Row[] = [
  ...actions.flatMap(({ request, remember = [], reply }) => [...request, ...remember, ...reply]),
  ...callbacks.flatMap(({ fields }) => fields),
]

const CLASSES = ['exact', 'canonical', 'lossy', 'oneWay'] as const
const ofClass = (wanted: (typeof CLASSES)[number]) => all.filter((row) => keepsOf(row)?.class === wanted)

test('each row of the built-in declarations has a class, and each class has rows', () => {
  expect(all.filter((row) => keepsOf(row) === undefined)).toEqual([])
  for (const name of CLASSES) expect(ofClass(name)).not.toEqual([])
})

test.each(CLASSES)(
  'rows that are %s keep what they say',
  (name) => {
    expect(wrongClass(ofClass(name), RUNS)).toBeUndefined()
  },
  LAW_MS,
)

test('a row without a class says nothing', () => {
  const undeclared = codec(z.string(), { name: 'old', summary: '', decode: (text) => text, encode: (value) => value })
  expect(keepsOf(move('Field', 'place', undeclared))).toBeUndefined()
  expect(keepsTextOf(move('Field', 'place', undeclared))).toBeUndefined()
})

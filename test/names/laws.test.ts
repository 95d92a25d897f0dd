/** Promise: the same names and VIN mean the same thing to every call, by five laws (contract, section 6). */

import { expect, test } from 'vitest'
import { openNames } from '../../src/names/names.ts'
import { chooseVehicle } from '../../src/names/resolve.ts'
import { tryWorlds } from './laws.ts'

test('every call of every small world means what the laws say', async () => {
  const { cases, seen, violations } = await tryWorlds({ openNames, chooseVehicle }, 10)
  if (process.env['LAWS_SHOW']) console.log(cases, seen)
  expect(violations.map((one) => JSON.stringify(one))).toEqual([])
  expect(cases).toBeGreaterThan(200_000)
})

/** Promise: a mistake in an operator's module or lookups is told at the start; stories show what they add (contract, sections 4 and 11). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadMappings } from '../../mappings/load.ts'
import { folder } from '../callers/tenants-gateway.ts'
import modules from './modules.json' with { type: 'json' }

test('two modules of one name are an error', async () => {
  const place = folder()
  const code = "export default ({ actions }) => actions['quote.get']"
  for (const name of ['one.js', 'other.js']) writeFileSync(join(place, name), code)
  await expect(loadMappings(place)).rejects.toMatchObject({ errors: ['quote.get: two actions have this name'] })
})

test.each(modules)('an error in a module: %s', async (code = '', ...mistakes) => {
  const place = folder()
  writeFileSync(join(place, 'a.js'), code)
  await expect(loadMappings(place)).rejects.toMatchObject({ errors: mistakes.map((one) => join(place, one)) })
})

test.each([
  [{ actions: { 'Get Rate': 'quote.approve' } }, 'Get Rate means both quote.get and quote.approve'],
  [{ vehicle_types: { '---': 'car' as const } }, 'table vehicle_types: a phrase of a lookup table has no words'],
  [{ vehicle_types: { 'GOLF CART': 'car', golf_cart: 'van' } as const }, 'golf_cart means both car and van'],
])('an error in lookups: %j', async (lookups, mistake) => {
  await expect(loadMappings(undefined, lookups)).rejects.toThrow(mistake)
})

/** Promise: a mistake in what names mean turns a law red (contract, section 6). */

import { expect, test } from 'vitest'
import { openNames } from '../../src/state/names/names.ts'
import { chooseVehicle } from '../../src/state/names/resolve.ts'
import { tryWorlds } from './laws.ts'
import { mistakes, withMistake } from './mistakes.ts'

test('without a mistake, every law holds', { timeout: 600_000 }, async () => {
  expect((await tryWorlds({ openNames, chooseVehicle }, 1)).violations).toEqual([])
})

test.each(mistakes)('%s', { timeout: 600_000 }, async (...mistake) => {
  const trial = await withMistake(mistake, (room) => tryWorlds(room, 1))
  expect(trial.violations).toHaveLength(1)
})

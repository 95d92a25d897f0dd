import { afterAll, beforeAll, describe } from 'vitest'
import { runs } from '../size.ts'
import { comparisonContract } from './comparison-contract.ts'
import { storeContract } from './contract.ts'
import { doubtContract } from './doubt-contract.ts'
import { driftContract } from './drift-contract.ts'
import { eventContract } from './event-contract.ts'
import { eventModel } from './event-model.ts'
import { lockContract } from './lock-contract.ts'
import { storeModel } from './model.ts'
import { openPlaces, type Places } from './places.ts'
import { pruneContract } from './prune-contract.ts'
import { scoreboardContract } from './scoreboard-contract.ts'

let places: Places
beforeAll(async () => {
  places = await openPlaces()
})
afterAll(() => places.close())

describe.each(['memory', 'sqlite', 'postgres'] as const)('%s', (engine) => {
  storeContract(engine, () => places[engine]())
  lockContract(() => places[engine]())
  describe('events', () => eventContract(() => places[engine]()))
  scoreboardContract(() => places[engine]())
  describe('pruning', () => pruneContract(engine, () => places[engine]()))
  comparisonContract(() => places[engine]())
  doubtContract(() => places[engine]())
  driftContract(() => places[engine]())
})

describe.each([
  { engine: 'sqlite', runs: runs(8, 20), delayed: false },
  { engine: 'postgres', runs: runs(6, 12), delayed: true },
] as const)('$engine against the model', ({ engine, ...options }) => {
  storeModel(() => places[engine](), options)
  eventModel(() => places[engine](), options.runs)
})

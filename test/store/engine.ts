import { afterAll, describe } from 'vitest'
import { runs } from '../size.ts'
import { storeContract } from './contract.ts'
import { storeModel } from './model.ts'
import { openPlaces } from './places.ts'
import { pruneContract } from './prune-contract.ts'

/** The number of runs against the model, in a sample and whole. */
const MODEL_RUNS = {
  sqlite: { sample: 8, whole: 20 },
  postgres: { sample: 6, whole: 12 },
}

/** Tests an engine with all contracts of the store, and against the store in memory. */
export function testEngine(engine: keyof typeof MODEL_RUNS): void {
  const places = openPlaces()
  afterAll(() => places.close())
  const newPlace = places[engine]
  storeContract(engine, newPlace)
  describe('pruning', () => pruneContract(newPlace))
  const { sample, whole } = MODEL_RUNS[engine]
  storeModel(newPlace, runs(sample, whole))
}

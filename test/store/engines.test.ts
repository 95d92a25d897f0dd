import { afterAll, beforeAll, describe } from 'vitest'
import { storeContract } from './contract.ts'
import { lockContract } from './lock-contract.ts'
import { storeModel } from './model.ts'
import { openPlaces, type Places } from './places.ts'

let places: Places
beforeAll(async () => {
  places = await openPlaces()
})
afterAll(() => places.close())

describe.each(['memory', 'sqlite', 'postgres'] as const)('%s', (engine) => {
  storeContract(engine, () => places[engine]())
  lockContract(() => places[engine]())
})

describe.each([
  { engine: 'sqlite', runs: 40, delayed: false },
  { engine: 'postgres', runs: 25, delayed: true },
] as const)('$engine against the model', ({ engine, ...options }) => {
  storeModel(() => places[engine](), options)
})

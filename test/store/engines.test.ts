import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { createMemoryStore } from '../../src/store/memory.ts'
import { openStore } from '../../src/store/open.ts'
import { runs } from '../size.ts'
import { storeContract } from './contract.ts'
import { storeModel } from './model.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

let folder: string
let postgres: PostgresServer
let database: string
let files = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'transload-store-'))
  postgres = await startPostgres()
  database = await postgres.createDatabase()
})
afterAll(async () => {
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
})

const places = {
  async memory() {
    const store = createMemoryStore()
    return async () => store
  },
  async sqlite() {
    files += 1
    const path = join(folder, 'made', 'on the way', `${files}.db`)
    return () => openStore(`sqlite:${path}`)
  },
  async postgres() {
    await postgres.empty(database)
    return () => openStore(database)
  },
}

describe.each(['memory', 'sqlite', 'postgres'] as const)('%s', (engine) => {
  storeContract(engine, places[engine])
})

describe.each([
  { engine: 'sqlite', runs: runs(8, 40), soon: false },
  { engine: 'postgres', runs: runs(6, 25), soon: true },
] as const)('$engine against the model', ({ engine, ...options }) => {
  storeModel(places[engine], options)
})

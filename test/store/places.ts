import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createMemoryStore } from '../../src/store/memory.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { startPostgres } from './postgres-server.ts'

/** A database of a test. */
export interface Place {
  /** Opens one more store on the database; the first finds it empty. */
  open(): Promise<Store>
  /** Sets the clock of the store, in milliseconds since 1970; from then on it stands still. */
  setClock(ms: number): Promise<void>
  close(): Promise<void>
}

/** Makes places of every engine. */
export interface Places {
  readonly memory: () => Promise<Place>
  readonly sqlite: () => Promise<Place>
  readonly postgres: () => Promise<Place>
  readonly close: () => Promise<void>
}

/** Starts what the engines need. */
export async function openPlaces(): Promise<Places> {
  const folder = mkdtempSync(join(tmpdir(), 'transload-store-'))
  const server = await startPostgres()
  let files = 0
  let database: string | undefined
  return {
    async memory() {
      const clock = machineClock()
      const store = createMemoryStore(clock)
      return { open: async () => store, setClock: clock.set, close: async () => {} }
    },
    async sqlite() {
      files += 1
      const path = join(folder, 'made', 'on the way', `${files}.db`)
      const clock = machineClock()
      return { open: () => openStore(`sqlite:${path}`, clock), setClock: clock.set, close: async () => {} }
    },
    async postgres() {
      // Emptied, not created again: the stores of the previous place are closed.
      if (database === undefined) database = await server.createDatabase()
      else await server.empty(database)
      return postgresPlace(database)
    },
    async close() {
      await server.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function machineClock() {
  let fixed: number | undefined
  return {
    now: () => fixed ?? Date.now(),
    set: async (ms: number) => {
      fixed = ms
    },
  }
}

/** A database whose clock can be set: the store asks one function for the time. */
async function postgresPlace(url: string): Promise<Place> {
  let client: pg.Client | undefined
  const replaceClock = async (): Promise<pg.Client> => {
    const made = new pg.Client({ connectionString: url })
    await made.connect()
    await made.query(`CREATE TABLE test_clock (ms bigint); INSERT INTO test_clock VALUES (0);
      CREATE OR REPLACE FUNCTION transload.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ms FROM test_clock'`)
    return made
  }
  return {
    open: () => openStore(url),
    async setClock(ms) {
      client ??= await replaceClock()
      await client.query('UPDATE test_clock SET ms = $1', [ms])
    },
    close: async () => client?.end(),
  }
}

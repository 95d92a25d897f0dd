import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { openStore } from '../../src/outside/store/open.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { newFolder } from '../command.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

/** A database of a test. */
export interface Place {
  /** Returns one more store on the database; the first finds it empty. */
  open(): Promise<Store>
  /** Sets the store's clock, in milliseconds since 1970, and stops it. */
  setClock(ms: number): Promise<void>
  /** Closes the place and its stores; a later place may reuse them. */
  close(): Promise<void>
}

/** Makes places of every engine in a new folder; the first one of PostgreSQL starts a server. */
export function openPlaces() {
  const folder = newFolder('store')
  const files = openFiles(folder)
  let server: PostgresServer | undefined
  let database: ReturnType<typeof openDatabase> | undefined
  return {
    async memory(): Promise<Place> {
      const clock = machineClock()
      await clock.set(0)
      const store = createMemoryStore(clock)
      clock.release()
      return { open: async () => store, setClock: clock.set, close: () => store.close() }
    },
    sqlite: async () => files.place(),
    async postgres(): Promise<Place> {
      server ??= await startPostgres()
      database ??= openDatabase(await server.createDatabase())
      return database.place()
    },
    async close(): Promise<void> {
      await Promise.all([files.close(), database?.close()])
      await server?.remove()
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
    release: () => {
      fixed = undefined
    },
  }
}

/** Closes the stores that are no longer used. */
const closeAll = (stores: readonly Store[]) => Promise.all(stores.map((store) => store.close()))

/** A file of an embedded store, and the stores on it that no test uses. */
interface File {
  readonly path: string
  readonly clock: ReturnType<typeof machineClock>
  readonly stores: readonly Store[]
}

/** Makes the places of the embedded store. Places reuse stores, because opening one starts a thread, which takes longer than most tests. */
function openFiles(folder: string) {
  const kept: File[] = []
  let files = 0

  function newFile(): File {
    files += 1
    const path = join(folder, 'made', 'on the way', `${files}.db`)
    return { path, clock: machineClock(), stores: [] }
  }

  return {
    place(): Place {
      const { path, clock, stores } = kept.pop() ?? newFile()
      if (stores.length > 0) emptyFile(path)
      clock.release()
      const free = [...stores]
      const used: Store[] = []
      return {
        async open() {
          const store = free.shift() ?? (await openStore(`sqlite:${path}`, clock))
          used.push(store)
          return store
        },
        setClock: clock.set,
        async close() {
          const open = [...used, ...free].filter((store) => store.ready())
          if (open.length > 0) kept.push({ path, clock, stores: open })
        },
      }
    },
    close: () => closeAll(kept.flatMap(({ stores }) => stores)),
  }
}

/** The tables that identify the file to the stores. */
const LASTING_TABLES: ReadonlySet<unknown> = new Set(['version', 'identity', 'calendar'])

/** Deletes all rows of a file, as another process would, and adds a column to each table, as a later release may. */
function emptyFile(path: string): void {
  const db = new DatabaseSync(path, { timeout: 10_000 })
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  const deletions = tables.flatMap(({ name }) =>
    LASTING_TABLES.has(name)
      ? []
      : `DELETE FROM "${name}"; ALTER TABLE "${name}" ADD COLUMN later_${process.hrtime.bigint()} TEXT;`,
  )
  db.exec(`PRAGMA synchronous = OFF; BEGIN IMMEDIATE; ${deletions.join(' ')}
    UPDATE calendar SET day = 0, looked_at = 0, gone_ms = 0; COMMIT`)
  db.close()
}

/**
 * Makes the places of PostgreSQL, one after the other on one database. The schema stays, and so do the stores: a migration and a
 * connection take longer than most tests.
 */
function openDatabase(url: string) {
  const kept: Store[] = []
  let client: pg.Client | undefined
  /** The SQL that resets the tables and the clock to those of a new store. */
  let renewal = ''

  async function connect(): Promise<pg.Client> {
    await (await openStore(url)).close()
    const made = new pg.Client({ connectionString: url })
    await made.connect()
    const { rows } = await made.query(SELECT_RENEWAL)
    // TRUNCATE would take 20 times as long.
    renewal = `BEGIN; ${rows[0].deletions} UPDATE transload.calendar SET day = 0, looked_at = 0, gone_ms = 0; ${RESTART}; ${rows[0].clock}; COMMIT`
    await made.query('CREATE TABLE test_clock (ms bigint); INSERT INTO test_clock VALUES (0)')
    return made
  }

  return {
    async place(): Promise<Place> {
      client ??= await connect()
      const db = client
      await db.query(renewal)
      const stores: Store[] = []
      let isSet = false
      return {
        async open() {
          const store = kept.shift() ?? (await openStore(url))
          stores.push(store)
          return store
        },
        async setClock(ms) {
          await db.query('UPDATE test_clock SET ms = $1', [ms])
          // The store gets the time from one function.
          if (!isSet) await db.query(FIXED_CLOCK)
          isSet = true
        },
        close: async () => void kept.push(...stores.filter((store) => store.ready())),
      }
    },
    async close() {
      await closeAll(kept)
      await client?.end()
    },
  }
}

/** Selects the deletion of all rows, and the clock. */
const SELECT_RENEWAL = `SELECT string_agg(format('DELETE FROM transload.%I;', tablename), ' ') AS deletions,
  pg_get_functiondef('transload.now_ms'::regproc) AS clock
  FROM pg_tables WHERE schemaname = 'transload' AND tablename NOT IN ('version', 'calendar')`
/** Restarts the numbering of rows. */
const RESTART = `SELECT setval(format('transload.%I', sequencename), 1, false) FROM pg_sequences
  WHERE schemaname = 'transload'`
const FIXED_CLOCK =
  "CREATE OR REPLACE FUNCTION transload.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ms FROM test_clock'"
